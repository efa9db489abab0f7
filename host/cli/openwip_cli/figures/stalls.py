# SPDX-License-Identifier: GPL-3.0-or-later
"""Sentences about a core that stalled, and about real-time processes that the kernel kept from it.
The kernel lets real-time processes have a share of each second of a core (sched_rt_runtime_us, 0.95
unless changed); a slot path that needs more stalls for the rest of it."""

from ..shapes import HeldBack, Stalls

NEAR = 0.95  # share of the allowance, over a whole test, from which on any stall uses up the rest


def words(found: Stalls | None) -> str:
    """A clause to be added to a reason, which says whether the machine stalled; it excuses nothing.
    `found`: the report of machine.slot_path.StallMonitor; None: it was not measured."""
    if found is None:
        return ""
    least = f"{found['least_ms']:g} ms or more"
    if not found["count"]:
        return f"; the machine did not stall for {least}"
    worst = f" (core {found['core']}, the worst)" if "core" in found else ""
    held = found.get("held_back", HeldBack(count=0))
    return (
        f"; the machine stalled for {least} {found['count']} times, {found['longest_ms']:.1f}"
        f" ms at longest, {found['together_ms']:.0f} ms together{worst}"
        + (
            f" (the kernel held {whom(held)} back {held['count']} "
            f"{'times' if worst else 'of these times'})"
            if held["count"]
            else ""
        )
    )


def whom(held: HeldBack) -> str:
    """The name of the stalled core: with several cores the fader may have one."""
    return f"core {held['core']}" if "core" in held else "the slot path"
