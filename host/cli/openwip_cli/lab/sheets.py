# SPDX-License-Identifier: GPL-3.0-or-later
"""The worksheets: which runs a student makes, what is asked, and how the right answer follows from
those runs. Those of prediction and of TCP have modules of their own."""

import hashlib
import random
from collections.abc import Callable, Mapping

from ..air import CRC_BITS, SLOTS_PER_SECOND, SYMBOLS_PER_BIN
from ..figures.capacities import MTU, USUAL_MSS
from .prediction_sheet import prediction_and_horizon
from .questions import Choice, Number, Report, Run, Sheet, failed_percent, goodput, ratio
from .tcp_sheet import tcp_over_the_link


def seed_of(student: str) -> int:
    """1 to 999983, the same for the same name, however it is spaced or capitalised."""
    name = " ".join(student.split()).casefold()
    return 1 + int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") % 999_983


def most_used(report: Report) -> float:
    """Bits per symbol of the modulation that most frames had."""
    frames = report["link"]["modulation_histogram"]
    return float(max(range(len(frames)), key=frames.__getitem__))


def capacity_mbps(bins: int, bits: float) -> float:
    frames = SLOTS_PER_SECOND * bins
    return frames * (SYMBOLS_PER_BIN * bits - CRC_BITS) * USUAL_MSS / MTU / 1e6


def share_sent_again(report: Report) -> float:
    """The share of the acknowledged frames, per cent."""
    frames = report["link"]["retransmission_histogram"]
    return 100 * sum(frames[1:]) / max(1, sum(frames))


def fading_and_adaptation(draw: random.Random) -> Sheet:
    snr, bins = draw.choice([15, 16, 17, 19, 20]), draw.choice([8, 10, 12])
    speed = draw.choice([20, 30, 40])
    fading = {"channel.model": "jakes", "channel.speed_kmh": speed}
    return Sheet(
        1,
        "fading and adaptation",
        "docs/lab/fading-and-adaptation.md",
        {"channel.snr_db": snr, "link.bins": bins, "traffic.duration_s": 10},
        [
            Run("a", "no fading", {"channel.model": "awgn"}),
            Run("b", "fading, the best bins", fading),
            Run("c", "fading, always the same bins", {**fading, "link.allocation": "static"}),
            Run("d", "fading, a worse prediction", {**fading, "phy.predictor": "last"}),
        ],
        [
            Number(
                "bits_a",
                "Run a: how many bits per symbol does the modulation have that most frames use?",
                lambda r: most_used(r["a"]),
                0,
                hint="the longest bar of the screen is the modulation; 4-QAM has 2 bits per symbol, 8-QAM has 3",
            ),
            Number(
                "capacity_a_mbps",
                "Run a: compute the TCP capacity with that modulation, in Mbit/s, from slots, bins,"
                " symbols, CRC and headers.",
                lambda r: capacity_mbps(bins, most_used(r["a"])),
                0.01,
                hint="1500 slots/s x your bins x (108 symbols x bits - 24) x 1448 / 1500, as in lesson 1",
            ),
            Number(
                "failed_b_percent",
                "Run b: which share of the frames failed, in per cent?",
                lambda r: failed_percent(r["b"]),
                0.02,
                0.1,
                hint="it is in the line `link`, and link.frame_error_rate of lab1-b.json",
            ),
            Number(
                "bits_b",
                "Run b: how many bits per symbol did the frames have in the mean?",
                lambda r: float(r["b"]["capacity"]["bits_per_symbol"]),
                0.02,
                hint="weight each modulation with its frames, or read capacity.bits_per_symbol of lab1-b.json",
            ),
            ratio(
                "gain_of_allocation",
                "Runs b and c: how many times as much TCP goodput do the best bins give as always"
                " the same ones?",
                goodput,
                ("b", "c"),
                0.02,
            ),
            Number(
                "cost_of_prediction_percent",
                "Runs b and d: by how many per cent is TCP's goodput lower with the worse"
                " prediction?",
                lambda r: 100 * (1 - goodput(r["d"]) / goodput(r["b"])),
                0.05,
                1.0,
                hint="it is 100 x (1 - goodput of run d over that of run b)",
            ),
            Choice(
                "why_faster",
                "Why can a fading channel carry more than one that does not fade, at the same mean"
                " SNR?",
                {
                    "a": "fading adds energy to the signal",
                    "b": "in each slot some bins are above the mean, and only those are used",
                    "c": "TCP sends more when packets are late",
                },
                "b",
                hint="compare runs b and c: the channel is the same, the choice of bins is not",
            ),
            Choice(
                "why_fail",
                "In run b the base station knows each bin's SNR some milliseconds in advance within"
                " a small error. Why do frames still fail?",
                {
                    "a": "the modulation is chosen for the largest expected payload, not for"
                    " certain success",
                    "b": "the CRC is too short",
                    "c": "the terminal is too slow",
                },
                "a",
                hint="lesson 1, question 1: why does the base station not take a slower modulation,"
                " with which hardly any frame would fail?",
            ),
        ],
        over_a_cable=True,
    )


