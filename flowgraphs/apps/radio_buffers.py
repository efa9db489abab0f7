# SPDX-License-Identifier: GPL-3.0-or-later
"""Buffers that are requested from a radio whose default ones are too small for a cell. Device
arguments that a user gives win."""

from tree import radios


def with_defaults(arguments: str, defaults: radios.StationDefaults) -> str:
    """Device arguments with what is missing of the device's defaults."""
    given = radios.device_arguments(arguments)
    more = [f"{key}={value}" for key, value in defaults.arguments.items() if key not in given]
    return ",".join(filter(None, (arguments, *more)))


def stream_arguments(samples_per_packet: int | None) -> str:
    """The stream argument spp, only if a user gives it: a B2xx that is asked for packets longer
    than its USB frames receives nothing."""
    return "" if samples_per_packet is None else f"spp={samples_per_packet}"
