# SPDX-License-Identifier: Apache-2.0
"""The deployment file: one `murmurate.toml` for one promise.

Files      `load` a murmurate.toml with what the environment sets, `build` one from a dict: a Deployment; `example` is
           the text of a sample
Plans      `make_plan`: what a Deployment asks of whom, a Plan of StreamPlan and CentralPlan
Words      `promise_words`: what is promised to users and about events; `shortage`: whether a stream has too few users
Secrets    `generate_secrets`, `load_secrets`, `fingerprints`
Errors     ConfigError, with a Mistake for each line of it
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from murmurate.config.enough import shortage
    from murmurate.config.errors import ConfigError, InTheWayError, Mistake
    from murmurate.config.explain import promises as promise_words
    from murmurate.config.loader import build, load
    from murmurate.config.plan import AnyStreamPlan, CentralPlan, Plan, StreamPlan
    from murmurate.config.planning import plan as make_plan
    from murmurate.config.samples import example
    from murmurate.config.secrets import fingerprints
    from murmurate.config.secrets import generate as generate_secrets
    from murmurate.config.secrets import load as load_secrets
    from murmurate.config.settings import Deployment

__all__ = [
    "AnyStreamPlan",
    "CentralPlan",
    "ConfigError",
    "Deployment",
    "InTheWayError",
    "Mistake",
    "Plan",
    "StreamPlan",
    "build",
    "example",
    "fingerprints",
    "generate_secrets",
    "load",
    "load_secrets",
    "make_plan",
    "promise_words",
    "shortage",
]

_PLACES: Final = {
    "AnyStreamPlan": "plan",
    "CentralPlan": "plan",
    "ConfigError": "errors",
    "Deployment": "settings",
    "InTheWayError": "errors",
    "Mistake": "errors",
    "Plan": "plan",
    "StreamPlan": "plan",
    "build": "loader",
    "example": "samples",
    "fingerprints": "secrets",
    "generate_secrets": "secrets:generate",
    "load": "loader",
    "load_secrets": "secrets:load",
    "make_plan": "planning:plan",
    "promise_words": "explain:promises",
    "shortage": "enough",
}
"""The module of each name, and behind a colon what it is called there."""


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first asked for, so that nobody waits for what he does not use."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, inner = _PLACES[name].partition(":")
    found = getattr(import_module(f"{__name__}.{module}"), inner or name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
