# SPDX-License-Identifier: GPL-3.0-or-later
"""Delay of a packet and duration of a download over an RLC that repeats blocks (Teyeb 2006, equations 5.1 to 5.14). Plain functions.

p: share of blocks lost, independent; blocks: radio blocks of a packet; ret: TTI from the loss of a block to its retransmission."""
import math
from math import comb


def retransmitted(p: float, blocks: int, times: int, which: int) -> float:
    """Eq. 5.1, 5.2: that `which` blocks are sent again `times` times or more. A block is with p**times, independently."""
    q = p ** times
    return comb(blocks, which) * q ** which * (1 - q) ** (blocks - which)


def at_least(p: float, blocks: int, times: int) -> float:
    """Eq. 5.3: that some block is sent again so often."""
    return sum(retransmitted(p, blocks, times, j) for j in range(1, blocks + 1))


def first_round(blocks: int, ret: float) -> float:
    """Eq. 5.5, TTI: what one retransmission adds, by the place of the block."""
    return sum(max(1.0, ret - (blocks - 1 - j)) for j in range(1, blocks + 1)) / blocks


def packet_delay(p: float, blocks: int, ret: float) -> float:
    """Eq. 5.6, TTI."""
    return blocks + at_least(p, blocks, 1) * first_round(blocks, ret) + ret * (at_least(p, blocks, 2) + at_least(p, blocks, 3))


def blocks_of(packet_bytes: int, bps: float, tti_s: float) -> int:
    return math.ceil(packet_bytes * 8 / (bps * tti_s))


def round_trip(p: float, ret: float, down_bps: float, up_bps: float, fixed_s: float, tti_s: float = 0.01) -> float:
    """Eq. 5.8, s: a packet of 1500 bytes there, 40 bytes back over an uplink without errors. `fixed_s`: UMTS and internet."""
    down = packet_delay(p, blocks_of(1500, down_bps, tti_s), ret)
    return (down + packet_delay(0, blocks_of(40, up_bps, tti_s), ret)) * tti_s + fixed_s


def download(packets: int, p: float, rtt_s: float, down_bps: float) -> float:
    """Eq. 5.7, 5.9 to 5.14, s: slow start, then a link that is full."""
    rate = down_bps * (1 - p) / (1500 * 8)
    full = max(0, math.ceil(math.log2(rtt_s * rate)))
    last = math.ceil(math.log2(packets + 1) - 1)
    cycles = min(full, last)
    return cycles * rtt_s + (packets - (2 ** cycles - 1)) / rate
