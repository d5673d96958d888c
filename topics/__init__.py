# SPDX-License-Identifier: Apache-2.0
"""What is on the wire, as data: topic names, messages, blocks, events. No I/O. docs/WIRE.md says it byte for byte.

`names`     the topic table: key, cleanup, retention, zone; `topic("shop", "raw")`
`block`     columns in blocks: `encode_raw`, `encode_reports`, `encode_batch`, `encode_tally`, `encode_sums`,
            `decode`
`messages`  the control records: Start, Config, Round, GiveUp, Close, Settled, Progress, Quiet, Done, Seal, Tally,
            TallyInBlocks, Dead
`curated`   what the curator says of central streams: Curated
`release`   the release, and in `promises` what it says of its promise
`latest`    the rows of a release, for tables with one row a name: Latest
`slots`     which slots a round asks
`codec`     messages to bytes and back: `encode`, `decode`, `decode_record`
`domains`   what events may say, and the words of it: `Categories`, `Grid`, `Bits`, `Items`, `Signed`, `Row`, `Measured`
`events`    single JSON events to columns: `EventReader`
`schemas`   JSON Schemas of all of them: `schema("round")`
`errors`    what is refused, one class per cause
"""

from murmurate.topics.codec import decode, decode_record, encode, kind_of
from murmurate.topics.curated import Curated
from murmurate.topics.domains import Bits, Categories, Domain, Grid, Items, Measured, Row, Signed
from murmurate.topics.errors import WireError
from murmurate.topics.events import Columns, EventReader, Fields, Reason
from murmurate.topics.latest import Latest
from murmurate.topics.messages import (
    Close,
    Config,
    Dead,
    Done,
    GiveUp,
    Progress,
    Rejected,
    Round,
    Seal,
    Settled,
    Start,
    Tally,
    TallyInBlocks,
)
from murmurate.topics.names import TOPICS, topic
from murmurate.topics.quiet import Quiet
from murmurate.topics.release import Release
from murmurate.topics.schemas import schema
from murmurate.topics.slots import Slots

__all__ = [
    "TOPICS", "Bits", "Categories", "Close", "Columns", "Config", "Curated", "Dead", "Domain", "Done", "EventReader",
    "Fields", "GiveUp", "Grid", "Items", "Latest", "Measured", "Progress", "Quiet", "Reason", "Rejected", "Release",
    "Round", "Row", "Seal", "Settled", "Signed", "Slots", "Start", "Tally", "TallyInBlocks", "WireError",
    "decode", "decode_record", "encode", "kind_of", "schema", "topic",
]  # fmt: skip
