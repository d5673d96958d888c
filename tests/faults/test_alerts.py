# SPDX-License-Identifier: Apache-2.0
"""The alert rules in a real Prometheus: each fires on what it is for, and one that scrapes a real worker fires when the
brokers of that are gone.
"""

from __future__ import annotations

import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import orjson
import pytest
import yaml

from murmurate.config import dashboards
from tests.faults.broker import Broker
from tests.faults.deployed import Deployed
from tests.faults.ports import Ports
from tests.faults.recordings import deployment
from tests.test_docker import PROMETHEUS, installed

pytestmark = pytest.mark.faults
DEPLOYMENT = deployment(periods=4, partitions=2)
WORKER: Final = '{job="murmurate", instance="one"}'
STAGES: Final = ("shuffle", "aggregate", "publish")
OWNED: Final = {f'murmurate_partitions_unowned{{job="murmurate", stage="{stage}"}}': "0x200" for stage in STAGES}
QUIET: Final = {f"up{WORKER}": "1x200", **OWNED}
FIRES: Final[dict[str, dict[str, str]]] = {
    "MurmurateWorkerDown": {f"up{WORKER}": "0x200"},
    "MurmurateStageAbsent": {'murmurate_partitions_unowned{job="murmurate", stage="shuffle"}': "_x200"},
    "MurmuratePartitionUnowned": {'murmurate_partitions_unowned{job="murmurate", stage="shuffle"}': "2x200"},
    "MurmurateBrokersAway": {f"murmurate_brokers_silent_seconds{WORKER}": "0+15x200"},
    "MurmurateRoundGivenUp": {'murmurate_rounds_given_up_total{stream="screen"}': "0+1x200"},
    "MurmurateDeadLetters": {'murmurate_dead_letters_total{stage="door", reason="json"}': "0+1x200"},
    "MurmurateLagGrows": {'murmurate_lag_records{topic="raw", partition="0"}': "0+9x200"},
    "MurmurateTransactionHangs": {
        f"murmurate_source_transaction_seconds{WORKER}": "0+60x200",
        f"murmurate_source_transaction_limit_seconds{WORKER}": "900x200",
    },
    "MurmurateRetentionRunsOut": {'murmurate_retention_used_ratio{topic="raw", partition="0"}': ".9x200"},
    "MurmurateClockWrong": {
        f"murmurate_clock_skew_seconds{WORKER}": "-2x200",
        f"murmurate_clock_skew_limit_seconds{WORKER}": "1x200",
    },
    "MurmurateEventsLate": {'murmurate_late_share{stream="screen", stage="door"}': ".5x200"},
    "MurmurateTickWaits": {'murmurate_tick_waits_seconds{topic="clicks", partition="0"}': "0+15x200"},
    "MurmurateDoorAhead": {
        'murmurate_door_ahead_seconds{job="murmurate", instance="one", topic="clicks", partition="0"}': "7200x200",
        f"murmurate_clock_skew_limit_seconds{WORKER}": "1x200",
    },
    "MurmurateAuditViolation": {'murmurate_audit_violations{kind="lost"}': "1x200"},
    "MurmurateUnaudited": {"murmurate_audit_unaudited_seconds": "0+15x200"},
    "MurmurateReleaseLate": {'murmurate_release_age_seconds{stream="screen"}': "0+15x200"},
    "MurmuratePromiseBroken": {'murmurate_epsilon_spent_max{stream="screen"}': "2x200"},
}
"""For each rule the series on which it fires, a sample every 15 seconds."""


def tool(name: str) -> str:
    if installed() is None:
        pytest.fail(PROMETHEUS, pytrace=False)
    return name


def rules(deployed: Deployed, folder: Path) -> list[dict[str, Any]]:
    text = dashboards.alerts(deployed.plan)
    (folder / "alerts.yaml").write_text(text)
    return [rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]


def judged(folder: Path, series: dict[str, str], alert: str, *, fires: bool) -> subprocess.CompletedProcess[str]:
    """Whether the alert fires at the end of fifty minutes of these series, as Prometheus's own test tool sees it."""
    query = {"expr": f'count(ALERTS{{alertname="{alert}", alertstate="firing"}}) > 0', "eval_time": "45m"}
    wanted = [{"labels": "{}", "value": 1}] if fires else []
    case = {
        "interval": "15s", "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [{**query, "exp_samples": wanted}],
    }  # fmt: skip
    (folder / "cases.yaml").write_text(yaml.safe_dump({"rule_files": ["alerts.yaml"], "tests": [case]}))
    return subprocess.run(
        [tool("promtool"), "test", "rules", str(folder / "cases.yaml")], capture_output=True, text=True, check=False
    )


def test_every_rule_fires_on_what_it_is_for_and_none_where_all_is_well(deployed: Deployed, tmp_path: Path) -> None:
    found = {rule["alert"] for rule in rules(deployed, tmp_path)}
    assert found == FIRES.keys()
    for alert, series in FIRES.items():
        for what, fires in ((QUIET | series, True), (QUIET, False)):
            ended = judged(tmp_path, what, alert, fires=fires)
            assert ended.returncode == 0, f"{alert}, fires {fires}: {ended.stdout}{ended.stderr}"


@contextmanager
def prometheus(folder: Path, target: str) -> Iterator[str]:
    """One that scrapes this worker once a second; its address."""
    ports = Ports()
    listen = f"127.0.0.1:{ports.claim()}"
    (folder / "alerts.yaml").write_text((folder / "alerts.yaml").read_text().replace("interval: 15s", "interval: 1s"))
    scrape = {"job_name": "murmurate", "static_configs": [{"targets": [target]}]}
    often = {"scrape_interval": "1s", "evaluation_interval": "1s", "scrape_timeout": "1s"}
    config = {"global": often, "rule_files": ["alerts.yaml"], "scrape_configs": [scrape]}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    command = [tool("prometheus"), f"--config.file={folder / 'prometheus.yml'}", f"--web.listen-address={listen}"]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen([*command, f"--storage.tsdb.path={folder / 'tsdb'}"], stderr=log)
    try:
        yield f"http://{listen}"
    finally:
        process.terminate()
        process.wait(30)
        ports.release()


def firing(address: str) -> set[str]:
    try:
        with urllib.request.urlopen(f"{address}/api/v1/alerts", timeout=5) as answer:  # noqa: S310 - on this machine
            alerts = orjson.loads(answer.read())["data"]["alerts"]
    except OSError:
        return set()
    return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}


def readiness(address: str) -> int:
    try:
        with urllib.request.urlopen(f"{address}/readyz", timeout=5) as answer:  # noqa: S310 - on this machine
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def until(wanted: str, address: str, seconds: float) -> float:
    began = time.monotonic()
    while wanted not in firing(address):
        assert time.monotonic() - began < seconds, f"{wanted} did not fire: {firing(address)}"
        time.sleep(0.2)
    return time.monotonic() - began


def test_brokers_that_are_away_fire_an_alert_and_the_worker_is_not_ready(
    deployed: Deployed, broker: Broker, tmp_path: Path
) -> None:
    rules(deployed, tmp_path)
    worker = deployed.worker()
    worker.until('"ready"', 60)
    serving = next(line for line in worker.lines() if line["message"] == "serving")["at"][0]
    with prometheus(tmp_path, serving.removeprefix("http://")) as address:
        assert readiness(serving) == 200
        broker.freeze()
        try:
            until("MurmurateBrokersAway", address, 40)
            assert readiness(serving) == 503
        finally:
            broker.thaw()
