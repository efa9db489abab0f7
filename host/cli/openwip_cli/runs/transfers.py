# SPDX-License-Identifier: GPL-3.0-or-later
"""One transfer over a line with bit errors: in namespaces of its own, with the TCP of a Linux
kernel in virtual time, or with that of ns-3."""

from collections.abc import Callable
from typing import Any

from google.protobuf import json_format
from openwip_schema import control_pb2 as pb

from ..cell import cell as cells
from ..cell import configuration
from ..cell.cell import Cell
from ..cell.process import Process
from ..cell.running import Running
from ..cell.session import owned_cell, start_process
from ..cell.supervisor import SupervisorClient
from ..figures import conservation, meaning
from ..figures.facts import Facts
from ..machine import scratch, system
from ..machine.places import Places
from ..measure import flows, traffic
from ..settings.scenario import Scenario
from ..settings.table import nested, process_keys
from . import ns3, ns3_tcp, phases, virtual
from . import run as runs
from .options import Options

NAME = "tcpl"
PROGRAM = "host/tcpl/wip_tcpl"
NS3_PROGRAM = "host/simulator/wip_ns3_line"
LAST_ACK_S = 30


def config(cell: Cell, s: Scenario, point: dict[str, Any]) -> dict[str, Any]:
    """The configuration of wip_tcpl: every setting of the scenario that it has, with those of this
    transfer, and what belongs to the cell."""
    values = {process_key: s[key] for process_key, key in process_keys("tcpl", "tcp-l").items()}
    values |= {
        "seed": point["seed"],
        "errors.ber": point["ber"],
        "errors.burstiness": point["burstiness"],
        "relay.on": point["relay"],
        "relay.ports": str(flows.PORT),
    }
    return nested(values) | {
        "user": system.account()[0],
        "mtu": point["mtu"],
        "sender": {"namespace": cell.namespace("base"), "address": f"{cells.ADDRESS['base']}/30"},
        "receiver": {
            "namespace": cell.namespace("terminal"),
            "address": f"{cells.ADDRESS['terminal']}/30",
        },
        "control": cell.endpoint("air.control"),
    }


def kernel_checksum_errors(cell: Cell, supervisor: SupervisorClient) -> int:
    program = traffic.Program(cell.namespace("terminal"), ["cat", "/proc/net/snmp"])
    try:
        program.wait(supervisor, 10)
        names, values = [
            line.split()[1:] for line in program.stdout.splitlines() if line.startswith("Tcp:")
        ]
        return int(dict(zip(names, values))["InCsumErrors"])
    finally:
        program.kill()


def both_ways(status: pb.PathStatus) -> dict[str, pb.Direction]:
    return {"forward": status.forward, "back": status.back}


def compared(s: Scenario, point: dict[str, Any]) -> dict[str, Any]:
    """The flow of a transfer, without a start."""
    return flows.flow(
        "compare",
        0,
        1,
        bytes=s["traffic.bytes"],
        congestion_control=s["traffic.tcp_cc"],
        buffer_kb=s["traffic.tcp_window_kb"],
        limit_s=s["traffic.limit_s"],
        seed=point["seed"],
    )


def moved_of(size: int, got: dict[str, Any], sent: dict[str, Any]) -> dict[str, Any]:
    """A transfer that takes too long is a result, of TCP under errors, and no failure of the
    run."""
    if got["bytes"] < size and got.get("given_up"):
        return {"unfinished": True}
    if got["bytes"] != size:
        raise traffic.TrafficFailed(f"{got['bytes']} of the {size} bytes of the transfer arrived")
    seconds = got["last"] - got["began"]
    return {
        "seconds": seconds,
        "kbyte_s": size / seconds / 1000,
        **{k: got[k] for k in ("bytes_wrong", "bits_wrong")},
        **{k: sent[k] for k in ("retransmits", "congestion_control", "mss") if k in sent},
    }


