# SPDX-License-Identifier: Apache-2.0
"""The wheel holds what running needs and says what an index shows; installed alone, it works from an empty folder."""

import re
import runpy
import subprocess
import sys
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TOOL = runpy.run_path(str(ROOT / "tools" / "wheel.py"))
MOST_MB = 210


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "tools/wheel.py", str(target)], cwd=ROOT, check=True, timeout=250)
    (found,) = target.glob("murmurate-*.whl")
    return found


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def test_it_holds_every_module_and_all_data_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    table = SETTINGS["tool"]["setuptools"]
    wanted = {
        f"{package.replace('.', '/')}/{path.relative_to(ROOT / folder).as_posix()}"
        for package, folder in table["package-dir"].items()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert held == wanted
    assert not [name for name in held if re.search(r"(^|/)(tests?|tools|benchmarks|docs)/", name)]


def test_it_says_what_an_index_shows(wheel: Path) -> None:
    said = metadata(wheel)
    assert said["Name"] == "murmurate"
    assert said["License-Expression"] == "Apache-2.0"
    assert said["Requires-Python"] == ">=3.11"
    assert said["Author"]
    assert {"parquet", "notebook"} <= set(said.get_all("Provides-Extra", []))
    assert said["Description-Content-Type"] == "text/markdown"
    assert not [line for line in said.get_all("Requires-Dist", []) if re.search(r"pytest|mypy|arrow", line)
                and "extra ==" not in line]  # fmt: skip


def test_the_readme_of_an_index_has_absolute_addresses_wherever_the_project_has_one(wheel: Path) -> None:
    source = SETTINGS["project"]["urls"].get("Source")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = str(metadata(wheel).get_payload())
    assert shown.strip() == (readme if source is None else TOOL["absolute"](readme, source)).strip()
    made = TOOL["absolute"](readme, "https://code.example/murmurate")
    addresses = re.findall(r"\]\(([^)\s]+)\)", made)
    assert len(addresses) > 3
    assert all(re.match(r"https?:|#", address) for address in addresses)
    assert TOOL["absolute"](made, "https://other.example") == made


def test_no_file_that_is_installed_by_names_an_index_or_a_place_of_this_machine() -> None:
    for name in ("pyproject.toml", "constraints.txt", "Makefile", "docker/Dockerfile", "tools/wheel.py"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert not re.search(r"index-url|find-links|/(home|root|work)/|/simple\b", text), name


def environment(folder: Path) -> Path:
    """An empty environment without pip; its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=100)
    return folder / "bin" / "python"


def install(python: Path, *what: str) -> None:
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-compile"]
    subprocess.run([*pip, *what], check=True, timeout=280)


def run(python: Path, folder: Path, *words: str, code: int = 0) -> str:
    """What a command prints that is called by its own name, from a folder that has nothing to do with the clone."""
    done = subprocess.run(
        [str(python.parent / "murmurate"), *words], cwd=folder, capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def test_installed_beside_what_it_needs_it_runs_from_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "venv")
    install(python, "--no-deps", str(wheel))
    (site,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    borrowed = next(Path(path) for path in sys.path if path.endswith("site-packages"))
    (site / "borrowed.pth").write_text(f"{borrowed}\n", encoding="utf-8")  # its own .pth files are not read there
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "Verbs:" in run(python, empty, "--help")
    assert "next: " in run(python, empty, "init", "shop")
    assert (empty / "shop" / "murmurate.toml").is_file()
    where = "import murmurate.agents as a; print(a.__file__)"
    done = subprocess.run([str(python), "-c", where], cwd=empty, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith(str(site))


@pytest.mark.audit
def test_with_the_constraints_it_installs_into_nothing_and_the_sample_is_replayed(wheel: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "venv")
    install(python, "--constraint", str(ROOT / "constraints.txt"), str(wheel))
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run(python, empty, "--version").startswith("murmurate, version ")
    assert "Verbs:" in run(python, empty, "--help")
    run(python, empty, "init", "shop")
    shop = empty / "shop"
    assert "epsilon" in run(python, shop, "check")
    (sample,) = shop.glob("events.sample.*")
    run(python, shop, "replay", sample.name, "--out", "run")
    assert {"releases.jsonl", "report.html", "summary.json"} <= {path.name for path in (shop / "run").iterdir()}
    files = [path for path in (tmp_path / "venv").rglob("*") if path.is_file() and not path.is_symlink()]
    assert sum(path.stat().st_size for path in files) <= MOST_MB * 1_000_000
    subprocess.run([str(python), "-m", "murmurate", "--version"], cwd=empty, check=True, timeout=60)
