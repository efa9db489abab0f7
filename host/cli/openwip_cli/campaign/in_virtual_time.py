# SPDX-License-Identifier: GPL-3.0-or-later
"""The applications of an experiment (workloads.py) between the two ends of a Linux kernel in
virtual time: the same workloads, TCP settings and results, made by the same traffic program."""

import math
import shutil
import statistics
from collections.abc import Callable
from typing import Any

from ..cell import cell as cells
from ..machine import placement, scratch
from ..machine.places import Places
from ..measure import packet_rtt, time_sequence
from ..runs import emulate, virtual
from ..settings.emulator import NAME, scenario_of
from . import virtual_work, workloads
from .flow_results import KINDS
from .settings import START_S, VIRTUAL
from .tcp_settings import route_batches, route_metrics, sysctls_of, with_windows

TOOL = "traffic program in virtual time"
MOST_KB = 2000  # kB of all flows together up to which each segment's round trip is measured


def run(
    settings: dict[str, Any],
    work: dict[str, Any],
    progress: Callable[[str], None],
    *,
    places: Places,
    cores: placement.Placement | None = None,
    keep_packets: str | None = None,
    **_: Any,
) -> dict[str, Any]:
    """The report of one run, as runs.emulate.run() with workloads.make(work). `keep_packets`: a
    file for the packets of a download, of which the round trips are measured."""
    scenario, slot_path = (
        scenario_of(settings | {"traffic.duration_s": work.get("duration_s", 1)}),
        (cores.slot_path if cores else None),
    )
    sides = virtual.addresses(emulate.config(cells.Cell(NAME), scenario), scenario["terminals"])
    if work["kind"] in VIRTUAL:
        plan = virtual_work.plan_of(settings, work)
        if "route" in work:
            plan.batches = route_batches(sides, route_metrics(work))
        report = virtual.run(scenario, places, plan, progress=progress, cores=slot_path)
        return with_windows(virtual_work.result_of(report, work["kind"]), work["window_bytes"])
    plan = plan_of(work)
    if KINDS[work["kind"]].tcp:
        plan.sysctls = {f"net/ipv4/{name}": str(value) for name, value in sysctls_of(work).items()}
        plan.window_bytes = work["window_bytes"]
        plan.batches = route_batches(sides, route_metrics(work))
    plan.programs = [(0, command) for command in workloads.queue_commands(work, "eth0")]
    plan.afterwards = [(0, workloads.queue_report("eth0"))] if plan.programs else []
    each_rtt = (
        work["kind"] == "flows" and sum(f["kb"] * f["times"] for f in work["flows"]) <= MOST_KB
    )
    each_delay = work.get("packet_delays") == "on"
    trips: list[float] = []
    delays: list[int] = []
    sequence = time_sequence.Sequence()
    with scratch.folder() as folder:
        packets = str(folder / "packets.pcap") if each_rtt or each_delay else None
        report = virtual.run(scenario, places, plan, packets, progress, slot_path)
        if packets:
            if keep_packets:
                shutil.copyfile(packets, keep_packets)
            if each_delay:
                delays = packet_rtt.delays_of_capture(packets)
            if each_rtt:
                trips = [t for flow in packet_rtt.of_capture(packets).values() for t in flow]
            if report.get("mobility"):
                sequence = time_sequence.of_capture(packets)
    if add_result(report, work, TOOL):
        if trips:
            report["workload"]["packet_rtt"] = {
                "segments": len(trips),
                "mean_ms": round(statistics.fmean(trips), 3),
            }
        if delays:
            report["workload"]["packet_delay"] = {
                "packets": len(delays),
                "percentiles_ms": percentiles_ms(delays),
            }
        if sequence.sent:
            # The capture has the clock of the link.
            report["workload"]["handovers"] = [
                time_sequence.around(sequence, h["began_s"], h["over_s"])
                for h in report["mobility"]["latest"]
            ]
        if plan.afterwards:
            report["workload"]["queue"] = report["programs"][-1]["said"]
        if plan.sysctls:
            report = with_windows(report, work["window_bytes"])
            report["workload"]["tcp_settings"] |= {
                station: {
                    "route": [
                        p["said"].strip()
                        for p in report["programs"]
                        if p["side"] == side and p["program"] == "ip"
                    ],
                    "sysctl": {
                        name.rpartition("/")[2]: value for name, value in report["sysctl"].items()
                    },
                }
                for side, station in enumerate(cells.STATIONS)
            }
    return report


def percentiles_ms(delays_ns: list[int]) -> list[float]:
    """The percentiles 0 to 100: the smallest delay that so many percent of all do not exceed."""
    there = sorted(delays_ns)
    last = len(there) - 1
    return [
        round(there[min(last, max(0, math.ceil(len(there) * n / 100) - 1))] * 1e-6, 4)
        for n in range(101)
    ]


def plan_of(work: dict[str, Any]) -> virtual.Plan:
    """The plan for one kind of workload. The link's figures of a stream are read when it ends,
    those of TCP when the last byte has arrived."""
    kind = KINDS[work["kind"]]
    last = None if kind.tcp else START_S + work["duration_s"]
    return virtual.Plan([kind.flow_of(work) | {"start_s": START_S}], between=(START_S, last))


def add_result(report: dict[str, Any], work: dict[str, Any], tool: str) -> bool:
    """False: an end failed, as the verdict says."""
    ends = {e["end"]: e for e in report["flows"] if "failed" not in e}
    if set(ends) != {"sender", "receiver"}:
        return False
    report["workload"] = KINDS[work["kind"]].result_of(work, ends["sender"], ends["receiver"]) | {
        "kind": work["kind"],
        "tool": tool,
        "started_s": START_S,
        "wall_s": round(report["realtime"]["wall_seconds"], 3),
    }
    return True
