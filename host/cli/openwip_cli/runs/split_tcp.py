# SPDX-License-Identifier: GPL-3.0-or-later
"""emulate --split-tcp (docs/explanation/umts.md): a controller between the wired network and the
bearer, in a namespace of its own, with a proxy that splits TCP connections in two.

    base: wip0 -- emulator "wired" -- wired0 :controller: wip0 -- emulator -- wip0: terminal

What goes through the controller the kernel forwards, but for what a rule hands to the proxy
(TPROXY): the first packet of a connection to one of the ports, if the proxy listens, and all that
belongs to a connection of the proxy's."""

import contextlib
import copy
import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

from google.protobuf import json_format
from openwip_schema import control_pb2 as pb

from ..cell import cell as cells
from ..cell import configuration
from ..cell.cell import CONTROLLER, Cell
from ..cell.process import Process
from ..cell.running import interface_counts
from ..cell.session import start_process
from ..cell.supervisor import SupervisorClient
from ..errors import BadInput, CellDied, cause_of, not_valid
from ..figures import conservation, link_counts, timing
from ..figures.facts import Facts, Statuses
from ..machine import system
from ..machine.places import Places
from ..measure.flows import Flow
from ..messages import control
from ..settings import table
from ..settings.scenario import Scenario, text_of
from ..shapes import AirStatus, Interface, PathSums, Realtime
from . import run as runs

PROGRAM, GUEST = "host/split/wip_split", "host/split/wip_split_guest"
KEYS = [key for key in table.keys_of("split") if key.startswith("split_tcp.")]
WIRED, PROXY = "wired", "split"  # names of the processes
MARK, ROUTES = 1, 100  # firewall mark and routing table of the proxy's packets
WAYS = ("opener", "other")
NAMESPACE_DESCRIPTOR = 3  # descriptor of the program between two sides of a kernel in virtual time


def asked(s: Scenario) -> bool:
    return s["split_tcp.ports"] != "off"


def check(s: Scenario, time: str = "real") -> None:
    """Refuses what cannot be split, before anything is made."""
    if not asked(s):
        return
    if s["link.kind"] != "umts":
        raise not_valid(
            "--split-tcp",
            repr(s["split_tcp.ports"]),
            "off, or --link umts",
            more=f" with --link {s['link.kind']}",
        )
    if time == "ns3":
        raise not_valid(
            "--split-tcp",
            repr(s["split_tcp.ports"]),
            "off, or --time real, virtual",
            more=" with --time ns3, which runs no program",
        )
    if time == "virtual" and s["terminals"] > 1:
        raise not_valid(
            "--terminals", s["terminals"], "1", more=" with --split-tcp and --time virtual"
        )
    if time == "real" and shutil.which("nft") is None:
        raise BadInput(
            "--split-tcp: the program nft, which leads connections to the proxy, is not installed:"
            " apt install nftables"
        )


def settings_of(s: Scenario) -> dict[str, str]:
    """The settings of the proxy."""
    return {key: text_of(s[key]) for key in KEYS if key in s.values}


def proxy_config(cell: Cell, s: Scenario) -> dict[str, Any]:
    return table.nested(settings_of(s)) | {
        "user": system.account()[0],
        "control": cell.endpoint("split.control"),
    }


def wired_config(cell: Cell, tree: dict[str, Any]) -> dict[str, Any]:
    """The configuration of the second emulator, which is the wired network between server and
    controller. `tree`: configuration of the emulator of the bearer."""
    wired = copy.deepcopy(tree)
    wired["link"]["kind"], wired["name"], wired["terminals"] = "wire", WIRED, 1
    for end, station, interface, address in (
        ("server", "base", "wip0", f"{cells.ADDRESS['base']}/30"),
        ("terminal", CONTROLLER, "wired0", cells.WIRED_ADDRESS),
    ):
        name = "base" if end == "server" else "terminal"
        wired[end] = {
            "namespace": cell.namespace(station),
            "tun": interface,
            "address": address,
            "control": cell.endpoint(f"wired.{name}.control"),
            "telemetry": cell.endpoint(f"wired.{name}.telemetry"),
        }
    return wired | {"control": cell.endpoint("wired.air.control")}


def rules(s: Scenario) -> str:
    """The rules for nft. The first packet of a connection goes to the proxy's listening socket. If
    there is none, the rule ends there and the packet passes."""
    ports = s["split_tcp.ports"]
    listed = "" if ports == "all" else f"tcp dport {{ {ports.replace(',', ', ')} }} "
    listen = table.setting("split_tcp.listen", "split").default
    return f"""table ip openwip {{
  counter split {{ }}
  counter passed {{ }}
  counter connections_passed {{ }}
  chain prerouting {{
    type filter hook prerouting priority mangle; policy accept;
    iifname != {{ "wired0", "wip0" }} accept
    tcp dport != {listen} socket transparent 1 meta mark set {MARK} counter name split accept
    tcp flags & (fin|syn|rst|ack) == syn {listed}tproxy to :{listen} meta mark set {MARK} counter name split accept
    tcp flags & (fin|syn|rst|ack) == syn counter name connections_passed
    counter name passed
  }}
}}
"""