def transfer(
    cell: Cell, supervisor: SupervisorClient, s: Scenario, point: dict[str, Any], program: str
) -> dict[str, Any]:
    receive, send = (
        flows.command(program, end, compared(s, point)) for end in ("receiver", "sender")
    )
    with traffic.pair(supervisor, cell, receive, send) as (receiver, sender):
        if not receiver.wait(supervisor, s["traffic.limit_s"] + flows.PATIENCE_S):
            raise traffic.TrafficFailed(
                f"the receiver of the transfer of {s['traffic.bytes']} bytes did not end within"
                f" {s['traffic.limit_s'] + flows.PATIENCE_S:g} s"
            )
        got = flows.report_of("receiver", receiver)
        # The last acknowledgement may be lost with the end of the cell.
        sent = flows.report_of("sender", sender) if sender.wait(supervisor, LAST_ACK_S) else {}
    return moved_of(s["traffic.bytes"], got, sent)


class Transfer(phases.Run):
    """A kind of transfer defines what moved, and what the line counted. `moved`: the results of the
    two programs."""

    status: pb.PathStatus
    checksum_errors = 0

    def __init__(self, point: dict[str, Any], s: Scenario, places: Places) -> None:
        super().__init__()
        self.point, self.scenario, self.places = point, s, places
        self.moved: dict[str, Any] = {}

    def facts(self) -> Facts:
        return Facts(
            failed=self.failed,
            sums=conservation.sums_of_line(both_ways(self.status).items()),
            latest_ms=self.status.late_max_ms,
        )

    def rows(self) -> dict[str, Any]:
        status = self.status
        return (
            self.point
            | self.moved
            | {
                "packets": status.forward.delivered.packets,
                "packets_damaged": status.packets_damaged,
                "queue_drops": sum(meaning.drops(status.forward).values()),
                "path_bits_wrong": status.bits_wrong,
                "late_max_ms": round(status.late_max_ms, 2),
                "realtime_priority": status.realtime_priority,
                "headers_restored": status.headers_restored,
                "checksum_errors": self.checksum_errors,
                "relay_verdicts": {d.reason: d.count.packets for d in status.relay},
            }
        )


class InCell(Transfer):
    """`workload(cell, supervisor)`: the transfer, or what a test has instead."""

    def __init__(
        self,
        cell: Cell,
        supervisor: SupervisorClient,
        point: dict[str, Any],
        s: Scenario,
        places: Places,
        workload: Callable[..., dict[str, Any] | None] | None = None,
    ) -> None:
        super().__init__(point, s, places)
        self.running, self.workload = Running(cell, supervisor), workload

    def start(self) -> None:
        cell, supervisor = self.running.cell, self.running.supervisor
        path = configuration.write_config(cell, "tcpl", config(cell, self.scenario, self.point))
        start_process(
            supervisor,
            Process(
                "tcpl",
                [self.places.program(PROGRAM), "--config", path],
                {"OPENWIP_RUN": str(cell.run)},
                slot_path=True,
            ),
            self.running.air,
        )

    def traffic(self) -> None:
        cell, supervisor = self.running.cell, self.running.supervisor
        self.moved = (
            transfer(
                cell, supervisor, self.scenario, self.point, self.places.program(flows.PROGRAM)
            )
            if self.workload is None
            else self.workload(cell, supervisor) or {}
        )

    def drain(self) -> None:
        running = self.running
        self.checksum_errors = kernel_checksum_errors(running.cell, running.supervisor)
        running.supervisor.wait_until(
            lambda: not any(d.queued.packets for d in both_ways(running.ask(running.air)).values()),
            runs.DRAIN_LIMIT_S,
        )
        self.status = running.ask(running.air)


def run_one(
    point: dict[str, Any],
    s: Scenario,
    name: str,
    places: Places,
    workload: Callable[..., dict[str, Any] | None] | None = None,
    cores: Any = "auto",
) -> dict[str, Any]:
    """One transfer in a cell; returns what was measured, with its verdict."""

    def silent(_text: str) -> None:
        pass

    with owned_cell(name, silent) as (cell, supervisor):
        return runs.in_cell(
            cell,
            supervisor,
            Options(s, name=name, cores=cores),
            places,
            silent,
            lambda: phases.carry_out(InCell(cell, supervisor, point, s, places, workload)),
        )


def failures(ends: list[dict[str, Any]]) -> list[str]:
    return [f"flow {e['flow']}: {e['failed']}" for e in ends if "failed" in e]


