# SPDX-License-Identifier: Apache-2.0
"""The clock of several doors at once, while nothing comes to them.

Contract: it says the same as a progress record for each of these source partitions.  It is true whoever says it, so it
needs no transaction of a door's.  Not here: when it is said (agents/kafka/doors.py).
"""

from murmurate.topics.message import Contributors, Message, Millis, TopicName


class Quiet(Message, tag="murmurate/quiet/1"):
    """These partitions of a source held nothing that is not in `raw` when the clock said `time`."""

    topic: TopicName
    partitions: Contributors
    time: Millis
