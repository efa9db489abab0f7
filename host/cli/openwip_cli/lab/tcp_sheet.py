# SPDX-License-Identifier: GPL-3.0-or-later
"""Worksheet 4: TCP over the link, with a long and a short buffer and a short and a long
retransmission delay (Alfredsson (2012), sections 6.3.1 and 6.3.4)."""

import math
import random
from collections.abc import Mapping

import numpy

from ..errors import BadInput
from ..figures.capacities import MTU, USUAL_MSS
from ..records.run_record import RunRecord
from .questions import Choice, Number, Report, Run, Sheet, goodput, ratio

LONG_QUEUE = 20  # packets
SHORT_MS, LONG_MS = 2, 16  # retransmission delays


def recorded(record: RunRecord) -> Mapping[str, float]:
    """The flow of the base station's side that had most bytes acknowledged: iperf3's data, not its
    control connection."""
    samples = record.table("tcp", "observer")
    flows = samples.child("flow") if samples is not None else None
    if flows is None or not len(flows):
        raise BadInput(
            f"run record {record.path} holds no TCP connection (table tcp of the source observer);"
            " valid: the record of a whole run"
        )
    local, acknowledged = flows["local"], flows["bytes_acknowledged"]
    sender = flows["station"] == "base"
    rows = numpy.flatnonzero(sender)
    of_data = local == local[rows[acknowledged[rows].argmax()]]
    return {"largest_cwnd_segments": float(flows["cwnd_segments"][sender & of_data].max())}


def lost_share(report: Report) -> float:
    """The count of the packets that came to the base station's queue."""
    packets = report["packets"]["downlink"]
    return float(packets["dropped"].get("queue_full", 0)) / float(packets["in"])


def mathis_mbps(report: Report) -> float:
    """Mathis et al. (1997), where each segment is acknowledged by itself: MSS / RTT sqrt(3 / 2p)."""
    rtt_s = report["tcp"]["rtt_ms"]["mean"] / 1000
    return USUAL_MSS * 8 / rtt_s * math.sqrt(1.5 / lost_share(report)) / 1e6


def tcp_over_the_link(draw: random.Random) -> Sheet:
    speed, wired = draw.choice([60, 75, 90]), draw.choice([10, 12, 15])
    short = draw.choice([3, 4, 5])

    def bdp_packets(report: Report) -> float:
        return float(report["link"]["goodput_bps"]) * 2 * wired / 1000 / (8 * MTU)

    return Sheet(
        4,
        "TCP over the link",
        "docs/lab/tcp-over-the-link.md",
        {
            "channel.model": "jakes",
            "channel.speed_kmh": speed,
            "channel.snr_db": 16,
            "channel.prediction_nmse": 0.1,
            "link.order": "in_order",
            "wired.delay_ms": wired,
            "traffic.tcp_window_kb": 64,
            "traffic.duration_s": 20,
        },
        [
            Run(
                name,
                says,
                {"link.queue_packets": queue, "link.retransmission_delay_ms": delay_ms},
            )
            for name, says, queue, delay_ms in (
                ("a", "a long buffer, a short retransmission delay", LONG_QUEUE, SHORT_MS),
                ("b", "a short buffer, a short retransmission delay", short, SHORT_MS),
                ("c", "a short buffer, a long retransmission delay", short, LONG_MS),
                ("d", "a long buffer, a long retransmission delay", LONG_QUEUE, LONG_MS),
            )
        ],
        [
            Number(
                "product_packets",
                "Run a: compute the bandwidth-delay product in packets of 1500 bytes, from the"
                " rate that the link acknowledged and the delay of the wired network both ways.",
                lambda r: bdp_packets(r["a"]),
                0.02,
                hint="the rate is the first number of the line `link`; the delay is twice"
                " --wired-delay-ms of the command; a packet has 12,000 bits",
            ),
            ratio(
                "goodput_b_over_a",
                "Runs a and b: which share of its goodput does TCP keep with the short buffer (0"
                " to 1)?",
                goodput,
                ("b", "a"),
                0.02,
                0.005,
            ),
            ratio(
                "goodput_c_over_b",
                "Runs b and c: which share of its goodput does TCP keep with the long"
                " retransmission delay, while the buffer is short (0 to 1)?",
                goodput,
                ("c", "b"),
                0.02,
                0.005,
            ),
            ratio(
                "goodput_d_over_a",
                "Runs a and d: which share of its goodput does TCP keep with the long"
                " retransmission delay, while the buffer is long (0 to 1)?",
                goodput,
                ("d", "a"),
                0.02,
                0.005,
            ),
            Number(
                "lost_b_percent",
                "Run b: which share of the packets that came to the base station's queue was"
                " dropped because it was full, in per cent?",
                lambda r: 100 * lost_share(r["b"]),
                0.02,
                0.02,
                hint="the line `downlink` has how many packets came in and how many were dropped"
                " by the reason queue_full",
            ),
            Number(
                "formula_b_mbps",
                "Run b: compute the goodput that the formula of Mathis et al. (1997) gives for"
                " this share of losses and the mean round trip of the run, in Mbit/s.",
                lambda r: mathis_mbps(r["b"]),
                0.04,
                hint="it is 1448 x 8 bit over the round trip in seconds, times the root of 3 over"
                " twice the share of losses, which is a number between 0 and 1",
            ),
            Number(
                "window_a_segments",
                "Run a: which is the largest congestion window of TCP's sender, in segments?",
                lambda r: r["a"]["recorded"]["largest_cwnd_segments"],
                0,
                hint="in the table tcp of the observer it is the largest cwnd_segments of the flow"
                " of the station base that had most bytes acknowledged",
            ),
            Choice(
                "why_no_matter",
                "Why does TCP hardly notice the retransmission delay while the buffer is long?",
                {
                    "a": "TCP sends the frames again itself",
                    "b": "while frames wait to be sent again, the bins carry other packets that"
                    " wait in the buffer",
                    "c": "with a long buffer fewer frames fail",
                },
                "b",
                hint="what does the base station send in the slots in between, with a full buffer"
                " and with an empty one?",
            ),
        ],
        command="emulate",
        recorded=recorded,
    )
