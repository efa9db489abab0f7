# SPDX-License-Identifier: GPL-3.0-or-later
"""Delay of a packet and duration of a download over an RLC that repeats blocks (Teyeb 2006,
equations 5.1 to 5.14), and the delay corrected for what these leave out. Plain functions.

p: share of blocks lost, independent; blocks: radio blocks of a packet; ret: TTI from the loss of a
block to its retransmission."""

import math
from collections.abc import Callable
from math import comb


def retransmitted(p: float, blocks: int, times: int, which: int) -> float:
    """Eq. 5.1, 5.2: probability that `which` blocks are sent again `times` times or more. A block
    is sent again so often with probability p**times, independently of the others."""
    q = p**times
    return comb(blocks, which) * q**which * (1 - q) ** (blocks - which)


def at_least(p: float, blocks: int, times: int) -> float:
    """Eq. 5.3: probability that some block is sent again so often."""
    return sum(retransmitted(p, blocks, times, j) for j in range(1, blocks + 1))


def first_round(blocks: int, ret: float) -> float:
    """Eq. 5.5, TTI: what one retransmission adds, by the place of the block."""
    return sum(max(1.0, ret - (blocks - 1 - j)) for j in range(1, blocks + 1)) / blocks


def packet_delay(p: float, blocks: int, ret: float) -> float:
    """Eq. 5.6, TTI."""
    return (
        blocks
        + at_least(p, blocks, 1) * first_round(blocks, ret)
        + ret * (at_least(p, blocks, 2) + at_least(p, blocks, 3))
    )


def last_block_delay(p: float, blocks: int, ret: float) -> float:
    """In TTI; not from the thesis. Equation 5.6 takes the retransmitted block at its mean place.
    Here the packet is complete with the last block of all, whose distribution function is the
    product of those of all blocks. Status is prohibited for `ret`, so after the first
    loss, in block j, a report comes each `ret` TTI, and what it asks for `ret` later. If that is
    lost, the next report shows it; but of blocks that were asked for together only the first is
    sent in time for it. Retransmissions go first, so the blocks take longer by as many as there are
    meanwhile, on average."""
    resent_blocks = sum(
        p**n for i in range(blocks) for n in range(1, math.ceil((blocks - i) / ret))
    )
    length = blocks + resent_blocks
    each = length / blocks
    total = (1 - p) ** blocks * blocks
    for j in range(blocks):
        # The blocks after it: by which report each is asked for, and how probable it is that none
        # is asked for before it.
        reports_and_shares = []
        for i in range(j + 1, blocks):
            report = math.ceil((i - j) * each / ret - 1e-9)
            before = i - j - 1 - (report - 1) * ret / each
            reports_and_shares.append((report, (1 - p) ** max(0.0, before)))
        mean, t = length, length
        while True:
            reports = math.floor((t - (j + 1) * each) / ret + 1e-9)
            arrived = 1 - p**reports if reports > 0 else 0.0
            for report, alone in reports_and_shares:
                n = max(0, reports - report)
                arrived *= 1 - p * (alone * p**n + (1 - alone) * p ** math.ceil(n / 2))
            if arrived > 1 - 1e-9:
                break
            mean += 1 - arrived
            t += 1
        total += (1 - p) ** j * p * mean
    return total


def blocks_of(packet_bytes: int, bps: float, tti_s: float) -> int:
    return math.ceil(packet_bytes * 8 / (bps * tti_s))


def round_trip(
    p: float,
    ret: float,
    down_bps: float,
    up_bps: float,
    fixed_s: float,
    tti_s: float = 0.01,
    delay: Callable[[float, int, float], float] = packet_delay,
) -> float:
    """Eq. 5.8, s: a packet of 1500 bytes there, 40 bytes back over an uplink without errors.
    `fixed_s`: UMTS and internet."""
    down = delay(p, blocks_of(1500, down_bps, tti_s), ret)
    return (down + packet_delay(0, blocks_of(40, up_bps, tti_s), ret)) * tti_s + fixed_s


def download(packets: int, p: float, rtt_s: float, down_bps: float) -> float:
    """Eq. 5.7, 5.9 to 5.14, s: slow start, then a link that is full."""
    rate = down_bps * (1 - p) / (1500 * 8)
    full = max(0, math.ceil(math.log2(rtt_s * rate)))
    last = math.ceil(math.log2(packets + 1) - 1)
    cycles = min(full, last)
    return cycles * rtt_s + (packets - (2**cycles - 1)) / rate
