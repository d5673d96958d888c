"""Live statistics from Kafka streams that are private by construction.

`murmurate.randomizers`  what a device needs: keyed randomness, exact mechanisms, the ledger, the Device
`murmurate.topics`       what is on the wire, as data: topic names, messages, blocks, events
`murmurate.aggregators`  what a server does with estimates: methods, the filter, distributions, post-processing
`murmurate.config`       the deployment file: its schema, its checks, what it promises in words
`murmurate.agents`       everything that runs: stages, replay, the Kafka runtime, page, metrics, the command line
"""

from importlib.metadata import version

__version__ = version("murmurate")
