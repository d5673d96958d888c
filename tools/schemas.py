# SPDX-License-Identifier: Apache-2.0
"""Write topics/schema/NAME.schema.json from the classes: python tools/schemas.py (a test compares)."""

import json
from pathlib import Path

from murmurate.topics.schemas import NAMES, schema

TARGET = Path(__file__).resolve().parent.parent / "topics" / "schema"


def text(name: str) -> str:
    """A schema as it stands in the repository."""
    return json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write all of them, and nothing else into that folder."""
    TARGET.mkdir(exist_ok=True)
    for old in TARGET.glob("*.schema.json"):
        old.unlink()
    for name in NAMES:
        (TARGET / f"{name}.schema.json").write_text(text(name), encoding="utf-8")


if __name__ == "__main__":
    main()
