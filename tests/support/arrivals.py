# SPDX-License-Identifier: GPL-3.0-or-later
"""The random numbers of telnet and http (host/flow/arrivals.cpp), written a second time: which
packets and pages belong to a seed."""

import math
from collections.abc import Iterator

WORD = (1 << 64) - 1  # mask of 64 bits


def numbers(seed: int) -> Iterator[float]:
    """In (0, 1], by splitmix64."""
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & WORD
        z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & WORD
        z = (z ^ z >> 27) * 0x94D049BB133111EB & WORD
        yield (((z ^ z >> 31) >> 11) + 1) / (1 << 53)


def packets(seed: int, per_s: float, seconds: float) -> int:
    """How many packets of telnet arrive in so many seconds."""
    at, n = 0.0, -1
    for u in numbers(seed):
        at, n = at - math.log(u) / per_s, n + 1
        if at > seconds:
            return n
    return n


def pages(
    seed: int, objects: int = 4, packets_mean: float = 10, shape: float = 1.2, packet: int = 960
) -> Iterator[int]:
    """Bytes of each page of http."""
    drawn = numbers(seed)
    least = packets_mean * (shape - 1) / shape
    while True:
        next(drawn)  # the pause before it
        size = 0
        for n in range(objects):
            if n:
                next(drawn)  # the pause before a request
            size += packet * max(1, math.floor(least * next(drawn) ** (-1 / shape) + 0.5))
        yield size
