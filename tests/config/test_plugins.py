# SPDX-License-Identifier: Apache-2.0
"""A package of its own adds one thing of each kind: it is built, installed, found, audited, named, and run; what is
broken is refused with one line, and takes nothing else with it.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

PACKAGE = Path(__file__).parent.parent / "plugin_package"
FILE = """
name = "extras"
[privacy]
epsilon = 2.0
window = "4m"
min_batch = 20
[streams.drink]
measure = "lead"
values = ["tea", "coffee"]
mechanism = "keep_or_draw"
every = "1m"
method = "every_other"
"""
BROKEN = {
    "raises": ("mechanisms", "raise RuntimeError('no such library')\n"),
    "leaves": ("mechanisms", "import sys\nsys.exit(3)\n"),
    "grr": ("mechanisms", "class Found: name = 'grr'\n"),
    "lpu": ("methods", "class Found: name = 'lpu'\n"),
    "frequency": ("measures", "class Found: name = 'frequency'\n"),
    "no_class": ("views", "Found = 3\n"),
    "misnamed": ("mechanisms",
        "from murmurate.randomizers import GRR\n"
        "class Found(GRR):\n    name = 'other'\n"),
    "leaky": ("mechanisms",
        "from fractions import Fraction\n"
        "from murmurate.randomizers import GRR\n"
        "class Found(GRR):\n"
        "    name = 'leaky'\n"
        "    def law(self, value):\n"
        "        found = dict(super().law(value))\n"
        "        other = bytes([(value + 1) % self.d])\n"
        "        found[bytes([value])] += found.pop(other)\n"
        "        return found\n"),
    "two_faced": ("mechanisms",
        "from murmurate.randomizers import GRR\n"
        "class Found(GRR):\n"
        "    name = 'two_faced'\n"
        "    def perturb_one(self, value, draw):\n"
        "        return super().perturb_one(self.d - 1 - value, draw)\n"),
    "biased": ("mechanisms",
        "from murmurate.randomizers import GRR\n"
        "class Found(GRR):\n"
        "    name = 'biased'\n"
        "    def estimate(self, support, n):\n"
        "        return super().estimate(support, n) + 0.01\n"),
    "greedy": ("methods",
        "from murmurate.aggregators.methods.method import Request\n"
        "from murmurate.aggregators.methods.uniform import LPU\n"
        "class Found(LPU):\n"
        "    name = 'greedy'\n"
        "    simplicity = 30\n"
        "    def _request(self, t):\n"
        "        return Request(self._mechanism, None, 'publication')\n"),
    "far": ("measures",
        "from dataclasses import dataclass\n"
        "from typing import Literal\n"
        "from murmurate.aggregators.measures.frequency import Frequency\n"
        "from murmurate.config.measures.frequency import FrequencyStream\n"
        "from murmurate.topics.domains import Categories\n"
        "@dataclass(frozen=True)\n"
        "class Far(Frequency):\n"
        "    name = 'far'\n"
        "    def truth(self, counts):\n"
        "        return 1 - super().truth(counts)\n"
        "class Found(FrequencyStream):\n"
        "    measured = Far\n"
        "    measure: Literal['far']\n"
        "    @classmethod\n"
        "    def examples(cls):\n"
        "        yield {'measure': 'far', 'values': ['a', 'b', 'c']}\n"
        "    def statistic(self):\n"
        "        return Far(Categories(self.values), self.says_none)\n"),
}  # fmt: skip


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the package is installed in."""
    folder = tmp_path_factory.mktemp("site")
    copied = tmp_path_factory.mktemp("source") / "package"
    for file in [*sorted(PACKAGE.rglob("*.py")), PACKAGE / "pyproject.toml"]:
        target = copied / file.relative_to(PACKAGE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    install = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(folder), str(copied)]
    env = {name: value for name, value in os.environ.items() if name != "PIP_BUILD_CONSTRAINT"}  # nothing is fetched
    subprocess.run([sys.executable, "-m", "pip", *install], check=True, env=env)
    return folder


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one package for each thing that is wrong, as an installer leaves them."""
    folder = tmp_path_factory.mktemp("broken")
    for name, (group, code) in BROKEN.items():
        (folder / f"of_{name}.py").write_text(code)
        about = folder / f"extras_{name}-0.1.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: extras-{name}\nVersion: 0.1\n")
        (about / "entry_points.txt").write_text(f"[murmurate.{group}]\n{name} = of_{name}:Found\n")
    return folder


def run(*words: str, path: Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "murmurate", *words]
    return subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(path)}, cwd=cwd, capture_output=True, text=True, check=False
    )


def test_a_package_is_found_and_each_thing_that_it_adds_is_audited(good: Path) -> None:
    done = run("audit", "plugins", path=good)
    assert done.returncode == 0, done.stdout + done.stderr
    for what in ("mechanism keep_or_draw", "view in_pairs", "method every_other", "measure lead"):
        assert f"{what}   of murmurate-extras 1.2, not Murmurate's own" in done.stdout
    assert done.stdout.count("\n  holds\n") == 4
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_file_names_them_and_a_replay_runs_them(good: Path, tmp_path: Path) -> None:
    (tmp_path / "murmurate.toml").write_text(FILE)
    checked = run("check", path=good, cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr
    told = " ".join(checked.stdout.split())
    for what in ("measure lead", "mechanism keep_or_draw", "method every_other"):
        assert f"{what} is of the package murmurate-extras 1.2, not Murmurate's own" in told
    events = [
        orjson.dumps({"stream": "drink", "user": f"u{user}", "time": 1_795_000_000_000 + 60_000 * t, "value": value})
        for t in range(10)
        for user in range(2_000)
        for value in (["tea", "tea", "coffee"][user % 3],)
    ]
    (tmp_path / "events.jsonl").write_bytes(b"\n".join(events) + b"\n")
    done = run("replay", "events.jsonl", "--out", "run", "--json", path=good, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert orjson.loads(done.stdout)["over_budget"] == 0
    releases = [orjson.loads(line) for line in (tmp_path / "run" / "releases.jsonl").read_bytes().splitlines()]
    assert [one["decision"] for one in releases[2:6]] == ["published", "approximated"] * 2
    assert {one["mechanism"]["name"] for one in releases} == {"keep_or_draw"}
    assert abs(releases[-1]["estimate"]["lead"] - 1 / 3) < 6 * releases[-1]["stderr"]["lead"]


def test_its_mechanism_is_listed_as_foreign(good: Path) -> None:
    done = run("mechanisms", "--epsilon", "1", "--d", "4", path=good)
    assert done.returncode == 0, done.stderr
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.startswith("  ")}
    assert rows["keep_or_draw"] == rows["grr"]  # they are the same law
    assert done.stdout.endswith("keep_or_draw is of the package murmurate-extras 1.2, not Murmurate's own.\n")


def test_without_the_package_its_names_are_unknown(tmp_path: Path) -> None:
    (tmp_path / "murmurate.toml").write_text(FILE)
    done = run("check", path=tmp_path, cwd=tmp_path)
    assert done.returncode == 2
    assert "measure: found 'lead'; allowed: frequency, mean," in done.stderr


SAID = {
    "raises": "raises RuntimeError when it is imported: 'no such library'",
    "leaves": "raises SystemExit when it is imported: '3'",
    "grr": "has the name of a mechanism that Murmurate has",
    "lpu": "has the name of a method that Murmurate has",
    "frequency": "has the name of a measure that Murmurate has",
    "no_class": "is no class of a View",
    "misnamed": "calls itself 'other', and its entry point 'misnamed'; both have to be the same",
    "leaky": "LEAKY fails its audit: value 1: other reports are possible",
    "two_faced": "gives other bytes to one user (`perturb_one`) than among many (`perturb`)",
    "biased": "is biased: where all hold value 0 it expects",
    "greedy": "asks users for 2 of epsilon 1 in the window up to period 2",
    "far": "figures more than 6 standard errors from the truth",
}


def test_what_is_broken_is_refused_with_its_reason_and_nothing_else_with_it(broken: Path, good: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "murmurate", "audit", "plugins", "--json"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(broken), str(good)))},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 4, done.stderr
    faults = {one["name"]: one["fault"] for one in orjson.loads(done.stdout)["plugins"]}
    for name, said in SAID.items():
        assert said.replace("LEAKY", "Found(d=2, epsilon=0.5)") in str(faults.pop(name)), (name, faults)
    assert faults == dict.fromkeys(("keep_or_draw", "in_pairs", "every_other", "lead"))


@pytest.mark.parametrize("name", ["raises", "leaky"])
def test_a_file_that_names_what_is_refused_says_why(broken: Path, tmp_path: Path, name: str) -> None:
    text = FILE.replace('"lead"', '"frequency"').replace('"keep_or_draw"', f'"{name}"').replace("every_other", "lbu")
    (tmp_path / "murmurate.toml").write_text(text)
    done = run("check", path=broken, cwd=tmp_path)
    assert done.returncode == 2
    place = "murmurate.toml, line 10: streams.drink.mechanism"
    assert done.stderr.startswith(f"{place}: found '{name}' of extras-{name} 0.1, ")
    assert done.stderr.count("\n") == 1


def test_a_package_that_no_file_names_runs_no_code(broken: Path, tmp_path: Path) -> None:
    text = FILE.replace('"lead"', '"frequency"').replace('"keep_or_draw"', '"grr"').replace("every_other", "lpu")
    (tmp_path / "murmurate.toml").write_text(text)
    done = run("check", path=broken, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "not Murmurate's own" not in done.stdout  # grr and lpu are, whatever is installed


def test_of_two_packages_with_one_name_neither_gets_it(good: Path, tmp_path: Path) -> None:
    about = tmp_path / "rival-3.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: rival\nVersion: 3\n")
    (about / "entry_points.txt").write_text("[murmurate.measures]\nlead = rival:Found\n")
    (tmp_path / "murmurate.toml").write_text(FILE)
    done = subprocess.run(
        [sys.executable, "-m", "murmurate", "check"], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(good), str(tmp_path)))},
    )  # fmt: skip
    assert done.returncode == 2
    assert "which is refused: it has the name of a measure of rival" in done.stderr


def test_a_round_may_name_a_view_and_workers_compare_packages(good: Path, tmp_path: Path) -> None:
    (tmp_path / "murmurate.toml").write_text(FILE)
    code = (
        "from murmurate.config.agreement import values\n"
        "from murmurate.config.loader import load\n"
        "from murmurate.config.planning import plan\n"
        "from murmurate.randomizers import question\n"
        "made = plan(load('murmurate.toml'))\n"
        "grr = {'name': 'grr', 'd': 3, 'epsilon': 1.0}\n"
        "view = {'name': 'in_pairs', 'layout': ['code', 5]}\n"
        "print(question({'name': 'viewed', 'view': view, 'mechanism': grr}).outcomes)\n"
        "print(sorted((k, v) for k, v in values(made, fed=False).items() if k.endswith('_of')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(good)},
    )  # fmt: skip
    outcomes, packages = done.stdout.splitlines()
    assert outcomes == "3"
    assert packages.count("murmurate-extras") == 3
    assert "streams.drink.mechanism_of" in packages


def test_what_the_page_shows_is_what_the_package_has() -> None:
    page = (PACKAGE.parent.parent / "docs" / "PLUGINS.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:python|toml)\n(.*?)```", page, re.DOTALL)
    texts = [file.read_text(encoding="utf-8") for file in (*PACKAGE.rglob("*.py"), PACKAGE / "pyproject.toml")]
    assert len(blocks) == 2
    assert all(any(block in text for text in texts) for block in blocks)
