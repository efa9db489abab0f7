# SPDX-License-Identifier: GPL-3.0-or-later
"""Capacity of the links, from their settings. Plain functions."""

import math
from collections.abc import Sequence
from typing import Any

from ..air import CRC_BITS, SLOTS_PER_SECOND, SYMBOLS_PER_BIN
from ..shapes import Capacity, Change, Link, MacStatus
from .live_changes import ABOUT_THE_LINK

MTU = 1500  # bytes of a full IP packet
USUAL_MSS = 1448  # TCP payload of a packet with timestamps


def capacity(
    bins: int,
    modulation: int | str,
    histogram: Sequence[int],
    mss: int,
    packing: bool,
    crc_bits: int = CRC_BITS,
) -> Capacity:
    """The air interface's, bit/s, from raw symbols down to TCP payload. `mss`: TCP payload bytes
    of a full packet of 1500 bytes. `histogram`: of the frames sent by bits per symbol. `crc_bits`:
    of a frame, 0 in profile `wipemu`."""
    adaptive = modulation == "adaptive"
    k = (
        sum(k * n for k, n in enumerate(histogram)) / max(1, sum(histogram[1:]))
        if adaptive
        else int(modulation)
    )
    frames = SLOTS_PER_SECOND * bins
    payload = frames * SYMBOLS_PER_BIN * k
    profile = frames * (SYMBOLS_PER_BIN * k - crc_bits) if k else 0.0
    share = mss / MTU
    which = f"mean {k:.2f} bits/symbol of the frames sent" if adaptive else f"{k} bits/symbol"
    how = [
        f"payload = {SLOTS_PER_SECOND} slots/s x {bins} bins x {SYMBOLS_PER_BIN} symbols x {which}",
        (
            f"profile = payload less the {crc_bits}-bit CRC of each frame"
            if crc_bits
            else "profile = payload: error detection is ideal and takes no bits"
        ),
        f"TCP payload = profile x {mss}/{MTU} ({MTU - mss} bytes of IP and TCP headers a packet)",
    ]
    if not packing and not adaptive:
        bits = SYMBOLS_PER_BIN * k - crc_bits
        filled = MTU * 8 / (-(-MTU * 8 // bits) * bits)
        share *= filled
        how.append(f"x {filled:.4f}: without packing the last frame of a packet is part empty")
    elif not packing:
        how.append(
            "without packing the last frame of a packet is part empty: not deducted, since it "
            "depends on the modulation of each frame"
        )
    return {
        "payload_bps": payload,
        "profile_bps": profile,
        "tcp_payload_bps": profile * share,
        "bits_per_symbol": k,
        "how": how,
    }


def crc_bits(profile: str | None) -> int:
    """Bits of a frame's CRC: 0 in profile `wipemu`, whose error detection is ideal."""
    return 0 if profile == "wipemu" else CRC_BITS


def wlan_capacity(
    rate_mbps: float, control_mbps: float, short_preamble: bool, with_rts: bool, mss: int
) -> Capacity:
    """The capacity of an 802.11b cell with one sender and no errors (mac/wlan/dcf_times.h)."""

    def frame(octets: int, mbps: float) -> int:
        return (96 if short_preamble else 192) + math.ceil(octets * 8 / mbps)

    answer = 10 + frame(14, control_mbps)
    turn_us = (
        50
        + 15.5 * 20
        + with_rts * (frame(20, control_mbps) + answer + 10)
        + frame(MTU + 36, rate_mbps)
        + answer
    )
    bps = MTU * 8e6 / turn_us
    return {
        "payload_bps": rate_mbps * 1e6,
        "profile_bps": bps,
        "tcp_payload_bps": bps * mss / MTU,
        "bits_per_symbol": 0,
        "how": [
            (
                f"packets of {MTU} bytes in {turn_us:.0f} us each: DIFS, mean backoff, frame at"
                f" {rate_mbps:g} Mbit/s, SIFS, ACK"
            ),
            (
                f"TCP payload = {mss}/{MTU} of it; acknowledgements take air from it, more hops"
                " several times"
            ),
        ],
    }


def capacity_of(scenario: Any, link: Link, mss: int, base: MacStatus) -> Capacity:
    """`base`: the base station's status."""
    if base.bearer.rate_bps:
        return bearer_capacity(base.bearer.rate_bps, mss, len(base.users))
    if base.HasField("mobility") or base.HasField("recorded"):
        return line_capacity(
            link["line_bps"],
            mss,
            "the mean rate of the networks where the terminal was meanwhile, 0 during handovers"
            if base.HasField("mobility")
            else "the mean rate of the recorded network, 0: it has no limit",
        )
    if scenario.values.get("link.kind") == "wlan":
        return wlan_capacity(
            float(scenario["wlan.rate_mbps"]),
            float(scenario["wlan.control_rate_mbps"]),
            scenario["wlan.short_preamble"] == "on",
            scenario["wlan.rts_threshold"] < MTU + 36,
            mss,
        )
    return capacity(
        scenario["link.bins"],
        scenario["link.modulation"],
        link["modulation_histogram"],
        mss,
        scenario["link.packing"] == "on",
        crc_bits(scenario.values.get("link.profile")),
    )


def bearer_capacity(rate_bps: float, mss: int, users: int) -> Capacity:
    """The capacity of a UMTS bearer, as capacity(). Its rate is that of packets, each with the
    octet or two that mark its end. `users`: how many bearers the rate is the sum of; 0: it is the
    rate of one."""
    return {
        "payload_bps": rate_bps,
        "profile_bps": rate_bps,
        "tcp_payload_bps": rate_bps * mss / MTU,
        "bits_per_symbol": 0.0,
        "how": [
            "payload = profile = the"
            f" {f'rate of all {users} bearers together' if users else 'rate of the bearer'}; TCP"
            f" payload = profile x {mss}/{MTU} ({MTU - mss} bytes of IP and TCP headers a packet)"
        ],
    }


def line_capacity(rate_bps: float, mss: int, what: str) -> Capacity:
    """The same of a link that publishes its mean rate. `what`: words for what has this rate."""
    return {
        "payload_bps": rate_bps,
        "profile_bps": rate_bps,
        "tcp_payload_bps": rate_bps * mss / MTU,
        "bits_per_symbol": 0.0,
        "how": [
            f"payload = profile = {what}; TCP payload = profile x {mss}/{MTU} ({MTU - mss} bytes of IP"
            " and TCP headers a packet)"
        ],
    }


def mark_capacity(capacity: Capacity, changes: Sequence[Change]) -> Capacity:
    """The capacity is computed from the settings at the start. With others in between, the goodput
    cannot be compared with it, and the report says so; the verdict is about time and sums, which a
    change does not touch."""
    about = [c for c in changes if c["key"].startswith(ABOUT_THE_LINK)]
    capacity["settings_changed"] = bool(about)
    if about:
        capacity["how"] = [
            *capacity["how"],
            (
                f"of the settings at the start: {len(about)} changed by hand during the run, "
                "so the share says nothing about the link"
            ),
        ]
    return capacity
