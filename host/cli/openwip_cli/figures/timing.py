# SPDX-License-Identifier: GPL-3.0-or-later
"""How a run kept its time, from statuses of the medium and of a radio."""

from ..air import SAMPLE_RATE
from ..shapes import AirStatus, Missed, RadioState, Realtime


def missed(air: AirStatus, transmitter: RadioState) -> Missed:
    """Slots that missed their time, by reason (mac/schema/receiver.proto). Medium and transmitter
    both count late slots and underflows, and the larger count is taken; what the medium counts at
    the radios of a fader is not a station's."""

    def stations_share(name: str) -> int:
        return int(getattr(air, name) - getattr(air.fader_radios, name))

    return {
        "late": max(stations_share("late"), transmitter.late_slots),
        "underflows": max(stations_share("underflows"), transmitter.underflows),
        "late_plans": transmitter.late_plans,
        "left_out": transmitter.slots_left_out,
    }


def sum_of(missed_slots: Missed) -> int:
    return (
        missed_slots.get("late", 0)
        + missed_slots.get("underflows", 0)
        + missed_slots.get("late_plans", 0)
        + missed_slots.get("left_out", 0)
    )


def missed_words(missed_slots: Missed) -> str:
    words = {
        "late": "too late at the radio",
        "underflows": "the radio ran out of samples",
        "late_plans": "not planned in time",
        "left_out": "not made in time",
    }
    return ", ".join(f"{n} {words[reason]}" for reason, n in missed_slots.items() if n) or "none"


def realtime_of(before: AirStatus, after: AirStatus, missed_slots: Missed) -> Realtime:
    """The time that the measured interval kept, from two statuses of the medium."""
    wall = after.wall_seconds - before.wall_seconds
    air = (after.now - before.now) / SAMPLE_RATE
    return {
        "factor": air / (wall * after.speed) if wall > 0 else 0.0,
        "speed": after.speed,
        "slots": after.slots - before.slots,
        "late_slots": sum_of(missed_slots),
        "missed": missed_slots,
        "slots_behind": after.slots_behind - before.slots_behind,
        "released": after.released - before.released,
        "released_behind": after.released_behind - before.released_behind,
        "pacing_limit_us": after.pacing_limit_us,
        "pacing_us": {
            "median": after.pacing_median_us,
            "p99": after.pacing_p99_us,
            "p999": after.pacing_p999_us,
            "max": after.pacing_max_us,
        },
        "underflows": after.underflows,
        "overflows": after.overflows,
        "clock": after.clock,
        "clipped": max(0, after.clipped - before.clipped),
    }


def share_of_waiting(waited_s: float, lived_s: float, interval_s: float) -> float:
    """The share of the lives of processes of one kind in which they were ready and had no core.
    Several at once count as their mean. What lived for less than a second, or a tenth of the
    interval, is evaluated as if it had lived so long: its waiting cannot have mattered to the rest."""
    return waited_s / max(lived_s, 0.1 * interval_s, 1.0)
