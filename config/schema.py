"""JSON Schema of the deployment file, from the class that reads it: for editors and other people's checks.

It says what types and ranges can say. What keys owe each other, such as shares that add up, only `murmurate check`
knows.
"""

from typing import Any

from murmurate.config.settings import Deployment
from murmurate.topics.schemas import DIALECT


def schema() -> dict[str, Any]:
    """The schema of a murmurate.toml, read as JSON."""
    Deployment.model_rebuild(force=True)  # with the kinds of measures that are registered by now
    return {"$schema": DIALECT, **_plain(Deployment.model_json_schema())}


def _plain(found: Any, named: bool = True) -> Any:
    """Without pydantic's invented titles and without null, which TOML does not have: such a key is left out."""
    if isinstance(found, list):
        return [_plain(item) for item in found]
    if not isinstance(found, dict):
        return found
    parts = found.get("anyOf", [])
    if named and {"type": "null"} in parts:
        rest = [part for part in parts if part != {"type": "null"}]
        one = rest[0] if len(rest) == 1 else {"anyOf": rest}
        found = {key: item for key, item in found.items() if key not in ("anyOf", "default")} | one
    plain = {
        key: _plain(item, key not in ("properties", "$defs"))
        for key, item in found.items()
        if not (named and (key == "title" or (key == "default" and isinstance(item, dict))))
    }
    return plain | {"additionalProperties": False} if "patternProperties" in plain else plain
