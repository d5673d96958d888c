"""Live statistics from Kafka streams that are private by construction.

`murmurate.randomizers`  what a device needs: keyed randomness, exact mechanisms, the ledger, the Device
`murmurate.topics`       what is on the wire, as data: topic names, messages, blocks, events
`murmurate.aggregators`  what a server does with estimates: choosing a mechanism
`murmurate.config`       the deployment file
`murmurate.agents`       everything that runs: the command line
"""

from importlib.metadata import version

__version__ = version("murmurate")
