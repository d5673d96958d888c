# SPDX-License-Identifier: Apache-2.0
"""Build the wheel into dist/, from a copy of what it is made of, with a README that an index can show.

Contract: an index shows the README far from the repository, so its links and pictures get absolute addresses: those of
`Source` in [project.urls] of pyproject.toml, the one place that says where the project lives.  While none is there, the
README stays as it is, and a line says so.  The copy has no deleted modules, which setuptools keeps in build/lib.  Not
here: uploading.  Run: .venv/bin/python tools/wheel.py [DIR]
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
TEXTS = ("pyproject.toml", "README.md", "LICENSE")
RELATIVE = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<path>(?![a-z]+:|#|/)[^)\s]+)\)")
UNKNOWN = (
    "[project.urls] has no Source: links and pictures of the README stay relative, and an index will not show them. "
    'Write Source = "https://..." there before an upload'
)


def absolute(readme: str, source: str, branch: str = "main") -> str:
    """The README with absolute addresses: pictures as files, the rest as pages of the repository.

    >>> absolute("![a page](docs/images/page.png)", "https://code.example/m/")
    '![a page](https://code.example/m/raw/main/docs/images/page.png)'
    >>> absolute("[more](docs/WIRE.md#topics), [else](https://b.example)", "https://code.example/m")
    '[more](https://code.example/m/blob/main/docs/WIRE.md#topics), [else](https://b.example)'
    """

    def addressed(found: re.Match[str]) -> str:
        kind = "raw" if found["picture"] else "blob"
        return f"{found['picture']}[{found['text']}]({source.rstrip('/')}/{kind}/{branch}/{found['path']})"

    return RELATIVE.sub(addressed, readme)


def main(target: Path) -> None:
    """Copy, write the README, build."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    with TemporaryDirectory() as made:
        copy = Path(made)
        for folder in settings["tool"]["setuptools"]["package-dir"].values():
            shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
        for name in TEXTS:
            shutil.copy(ROOT / name, copy / name)
        source = settings["project"].get("urls", {}).get("Source")
        if source is None:
            print(UNKNOWN, file=sys.stderr)
        else:
            readme = (ROOT / "README.md").read_text(encoding="utf-8")
            (copy / "README.md").write_text(absolute(readme, source), encoding="utf-8")
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
        env = {
            name: value for name, value in os.environ.items() if name != "PIP_BUILD_CONSTRAINT"
        }  # nothing is fetched
        subprocess.run([*command, "--wheel-dir", str(target), str(copy)], check=True, env=env)  # noqa: S603 - our words


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist")
