# SPDX-License-Identifier: Apache-2.0
"""Questions over stretches of time, answered from releases alone: how much, how often, what part, and how sure that is.

`ReleaseIndex` takes releases, `answer` answers; what an answer means stands in docs/METHODS.md.
"""

from murmurate.aggregators.queries.answers import AnswerRow, QueryAnswer, answer
from murmurate.aggregators.queries.errors import QueryRefusedError
from murmurate.aggregators.queries.grammar import ParsedQuery, parse
from murmurate.aggregators.queries.index import ReleaseIndex

__all__ = ["AnswerRow", "ParsedQuery", "QueryAnswer", "QueryRefusedError", "ReleaseIndex", "answer", "parse"]
