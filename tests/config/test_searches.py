# SPDX-License-Identifier: Apache-2.0
"""The table of a stream whose strings are searched for: what it may say, and one line for what it may not."""

from __future__ import annotations

from typing import Any

import pytest

from murmurate.config.errors import ConfigError
from murmurate.config.loader import build
from murmurate.config.plan import Plan
from murmurate.config.planning import plan


def made(**changes: Any) -> Plan:
    table = {"measure": "strings", "find": "strings", "bits": 48, "every": "1m", **changes}
    return plan(build({
        "schema": 1, "name": "shop", "privacy": {"epsilon": 2, "window": "20m", "min_batch": 20},
        "streams": {"q": {key: value for key, value in table.items() if value is not None}},
    }))  # fmt: skip


def test_pem_searches_unless_the_file_says_otherwise() -> None:
    assert made().stream("q").method.name == "pem"
    assert made(method="tree_hist").stream("q").method.name == "tree_hist"
    assert made(thresholds={"news": 0.1, "0x6e6577730001": 0.2}).stream("q").thresholds["news"] == 0.1


def test_what_is_searched_for_changes_what_releases_mean_and_thresholds_do_not() -> None:
    usual = made().stream("q").config
    assert made(thresholds={"news": 0.1}).stream("q").config == usual
    others = [made(**one).stream("q").config for one in ({"top": 16}, {"least": 0}, {"groups": 8}, {"pool": 512})]
    assert len({usual, *others}) == 5


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"find": "words"}, "find: found 'words'; allowed: strings"),
        ({"prefix": 8}, 'prefix: found 8; allowed: nothing, with find = "strings"'),
        ({"find": None, "top": 3}, 'top: found 3; allowed: only with find = "strings"'),
        ({"top": 70_000}, "top: found 70000; allowed: a whole number from 1 to 512"),
        ({"least": 1}, "least: found 1; allowed: a number from 0, below 1"),
        ({"groups": 2}, "groups: found 2, which makes 201326592 questions; allowed: more groups: 1048576 questions"),
        ({"groups": 44}, "groups: found 44; allowed: a whole number from 1 to 43"),
        (
            {"bits": 256, "top": 512},
            "top: found 512 strings of 256 bits; allowed: fewer, or groups, since no number of groups keeps 32768",
        ),
        ({"method": "lpu"}, "method: found 'lpu'; allowed: pem, pem_rounds, tree_hist, tree_hist_all"),
        ({"find": None, "method": "pem"}, "method: found 'pem'; allowed: one that searches for nothing"),
        ({"method": {"name": "pem", "filter": "off"}}, "filter: found 'off'; allowed: adaptive, with pem"),
        ({"method": {"name": "pem", "revise": 2}}, "revise: found 2; allowed: 0, with pem"),
        ({"mechanism": "olh"}, "mechanism: found 'olh'; allowed: auto, olh_counts"),
        ({"thresholds": {"newspaper": 0.1}}, "thresholds: found 'newspaper'; allowed: statistics of the stream: any"),
        ({"season": "10m"}, "season: found '10m'; allowed: none, with pem"),
    ],
)
def test_what_it_may_not_say_is_said_in_one_line(changes: dict[str, Any], line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        made(**changes)
    assert f"streams.q.{line}" in str(caught.value) or f"streams.q.method.{line}" in str(caught.value)
    assert "\n" not in str(caught.value)
