# SPDX-License-Identifier: GPL-3.0-or-later
"""The worksheets: which runs a student makes, what is asked, and how the right answer follows from
the reports of those runs."""

import dataclasses
import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..air import CRC_BITS, SLOTS_PER_SECOND, SYMBOLS_PER_BIN

Report = Mapping[str, Any]
Reports = Mapping[str, Report]

MTU, MSS = 1500, 1448


@dataclasses.dataclass(frozen=True)
class Run:
    name: str  # a, b, ...: its report is lab1-a.json
    says: str  # what it is
    settings: Mapping[str, Any]  # keys of a scenario, over the sheet's common ones


@dataclasses.dataclass(frozen=True)
class Number:
    name: str
    asks: str
    right: Callable[[Reports], float]
    tolerance: float  # of the right answer
    least: float = 0.0  # the tolerance is at least that


@dataclasses.dataclass(frozen=True)
class Choice:
    name: str
    asks: str
    choices: Mapping[str, str]  # letter: text
    right: str


Question = Number | Choice


@dataclasses.dataclass(frozen=True)
class Sheet:
    number: int
    title: str
    page: str
    common: Mapping[str, Any]
    runs: Sequence[Run]
    questions: Sequence[Question]


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
    return frames * (SYMBOLS_PER_BIN * bits - CRC_BITS) * MSS / MTU / 1e6


def goodput(report: Report) -> float:
    return float(report["tcp"]["goodput_bps"])


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
            ),
            Number(
                "capacity_a_mbps",
                "Run a: compute the TCP capacity with that modulation, in Mbit/s, from slots, bins,"
                " symbols, CRC and headers.",
                lambda r: capacity_mbps(bins, most_used(r["a"])),
                0.01,
            ),
            Number(
                "failed_b_percent",
                "Run b: which share of the frames failed, in per cent?",
                lambda r: 100 * r["b"]["link"]["frame_error_rate"],
                0.02,
                0.1,
            ),
            Number(
                "bits_b",
                "Run b: how many bits per symbol did the frames have in the mean?",
                lambda r: float(r["b"]["capacity"]["bits_per_symbol"]),
                0.02,
            ),
            Number(
                "gain_of_allocation",
                "Runs b and c: how many times as much TCP goodput do the best bins give as always"
                " the same ones?",
                lambda r: goodput(r["b"]) / goodput(r["c"]),
                0.02,
            ),
            Number(
                "cost_of_prediction_percent",
                "Runs b and d: by how many per cent is TCP's goodput lower with the worse"
                " prediction?",
                lambda r: 100 * (1 - goodput(r["d"]) / goodput(r["b"])),
                0.05,
                1.0,
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
            ),
            Choice(
                "why_fail",
                "In run b the base station knows each bin's SNR 2 ms in advance within a small"
                " error. Why do frames still fail?",
                {
                    "a": "the modulation is chosen for the largest expected payload, not for"
                    " certain success",
                    "b": "the CRC is too short",
                    "c": "the terminal is too slow",
                },
                "a",
            ),
        ],
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
            ),
            Number(
                "dropped_a",
                "Run a: how many packets of the downlink were dropped?",
                lambda r: float(sum(r["a"]["packets"]["downlink"]["dropped"].values())),
                0,
            ),
            Number(
                "exceeded_b",
                "Run b: how many packets of the downlink were dropped because a frame used up its"
                " retransmissions?",
                lambda r: float(
                    r["b"]["packets"]["downlink"]["dropped"].get("retransmissions_exceeded", 0)
                ),
                0,
            ),
            Number(
                "goodput_b_over_a",
                "Runs a and b: which share of its goodput does TCP keep with one retransmission at"
                " most (0 to 1)?",
                lambda r: goodput(r["b"]) / goodput(r["a"]),
                0.02,
                0.01,
            ),
            Number(
                "failed_c_percent",
                "Run c: which share of the frames failed, in per cent?",
                lambda r: 100 * r["c"]["link"]["frame_error_rate"],
                0.02,
                0.1,
            ),
            Number(
                "rtt_a_over_d",
                "Runs a and d: how many times as long is TCP's mean round trip with the long"
                " queue?",
                lambda r: r["a"]["tcp"]["rtt_ms"]["mean"] / r["d"]["tcp"]["rtt_ms"]["mean"],
                0.02,
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
            ),
        ],
    )


SHEETS: Mapping[int, Callable[[random.Random], Sheet]] = {
    1: fading_and_adaptation,
    2: arq_and_delay,
}


def sheet_of(number: int, student: str) -> Sheet:
    """The task of this student: the same at every call."""
    return SHEETS[number](random.Random(seed_of(student) * 10 + number))
