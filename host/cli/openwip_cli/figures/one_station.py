# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks of one station alone, from statuses of its macd: its own sums, its slots, its
receiver. The output at the other end is not among them: that end is on another computer."""

from typing import Any

from ..air import SLOT_SAMPLES, SLOTS_PER_SECOND
from ..shapes import (
    AirStatus,
    Clipped,
    Fader,
    Interface,
    MacStatus,
    Missed,
    RadioState,
    Realtime,
    Stalls,
)
from . import (
    attenuator,
    checks,
    conservation,
    fading,
    key_figures,
    link_counts,
    report,
    stalls,
    timing,
)
from .facts import Core, Facts, Lock, Overflows

# The fields of a radio's status that count missed slots, by reason.
MISSED = ("late_slots", "underflows", "late_plans", "slots_left_out")
CLIPS = "the radio clips, which is noise in every bin: less --receive-gain, or --gain-control on"


def facts_of(
    role: str,
    first: MacStatus,
    until: MacStatus,
    now: MacStatus,
    tun: Interface | None,
    returns: int,
    fader: Fader | None = None,
    stalled: Stalls | None = None,
    faded: Clipped | None = None,
    **more: Any,
) -> Facts:
    """The facts about one station, from three of its statuses. Slots and lock are evaluated from
    `first` to `until`, which is the status when the other station left for good, or else `now`.
    `returns`: how often the other station came back; -1: it never came. `fader`: from fader_of().
    `stalled`: of machine.slot_path.StallMonitor. `faded`: fading.faded() of a base station that
    makes the channel."""
    if role == "base":
        of_role: dict[str, Any] = {"slots": slots_of(until.slot - first.slot, until.radio, stalled)}
    else:
        losses = until.radio.lock_losses - first.radio.lock_losses
        of_role = {
            "lock": Lock(losses, until.radio.locked),
            "overflows": Overflows(until.radio.overflows, stalled),
        }
    return Facts(
        sums=conservation.sums_of_station(role, now, tun),
        returns=returns,
        fader=fader,
        clipped=faded or fader,
        core=Core(stalled) if stalled else None,
        **of_role,
        **more,
    )


def slots_of(slots: int, radio: RadioState, stalled: Stalls | None) -> Realtime:
    """Slots of a base station, whose radio's clock does not wait."""
    missed = missed_of(link_counts.counts_of(radio, *MISSED))
    return {
        "late_slots": timing.sum_of(missed),
        "missed": missed,
        "slots": slots,
        "clock": "realtime",
        "standstills": stalled,
    }


def fader_of(
    role: str, first: MacStatus, now: MacStatus, air_before: AirStatus | None, air: AirStatus | None
) -> Fader | None:
    """The section on the fader, as a demo reports it, as far as this station knows it: only a
    terminal receives what comes out of the fader. `air`: status of the fader; None: its control
    cannot be reached."""
    if air is None:
        return None
    found = fading.fader_of(air, now.radio if role == "terminal" else None, air_before)
    if found and found["through_radios"] and first.peer_connected and not now.radio.bursts:
        found["through_radios"].update(
            {
                "not_judged": (
                    "the base station was there first, and sends its bursts when it starts"
                ),
                "wrong": [],
            }
        )
    return found


def heard(now: MacStatus) -> list[dict[str, Any]]:
    """The bursts that a terminal received, in the form that `./openwip fader compare` reads."""
    return [
        {"centre": b.centre, "noise": b.noise, "response": list(b.response)}
        for b in now.radio.bursts
    ]


def at_full_scale(first: MacStatus, now: MacStatus) -> dict[str, int]:
    """The counts of a terminal's radio, between two statuses."""
    return {
        "clipped": now.radio.clipped - first.radio.clipped,
        "samples": max(0, now.slot - first.slot) * SLOT_SAMPLES,
    }


def clips(clipped: int, samples: int) -> bool:
    """Whether enough samples are clipped to have an effect; a few are due to noise."""
    return clipped > max(checks.CLIPPED_SHARE * samples, 100)


def result(role: str, first: MacStatus, now: MacStatus) -> dict[str, Any]:
    """The report of this station (--json), from its first and its last status."""
    directions = {
        name: conservation.End(d).report()
        for name, d in (("downlink", now.downlink), ("uplink", now.uplink))
    }
    found = {
        "role": role,
        "seconds": (now.slot - first.slot) / SLOTS_PER_SECOND,
        "packets": directions,
    }
    if role == "base":
        return found | {
            "link": link_counts.link_interval(first, now),
            "radio": link_counts.counts_of(now.radio, *MISSED),
        }
    return found | {
        "radio": (
            link_counts.counts_of(
                now.radio,
                "cell",
                "locks",
                "lock_losses",
                "cfo_hz",
                "evm_",
                "mean_snr_db",
                "overflows",
                "prediction_nmse",
                "horizon",
            )
            | at_full_scale(first, now)
        )
    }


def screen(r: dict[str, Any]) -> str:
    """The lines that are printed of the report `r`."""
    v = r["verdict"]
    lines = [
        (
            f"verdict: {'VALID' if v['valid'] else 'INVALID'} (of this station alone,"
            f" {r['seconds']:.1f} s)"
        ),
        *(f"  {w}" for w in v["reasons"]),
    ]
    if r["role"] == "base":
        lines += report.link_lines(r["link"])
        lines.append(
            f"  slots        {sum(r['radio'].values())} missed their time:"
            f" {timing.missed_words(missed_of(r['radio']))}"
        )
    else:
        radio = r["radio"]
        lines.append(
            f"  radio        cell {radio['cell']},"
            f" {key_figures.listed(key_figures.of_radio(radio))}, lock lost"
            f" {radio['lock_losses']} times, {radio['clipped']} samples at full scale"
        )
        if clips(radio["clipped"], radio["samples"]):
            lines.append(f"               {CLIPS}")
    if r.get("machine"):
        lines.append(f"  machine      {report.granted_words(r['machine'])}")
    if r.get("standstills"):
        lines.append(f"  stalls       {stalls.words(r['standstills']).removeprefix('; ')}")
    lines += (
        report.loop_lines(r.get("loop"))
        + report.fader_lines(r.get("fader"))
        + attenuator.lines(r.get("attenuator"))
    )
    if r.get("faded"):
        lines.append(report.clipped_line(r["faded"]["clipped"]))
    if "bursts_heard" in r and not r.get("fader"):
        lines.append(
            f"  fader        {len(r['bursts_heard'])} bursts of the base station heard, not"
            " compared with what the fader commanded: its control is not known here (--fader);"
            " with the file of --json, where it runs: ./openwip fader compare CONFIG FILE"
        )
    return "\n".join(
        [*lines, *(f"  {name:<12} {report.sum_of(p)}" for name, p in r["packets"].items())]
    )


def missed_of(radio: dict[str, int]) -> Missed:
    return {
        "late": radio["late_slots"],
        "underflows": radio["underflows"],
        "late_plans": radio["late_plans"],
        "left_out": radio["slots_left_out"],
    }