def command(namespace: str, *argv: str, given: str | None = None) -> str:
    done = subprocess.run(
        ["ip", "netns", "exec", namespace, *argv], input=given, capture_output=True, text=True
    )
    if done.returncode:
        # nft shows the place below what is wrong
        first = done.stderr.strip().partition("\n")[0]
        raise BadInput(
            f"--split-tcp: {' '.join(argv[:2])} in the controller's namespace:"
            f" {cause_of(argv[0], done.returncode, first)}"
        )
    return done.stdout


class SplitCell(runs.MeasuredCell):
    """A cell with a wired network and a proxy, whose statuses are also read."""

    def __init__(self, cell: Cell, supervisor: SupervisorClient, scenario: Scenario) -> None:
        super().__init__(cell, supervisor, scenario)
        self.wired = {
            name: control.Control(cell.endpoint(f"wired.{name}.control"))
            for name in ("air", "base", "terminal")
        }
        self.proxy = control.Control(cell.endpoint("split.control"))
        self.found: dict[str, Any] = {}

    def prepare(self) -> None:
        """The controller's namespace, before its interfaces are made. Its proxy listens below 1024
        as the account."""
        namespace = self.cell.namespace(CONTROLLER)
        command(
            namespace,
            "sh",
            "-c",
            "cd /proc/sys/net/ipv4 && echo 1 >ip_forward && echo 0 >ip_unprivileged_port_start && "
            "for i in all default; do echo 0 >conf/$i/rp_filter; done",
        )
        system.ip("-n", namespace, "rule", "add", "fwmark", str(MARK), "lookup", str(ROUTES))
        system.ip(
            "-n", namespace, "route", "add", "local", "default", "dev", "lo", "table", str(ROUTES)
        )
        command(namespace, "nft", "-f", "-", given=rules(self.scenario))

    def start(
        self, tree: dict[str, Any], places: Places, progress: Callable[[str], None], program: str
    ) -> None:
        """Starts the wired network and the proxy. `tree`, `program`: configuration and program of
        the emulator of the bearer, which runs already."""
        cell, supervisor, run = self.cell, self.supervisor, {"OPENWIP_RUN": str(self.cell.run)}
        progress(f"cell '{cell.name}': starting the wired network and the proxy of split TCP")
        path = configuration.write_config(cell, WIRED, wired_config(cell, tree))
        start_process(
            supervisor,
            Process(WIRED, [places.program(program), "--config", path], run, slot_path=True),
            self.wired["air"],
        )
        path = configuration.write_config(cell, PROXY, proxy_config(cell, self.scenario))
        start_process(
            supervisor,
            Process(
                PROXY, [places.program(PROGRAM), "--config", path], run, cell.namespace(CONTROLLER)
            ),
            self.proxy,
        )
        sender = ["congctl", self.scenario["traffic.tcp_cc"]]
        for network, interface in (
            (f"{cells.ADDRESS['base']}/32", "wired0"),
            ("10.42.0.0/24", "wip0"),
        ):
            system.ip(
                "-n", cell.namespace(CONTROLLER), "route", "add", network, "dev", interface, *sender
            )

    def statuses(self) -> Statuses:
        return SplitStatuses(
            super().statuses(),
            Statuses(*(self.ask(e) for e in self.wired.values())),
            self.ask(self.proxy),
        )

    def begin(self) -> None:
        with contextlib.suppress(self.NoAnswer):
            self.wired["air"].reset_counters()
        self.wired_before: AirStatus = self.ask(self.wired["air"])

    def kernel_counts(self) -> dict[str, Interface]:
        return super().kernel_counts() | {
            "wired.base": interface_counts(self.cell, "base"),
            "wired.terminal": interface_counts(self.cell, CONTROLLER, "wired0"),
        }

    def more_facts(self, now: Any, kernel: dict[str, Interface] | None) -> dict[str, Any]:
        air = timing.realtime_of(
            self.wired_before, now.wired.air, timing.missed(now.wired.air, now.wired.base.radio)
        )
        interfaces = kernel and {end: kernel[f"wired.{end}"] for end in ("base", "terminal")}
        self.found = report_of(now.split) | {
            "wired": wired_report(now.wired.base, now.wired.terminal),
            "wired_pacing_us": air["pacing_us"],
            "rule": self.rule_counts(),
        }
        return {
            "wired": wired_facts(now.wired.base, now.wired.terminal, interfaces, pacing=air),
            "split": self.found,
        }

    def rule_counts(self) -> dict[str, int]:
        """Packets that the rules in the controller counted: those of connections of the proxy, all
        others, and how many connections the former were."""
        try:
            ruleset = json.loads(
                command(
                    self.cell.namespace(CONTROLLER),
                    "nft",
                    "-j",
                    "list",
                    "counters",
                    "table",
                    "ip",
                    "openwip",
                )
            )
        except BadInput as e:
            raise CellDied(str(e)) from None
        return {
            c["counter"]["name"]: c["counter"]["packets"]
            for c in ruleset["nftables"]
            if "counter" in c
        }


