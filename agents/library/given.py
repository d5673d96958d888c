# SPDX-License-Identifier: Apache-2.0
"""A deployment as one names it in Python: the path of its file or folder, its keys as a dict, or a plan.

Contract: what is wrong with it is a ConfigError with a line for each mistake, as `murmurate check` prints them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from murmurate.config.loader import FILE, build, load
from murmurate.config.plan import Plan
from murmurate.config.planning import plan as planned
from murmurate.config.settings import Deployment
from murmurate.errors import UsageError

GivenDeployment = str | os.PathLike[str] | Mapping[str, Any] | Deployment
"""The path of a murmurate.toml or of its folder, its keys as a dict, or what `murmurate.config.load` gave."""
GivenPlan = GivenDeployment | Plan
ALLOWED: Final = "the path of a murmurate.toml or of its folder, a dict of its keys, or a plan"


def deployment_of(config: GivenDeployment) -> Deployment:
    """The deployment. ConfigError if it cannot be used."""
    if isinstance(config, Deployment):
        return config
    if isinstance(config, Mapping):
        return build(config, "config")
    if not isinstance(config, str | os.PathLike):
        raise UsageError(f"config: found {type(config).__name__}; allowed: {ALLOWED}")
    path = Path(config)
    return load(path / FILE if path.is_dir() else path)


def load_plan(config: GivenPlan) -> Plan:
    """What a deployment asks of whom, worked out, for several replays of it. ConfigError if it cannot be used."""
    return config if isinstance(config, Plan) else planned(deployment_of(config))
