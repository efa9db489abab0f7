# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts of a link from its status messages, and what they grew by."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from google.protobuf.message import Message

from ..air import SLOTS_PER_SECOND
from ..shapes import Link, MacStatus


def counts_of(message: "Message", *prefixes: str) -> dict[str, Any]:
    """Fields of a message whose names begin so: what a receiver counts is named in the schema
    alone."""
    return {
        f.name: getattr(message, f.name)
        for f in message.DESCRIPTOR.fields
        if f.name.startswith(prefixes)
    }


def line_bits(status: MacStatus) -> float:
    """Bits that the line could have carried since the start, if the link publishes its rate; else
    0."""
    rate = status.mobility.mean_rate_bps + status.recorded.mean_rate_bps
    return float(rate * status.slot)


def link_interval(before: MacStatus, after: MacStatus) -> Link:
    """Differences of two base-station statuses."""
    a, b = before.base, after.base
    sent, failed = b.frames_sent - a.frames_sent, b.frames_failed - a.frames_failed
    seconds = (after.slot - before.slot) / SLOTS_PER_SECOND

    def differences(old: Sequence[int], new: Sequence[int], length: int) -> list[int]:
        old, new = list(old) + [0] * length, list(new) + [0] * length
        return [new[i] - old[i] for i in range(length)]

    bits = b.payload_bits_acknowledged - a.payload_bits_acknowledged
    slots = max(1, after.slot - before.slot)
    line = line_bits(after) - line_bits(before)
    return {
        "goodput_bps": bits / seconds if seconds > 0 else 0.0,
        "seconds": seconds,
        "frames_sent": sent,
        "frames_acknowledged": b.frames_acknowledged - a.frames_acknowledged,
        "frames_failed": failed,
        "frame_error_rate": failed / sent if sent else 0.0,
        "frames_given_up": b.frames_given_up - a.frames_given_up,
        "frames_split": b.frames_split - a.frames_split,
        "feedback_missing": b.feedback_missing - a.feedback_missing,
        "slots_not_sent": b.slots_not_sent - a.slots_not_sent,
        "grant_overflows": b.grant_overflows - a.grant_overflows,
        "window_stalls": b.window_stalls - a.window_stalls,
        "retransmission_histogram": differences(
            a.retransmission_histogram, b.retransmission_histogram, 31
        ),
        "modulation_histogram": differences(a.modulation_histogram, b.modulation_histogram, 9),
        "line_bps": line / slots,
    }
