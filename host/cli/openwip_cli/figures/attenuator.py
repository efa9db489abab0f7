# SPDX-License-Identifier: GPL-3.0-or-later
"""The programmable attenuator in the cable of a run: what a report says of it
(docs/how-to/attenuator.md)."""

from typing import Any

from ..shapes import AttenuatorStatus

WHY = {
    "silent": " (the host was silent for longer than attenuator.silence_ms)",
    "armed": " (nothing has started it: attenuator.start)",
}
ANSWERS_S = 0.5  # seconds; the status is read 50 times a second while it plays, else five times


def report_of(status: AttenuatorStatus | None) -> dict[str, Any]:
    """The state of an attenuator (control.proto); None: its process does not answer."""
    if status is None:
        return {"wrong": "its process does not answer"}
    return {"levels_db": list(status.levels_db)} | {
        n: getattr(status, n)
        for n in (
            "name",
            "state",
            "steps",
            "clipped",
            "played",
            "underflows",
            "late",
            "missed_ticks",
            "silent_s",
            "wrong",
            "set_by_hand",
        )
    }


def lines(a: dict[str, Any] | None) -> list[str]:
    if not a:
        return []
    if "state" not in a:
        return [f"  attenuator   {a['wrong']}"]
    played = (
        f"{a['state']}: {a['played']} of {a['steps']} steps, {a['clipped']} clipped to what its"
        f" chips have, {a['underflows']} not there when due, {a['missed_ticks']} ticks missed; "
        if a["steps"]
        else "nothing played; "
    )
    return [
        f"  attenuator   {played}now {', '.join(f'{v:g}' for v in a['levels_db'])} dB"
        + f", set by hand {a['set_by_hand']} times" * bool(a["set_by_hand"])
    ]
