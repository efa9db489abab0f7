# SPDX-License-Identifier: GPL-3.0-or-later
"""Reference, time and locks of an open radio, of what `wip_radio probe` found."""
from collections.abc import Iterator
from typing import Any

from .finding import Finding

GPS = "a GPS antenna that sees the sky, and some minutes; or time_source=internal in --radio (now {})"


def of_sensors(found: dict[str, Any]) -> Iterator[Finding]:
    for place, sensors in (("", found["sensors"]), *((f" ({s})", found[s]["sensors"]) for s in ("receive", "transmit") if s in found)):
        for name, value in sensors.items():
            if value.get("ok", True):
                yield Finding(f"sensor {name}{place}", value["says"])
            elif name == "ref_locked":
                yield Finding(f"sensor {name}{place}", value["says"], "the clock runs by itself, or not at all",
                              f"a 10 MHz reference at the device, or clock_source=internal (now {found['clock_source']})")
            elif name == "gps_locked":
                if found["time_source"] == "gpsdo":     # else nobody waits for it
                    yield Finding(f"sensor {name}{place}", value["says"], "a station with --time-source gpsdo does not start", GPS.format("gpsdo"))
                else:
                    yield Finding(f"sensor {name}{place}", value["says"])
            else:
                yield Finding(f"sensor {name}{place}", value["says"], "not as it should be", "another frequency; UHD's manual of the device")


def of_sources(found: dict[str, Any]) -> Iterator[Finding]:
    for name in ("clock", "time"):
        yield Finding(f"{name} source", f"{found[f'{name}_source']} (of {', '.join(found[f'{name}_sources'])})")
    if "pps" in found:
        source = found["time_source"]
        yield Finding("PPS", f"an edge within {found['pps_within_s']:g} s") if found["pps"] else \
            Finding("PPS", f"no edge within {found['pps_within_s']:g} s", "a station that takes its time from there does not start",
                    GPS.format(source) if source == "gpsdo" else f"a pulse a second at PPS IN, or time_source=internal in --radio (now {source})")