class WithoutClock(Transfer):
    """A transfer in a program that does everything at once. `raw`: its output."""

    raw: dict[str, Any]
    more: tuple[str, ...] = ("virtual_seconds", "wall_seconds")

    def drain(self) -> None:
        self.status = json_format.ParseDict(self.raw["path"], pb.PathStatus())

    def rows(self) -> dict[str, Any]:
        return super().rows() | {name: self.raw[name] for name in self.more}


class InVirtualTime(WithoutClock):
    """The TCP of a Linux kernel (docs/explanation/virtual-time.md)."""

    def traffic(self) -> None:
        point, s = self.point, self.scenario
        tree = config(Cell(NAME), s, point)
        limit = s["traffic.limit_s"]
        plan = virtual.Plan(
            [compared(s, point) | {"start_s": virtual.START_S}],
            programs=[(side, f"ip link set dev eth{side} mtu {point['mtu']}") for side in (0, 1)],
            afterwards=[(1, "grep Tcp: /proc/net/snmp")],
        )
        with scratch.folder() as root:
            virtual.prepared(
                root,
                tree,
                plan,
                [tree[end]["address"] for end in ("sender", "receiver")],
                point["seed"],
                self.places,
            )
            self.raw, result = virtual.launch(
                self.places.program(PROGRAM), root, virtual.START_S + limit + 600, None
            )
        self.failed += failures(result["flows"])
        self.failed += [result["failed"]] if "failed" in result else []
        self.checksum_errors = damaged_segments(result["programs"])
        if not self.failed:
            ends = {e["end"]: e for e in result["flows"]}
            try:
                self.moved = moved_of(s["traffic.bytes"], ends["receiver"], ends["sender"])
            except traffic.TrafficFailed as e:
                self.failed.append(str(e))


def damaged_segments(programs: list[dict[str, Any]]) -> int:
    """Segments that the kernel has dropped for a bad checksum, from what the last program has
    printed; 0: none ran."""
    if not programs:
        return 0
    names, values = (line.split()[1:] for line in programs[-1]["said"].splitlines())
    return int(dict(zip(names, values))["InCsumErrors"])


class InNs3(WithoutClock):
    """The TCP of ns-3 (docs/explanation/ns3.md). Segments are as long as the MTU lets them be; bytes are not
    compared, since what is damaged does not come up."""

    more = ("ns3", "virtual_seconds", "wall_seconds")

    def traffic(self) -> None:
        point, s = self.point, self.scenario
        size, limit, sender = s["traffic.bytes"], s["traffic.limit_s"], s["traffic.tcp_cc"]
        timestamps = sender not in ns3_tcp.WITHOUT_TIMESTAMPS
        flow = flows.flow(
            "transfer",
            0,
            1,
            start_s=virtual.START_S,
            bytes=size,
            congestion_control=sender,
            buffer_kb=s["traffic.tcp_window_kb"],
        )
        # The sender goes on repeating up to the limit; Linux would do so for longer than that.
        attributes = ns3_tcp.attributes_of(
            {
                "mss": point["mtu"] - ns3_tcp.HEADERS - timestamps * ns3_tcp.TIMESTAMPS,
                ns3_tcp.SOCKET + "ConnCount": 1000,
                ns3_tcp.SOCKET + "DataRetries": 1000,
            }
        )
        with scratch.folder() as folder:
            self.raw = ns3.launch(
                self.places.program(NS3_PROGRAM),
                folder,
                config(Cell(NAME), s, point),
                {"attributes": attributes, "flows": [flow]},
                ["--seconds", f"{virtual.START_S + limit:.9g}"],
            )
        self.failed += failures(self.raw["flows"])
        self.checksum_errors = self.raw["damaged"]
        ends = {e["end"]: e for e in self.raw["flows"] if "end" in e}
        if self.failed or "receiver" not in ends:
            self.moved = {} if self.failed else {"unfinished": True}
            return
        got = ends["receiver"] | {"bytes_wrong": 0, "bits_wrong": 0}
        sent = ends.get("sender", {}) | {"congestion_control": sender}
        self.moved = moved_of(size, got, sent)


WITHOUT_CLOCK = {"virtual": InVirtualTime, "ns3": InNs3}


def run_without_clock(
    time: str, point: dict[str, Any], s: Scenario, places: Places
) -> dict[str, Any]:
    """The same as run_one(), in virtual time or under ns-3."""
    return phases.carry_out(WITHOUT_CLOCK[time](point, s, places))
