# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip emulate: its settings."""

from typing import Any

from . import scenario
from .scenario import Scenario
from .table import settings_of

NAME = "emulate"
SETTINGS = settings_of(NAME)


def of_another_link(key: str, kind: str) -> bool:
    """True for settings that a cell with this kind of link does not look at."""
    return key.partition(".")[0] in {"umts", "wlan", "hetnet", "trace"} - {kind}


def scenario_of(values: dict[str, Any]) -> Scenario:
    """A checked scenario of {key: value}."""
    return scenario.scenario_of(values, SETTINGS)
