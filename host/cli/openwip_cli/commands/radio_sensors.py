# SPDX-License-Identifier: GPL-3.0-or-later
"""Reference, time and locks of an open radio, of what `wip_radio probe` found."""
from collections.abc import Iterator
from typing import Any

from .finding import Finding, judged

GPS = "a GPS antenna that sees the sky, and some minutes; or time_source=internal in --radio (now {})"


def of_sensors(found: dict[str, Any]) -> Iterator[Finding]:
    for place, sensors in (("", found["sensors"]), *((f" ({s})", found[s]["sensors"]) for s in ("receive", "transmit") if s in found)):
        for name, value in sensors.items():
            costs, mend = "not as it should be", "another frequency; UHD's manual of the device"
            if name == "ref_locked":
                costs = "the clock runs by itself, or not at all"
                mend = f"a 10 MHz reference at the device, or clock_source=internal (now {found['clock_source']})"
            elif name == "gps_locked":      # nobody waits for it but gpsdo
                costs, mend = "a station with --time-source gpsdo does not start" * (found["time_source"] == "gpsdo"), GPS.format("gpsdo")
            yield judged(f"sensor {name}{place}", value["says"], value.get("ok", True) or not costs, costs, mend)


def of_sources(found: dict[str, Any]) -> Iterator[Finding]:
    for name in ("clock", "time"):
        yield Finding(f"{name} source", f"{found[f'{name}_source']} (of {', '.join(found[f'{name}_sources'])})")
    if "pps" in found:
        source = found["time_source"]
        yield judged("PPS", f"{'an' if found['pps'] else 'no'} edge within {found['pps_within_s']:g} s", found["pps"],
                     "a station that takes its time from there does not start",
                     GPS.format(source) if source == "gpsdo" else f"a pulse a second at PPS IN, or time_source=internal in --radio (now {source})")
