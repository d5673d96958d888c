# SPDX-License-Identifier: Apache-2.0
"""What `murmurate init` writes for Docker, Prometheus and Grafana names real commands, options, metrics and files.

No Docker engine is needed; Prometheus' own reader of rules is asked in `make faults`.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import orjson
import pytest
import yaml

from murmurate.agents.cli.main import command
from murmurate.agents.observe.families import EDGE_ONLY, names
from murmurate.config import dashboards
from murmurate.config.loader import load
from murmurate.config.planning import plan
from murmurate.config.samples import example
from murmurate.config.samples import names as examples
from murmurate.config.secrets import NAMES, ZONE_SECRETS
from murmurate.config.settings import Deployment
from murmurate.topics.names import ZONES

ROOT = Path(__file__).resolve().parent.parent
COMPOSE: dict[str, Any] = yaml.safe_load(dashboards.compose())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if "MURMURATE_IMAGE" in service["image"]}
PROMETHEUS = "no promtool: apt-get install prometheus"


def parsed(args: list[str]) -> str:
    """The name of the verb that takes these arguments; a click error if none does."""
    found: click.Command = command
    told = "murmurate"
    while isinstance(found, click.Group):
        context = found.make_context(told, list(args))
        name, inner, args = found.resolve_command(context, [*context._protected_args, *context.args])
        assert inner is not None
        assert name
        told, found = name, inner
    found.make_context(told, list(args))
    return told


@pytest.mark.parametrize("name", sorted(OURS))
def test_every_command_of_a_service_is_one_of_ours(name: str) -> None:
    parsed(OURS[name]["command"])


def test_every_command_that_a_comment_names_is_one_of_ours() -> None:
    told = re.findall(r"^#.*?(?:^|\s|`)murmurate ((?:[a-z]+ ?){1,2}[^\s`]*)", dashboards.compose(), re.MULTILINE)
    assert len(told) >= 2
    for line in told:
        parsed(line.split())


def test_each_worker_has_its_zone_and_the_secrets_of_no_other() -> None:
    for zone in ZONES:
        service = SERVICES[zone]
        assert service["command"][:3] == ["worker", "--zone", zone]
        assert tuple(service.get("secrets", ())) == ZONE_SECRETS[zone]
        told = {key.removeprefix("MURMURATE__SECRETS__").lower() for key in service["environment"] if "SECRETS" in key}
        assert told == set(ZONE_SECRETS[zone])
    assert set(COMPOSE["secrets"]) == set(NAMES)
    assert "secrets" not in SERVICES["topics"]


@pytest.mark.parametrize("name", sorted(OURS))
@pytest.mark.parametrize("written", examples())
def test_what_a_service_says_in_its_environment_is_a_deployment(name: str, written: str, tmp_path: Path) -> None:
    (tmp_path / "murmurate.toml").write_text(example(written), encoding="utf-8")
    found = load(tmp_path / "murmurate.toml", OURS[name]["environment"])
    assert found.kafka.brokers == ("kafka:19092",)
    assert found.web.listen == "0.0.0.0:8000"
    for secret in OURS[name].get("secrets", ()):
        assert getattr(found.secrets, secret).file == f"/run/secrets/{secret}"


def test_raw_side_counts_are_served_in_the_edges_own_network_only() -> None:
    edge = SERVICES["edge"]["environment"]["MURMURATE__WEB__EDGE"]
    address = SERVICES["edge"]["networks"]["edge"]["ipv4_address"]
    assert edge == f"{address}:8001"
    assert SERVICES["prometheus-edge"]["networks"] == ["edge"]
    assert edge in COMPOSE["configs"]["prometheus-edge"]["content"]
    assert ":8001" not in COMPOSE["configs"]["prometheus"]["content"]
    for name, service in SERVICES.items():
        assert name in ("edge", "prometheus-edge") or "networks" not in service, name


def test_whatever_is_open_is_open_to_this_machine_alone() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_services_configs_secrets_volumes_and_networks_that_are_used_are_declared() -> None:
    for name, service in SERVICES.items():
        assert set(service.get("depends_on", ())) <= SERVICES.keys(), name
        assert {use["source"] for use in service.get("configs", ())} <= COMPOSE["configs"].keys(), name
        assert set(service.get("secrets", ())) <= COMPOSE["secrets"].keys(), name
        assert set(service.get("networks", ())) <= {"default", *COMPOSE["networks"]}, name
        for mount in service.get("volumes", ()):
            source = mount.split(":")[0]
            assert source in COMPOSE["volumes"] or source in mounted(), f"{name}: {mount}"


def mounted() -> set[str]:
    """The files of the deployment's folder that `murmurate init` and `murmurate keys new secrets/` write."""
    return {"./secrets/fingerprints", "./murmurate.toml", "./dashboards/alerts.yaml", "./dashboards/murmurate.json"}


