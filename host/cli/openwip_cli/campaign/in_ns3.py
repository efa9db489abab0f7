# SPDX-License-Identifier: GPL-3.0-or-later
"""The applications of an experiment (workloads.py) under ns-3: the same workloads and results, its
TCP as far as ns-3 has it."""

from collections.abc import Callable
from typing import Any

from ..machine.places import Places
from ..runs import ns3
from ..settings.emulator import scenario_of
from . import in_virtual_time, virtual_work
from .settings import VIRTUAL
from .tcp_settings import of_ns3

TOOL = "ns-3"


def run(
    settings: dict[str, Any],
    work: dict[str, Any],
    given: dict[str, Any] | None,
    progress: Callable[[str], None],
    *,
    places: Places,
) -> dict[str, Any]:
    """The report of one run, as in_virtual_time.run(). `given`: settings of TCP by --tcp, which
    replace those of the workload."""
    scenario = scenario_of(settings | {"traffic.duration_s": work.get("duration_s", 1)})
    tcp = of_ns3(work, given)
    sender = tcp.pop("sender", None)
    if work["kind"] in VIRTUAL:  # uploads and downloads, which are made of a plan of flows
        plan = virtual_work.plan_of(settings, work | {"congestion_control": sender})
        plan.sysctls = {}  # `tcp` has the same settings, as ns-3 names them
        report = virtual_work.result_of(
            ns3.run(scenario, places, plan, progress=progress, tcp=tcp), work["kind"]
        )
        report["workload"]["tcp_settings"] = {"sender": sender} | tcp
        return report
    work = work | {"congestion_control": sender or ""}
    plan = in_virtual_time.plan_of(work)
    report = ns3.run(scenario, places, plan, progress=progress, tcp=tcp)
    if in_virtual_time.add_result(report, work, TOOL) and sender:
        report["workload"]["tcp_settings"] = {"sender": sender} | tcp
    return report
