# SPDX-License-Identifier: GPL-3.0-or-later
"""Applications of an experiment in virtual time (runs/virtual.py): one of each terminal, whose data
go up or down: one TCP connection that always has something to send, or what `application` says, a
flow of host/flow/flows.schema.json with a seed of its own. Each begins at its own time within
`start_within_s`, the same for all methods of a realisation; counted is what happens from
`measured_from_s` on.

A timeout is spurious when the kernel took it back: an acknowledgement showed by its timestamp, or
F-RTO did, that the segment had not been lost. A timer that runs out again while it is so counts
once as spurious and the other times as real. Timeouts are scaled to the literature's 120 s.

The kernel counts the timeouts of a whole station: flows that send from one `side` report the same
counter, which counts once, with the largest value (a flow that began later has seen fewer). ns-3
counts the timeouts of each flow, and names no side."""

import random
from typing import Any

from ..figures import checks
from ..figures.facts import Facts
from ..measure.flows import Flow, flow
from ..runs import virtual
from . import tcp_settings, workloads

TIMEOUTS_IN_S = 120


def plan_of(settings: dict[str, Any], work: dict[str, Any]) -> virtual.Plan:
    flows, senders = [], set()
    for user in range(1, settings.get("terminals", 1) + 1):
        late = random.Random(f"{settings['seed']} {user}").uniform(0, work["start_within_s"])
        ends = (user, 0) if work["kind"] == "uploads" else (0, user)
        senders.add(ends[0])
        flows.append(
            application(work, ends, f"{settings['seed']} {user} traffic")
            | {
                "start_s": round(virtual.START_S + late, 6),
                "seconds": round(work["duration_s"] - late, 6),
                "congestion_control": work["congestion_control"],
                "measured_from_s": round(work["measured_from_s"] - late, 6),
            }
        )
    return virtual.Plan(
        flows,
        {
            f"net/ipv4/{name}": str(v)
            for name, v in tcp_settings.WIDE.items()
            if work["window_bytes"]
        }
        | work["sender"],
        [
            (side, command)
            for side in sorted(senders)
            for command in workloads.queue_commands(work, f"eth{side}")
        ],
        between=(virtual.START_S + work["measured_from_s"], virtual.START_S + work["duration_s"]),
        window_bytes=work["window_bytes"],
    )


def application(work: dict[str, Any], ends: tuple[int, int], seed: str) -> Flow:
    """Without times; `ends`: sender and receiver of the data."""
    wanted = dict(work.get("application", {"kind": "bulk"}))
    kind = wanted.pop("kind")
    if kind == "http":  # in HTTP the user opens the connection and the server sends the data
        ends = ends[::-1]
    if kind != "bulk":
        wanted = {"seed": random.Random(seed).getrandbits(53)} | wanted
    return flow(kind, *ends, **wanted)


def result_of(report: dict[str, Any], kind: str) -> dict[str, Any]:
    """A user without a connection is no user: the others have the link for themselves."""
    since = [f["since"] for f in report["flows"] if "since" in f]
    report = report | {
        "verdict": checks.evaluate_also(
            report["verdict"],
            Facts(
                failed=[
                    f"flow {f['flow']}: {f['problem']}" for f in report["flows"] if "problem" in f
                ]
            ),
        )
    }

    sides: dict[Any, list[dict[str, Any]]] = {}
    for n, s in enumerate(since):
        sides.setdefault(s.get("side", f"flow {n}"), []).append(s)

    def of_each_side(name: str) -> list[int]:
        return [max(s[name] for s in of_side) for of_side in sides.values()]

    timeouts = sum(of_each_side("TCPTimeouts"))
    spurious = sum(
        min(pair) for pair in zip(of_each_side("TCPLossUndo"), of_each_side("TCPTimeouts"))
    )
    scale = TIMEOUTS_IN_S / max((s["seconds"] for s in since), default=TIMEOUTS_IN_S)
    return report | {
        "workload": {
            "kind": kind,
            "goodput_bps": sum(s["bytes_acked"] * 8 / s["seconds"] for s in since),
            "timeouts": timeouts * scale,
            "timeouts_spurious": spurious * scale,
            "timeouts_real": (timeouts - spurious) * scale,
            "rtt_ms": sum(s["rtt_ms"] for s in since) / max(1, len(since)),
            "each": since,
        }
    }