def arq_and_delay(draw: random.Random) -> Sheet:
    speed, delay = draw.choice([30, 50, 75]), draw.choice([10, 12, 16])
    return Sheet(
        2,
        "ARQ and delay",
        "docs/lab/arq-and-delay.md",
        {
            "channel.model": "jakes",
            "channel.speed_kmh": speed,
            "channel.snr_db": 16,
            "traffic.duration_s": 10,
        },
        [
            Run("a", "as it is", {}),
            Run("b", "one retransmission at most", {"link.max_retransmissions": 1}),
            Run("c", "a long retransmission delay", {"link.retransmission_delay_ms": delay}),
            Run("d", "a short queue", {"link.queue_packets": 10}),
        ],
        [
            Number(
                "sent_again_a_percent",
                "Run a: which share of the acknowledged frames was sent more than once, in per"
                " cent?",
                lambda r: share_sent_again(r["a"]),
                0.02,
                0.1,
                hint="all entries of the histogram but the first, over all of its entries",
            ),
            Number(
                "dropped_a",
                "Run a: how many packets of the downlink were dropped?",
                lambda r: float(sum(r["a"]["packets"]["downlink"]["dropped"].values())),
                0,
                hint="add up packets.downlink.dropped of lab2-a.json; it may be none",
            ),
            Number(
                "exceeded_b",
                "Run b: how many packets of the downlink were dropped because a frame used up its"
                " retransmissions?",
                lambda r: float(
                    r["b"]["packets"]["downlink"]["dropped"].get("retransmissions_exceeded", 0)
                ),
                0,
                hint="it is packets.downlink.dropped.retransmissions_exceeded of lab2-b.json",
            ),
            ratio(
                "goodput_b_over_a",
                "Runs a and b: which share of its goodput does TCP keep with one retransmission at"
                " most (0 to 1)?",
                goodput,
                ("b", "a"),
                0.02,
                0.01,
            ),
            Number(
                "failed_c_percent",
                "Run c: which share of the frames failed, in per cent?",
                lambda r: failed_percent(r["c"]),
                0.02,
                0.1,
                hint="it is in the line `link`, and link.frame_error_rate of lab2-c.json",
            ),
            Number(
                "rtt_a_over_d",
                "Runs a and d: how many times as long is TCP's mean round trip with the long"
                " queue?",
                lambda r: r["a"]["tcp"]["rtt_ms"]["mean"] / r["d"]["tcp"]["rtt_ms"]["mean"],
                0.02,
                hint="it is tcp.rtt_ms.mean of run a over that of run d",
            ),
            Choice(
                "why_more_failures",
                "Why do more frames fail in run c than in run a, although the channel is the same?",
                {
                    "a": "the terminal predicts further ahead, and the channel has changed more",
                    "b": "frames are longer",
                    "c": "the queue is fuller",
                },
                "a",
                hint="which setting of run c does the terminal's prediction depend on? See its horizon in the line `radio`",
            ),
            Choice(
                "where_the_delay",
                "Where is most of a packet's delay spent in run a, while TCP sends?",
                {
                    "a": "in retransmissions",
                    "b": "on the air",
                    "c": "in the base station's queue",
                },
                "c",
                hint="compare the round trips of runs a and d, whose queues alone differ",
            ),
        ],
        over_a_cable=True,
    )


SHEETS: Mapping[int, Callable[[random.Random], Sheet]] = {
    1: fading_and_adaptation,
    2: arq_and_delay,
    3: prediction_and_horizon,
    4: tcp_over_the_link,
}


def sheet_of(number: int, student: str) -> Sheet:
    """The task of this student: the same at every call."""
    return SHEETS[number](random.Random(seed_of(student) * 10 + number))
