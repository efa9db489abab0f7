# SPDX-License-Identifier: GPL-3.0-or-later
"""The kinds of workload of an experiment as flows (host/flow/flows.schema.json), and what of the
ends' results becomes the result of the workload: the same in namespaces, in virtual time and under
ns-3."""

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..measure.flows import End, Flow, flow

Work = dict[str, Any]
CONNECT_S = 6  # seconds; a link on which connecting takes longer is too bad for a test

# The fields of a flow of its own, of which a result has the mean; the last ones of a flow that had
# any.
MORE = (
    "retransmits",
    "segments",
    "rtt_ms",
    "window",
    "window_most",
    "window_variance",
    "timeouts",
    "fast_retransmits",
    "undone",
    "first_retransmission_s",
)


@dataclasses.dataclass(frozen=True)
class Kind:
    """`flow_of(work)`, without a start; `result_of(work, sender, receiver)`; `lasts(work)`,
    seconds; whether it is TCP, with the settings of the workload."""

    flow_of: Callable[[Work], Flow]
    result_of: Callable[[Work, End, End], dict[str, Any]]
    lasts: Callable[[Work], float]
    tcp: bool = True


# --- TCP for a time ---


def bulk(work: Work) -> Flow:
    return flow(
        "bulk", 0, 1, seconds=work["duration_s"], congestion_control=work["congestion_control"]
    )


def bulk_result(work: Work, sender: End, receiver: End) -> dict[str, Any]:
    """A link that is too bad for a connection is a result, a goodput of 0, and no failure."""
    duration = work["duration_s"]
    return {
        "goodput_bps": receiver["bytes"] * 8 / duration,
        "seconds": float(duration),
        "measured_by": "receiver",
        "retransmits": sender.get("retransmits"),
    } | (
        {"problem": sender["problem"], "rtt_ms": None}
        if "problem" in sender
        else {
            "mss": sender["mss"],
            "rtt_ms": sender["rtt_ms"]["mean"],
            "congestion_control": sender["congestion_control"],
        }
    )


# --- speech ---


def voip(work: Work) -> Flow:
    return flow(
        "voip",
        0,
        1,
        seconds=work["duration_s"],
        interval_s=float(f"{1 / work['packets_per_s']:.9g}"),
        bytes=work["payload_bytes"],
    )


def voip_result(_: Work, sender: End, receiver: End) -> dict[str, Any]:
    return {
        "worst_lateness_us": sender.get("worst_lateness_us", 0),
        "foreign": receiver.get("foreign", 0),
    } | stream(sender["sent"], receiver.get("arrived", []))


def stream(sent: int, arrived: list[list[int]]) -> dict[str, Any]:
    """The summary of a stream. If packets were lost or reordered it has `numbers`, too: the numbers
    of the packets that arrived, in the order of their delays."""
    numbers = list(dict.fromkeys(number for number, _ in arrived))
    return stream_summary(sent, arrived) | (
        {"numbers": numbers} if numbers != list(range(sent)) else {}
    )


def stream_summary(sent: int, arrived: Iterable[Sequence[int]]) -> dict[str, Any]:
    """The statistics of a stream of `sent` packets: loss, reordering, duplicates, and the delays in
    us of the first copy of each, in the order of arrival."""
    seen, delays, reordered, highest = set(), [], 0, -1
    duplicates = 0
    for number, delay in arrived:
        if number in seen:
            duplicates += 1
            continue
        seen.add(number)
        delays.append(delay)
        reordered += number < highest
        highest = max(highest, number)
    return {
        "sent": sent,
        "received": len(seen),
        "loss": 1 - len(seen) / sent if sent else 0.0,
        "reordered": reordered,
        "duplicates": duplicates,
        "delays_us": delays,
    }


# --- files ---


def files(work: Work) -> Flow:
    return flow(
        "sessions",
        0,
        1,
        congestion_control=work["congestion_control"],
        files=[{"bytes": f["kb"] * 1000, "times": f["times"]} for f in work["flows"]],
    )


def files_result(_: Work, sender: End, receiver: End) -> dict[str, Any]:
    return {"flows": by_size(sessions(sender["sessions"], receiver["sessions"]))}


def sessions(
    sent: Sequence[dict[str, Any]], received: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Per flow, in the order sent (they did not overlap): seconds since connect() was called."""
    flows = []
    for s, r in zip(sent, received):
        if r["bytes"] != s["bytes"]:
            raise ValueError(f"a flow of {s['bytes']} bytes arrived with {r['bytes']}")
        flows.append(
            {
                "kb": s["bytes"] // 1000,
                "connect_s": since(s, s["connected"]),
                "last_byte_s": since(s, r["last_byte"]),
                "session_s": since(s, r["closed"]),
            }
            | {k: s[k] for k in MORE if k in s}
            | {"arrived_s": [round(t - s["began"], 4) for t in r.get("arrived", ())]}
        )
    return flows


def since(sent: dict[str, Any], at: float) -> float:
    """Seconds from connect() to `at`, exact to the nanosecond, in which the clocks count."""
    return (round(at * 1e9) - round(sent["began"] * 1e9)) / 1e9


def by_size(done: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The results of the flows of each size: throughput from the mean time of a session, which
    includes set-up and closing."""
    sizes = {}
    for kb in dict.fromkeys(f["kb"] for f in done):
        sessions_of_size = [f for f in done if f["kb"] == kb]
        session = statistics.fmean(f["session_s"] for f in sessions_of_size)
        connect = statistics.fmean(f["connect_s"] for f in sessions_of_size)
        sizes[str(kb)] = {
            "times": len(sessions_of_size),
            "goodput_bps": kb * 8000 / session,
            "session_s": session,
            "last_byte_s": statistics.fmean(f["last_byte_s"] for f in sessions_of_size),
            "rtt_s": connect,
            "session_rtts": session / connect,
            "each_session_s": [round(f["session_s"], 6) for f in sessions_of_size],
        } | {
            k: statistics.fmean(found)
            for k in MORE
            if (found := [f[k] for f in sessions_of_size if k in f])
        }
        # `arrived_s`: the times at which each fiftieth part of the first flow had arrived.
        sizes[str(kb)] |= {
            k: sessions_of_size[0][k] for k in ("arrived_s",) if k in sessions_of_size[0]
        }
    return sizes


KINDS = {
    "tcp": Kind(bulk, bulk_result, lambda work: CONNECT_S + work["duration_s"]),
    "voip": Kind(voip, voip_result, lambda work: work["duration_s"], tcp=False),
    "flows": Kind(
        files,
        files_result,
        lambda work: sum(f["times"] * (1 + f["kb"] / 100) for f in work["flows"]),
    ),
}
