# SPDX-License-Identifier: GPL-3.0-or-later
"""Statuses of a cell that somebody wrote down: both stations, the kernel's counts, and the sounding
bursts of a fader."""

import cmath
import random

from openwip_schema import control_pb2 as control

from openwip_cli.air import SAMPLE_RATE
from openwip_cli.figures import facts

YAML = "link: {bins: 10, modulation: 4, profile: radio}\n"


def statuses(
    second, behind=0, late=0, losses=0, locked=True, queued=0, in_flight=0, slots=None, pace=1.0
):
    """`second` of air time since the clock started; one packet of 100 bytes each millisecond."""
    air = control.AirStatus(
        now=int(second * SAMPLE_RATE),
        wall_seconds=second / pace,
        speed=1.0,
        slots=int(second * 1500) if slots is None else slots,
        slots_behind=behind,
        late=late,
        pacing_limit_us=10000,
    )
    base = control.MacStatus(slot=int(second * 1500), effective_yaml=YAML)
    terminal = control.MacStatus(slot=int(second * 1500), role="terminal")
    terminal.radio.locked, terminal.radio.mode, terminal.radio.lock_losses = (
        locked,
        "locked",
        losses,
    )
    n = int(second * 1000)
    base.base.payload_bits_acknowledged = n * 800
    base.base.frames_sent = n
    base.base.modulation_histogram.extend([0, 0, 0, 0, n])

    def put(count, packets):
        count.packets, count.bytes = packets, 100 * packets

    put(getattr(base.downlink, "in"), n + queued)
    put(base.downlink.queued, queued)
    put(base.downlink.delivered, n)
    put(getattr(terminal.downlink, "in"), n - in_flight)
    put(terminal.downlink.delivered, n - in_flight)
    return facts.Statuses(air, base, terminal)


def tun_of(s):
    down = (s.base.downlink.delivered.packets, s.base.downlink.delivered.bytes)
    return {
        "base": {"to_macd": down, "from_macd": (0, 0)},
        "terminal": {"to_macd": (0, 0), "from_macd": down},
    }


def response(number, turn=0.0, delay=0.0, level=1.0, noise=0.0):
    """The bursts of two paths, each with values of its own; then as a terminal receives them."""
    pick = random.Random(number)
    first, second = ((pick.gauss(0, 1) + 1j * pick.gauss(0, 1)) for _ in range(2))
    values = [
        level * (first + second * cmath.exp(-0.9j * k)) * cmath.exp(1j * (turn + delay * k))
        + noise * (pick.gauss(0, 1) + 1j * pick.gauss(0, 1))
        for k in range(32)
    ]
    return [part for v in values for part in (v.real, v.imag)]


def bursts(s, spoil=lambda commanded, heard: None):
    """Eight that come through, on a clock of its own and with one of the fader's before them."""
    at = [5120 * slot for slot in (0, 12, 25, 39, 54, 70, 87, 105)]
    commanded = [
        {"centre": n, "response": response(i), "snr_db": 20.0, "not_judged": ""}
        for i, n in enumerate(at)
    ]
    heard = [{"centre": -30000, "response": response(9)}] + [
        {
            "centre": n + 777_123 + 40 * (i % 3),
            "response": response(i, 1 + i, 0.1 - 0.02 * i, 0.4, 0.01),
            "noise": 2e-4,
        }
        for i, n in enumerate(at)
    ]
    spoil(commanded, heard)
    for c in commanded:
        one = s.air.bursts.add(
            to="terminal", snr_db=c["snr_db"], not_judged=c["not_judged"], **{"from": "base"}
        )
        one.burst.centre = c["centre"]
        one.burst.response.extend(c["response"])
    for h in heard:
        s.terminal.radio.bursts.add(**h)


def swap_two(commanded, heard):
    commanded[1]["response"], commanded[2]["response"] = (
        commanded[2]["response"],
        commanded[1]["response"],
    )


def louder(commanded, heard):
    heard[4]["response"] = [2 * v for v in heard[4]["response"]]
