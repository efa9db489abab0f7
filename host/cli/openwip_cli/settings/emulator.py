# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip emulate: its settings."""

from typing import Any

from . import scenario
from .scenario import Scenario
from .table import settings_of

NAME = "emulate"
SETTINGS = settings_of(NAME)


# Groups of settings of one kind of link.
OF_LINKS = {"umts": "umts", "cells": "umts", "wlan": "wlan", "hetnet": "hetnet", "trace": "trace"}


def of_another_link(key: str, kind: str) -> bool:
    """True for settings that a cell with this kind of link does not look at."""
    group = key.partition(".")[0]
    return group in OF_LINKS and OF_LINKS[group] != kind


def scenario_of(values: dict[str, Any]) -> Scenario:
    """A checked scenario of {key: value}."""
    return scenario.scenario_of(values, SETTINGS)
