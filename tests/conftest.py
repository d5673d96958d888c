# SPDX-License-Identifier: Apache-2.0
"""Hypothesis draws the same examples every time in `make test`, so that a build says something about the change it is
of, and no more than 40 where a test does not say how many; `make audit` has all these tests once more with fresh ones
(profile `fresh`).  Where tests run in several processes, each begins with its part of
the long files: whoever has finished takes over from the others' ends, where the short ones are.  Tests on Kafka are
for every other process alone: a broker takes 5 s of CPU to start, and then as much in each minute that it idles.
"""

import contextlib
import importlib
import os

import pytest
from hypothesis import is_hypothesis_test, settings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
"""Test processes share the cores: threads of NumPy's beside them would wait for one another in busy loops."""

settings.register_profile("same", derandomize=True, max_examples=40, deadline=None)  # other work takes its time too
settings.register_profile("fresh", deadline=None)
settings.load_profile("same")

SECONDS = {
    "faults/test_every_phase.py": 40, "faults/test_audit_ledger.py": 33,
    "faults/test_kills.py": 30, "faults/test_observe.py": 28, "faults/test_bad_records.py": 25,
    "faults/test_central_on_kafka.py": 24, "faults/test_security.py": 22, "faults/test_access.py": 22,
    "faults/test_clients_pages.py": 6, "faults/test_operating.py": 20,
    "faults/test_rights.py": 20, "faults/test_shares_on_kafka.py": 14, "faults/test_wide_values_on_kafka.py": 14,
    "agents/replay/test_recorded.py": 16,
    "browser/test_page.py": 20, "audit/test_window.py": 20, "agents/test_replay_command.py": 18,
    "agents/test_plan_command.py": 18, "faults/test_leaks_on_kafka.py": 16, "faults/test_verbs.py": 14,
    "agents/embedded/test_exactness.py": 14, "faults/test_foreign_consumer.py": 15, "faults/test_broker.py": 12,
    "agents/observe/test_metrics.py": 11, "agents/simulate/test_simulated_answers.py": 11,
    "faults/test_vertical.py": 10, "faults/test_topics_verbs.py": 10, "agents/test_demo_command.py": 10,
    "agents/test_reproduce_ldp_ids.py": 10, "audit/test_pipeline.py": 9, "randomizers/test_ledger_machine.py": 9,
    "faults/test_sources.py": 8, "aggregators/methods/test_invariants.py": 8, "faults/test_isolation.py": 7,
    "faults/test_toy_measure_on_kafka.py": 6, "faults/test_agreement.py": 9, "faults/test_shuffled_records.py": 6,
    "faults/test_assignment.py": 5, "faults/test_provision.py": 5, "faults/test_clocks.py": 18,
}  # fmt: skip
"""What the long files take, about, the longest first."""
KAFKA = "faults/"
"""Where the tests are that need a broker."""
BROKEN: list[str] = []
"""What ended pytest itself, or one of its processes."""


def pytest_collection(session: pytest.Session) -> None:
    """Import an own share of all files before the others: pytest rewrites their asserts, for which 10 s of CPU go.

    In a fresh clone each of several processes would do that for all of them, at the same time as the others; so each
    finds most of them as another one has kept them.  What cannot be imported is reported when pytest collects it.
    """
    config = session.config
    if "PYTEST_XDIST_WORKER" not in os.environ or config.args != config.getini("testpaths"):
        return
    number = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw"))
    files = sorted((config.rootpath / "tests").rglob("test_*.py"), key=lambda path: (-path.stat().st_size, path))
    for path in files[number :: int(os.environ["PYTEST_XDIST_WORKER_COUNT"])]:
        with contextlib.suppress(BaseException):
            importlib.import_module(".".join(path.relative_to(config.rootpath).with_suffix("").parts))


def pytest_itemcollected(item: pytest.Item) -> None:
    """With fresh examples every test that draws some belongs to the audit."""
    if settings.get_current_profile_name() == "fresh" and is_hypothesis_test(getattr(item, "obj", None)):
        item.add_marker(pytest.mark.audit)


@pytest.hookimpl(trylast=True)  # when it is known which tests run
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the tests so that of as many equal stretches as there are processes each begins with long files."""
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if processes == 1:
        return
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.nodeid.split("::")[0].removeprefix("tests/"), []).append(item)
    parts: list[list[pytest.Item]] = [[] for _ in range(processes)]
    taken = [0] * processes
    kafka = [name for name in files if name.startswith(KAFKA)]
    long = {*kafka, *SECONDS} & files.keys()  # by name at last, since sets have another order in each process
    for name in sorted(long, key=lambda name: (name not in kafka, -SECONDS.get(name, 1), name)):
        least = min(range(0, processes, 2 if name in kafka else 1), key=taken.__getitem__)
        parts[least] += files.pop(name)
        taken[least] += SECONDS.get(name, 1)
    short = [item for found in files.values() for item in found]
    for i, part in enumerate(parts):
        room = len(items) * (i + 1) // processes - len(items) * i // processes - len(part)
        part += short[:room]
        del short[:room]
    items[:] = [item for part in parts for item in part] + short


def pytest_internalerror(excrepr: object) -> None:
    BROKEN.append(str(excrepr))


def pytest_unconfigure() -> None:
    """Say it again at the end: the first of several such errors is the reason of the others."""
    if BROKEN:
        told = [line for line in BROKEN[0].splitlines() if line.startswith("E ")] or BROKEN[0].splitlines()
        print("\nThe first error of pytest itself ends with:", *told[-12:], sep="\n")