def test_every_configuration_inside_the_compose_file_reads_as_yaml() -> None:
    found = {name: yaml.safe_load(config["content"]) for name, config in COMPOSE["configs"].items()}
    targets = found["prometheus"]["scrape_configs"][0]["static_configs"][0]["targets"]
    assert {target.split(":")[0] for target in targets} == {*ZONES, "host.docker.internal"}
    assert found["grafana-datasource"]["datasources"][0]["url"] == "http://prometheus:9090"


def test_the_build_of_a_clone_is_of_services_that_there_are() -> None:
    built = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text(encoding="utf-8"))["services"]
    assert built.keys() == OURS.keys()
    for service in built.values():
        assert (ROOT / service["build"]["dockerfile"]).is_file()


def test_the_image_takes_what_the_wheel_is_made_of() -> None:
    lines = (ROOT / "docker" / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    kept = {line[1:] for line in lines if line.startswith("!")}
    assert {"agents", "aggregators", "config", "front", "randomizers", "topics", "pyproject.toml"} <= kept
    assert all((ROOT / name).exists() for name in kept)
    assert "HEALTHCHECK" in (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8")


# ---- rules and dashboard ----


def rules(written: str = "telemetry") -> list[dict[str, Any]]:
    groups = yaml.safe_load(dashboards.alerts(plan(load_example(written))))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def load_example(written: str) -> Deployment:
    return load(Path(str(files("murmurate.config"))) / "examples" / f"{written}.toml", {})


def panels() -> Iterator[dict[str, Any]]:
    for panel in orjson.loads(dashboards.dashboard())["panels"]:
        yield panel
        yield from panel.get("panels", ())


def check_rule(expression: str) -> None:
    """Every metric in an expression, and every label beside it, is one that a worker serves."""
    known = names()
    used = re.findall(r"(murmurate_[a-z_]+)(?:\{([^}]*)\})?", expression)
    assert used or expression == 'up{job=~"murmurate.*"} == 0', expression
    labels = {"instance", "job"}.union(*(known[name] for name, _ in used))
    for _, matchers in used:
        assert set(re.findall(r"([a-z_]+)\s*[=!]", matchers)) <= labels, expression
    for group in re.findall(r"by \(([^)]*)\)", expression):
        assert {label.strip() for label in group.split(",")} <= labels, expression


@pytest.mark.parametrize("written", examples())
def test_alert_rules_ask_for_metrics_that_there_are(written: str) -> None:
    found = rules(written)
    for rule in found:
        check_rule(rule["expr"])
        assert rule["annotations"]["summary"]
    made = plan(load_example(written))
    alerts = [rule["alert"] for rule in found]
    assert alerts.count("MurmurateReleaseLate") == len(made.everything)
    assert alerts.count("MurmuratePromiseBroken") == len(made.streams)  # of central streams no ledger tells


def test_a_release_is_late_after_three_periods_and_a_promise_broken_above_what_was_promised() -> None:
    expressions = [rule["expr"] for rule in rules()]
    assert 'murmurate_release_age_seconds{stream="screen"} > 190' in expressions
    assert 'murmurate_epsilon_spent_max{stream="screen"} > 2.0000005' in expressions


def test_the_dashboard_asks_for_metrics_that_there_are_each_in_one_panel_or_more() -> None:
    expressions = [target["expr"] for panel in panels() for target in panel.get("targets", ())]
    for expression in expressions:
        check_rule(expression)
    shown = set(re.findall(r"murmurate_[a-z_]+", " ".join(expressions)))
    families = {re.sub("_(total|bucket|count|sum)$", "", name) for name in names()}
    assert {re.sub("_(total|bucket|count|sum)$", "", name) for name in shown} == families


def test_what_only_the_edge_serves_stands_in_the_dashboards_last_row() -> None:
    title = ""
    for panel in panels():
        title = panel["title"] if panel["type"] == "row" else title
        text = " ".join(target["expr"] for target in panel.get("targets", ()))
        assert any(name in text for name in EDGE_ONLY) == (title.startswith("Edge") and panel["type"] != "row")


@pytest.mark.faults
@pytest.mark.parametrize("written", examples())
def test_prometheus_itself_reads_the_rules_and_its_configuration(written: str, tmp_path: Path) -> None:
    promtool = installed()
    if promtool is None:
        pytest.fail(PROMETHEUS, pytrace=False)
    (tmp_path / "alerts.yaml").write_text(dashboards.alerts(plan(load_example(written))), encoding="utf-8")
    for name in ("prometheus", "prometheus-edge"):
        (tmp_path / f"{name}.yaml").write_text(COMPOSE["configs"][name]["content"], encoding="utf-8")
    for what in (["rules", "alerts.yaml"], ["config", "prometheus.yaml"], ["config", "prometheus-edge.yaml"]):
        done = subprocess.run([promtool, "check", *what], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.faults
def test_prometheus_fires_what_should_and_nothing_else(tmp_path: Path) -> None:
    promtool = installed()
    if promtool is None:
        pytest.fail(PROMETHEUS, pytrace=False)
    (tmp_path / "alerts.yaml").write_text(dashboards.alerts(plan(load_example("telemetry"))), encoding="utf-8")
    lag, age, spent = "murmurate_lag_records", "murmurate_release_age_seconds", "murmurate_epsilon_spent_max"
    series = {
        f'{lag}{{topic="shop.reports", partition="0"}}': "0+5x100",  # a line of one a minute, 100 minutes long
        f'{lag}{{topic="shop.reports", partition="1"}}': "0+5x20 100-5x20 0+5x60",
        f'{lag}{{topic="shop.raw", partition="0"}}': "3+0x100",
        f'{age}{{stream="screen"}}': "0+60x20",
        f'{spent}{{stream="screen"}}': "2+0x50 2.000001+0x50",
    }
    growing = "{{ topic }} 0 has been growing for 10 minutes".replace("{{ topic }}", "shop.reports")
    late = {
        "exp_labels": {"severity": "warning", "stream": "screen"},
        "exp_annotations": {"summary": "screen has released nothing for 3 min"},
    }
    broken = {
        "exp_labels": {"severity": "critical", "stream": "screen"},
        "exp_annotations": {"summary": "screen has spent more than epsilon 2 of a user"},
    }
    grows = {
        "exp_labels": {"severity": "warning", "topic": "shop.reports", "partition": "0"},
        "exp_annotations": {"summary": growing},
    }
    moments = [
        ("3m", "MurmurateReleaseLate", []),
        ("4m", "MurmurateReleaseLate", [late]),
        ("45m", "MurmurateLagGrows", [grows]),  # partition 1 has shrunk meanwhile
        ("30m", "MurmuratePromiseBroken", []),
        ("60m", "MurmuratePromiseBroken", [broken]),
    ]
    tests = {
        "rule_files": ["alerts.yaml"],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in series.items()],
                "alert_rule_test": [
                    {"eval_time": at, "alertname": alert, "exp_alerts": alerts} for at, alert, alerts in moments
                ],
            }
        ],
    }
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(tests), encoding="utf-8")
    done = subprocess.run(
        [promtool, "test", "rules", "tests.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def installed() -> str | None:
    """promtool: one that is here, else Debian's package where it can be installed."""
    found, apt = shutil.which("promtool"), shutil.which("apt-get")
    if found or not apt or os.geteuid():
        return found
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run([apt, "update", "-qq"], env=quiet, check=False, capture_output=True)
    subprocess.run(
        [apt, "install", "-y", "-qq", "--no-install-recommends", "prometheus"],
        env=quiet, check=False, capture_output=True,
    )  # fmt: skip
    return shutil.which("promtool")
