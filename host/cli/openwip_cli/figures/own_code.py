# SPDX-License-Identifier: GPL-3.0-or-later
"""The cost of code of the user's own (link.scheduler, link.adaptation, phy.predictor) in a run."""

from typing import Any

from ..shapes import MacStatus
from . import link_counts


def rows(*statuses: MacStatus) -> list[dict[str, Any]]:
    """A row for each rule of both ends: setting, value, calls, the time of a call in microseconds, and how
    many calls took longer than a slot (2/3 ms)."""
    rules = (rule for s in statuses for rule in (*s.own_rules, *s.radio.own_rules))
    return [link_counts.counts_of(rule, "") for rule in rules]


def lines(found: list[dict[str, Any]] | None) -> list[str]:
    return [
        f"  own code     {r['setting']} = {r['value']}: {r['calls']} calls, median"
        f" {r['median_us']:.0f}, p99 {r['p99_us']:.0f}, max {r['max_us']:.0f} us;"
        f" {r['longer_than_slot']} of them longer than a slot"
        for r in found or ()
    ]
