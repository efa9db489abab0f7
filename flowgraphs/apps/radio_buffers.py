# SPDX-License-Identifier: GPL-3.0-or-later
"""Buffers that are asked of a radio where its own are too small for a cell. Device arguments that a
user gives win."""

from collections.abc import Callable, Mapping, Sequence

from tree import radios

SOFTWARE = "vusrp"  # it is what it plays; searching for other devices would take a second


def parts(arguments: str) -> dict[str, str]:
    """Device arguments KEY=VALUE,..."""
    return {
        key.strip(): value.strip()
        for key, _, value in (part.partition("=") for part in arguments.split(","))
        if key.strip()
    }


def defaults_for(
    arguments: str, find: Callable[[str], Sequence[Mapping[str, str]]]
) -> radios.StationDefaults:
    """By product (channels/vusrp/devices.yaml) of the device that the arguments name. find():
    devices that fit to arguments, each with its type."""
    given = parts(arguments)
    if given.get("type") == SOFTWARE:
        return radios.station_defaults(given.get("product", ""))
    if "product" in given or "type" in given:
        return radios.station_defaults(given.get("product", ""), given.get("type", ""))
    found = {(one.get("product", ""), one.get("type", "")) for one in find(arguments)}
    return radios.station_defaults(*found.pop()) if len(found) == 1 else radios.station_defaults()


def with_defaults(arguments: str, defaults: radios.StationDefaults) -> str:
    """Device arguments with what is missing of the device's defaults."""
    given = parts(arguments)
    more = [f"{key}={value}" for key, value in defaults.arguments.items() if key not in given]
    return ",".join(filter(None, (arguments, *more)))


def stream_arguments(samples_per_packet: int | None) -> str:
    """Nothing unless a user says so: a B2xx that is asked for packets longer than its USB frames
    receives nothing."""
    return "" if samples_per_packet is None else f"spp={samples_per_packet}"