class SplitStatuses(Statuses):
    def __init__(self, link: Statuses, wired: Statuses, proxy: pb.SplitStatus) -> None:
        super().__init__(link.air, link.base, link.terminal)
        self.wired, self.split = wired, proxy

    @property
    def counts(self) -> bytes:
        return super().counts + self.wired.counts + self.split.SerializeToString(deterministic=True)

    @property
    def queued(self) -> bool:
        # The proxy may hold bytes that no reader will ever take.
        return super().queued or self.wired.queued


# --- in virtual time ---


def guest_proxy(
    s: Scenario, flows: Sequence[Flow], first_port: int, memory_mb: int
) -> dict[str, Any]:
    """The proxy in the kernel's plan. Nothing passes a proxy that listens at the ports themselves:
    a plan that needs it is refused."""
    most_kb = memory_mb * 1024 // 2 // (2 * s["split_tcp.connections"])
    if s["split_tcp.buffer_kb"] > most_kb:
        raise BadInput(
            f"--split-tcp-buffer-kb is {s['split_tcp.buffer_kb']} with --split-tcp-connections"
            f" {s['split_tcp.connections']} and --time virtual: the buffers of all connections in"
            f" both directions are more than half of the {memory_mb} MiB of the virtual machine's"
            f" kernel; valid with that: 4..{most_kb}"
        )
    ports = list(range(first_port, first_port + len(flows)))
    for port, flow in zip(ports, flows):
        if flow["kind"] in ("voip", "program") or flow["from"] != 0:
            side = "terminal" if flow["from"] else "server"
            raise BadInput(
                f"--split-tcp is {s['split_tcp.ports']!r} with --time virtual and traffic of kind"
                f" {flow['kind']} from the {side}; valid: --split-tcp off, or only TCP connections"
                " that the server opens"
            )
        if not is_listed(s["split_tcp.ports"], port):
            raise BadInput(
                f"--split-tcp is {s['split_tcp.ports']!r} with --time virtual, whose traffic has"
                f" port {port}; valid there: all, or its ports"
            )
    numbers = [
        s["split_tcp.buffer_kb"] << 10,
        s["split_tcp.connections"],
        s["split_tcp.keepalive_s"],
        NAMESPACE_DESCRIPTOR,
    ]
    return {
        "listens": s["terminals"] + 1,
        "connects": s["terminals"] + 2,
        "command": ["/split", ",".join(map(str, ports)), *map(str, numbers)],
    }


def is_listed(ports: str, port: int) -> bool:
    spans = [item.partition("-") for item in ports.split(",")]
    return ports == "all" or any(
        int(first) <= port <= int(last or first) for first, _, last in spans
    )


def of_virtual_run(
    wired: dict[str, Any],
    proxy: dict[str, Any],
    kernels_counts: Callable[[Any], dict[str, Interface]],
) -> tuple[Facts, dict[str, Any]]:
    """Facts of the wired network, and what the report says of the proxy."""
    base, terminal = (
        json_format.ParseDict(wired[end], pb.MacStatus()) for end in ("base", "terminal")
    )
    found = report_of(json_format.ParseDict(proxy, pb.SplitStatus())) | {
        "wired": wired_report(base, terminal)
    }
    return wired_facts(base, terminal, kernels_counts(wired["interfaces"])), found


# --- what it says, in real time and in virtual time ---


def report_of(status: pb.SplitStatus) -> dict[str, Any]:
    return {
        "connections": link_counts.counts_of(
            status, "split", "open", "ended", "reset", "not_reached", "full"
        ),
        "bytes_from": {name: link_counts.counts_of(w, "") for name, w in zip(WAYS, status.ways)},
    }


def wired_report(base: pb.MacStatus, terminal: pb.MacStatus) -> dict[str, PathSums]:
    return {name: path.report() for name, path in conservation.paths_of(base, terminal).items()}


def wired_facts(
    base: pb.MacStatus,
    terminal: pb.MacStatus,
    interfaces: dict[str, Interface] | None,
    pacing: Realtime | None = None,
) -> Facts:
    """`interfaces`: what the kernel counted at the interfaces of the wired network."""
    paths = conservation.paths_of(base, terminal)
    return Facts(sums=conservation.sums_of_paths(paths, interfaces), pacing=pacing)
