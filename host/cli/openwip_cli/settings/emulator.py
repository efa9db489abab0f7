# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip emulate: its settings."""
from typing import Any

from ..errors import BadInput
from .scenario import Scenario, check
from .table import settings_of

NAME = "emulate"
SETTINGS = settings_of(NAME)


def scenario_of(values: dict[str, Any]) -> Scenario:
    """A checked scenario of {key: value}."""
    by_key = {s.key: s for s in SETTINGS}
    unknown = [k for k in values if k not in by_key]
    if unknown:
        raise BadInput(f"unknown setting {unknown[0]}; known: {', '.join(by_key)}")
    return Scenario({k: check(k, by_key[k], v) for k, v in values.items()}, SETTINGS)
