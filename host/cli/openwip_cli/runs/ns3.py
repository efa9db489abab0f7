# SPDX-License-Identifier: GPL-3.0-or-later
"""emulate --time ns3: the emulator's links with the TCP of ns-3 at both their ends
(docs/explanation/ns3.md). run(scenario, ...) is the entry for programs, with the plans of
runs/virtual.py."""

import json
import pathlib
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

from ..cell.program_check import why_ended
from ..errors import BadInput, CellDied
from ..machine import system
from ..machine.places import Places
from ..settings.scenario import Scenario
from ..text import to_yaml
from . import emulate, ns3_tcp, split_tcp, virtual

PROGRAM = "host/simulator/wip_ns3"  # file of the build


def run(
    s: Scenario,
    places: Places,
    plan: virtual.Plan | None = None,
    packets: str | None = None,
    progress: Callable[[str], None] = lambda text: None,
    tcp: dict[str, Any] | None = None,
    recorded: str | None = None,
) -> dict[str, Any]:
    """The report, as of virtual.run(). `tcp`: settings of all senders and receivers (ns3_tcp.TCP);
    `sender` is the default plan's."""
    check(places)
    ns3_tcp.check(s)
    split_tcp.check(s, "ns3")
    tcp = dict(tcp or {})
    sender = tcp.pop("sender", s["traffic.tcp_cc"])
    window = 0 if "receive_window" in tcp else s["traffic.tcp_window_kb"]
    plan = plan or virtual.download(s, sender, window)
    if programs := [*plan.programs, *plan.batches, *plan.afterwards]:
        raise BadInput(
            f"{programs[0][1]} is given with --time ns3, which simulates the hosts and runs no"
            " program of Linux; valid: --time real, virtual"
        )
    todo = {"attributes": ns3_tcp.attributes_of(tcp, plan.sysctls), "flows": plan.flows}
    return virtual.made(SimulatorRun(s, places, plan, packets, progress, recorded, todo=todo))


class SimulatorRun(virtual.FlowsRun):
    """The flows of ns-3. `todo`: its plan (host/flow/flows.schema.json)."""

    def __init__(self, *of_flows: Any, todo: dict[str, Any]) -> None:
        super().__init__(*of_flows)
        self.todo = todo

    def traffic(self) -> None:
        self.progress("ns-3, simulated time")
        self.raw = run_program(
            self.places,
            self.tree,
            self.todo,
            self.plan,
            self.as_run,
            self.root,
            self.packets,
            bool(self.recorded),
        )
        self.result = {"flows": self.raw["flows"], "sysctl": {}, "programs": []}

    def rows(self) -> dict[str, Any]:
        found = super().rows()
        found["effective"]["plan"] = self.todo
        return found | {"versions": found["versions"] | {"ns3": self.raw["ns3"]}}


def check(places: Places, program: str = PROGRAM) -> None:
    places.check_built(emulate.PROGRAM, "python/openwip_schema")
    if not places.path(program).exists():
        raise BadInput(
            "--time is ns3, and this build does not contain ns-3: run ./openwip setup --ns3"
        )


def run_program(
    places: Places,
    tree: dict[str, Any],
    todo: dict[str, Any],
    plan: virtual.Plan,
    s: Scenario,
    root: pathlib.Path,
    packets: str | None,
    tells: bool,
) -> dict[str, Any]:
    return launch(
        places.program(PROGRAM),
        root,
        tree,
        todo,
        [
            "--longest",
            f"{virtual.times(plan, s)[2]:.9g}",
            *virtual.counts_and_files(plan, s, root, packets, tells),
        ],
    )


def launch(
    program: str,
    root: pathlib.Path,
    tree: dict[str, Any],
    todo: dict[str, Any],
    more: Sequence[str] = (),
) -> dict[str, Any]:
    """The output of the program with this configuration and plan."""
    config, flows = root / "config.yaml", root / "plan"
    config.write_text(to_yaml(tree))
    flows.write_text(json.dumps(todo, indent=1) + "\n")
    system.give_to_account(root, (config, flows))
    done = subprocess.run(
        [program, "--config", str(config), "--plan", str(flows), *more],
        capture_output=True,
        text=True,
    )
    if done.returncode == BadInput.code:
        raise BadInput(why_ended(done, config))
    if done.returncode:
        raise CellDied(why_ended(done), [])
    return json.loads(done.stdout)
