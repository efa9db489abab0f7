# SPDX-License-Identifier: GPL-3.0-or-later
"""Buffers that are asked of a radio where its own are too small for a cell. Device arguments that a
user gives win."""

from collections.abc import Callable, Mapping, Sequence

# By UHD's type of device. A B2xx over USB has 16 frames of 2040 samples, 4.2 ms of the cell, and
# nothing behind them: a terminal that is late for longer overflows. 256 frames are 68 ms, as long
# as a receiver holds its timing, and 2.1 MB of the 16 MB that Linux gives to all of USB. Radios on
# a network have 20 ms in the socket's buffer if net.core.rmem_max grants it (doctor says so), and
# their frames are as large as the network takes.
BUFFERS: Mapping[str, Mapping[str, int]] = {"b200": {"num_recv_frames": 256}}
SOFTWARE = "vusrp"  # has those of its product; searching for other devices would take a second
PLAYED = {"b200": "b200", "b210": "b200"}  # UHD's type of device of a product


def parts(arguments: str) -> dict[str, str]:
    """Device arguments KEY=VALUE,..."""
    return {
        key.strip(): value.strip()
        for key, _, value in (part.partition("=") for part in arguments.split(","))
        if key.strip()
    }


def with_defaults(arguments: str, find: Callable[[str], Sequence[Mapping[str, str]]]) -> str:
    """Device arguments with what is missing for the device. find(): devices that fit to arguments,
    each with its type."""
    given = parts(arguments)
    kind = given.get("type")
    if kind is None:
        kinds = {found.get("type", "") for found in find(arguments)}
        kind = kinds.pop() if len(kinds) == 1 else ""
    if kind == SOFTWARE:
        kind = PLAYED.get(given.get("product", ""), "")
    more = [f"{key}={value}" for key, value in BUFFERS.get(kind, {}).items() if key not in given]
    return ",".join(filter(None, (arguments, *more)))


def stream_arguments(samples_per_packet: int | None) -> str:
    """Nothing unless a user says so: a B2xx that is asked for packets longer than its USB frames
    receives nothing."""
    return "" if samples_per_packet is None else f"spp={samples_per_packet}"
