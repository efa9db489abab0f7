# SPDX-License-Identifier: GPL-3.0-or-later
"""Flows of the traffic program (wip_flow) between the namespaces of a cell. A flow is a mapping as
host/flow/flows.schema.json describes it; the Linux kernel in virtual time and ns-3 take the same,
and their ends report the same."""

import contextlib
import json
import signal
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from ..cell.cell import ADDRESS, Cell
from ..cell.supervisor import SupervisorClient
from ..machine import system
from . import traffic

Flow: TypeAlias = dict[str, Any]
End: TypeAlias = dict[str, Any]  # the report of one end

PROGRAM = "host/flow/wip_flow"  # file of the build
PORT = 5001  # port of a plan's first flow
PATIENCE_S = 6  # seconds after the planned end of a flow
# Seconds for the last packets of a stream: 30 retransmissions after 16 ms each take half of it.
DRAIN_S = 1.0


def flow(kind: str, sender: int, receiver: int, **settings: Any) -> Flow:
    """One flow between two sides: flow("bulk", 0, 1, start_s=1, seconds=30)."""
    return {"kind": kind, "from": sender, "to": receiver} | settings


def ends_of(lines: Iterable[dict[str, Any]]) -> list[End]:
    """The report of each end of each flow, from its lines; lists go on from line to line."""
    ends: dict[tuple[int, str], End] = {}
    for line in lines:
        end = ends.setdefault((line["flow"], line.get("end", "")), {})
        end.update(
            {
                k: end.get(k, []) + v if isinstance(v, list) else v
                for k, v in line.items()
                if k != "part"
            }
        )
    return list(ends.values())


def report_of(name: str, program: traffic.Program) -> End:
    """The report of the program that makes this end; TrafficFailed: it failed."""
    lines = [line for line in program.stdout.splitlines() if line.startswith("{")]
    try:
        ends = ends_of(json.loads(line) for line in lines)
    except ValueError:
        ends = []
    traffic.check_ended(**{name: program})
    if len(ends) != 1 or "end" not in ends[0]:
        raise traffic.TrafficFailed(f"the {name} of the flow printed no result")
    return ends[0]


def command(program: str, end: str, wanted: Flow, window_bytes: int = 0, **more: Any) -> list[str]:
    """One end of a flow from the base station's side (0) to the terminal's (1)."""
    sides = [f"{ADDRESS[station]}/30" for station in ("base", "terminal")]
    plan = {"sides": sides, "window_bytes": window_bytes, "flows": [wanted]} | more
    return [program, end, json.dumps(plan)]


def both_ends(
    supervisor: SupervisorClient,
    cell: Cell,
    program: str,
    wanted: Flow,
    seconds: float,
    window_bytes: int = 0,
    before: Callable[[], object] = lambda: None,
    over: Callable[[], object] = lambda: None,
) -> tuple[End, End]:
    """(sender, receiver): the results of a flow from the base station to the terminal. `seconds`:
    how long it lasts. `before` is called when the receiver listens, `over` when the sender has
    ended."""
    receive, send = (command(program, end, wanted, window_bytes) for end in ("receiver", "sender"))
    with traffic.pair(supervisor, cell, receive, send, before=before) as (receiver, sender):
        if not sender.wait(supervisor, seconds + PATIENCE_S):
            raise traffic.TrafficFailed(
                f"the sender of the {wanted['kind']} flow did not end within"
                f" {seconds + PATIENCE_S:.0f} s"
            )
        over()
        sent = report_of("sender", sender)
        # without a connection the receiver does not end by itself
        if wanted["kind"] in ("bulk", "voip"):
            if not receiver.wait(supervisor, DRAIN_S):
                with contextlib.suppress(ProcessLookupError):  # it may just have ended by itself
                    system.signal_pidfd(receiver.pidfd, signal.SIGTERM)
        if not receiver.wait(supervisor, PATIENCE_S):
            raise traffic.TrafficFailed(
                f"the receiver of the {wanted['kind']} flow did not end within {PATIENCE_S:.0f} s"
                " after the sender"
            )
        return sent, report_of("receiver", receiver)
