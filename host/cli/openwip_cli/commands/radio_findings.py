# SPDX-License-Identifier: GPL-3.0-or-later
"""The findings about an open radio, a line each: reference, time and locks, as `wip_radio probe`
reports them; its loop, and the settings that follow (./openwip doctor --loop)."""

from collections.abc import Iterator
from typing import Any

from ..cell.radio_loop import BETWEEN_SLOTS, RARE, Loop, of_cell
from ..settings import rules
from ..settings.radios import station_defaults
from ..settings.scenario import by_clock
from .finding import Finding, evaluated

SHARE = 1e-4  # share of the bursts that may be late: one in 10,000
GPS = (
    "a GPS antenna that sees the sky, and some minutes; or time_source=internal in --radio (now {})"
)


def sensor_findings(found: dict[str, Any]) -> Iterator[Finding]:
    """A finding for each sensor of the device and of its two sides. `found`: JSON of wip_radio."""
    for place, sensors in (
        ("", found["sensors"]),
        *((f" ({s})", found[s]["sensors"]) for s in ("receive", "transmit") if s in found),
    ):
        for name, value in sensors.items():
            costs, mend = "not as it should be", "another frequency; UHD's manual of the device"
            if name == "ref_locked":
                costs = "the clock runs by itself, or not at all"
                mend = (
                    "a 10 MHz reference at the device, or clock_source=internal (now"
                    f" {found['clock_source']})"
                )
            elif name == "gps_locked":  # only a GPS-disciplined reference needs it
                costs, mend = (
                    "a station with --time-source gpsdo does not start"
                    * (found["time_source"] == "gpsdo"),
                    GPS.format("gpsdo"),
                )
            yield evaluated(
                f"sensor {name}{place}",
                value["says"],
                value.get("ok", True) or not costs,
                costs,
                mend,
            )


def source_findings(found: dict[str, Any]) -> Iterator[Finding]:
    """The sources of clock and time that are chosen, and whether pulses of the second arrive."""
    for name in ("clock", "time"):
        yield Finding(
            f"{name} source",
            f"{found[f'{name}_source']} (of {', '.join(found[f'{name}_sources'])})",
        )
    if "pps" in found:
        source = found["time_source"]
        yield evaluated(
            "PPS",
            f"{'an' if found['pps'] else 'no'} edge within {found['pps_within_s']:g} s",
            found["pps"],
            "a station that takes its time from there does not start",
            (
                GPS.format(source)
                if source == "gpsdo"
                else (
                    f"a pulse a second at PPS IN, or time_source=internal in --radio (now {source})"
                )
            ),
        )


def duration(us: float) -> str:
    return f"{us:.0f} us" if us < 1000 else f"{us / 1000:.2f} ms"


def transmission_finding(found: dict[str, Any]) -> Finding:
    """How long before its time a burst has to leave, so that fewer than SHARE are late."""
    t = found["transmit"]
    all_late = [c["lead_us"] for c in t["leads"] if c["late"] == c["bursts"]]
    some = f"all are late below {duration(max(all_late))}; " if all_late else ""
    last = t["leads"][-1]
    says = (
        f"{some}{duration(t['lead_us'])} before its time: {last['late']} of {last['bursts']} late"
        f" (a share of {t['late_at_most']:.1e} at most, 95 %)"
    )
    return evaluated(
        "a burst has to leave",
        says,
        t["late_at_most"] <= SHARE,
        "not shown for one in 10,000",
        "more --duration (about 30,000 bursts are needed)",
    )


def findings_of_loop(found: dict[str, Any]) -> Iterator[Finding]:
    """The findings of `wip_radio loop`, whose JSON is `found`; adds `recommended` to it."""
    yield Finding(
        "time of the radio",
        f"read in {found['time_reading_us']:.0f} us"
        + ("" if found["realtime_priority"] else "; without real-time priority"),
    )
    r = found["receive"]
    says = (
        f"{duration(r['shortest_us'])} at least after its last sample, half of the slots"
        f" {duration(r['median_us'])}, one in 1,000 more than {duration(r['one_in_thousand_us'])},"
        f" one in 10,000 more than {duration(r['one_in_ten_thousand_us'])} ({r['slots']} slots)"
    )
    yield evaluated(
        "a slot is in hand",
        says,
        not r["gaps"],
        f"samples were lost {r['gaps']} times",
        "what the lines above say; nothing else running",
    )
    yield transmission_finding(found)
    if found["path_delay_us"] is None:
        yield Finding(
            "path",
            f"a burst sent with gain {found['sent']['transmit_gain_db']:g} dB is not heard: no"
            " cable, or too low (--transmit-gain, --receive-gain; the times above need none)",
        )
    else:
        yield Finding("path", f"a burst is received {found['path_delay_us']:.1f} us after its time")
    found["recommended"] = settings_of(found, 0) | {
        "two_computers": settings_of(found, BETWEEN_SLOTS)
    }
    yield loop_finding("loop", found, 0)
    yield loop_finding("loop of two computers", found, BETWEEN_SLOTS)


def settings_of(found: dict[str, Any], more_slots: int) -> dict[str, Any]:
    """The settings of the link for one late slot in 10,000, and for one in 1,000."""
    rarely, often = (
        {"transmit_lead_slots": loop.lead, "retransmission_delay_ms": loop.delay_ms}
        for loop in loops_of(found, more_slots)
    )
    return {**rarely, "for_one_in_thousand": often}


def loops_of(found: dict[str, Any], more_slots: int) -> tuple[Loop, Loop]:
    """The lead and retransmission delay with which one slot in 10,000 is late, and those for one in
    1,000, if the other radio is like this one. --loop auto takes the former."""
    return of_cell(found, found, more_slots, RARE[0]), of_cell(found, found, more_slots, RARE[1])


def loop_finding(name: str, found: dict[str, Any], more_slots: int) -> Finding:
    """Compares lead and retransmission delay that this radio needs with their defaults.
    `more_slots`: slots that feedback takes between two computers; 0: one computer."""
    loop, often = loops_of(found, more_slots)
    defaults = by_clock("realtime", more_slots, station_defaults(found.get("product", "")))
    says = (
        f"{loop.flags} ({loop.delay} slots) for one late slot in 10,000; {often.lead} and"
        f" {often.delay_ms:g} for one in 1,000"
    )
    usual = rules.slots_of(defaults["link.retransmission_delay_ms"])
    if why := loop.not_valid():
        return Finding(name, says, why, "what the lines above say: a machine that does not stall")
    if loop.lead > defaults["link.transmit_lead_slots"] or loop.delay > usual:
        return Finding(
            name,
            says,
            f"the default, {defaults['link.transmit_lead_slots']} and {usual} slots, is too short"
            " here",
            loop.flags,
        )
    return Finding(
        name,
        f"{says}; the default, {defaults['link.transmit_lead_slots']} and {usual} slots, is enough",
    )
