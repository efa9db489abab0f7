# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings that commands changed during a run."""

from collections.abc import Sequence

from ..air import SLOTS_PER_SECOND
from ..shapes import AirStatus, Change, MacStatus

ABOUT_A_CHANNEL = ("channel.", "paths.")
ABOUT_THE_LINK = (*ABOUT_A_CHANNEL, "link.", "phy.", "uplink.", "scheduling.")


def changes_of(**statuses: MacStatus | AirStatus) -> list[Change]:
    """Settings that were changed during the run: the changes that each process reports, by slot."""
    found: list[Change] = [
        {
            "slot": c.slot,
            "time_s": round(c.slot / SLOTS_PER_SECOND, 3),
            "process": process,
            "key": c.key,
            "from": getattr(c, "from"),
            "to": c.to,
        }
        for process, status in statuses.items()
        for c in status.changes
    ]
    return sorted(found, key=lambda c: (c["slot"], c["process"], c["key"]))


def are_about_a_channel(changes: Sequence[Change]) -> bool:
    return any(c["key"].startswith(ABOUT_A_CHANNEL) for c in changes)
