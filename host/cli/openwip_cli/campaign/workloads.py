# SPDX-License-Identifier: GPL-3.0-or-later
"""The applications of an experiment in the two namespaces of a cell, and their results.

TCP of the literature: Linux with SACK, delayed ACKs, at most 64 kB of window (64096 bytes in the
packet captures, no window scaling), a minimum RTO of 200 ms. Its kernels (2.6, before 2.6.39)
started with 3 segments and had neither RACK nor tail loss probes. All of it is set in the
namespaces and read back into the record of the run."""

import json
import subprocess
import time
from collections.abc import Callable
from typing import Any

from ..air import SAMPLE_RATE
from ..cell.cell import STATIONS
from ..errors import BadInput, cause_of, not_valid
from ..machine import system
from ..machine.places import Places
from ..measure import flows
from ..runs.run import MeasuredCell
from .flow_results import KINDS
from .settings import START_S
from .tcp_settings import route_metrics, sysctls_of, window_kept


def wait_for_start(cell: MeasuredCell) -> float:
    """Applications start at the same time of the channel in every run, so that runs of one
    realisation see the same fading (a busy machine may be late: the time is recorded). The link's
    figures are taken from here."""
    now = cell.ask(cell.air).now / SAMPLE_RATE
    if now < START_S:
        cell.supervisor.pause(START_S - now)
    cell.mark("first")
    return round(max(now, START_S), 3)


# --- TCP settings ---


def in_namespace(namespace: str, *argv: str) -> str:
    done = subprocess.run(["ip", "netns", "exec", namespace, *argv], capture_output=True, text=True)
    if done.returncode != 0:
        raise BadInput(
            f"{' '.join(argv)} in {namespace}: {cause_of(argv[0], done.returncode, done.stderr)}"
        )
    return done.stdout


def queue_commands(work: dict[str, Any], device: str) -> list[str]:
    """Commands that give the sender's host a bottleneck before the link, with this queue, as long
    as Linux makes it."""
    if work.get("qdisc", "none") == "none":
        return []
    if "bottleneck_mbps" not in work:
        raise not_valid(
            "qdisc",
            repr(work["qdisc"]),
            "both",
            more=" without bottleneck_mbps: nothing would wait in it",
        )
    rate, packets = (
        f"{work['bottleneck_mbps'] * 1000:.0f}kbit",
        ("limit 1000" if work["qdisc"] == "fifo" else ""),
    )
    if work["qdisc"] == "cake":
        return [f"tc qdisc replace dev {device} root cake bandwidth {rate} raw besteffort"]
    kind = {"fifo": "pfifo"}.get(work["qdisc"], work["qdisc"])
    return [
        f"tc qdisc replace dev {device} root handle 1: htb default 1",
        f"tc class add dev {device} parent 1: classid 1:1 htb rate {rate} burst 1600 cburst 1600",
        f"tc qdisc add dev {device} parent 1:1 handle 10: {kind} {packets}".strip(),
    ]


def queue_report(device: str) -> str:
    return f"tc -s qdisc show dev {device}"


def apply_tcp(cell: MeasuredCell, work: dict[str, Any]) -> dict[str, Any]:
    """Sets it in the namespaces; returns what the kernel then says."""
    sysctls, metrics = sysctls_of(work), route_metrics(work)
    record: dict[str, Any] = {"window_bytes": work["window_bytes"] or "tuned by the kernel"}
    for station in (*STATIONS, *cell.cell.controller):
        namespace = cell.namespace(station)
        script = "\n".join(
            f"echo '{value}' > /proc/sys/net/ipv4/{key} || exit 1" for key, value in sysctls.items()
        )
        in_namespace(namespace, "sh", "-c", script)
        for route in json.loads(system.ip("-n", namespace, "-j", "route", "show")):
            device = ["dev", route["dev"]] + (
                ["via", route["gateway"]] if "gateway" in route else []
            )
            source = ["src", route["prefsrc"]] if "prefsrc" in route else []
            scope = ["scope", route["scope"]] if "scope" in route else []
            protocol = ["proto", route["protocol"]] if "protocol" in route else []
            system.ip(
                "-n",
                namespace,
                "route",
                "replace",
                route["dst"],
                *device,
                *protocol,
                *scope,
                *source,
                *metrics,
            )
        read = in_namespace(
            namespace,
            "sh",
            "-c",
            "cd /proc/sys/net/ipv4 && for f in "
            + " ".join([*sysctls, "tcp_sack", "tcp_dsack", "tcp_window_scaling", "tcp_rmem"])
            + "; do echo $f $(cat $f); done",
        )
        record[station] = {
            "route": system.ip("-n", namespace, "route", "show").strip().splitlines(),
            "sysctl": dict(line.split(" ", 1) for line in read.splitlines()),
        }
    return record


# --- flows of the traffic program, from the base station's namespace to the terminal's ---


def flow_between(cell: MeasuredCell, work: dict[str, Any], program: str) -> dict[str, Any]:
    kind = KINDS[work["kind"]]
    settings = apply_tcp(cell, work) if kind.tcp else {}
    window = work["window_bytes"] if kind.tcp else 0
    flow = kind.flow_of(work) | ({} if kind.tcp else {"kernel_times": True})
    started: list[float] = []
    sent, received = flows.both_ends(
        cell.supervisor,
        cell.cell,
        program,
        flow,
        kind.lasts(work),
        window,
        before=lambda: started.append(wait_for_start(cell)),
        over=lambda: cell.mark("last"),
    )
    result = {"kind": work["kind"], "tool": "wip_flow", "started_s": started[0]}
    if kind.tcp:
        settings["windows_at_the_end"] = received.get("windows", [])
        result |= {
            "tcp_settings": settings,
            "failed": window_kept(window, settings["windows_at_the_end"]),
        }
    return result | kind.result_of(work, sent, received)


def hang_up(cell: MeasuredCell) -> None:
    """Takes the routes of all stations away. On a bad link the kernels go on repeating segments of
    connections whose programs have ended, while the sums are being taken. Without a route nothing
    more enters the cell; what is in it is still delivered."""
    for station in (*STATIONS, *cell.cell.controller):
        system.ip("-n", cell.namespace(station), "route", "flush", "all")


def make(work: dict[str, Any], places: Places) -> Callable[[MeasuredCell], dict[str, Any]]:
    """workload(cell) for runs.emulate.run."""
    program = places.program(flows.PROGRAM)

    def workload(cell: MeasuredCell) -> dict[str, Any]:
        began, server = time.monotonic(), cell.namespace("base")
        queue = queue_commands(work, "wip0")
        for command in queue:
            in_namespace(server, *command.split())
        try:
            result = flow_between(cell, work, program) | {
                "wall_s": round(time.monotonic() - began, 3)
            }
            return result | (
                {"queue": in_namespace(server, *queue_report("wip0").split())} if queue else {}
            )
        finally:
            hang_up(cell)

    return workload
