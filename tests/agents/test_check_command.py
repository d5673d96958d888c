# SPDX-License-Identifier: Apache-2.0
"""`murmurate check`: the promise in words, a line a mistake, exit 0 or 2."""

import json
import subprocess
import sys
from pathlib import Path

from murmurate.aggregators.methods.registry import names
from tests.agents.commands import deploy, murmurate

SHOP = Path(__file__).resolve().parent.parent / "data" / "shop.toml"
CANARY = "hunter2-c4n4ry"


def test_a_good_file_is_said_in_words_within_80_columns() -> None:
    done = murmurate("check", "-c", SHOP)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "shop: 1 stream. What this file promises:"
    assert lines[-1] == "  ok"
    assert all(len(line) <= 80 for line in lines)


def test_json_says_the_same() -> None:
    done = murmurate("check", "-c", SHOP, "--json", "--users", "1000")
    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert found["ok"] is True
    assert found["streams"][0]["w"] == 61
    assert found["streams"][0]["mechanism"] == "grr"
    assert found["zones"]["mixing"] == ["shop.reports", "shop.closings"]
    assert len(found["warnings"]) == 1


def test_each_mistake_is_a_line_and_the_exit_is_2(tmp_path: Path) -> None:
    text = SHOP.read_text(encoding="utf-8")
    text = text.replace('"1h"', '"1 hour"').replace('"lpa"', '"lpx"')
    text = text.replace('{ file = "/run/secrets/kafka_password" }', f'"{CANARY}"')
    (tmp_path / "murmurate.toml").write_text(text, encoding="utf-8")
    done = murmurate("check", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "murmurate.toml, line 9: privacy.window: found '1 hour'; "
        'allowed: a whole number and one of ms, s, m, h, d, such as "90s"',
        'murmurate.toml, line 30: kafka.password: found (hidden); allowed: { file = "PATH" } or { env = "VARIABLE" }',
        "murmurate.toml, line 51: streams.screen.method.name: found 'lpx'; "
        f"allowed: {', '.join(names())}",
    ]  # fmt: skip
    found = json.loads(murmurate("check", "--json", cwd=tmp_path).stdout)
    assert found["ok"] is False
    assert [mistake["key"] for mistake in found["mistakes"]] == [
        "privacy.window", "kafka.password", "streams.screen.method.name",
    ]  # fmt: skip


def test_the_environment_overrides_the_file() -> None:
    done = murmurate("check", "-c", SHOP, MURMURATE__PRIVACY__EPSILON="0.5", MURMURATE__STREAMS__SCREEN__EVERY="5m")
    assert "epsilon 0.5" in done.stdout
    assert "every 5m, windows of w = 13" in done.stdout
    wrong = murmurate("check", "-c", SHOP, MURMURATE__PRIVACY__EPSILON="lots", MURMURATE__KAFKA__PASSWORD=CANARY)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("environment: MURMURATE__PRIVACY__EPSILON: found 'lots'; allowed: ")
    assert CANARY not in wrong.stderr + wrong.stdout


def test_no_file_is_one_line_and_exit_2(tmp_path: Path) -> None:
    done = murmurate("check", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "murmurate.toml: found no such file; allowed: a file that `murmurate init` writes\n"


def test_against_another_file_each_change_is_said(tmp_path: Path) -> None:
    deploy(tmp_path)
    same = murmurate("check", "--against", "murmurate.toml", cwd=tmp_path)
    assert (same.returncode, same.stdout) == (0, "nothing changes\nEvery key of the two files was compared.\n")
    text = (tmp_path / "murmurate.toml").read_text(encoding="utf-8")
    old = text.replace('name = "', 'name = "old-')
    (tmp_path / "old.toml").write_text(old, encoding="utf-8")
    done = murmurate("check", "--against", "old.toml", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("refused       name: old-")
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    found = json.loads(murmurate("check", "--against", "old.toml", "--json", cwd=tmp_path).stdout)
    assert (found["ok"], found["changes"][0]["key"], found["changes"][0]["effect"]) == (False, "name", "refused")


def test_a_free_change_is_exit_0_and_a_new_revision_is_not_yet(tmp_path: Path) -> None:
    deploy(tmp_path)
    text = (tmp_path / "murmurate.toml").read_text(encoding="utf-8")
    (tmp_path / "free.toml").write_text(text + '\n[web]\nlisten = "127.0.0.1:8005"\n', encoding="utf-8")
    done = murmurate("check", "-c", "free.toml", "--against", "murmurate.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("free          web.listen: 127.0.0.1:8000 -> 127.0.0.1:8005\n")
    stream = json.loads(murmurate("check", "--json", cwd=tmp_path).stdout)["streams"][0]["name"]
    again = {f"MURMURATE__STREAMS__{stream.upper()}__SEVERAL": "first"}
    both = murmurate("check", "--against", "murmurate.toml", cwd=tmp_path, **again)
    assert both.stdout.startswith("nothing changes")  # the environment holds for both files
    (tmp_path / "new.toml").write_text(text.replace('several = "last"', 'several = "first"'), encoding="utf-8")
    if "several" in text:
        done = murmurate("check", "-c", "new.toml", "--against", "murmurate.toml", cwd=tmp_path)
        assert done.returncode == 1
        assert done.stdout.startswith("new revision  ")
        assert "No worker can go over to a new revision yet" in done.stdout


def test_against_what_is_neither_a_file_nor_brokers_is_exit_2(tmp_path: Path) -> None:
    deploy(tmp_path)
    done = murmurate("check", "--against", "nowhere.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "--against: found 'nowhere.toml'; allowed: HOST:PORT, \"config\", or a file that exists\n"


def test_a_check_of_a_file_loads_no_kafka() -> None:
    script = "import sys; import murmurate.agents.cli.check; print('aiokafka' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
