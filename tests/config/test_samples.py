# SPDX-License-Identifier: Apache-2.0
"""The examples: each is a deployment without warnings, and its events are read by the reader it describes."""

import pytest

from murmurate.aggregators.measures.found_strings import FoundStrings
from murmurate.aggregators.measures.searched_words import TREND
from murmurate.config import samples
from murmurate.config.explain import explain
from murmurate.config.loader import build, load
from murmurate.config.plan import Plan
from murmurate.config.planning import plan
from murmurate.config.schema import schema
from murmurate.topics.domains import Categories
from murmurate.topics.events import Columns, EventReader
from tests.config.deployments import SHOP, small


@pytest.fixture(params=samples.names())
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    path = tmp_path_factory.mktemp("example") / "murmurate.toml"
    path.write_text(samples.example(request.param), encoding="utf-8")
    return plan(load(path, {}))


def test_there_are_examples() -> None:
    assert {"telemetry", "sensor", "papers", "trips"} <= set(samples.names())


def test_an_example_has_enough_users_in_its_own_sample(made: Plan) -> None:
    assert explain(made, samples.SMALL.users).warnings == ()


def read(made: Plan, lines: list[bytes]) -> Columns:
    """What the reader of a plan's only topic makes of these lines."""
    ((_, fields),) = {(stream.topic, stream.fields) for stream in made.everything}
    return EventReader({stream.name: stream.domain for stream in made.everything}, fields).read(lines)


def test_every_event_of_a_sample_is_accepted_in_order_of_time(made: Plan) -> None:
    lines = list(samples.events(made))
    columns = read(made, lines)
    assert columns.refusals == ()
    assert 2_000 < len(lines) / len(made.everything) < 10_000
    assert len(set(columns.users)) == samples.SMALL.users
    assert (columns.time[1:] >= columns.time[:-1]).all()
    assert columns.time[0] // 60_000 * 60_000 == samples.SMALL.start_ms
    assert columns.time[-1] - columns.time[0] < samples.SMALL.minutes * 60_000
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
    for place, stream in enumerate(made.everything):
        said = columns.words_of(columns.stream == place, stream.domain.words)
        found = set(said.tolist() if stream.domain.words == 1 else map(tuple, said.tolist()))
        if isinstance(stream.domain, Categories):
            assert found == set(range(len(stream.domain.values)))  # every declared one, and no other
        elif stream.measure.ordered:
            assert found == set(range(stream.domain.none))
        else:
            several = 100 if stream.domain.coded else 7
            assert len(found) > (1 if made.name == "transit" else several)  # whose sets have one item at most


def test_a_sample_is_the_same_bytes_each_time_and_has_a_peak(made: Plan) -> None:
    lines = list(samples.events(made))
    assert lines == list(samples.events(made))
    columns = read(made, lines)
    minutes = (columns.time - samples.SMALL.start_ms) // 60_000
    for place, stream in enumerate(made.everything):
        mine = columns.stream == place
        codes, at = columns.words_of(mine, stream.domain.words), minutes[mine]
        if isinstance(stream.measure, FoundStrings):  # one word trends
            (word,) = stream.measure.values_of([TREND])
            trends = (codes.reshape(-1, stream.domain.words) == word).all(axis=1)
            assert trends[(at >= 12) & (at < 20)].mean() > trends[at < 12].mean() + 0.1
            continue
        if not stream.domain.coded:  # one of the shares that a release names
            shares = [
                stream.measure.truth(codes[part].reshape(-1, stream.domain.words))
                for part in ((at >= 12) & (at < 20), at < 12)
            ]
            assert (shares[0] - shares[1]).max() > 0.1
            continue
        if isinstance(stream.domain, Categories):
            popular = codes == min(2, len(stream.domain.values) - 1)
        else:
            popular = codes >= stream.domain.none / 2
        assert popular[(at >= 12) & (at < 20)].mean() > popular[at < 12].mean() + 0.1


def test_a_sample_serves_every_stream_of_a_plan() -> None:
    two = {"measure": "frequency", "values": ["a"], "every": "5m", "share": 0.25}
    both = plan(build(small(screen__share=0.5, streams__two=two)))
    reader = EventReader({s.name: s.domain for s in both.everything}, both.everything[0].fields)
    columns = reader.read(list(samples.events(both)))
    assert columns.refusals == ()
    assert set(columns.stream.tolist()) == {0, 1}


def test_the_schema_describes_every_key_and_no_other() -> None:
    found = schema()
    assert found["required"] == ["name", "privacy", "streams"]
    tables = [found, *(table for table in found["$defs"].values())]
    assert all(table["additionalProperties"] is False for table in tables)
    assert all("description" in key or "$ref" in key for table in tables for key in table["properties"].values())
    assert found["properties"]["streams"]["additionalProperties"] is False
    assert "null" not in str(found)
    assert found["$defs"]["Time"]["properties"]["lateness"]["default"] == "10s"
    known = {key for table in tables for key in table["properties"]}
    for line in SHOP.read_text(encoding="utf-8").splitlines():
        key = line.split("=")[0].strip()
        if "=" in line and not line.startswith("#"):
            assert key in known, key


@pytest.mark.parametrize("kind", samples.names())
def test_another_name_leaves_no_space_at_the_end_of_a_line(kind: str) -> None:
    assert not [line for line in samples.example(kind, "ab").splitlines() if line != line.rstrip()]
