# SPDX-License-Identifier: GPL-3.0-or-later
"""The meaning of telemetry, once: every view (report, top, page of a record, packets, metrics) and
the verdict so far ask here. Functions of messages and of a record's values; no clock, no socket."""

import functools
from collections.abc import Sequence
from typing import Any

from ..shapes import AirStatus, Direction, PacketRecord, RadioState, VerdictMessage
from ..text import of_yaml
from . import capacities, checks

# index = bits/symbol
MODULATIONS = ("none", "BPSK", "4-QAM", "8-QAM", "16-QAM", "32-QAM", "64-QAM", "128-QAM", "256-QAM")
# The parts of the time from arrival to delivery of a packet, ns in PacketRecord.NAME_ns; their sum
# is the whole.
DELAY_PARTS = ("queue", "scheduling", "air", "retransmission", "reordering")


@functools.lru_cache(maxsize=64)
def link_settings(effective_yaml: str) -> dict[str, Any]:
    """The section `link` of the effective configuration that a base station reports; {}: the text
    has none."""
    try:
        found = of_yaml(effective_yaml)
    except ValueError:
        return {}
    link = found.get("link") if isinstance(found, dict) else None
    return link if isinstance(link, dict) else {}


def link_capacity(settings: dict[str, Any], histogram: Sequence[int]) -> float | None:
    """The link payload that the air interface carries with the modulation sent, bit/s; None: the
    settings do not tell, or the link has none."""
    if settings.get("kind", "ofdm") != "ofdm":
        return None
    try:
        modulation = settings["modulation"]
        return capacities.capacity(
            int(settings["bins"]),
            modulation if modulation == "adaptive" else int(modulation),
            list(histogram),
            capacities.USUAL_MSS,
            True,
            capacities.crc_bits(settings.get("profile")),
        )["profile_bps"]
    except (KeyError, TypeError, ValueError):
        return None


def share(goodput_bps: float, capacity_bps: float | None) -> float | None:
    """The share of the capacity; None if that is not known, or nothing was sent."""
    return goodput_bps / capacity_bps if capacity_bps else None


def drops(direction: Direction) -> dict[str, int]:
    """Packets by reason, of the reasons that there were."""
    return {d.reason: d.count.packets for d in direction.dropped if d.count.packets}


def is_replayed(verdict: VerdictMessage) -> bool:
    """The receiver of a cell that plays recorded samples (runs/replay_cell.py): there is no base
    station and no goodput."""
    return verdict.command == "replay"


def lock(radio: RadioState) -> str:
    return "locked" if radio.locked else f"NOT LOCKED ({radio.mode})"


def keeps_pace(air: AirStatus) -> bool:
    """No transmission was late, and no more slots were behind than a verdict allows."""
    return not air.late and air.slots_behind <= checks.BEHIND_SHARE * air.slots


def total_delay_ns(packet: PacketRecord) -> int:
    """The delay of a delivered packet, TUN to TUN. By definition the sum of its parts."""
    return packet.left_ns - packet.arrived_ns
