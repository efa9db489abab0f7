# SPDX-License-Identifier: GPL-3.0-or-later
"""emulate --time virtual: the emulated cell with the TCP of a Linux kernel at both its ends, on one
calendar, in two processes without privileges (docs/explanation/virtual-time.md). run(scenario, ...)
is the entry for programs."""

import dataclasses
import ipaddress
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

from ..cell import cell as cells
from ..cell.program_check import check_config, why_ended
from ..errors import BadInput, CellDied, NotWritten
from ..figures import capacities, conservation
from ..figures.facts import Facts
from ..machine import outputs, scratch, system
from ..machine.places import KERNEL, Places, virtual_kernel
from ..measure import flows
from ..measure.flows import Flow
from ..records import record
from ..settings.emulator import NAME
from ..settings.scenario import Scenario
from ..shapes import Interface
from ..text import to_yaml
from . import emulate, split_tcp
from .phases import carry_out

GUEST = "host/virtual/wip_guest"  # file of the build
# files in the folder of a run
CONFIG, TELEMETRY, CAPTURE = "config.yaml", "telemetry", "packets.pcap"
MEMORY_MB = 128  # memory of the kernel
START_S = 1.0  # start of the traffic; the kernel is up within some hundredths of a second
# The values of a machine with memory enough; a small kernel would compute smaller ones. tcp_rmem,
# tcp_wmem: Linux's usual.
SYSCTLS = {
    "net/ipv4/tcp_rmem": "4096 131072 6291456",
    "net/ipv4/tcp_wmem": "4096 16384 4194304",
    "net/ipv4/tcp_mem": "16384 24576 32768",
}


@dataclasses.dataclass
class Plan:
    """The work of the kernel (host/virtual/guest.cpp). Side 0 is the server's, the next ones are the
    terminals'.
    `flows`: flows of measure/flows.py, each with a start;
    `programs`: (side, command) pairs of host programs that run before the traffic, such as tc;
    `afterwards`: the same for programs that run after it; `batches`: {(side, program): lines} for
    programs that read their commands, which run after `programs`; `sysctls`: take precedence over
    SYSCTLS.
    `between`: the two times in s between which the link's figures are taken (without the second:
    until the traffic is over)."""

    flows: Sequence[Flow]
    sysctls: dict[str, str] = dataclasses.field(default_factory=dict)
    programs: Sequence[tuple[int, str]] = ()
    afterwards: Sequence[tuple[int, str]] = ()
    batches: dict[tuple[int, str], Sequence[str]] = dataclasses.field(default_factory=dict)
    between: tuple[float, float | None] | None = None
    # the proxy that splits connections: `between` of the schema
    proxy: dict[str, Any] | None = None
    # Window of the receivers in bytes, set at their sockets since Linux does not keep that of a
    # route; 0: the kernel chooses.
    window_bytes: int = 0

    def tree(self, seed: int, addresses: Sequence[str]) -> dict[str, Any]:
        """The plan in the form that the kernel's program reads."""
        done = {
            "seed": seed,
            "sides": list(addresses),
            "sysctls": SYSCTLS | self.sysctls,
            "programs": [
                *({"side": side, "command": words.split()} for side, words in self.programs),
                *(
                    {"side": side, "command": program.split(), "input": f"batch{n}"}
                    for n, (side, program) in enumerate(self.batches)
                ),
            ],
            "afterwards": [
                {"side": side, "command": words.split()} for side, words in self.afterwards
            ],
            "window_bytes": self.window_bytes,
            "flows": list(self.flows),
        }
        return done | ({"between": self.proxy} if self.proxy else {})


def download(s: Scenario, sender: str | None = None, window_kb: int | None = None) -> Plan:
    """The same traffic that emulate has in real time with iperf3: one TCP connection from the
    server to the (first) terminal."""
    return Plan(
        [
            flows.flow(
                "bulk",
                0,
                1,
                start_s=START_S,
                seconds=s["traffic.duration_s"],
                congestion_control=sender or s["traffic.tcp_cc"],
                buffer_kb=s["traffic.tcp_window_kb"] if window_kb is None else window_kb,
            )
        ]
    )


def run(
    s: Scenario,
    places: Places,
    plan: Plan | None = None,
    packets: str | None = None,
    progress: Callable[[str], None] = lambda text: None,
    cores: Sequence[int] | None = None,
    recorded: str | None = None,
) -> dict[str, Any]:
    """The report, as of a run in real time; `flows` has both ends of every flow. `packets`: a file
    for all IP packets. `cores`: where it runs; cell and kernel wait for each other, so a second
    core only makes waking dearer. `recorded`: a file for the run record."""
    check(places)
    split_tcp.check(s, "virtual")
    return made(KernelRun(s, places, plan or download(s), packets, progress, recorded, cores=cores))


class FlowsRun(emulate.WithoutClock):
    """Flows of a plan between the ends of the emulator's link. `packets`, `recorded`: files, of
    which the run makes its own in `root`. A subclass defines which program makes the flows, and
    `result` has their output."""

    root: pathlib.Path
    as_run: Scenario  # the scenario as the emulator takes it
    result: dict[str, Any]

    def __init__(
        self,
        s: Scenario,
        places: Places,
        plan: Plan,
        packets: str | None,
        progress: Callable[[str], None],
        recorded: str | None,
    ) -> None:
        super().__init__(s, places)
        self.plan, self.packets, self.progress, self.recorded = plan, packets, progress, recorded

    def start(self) -> None:
        self.tree = emulate.config(cells.Cell(NAME), self.as_run)

    def drain(self) -> None:
        super().drain()
        for end in self.result["flows"]:
            if "arrived" in end:
                end["delay_ms"] = delays_ms([us / 1000 for _, us in end["arrived"]])
            if "failed" in end:
                self.failed.append(f"flow {end['flow']}: {end['failed']}")
        self.failed += [self.result["failed"]] if "failed" in self.result else []

    def facts(self) -> Facts:
        counted = kernels_counts(self.raw["interfaces"])
        found = Facts(sums=conservation.sums_of_paths(self.paths, counted), failed=self.failed)
        if "wired" in self.raw and "proxy" in self.result:
            found.wired, found.split = split_tcp.of_virtual_run(
                self.raw["wired"], self.result["proxy"], kernels_counts
            )
        self.split = found.split
        return found

    def rows(self) -> dict[str, Any]:
        found, raw, ends = super().rows(), self.raw, self.result["flows"]
        tcp, feedback = tcp_of(ends), self.terminal.uplink_feedback
        found["realtime"] |= {
            "speed": 1,
            "virtual_seconds": raw["virtual_seconds"],
            "steps": raw["steps"],
        }
        found["packets"]["uplink"]["feedback"] = {
            "packets": feedback.packets,
            "bytes": feedback.bytes,
        }
        found["emulator"]["relay"] = {
            r.reason: r.count.packets for r in self.terminal.terminal.relay
        }
        return found | {
            "split_tcp": self.split,
            "tcp": tcp,
            "flows": ends,
            "sysctl": self.result["sysctl"],
            "programs": self.result["programs"],
            "capacity": capacities.capacity_of(
                self.scenario,
                self.link,
                (tcp or {}).get("mss", capacities.USUAL_MSS),
                self.base,
            ),
            "changes": [],
            "bearer": emulate.bearer_report(self.base, self.terminal),
            "mobility": emulate.mobility_report(self.base, self.terminal),
            "recorded": emulate.recorded_report(self.base, self.terminal),
        }


def made(run: FlowsRun) -> dict[str, Any]:
    """Carries out the run. Returns its report, and writes the files that are asked for."""
    s, places = run.scenario, run.places
    about = record.about_run(s.tree(), s["seed"])
    with emulate.with_predictions(s, places) as run.as_run, scratch.folder() as run.root:
        report = carry_out(run) | kept(run.root, run.packets)
        if run.recorded:
            write_record(run.root, run.recorded, about, report, places, run.progress)
    return report


class KernelRun(FlowsRun):
    """The flows of a Linux kernel."""

    def __init__(self, *of_flows: Any, cores: Sequence[int] | None) -> None:
        super().__init__(*of_flows)
        self.cores = cores

    def start(self) -> None:
        super().start()
        places, as_run, plan = self.places, self.as_run, self.plan
        if split_tcp.asked(as_run):
            check_config(
                places.program(split_tcp.PROGRAM), split_tcp.proxy_config(cells.Cell(NAME), as_run)
            )
            self.tree["split_tcp"] = {"controller": "on"}
            proxy = split_tcp.guest_proxy(as_run, plan.flows, flows.PORT, MEMORY_MB)
            self.plan = plan = dataclasses.replace(plan, proxy=proxy)
        self.progress("starting the Linux kernel, virtual time")
        sides = addresses(self.tree, as_run["terminals"])
        prepared(self.root, self.tree, plan, sides, as_run["seed"], places)

    def traffic(self) -> None:
        self.raw, self.result = run_program(
            self.places,
            self.root,
            self.plan,
            self.as_run,
            self.packets,
            self.cores,
            bool(self.recorded),
        )

    def rows(self) -> dict[str, Any]:
        found = super().rows()
        return found | {"versions": found["versions"] | virtual_kernel(self.places)}


def write_record(
    root: pathlib.Path,
    recorded: str,
    about: dict[str, Any],
    made: dict[str, Any],
    places: Places,
    progress: Callable[[str], None],
) -> None:
    """Writes the record from the messages of the program; `made` gets a summary of it."""
    progress("writing the run record")
    made["record"] = record.of_file(
        root / TELEMETRY, recorded, about, made["effective"], made, places
    )


def check(places: Places, program: str = emulate.PROGRAM) -> None:
    if (here := f"{platform.system()} {platform.machine()}") != "Linux x86_64":
        raise BadInput(
            "--time is 'virtual', which needs User Mode Linux, and there is one for Linux on"
            f" x86-64 only: this is {here}; valid here: real, or ns3 after ./openwip setup --ns3"
        )
    places.check_built(program, GUEST, "python/openwip_schema")
    if not (places.build / KERNEL).exists():
        raise BadInput(
            f"--time is virtual, and its Linux kernel is not built in {places.build}: run"
            " ./openwip setup --virtual-time"
        )


def prepared(
    root: pathlib.Path,
    tree: dict[str, Any],
    plan: Plan,
    sides: Sequence[Any],
    seed: int,
    places: Places,
) -> None:
    """The root file system of the kernel: its only program, and what that does."""
    shutil.copy(places.build / KERNEL, root / "linux")
    shutil.copy(places.path(GUEST), root / "init")
    if plan.proxy:
        shutil.copy(places.program(split_tcp.GUEST), root / "split")
    (root / "plan").write_text(json.dumps(plan.tree(seed, list(map(str, sides))), indent=1) + "\n")
    for n, lines in enumerate(plan.batches.values()):
        (root / f"batch{n}").write_text("\n".join(lines) + "\n")
    (root / CONFIG).write_text(to_yaml(tree))
    system.give_to_account(root, root.iterdir())


def addresses(tree: dict[str, Any], terminals: int) -> list[ipaddress.IPv4Interface]:
    """The address of each side. The kernel in virtual time has no rules that forward packets, so
    each interface of a controller has the address of the station behind its other interface."""
    first = ipaddress.IPv4Interface(tree["terminal"]["address"])
    base = ipaddress.IPv4Interface((cells.ADDRESS["base"], first.network.prefixlen))
    sides = [
        base,
        *(
            ipaddress.IPv4Interface((first.ip + n, first.network.prefixlen))
            for n in range(terminals)
        ),
    ]
    return sides + [first, base] * (tree["server"]["address"] == cells.RADIO_ADDRESS)


def times(plan: Plan, s: Scenario) -> tuple[float, float, float]:
    """Times in seconds: first and second reading of the link's figures, and the time at which a run
    is given up."""
    duration = s["traffic.duration_s"]
    edge, longest = min(1.0, 0.1 * duration), START_S + duration + 3600
    first, last = plan.between or (START_S + edge, START_S + duration - 0.1 * edge)
    return first, longest if last is None else last, longest


def run_program(
    places: Places,
    root: pathlib.Path,
    plan: Plan,
    s: Scenario,
    packets: str | None,
    cores: Sequence[int] | None,
    tells: bool,
) -> tuple[dict[str, Any], dict[str, Any]]:
    return launch(
        places.program(emulate.PROGRAM),
        root,
        times(plan, s)[2],
        cores,
        ["--memory-mb", str(MEMORY_MB), *counts_and_files(plan, s, root, packets, tells)],
    )


def kept(root: pathlib.Path, packets: str | None) -> dict[str, Any]:
    """The packets as the file that was asked for; why not, as a part of the report, which is there
    all the same."""
    if packets:
        try:
            with (
                open(root / CAPTURE, "rb") as found,
                outputs.writing("--capture", packets),
                outputs.replacing(packets, binary=True) as target,
            ):
                shutil.copyfileobj(found, target)
        except NotWritten as e:
            return {"not_written": str(e)}
    return {}


def counts_and_files(
    plan: Plan, s: Scenario, root: pathlib.Path, packets: str | None, tells: bool
) -> list[str]:
    """Options of the programs in virtual time (host/emulator/path_run_program.h)."""
    first, last, _ = times(plan, s)
    return [
        "--first",
        f"{first:.9g}",
        "--last",
        f"{last:.9g}",
        *(["--packets", str(root / CAPTURE)] if packets else []),
        *(["--telemetry", str(root / TELEMETRY)] if tells else []),
    ]


def launch(
    program: str,
    root: pathlib.Path,
    longest_s: float,
    cores: Sequence[int] | None,
    more: Sequence[str] = (),
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The outputs of the program and of the kernel."""
    done = subprocess.run(
        [
            program,
            "--config",
            str(root / CONFIG),
            "--kernel",
            "./linux",
            "--folder",
            str(root),
            "--longest",
            f"{longest_s:.9g}",
            *more,
        ],
        capture_output=True,
        text=True,
        preexec_fn=(lambda: os.sched_setaffinity(0, cores)) if cores else None,
    )
    if done.returncode == BadInput.code:
        raise BadInput(why_ended(done, root / CONFIG))
    log = root / "kernel.log"
    words = log.read_text(errors="replace").splitlines() if log.exists() else []
    if done.returncode:
        raise CellDied(why_ended(done), [("kernel", w) for w in words[-3:]])
    return json.loads(done.stdout), read_result((root / "result").read_text(errors="replace"))


def read_result(text: str) -> dict[str, Any]:
    """The lines of it: `sysctl`, `programs` (what they printed), `flows` (each end of each),
    perhaps `failed`. Raises CellDied."""
    result: dict[str, Any] = {"sysctl": {}, "programs": []}
    try:
        lines = [json.loads(line) for line in text.split("\n") if line]
    except ValueError:
        lines = []
    if not any("failed" in line or "whole" in line for line in lines[-1:]):
        raise CellDied(
            "the results that the Linux kernel of --time virtual has written are not complete: the"
            " disk of its folder may be full"
        )
    for line in lines:
        if "sysctl" in line:
            result["sysctl"][line["sysctl"]] = line["value"]
        elif "program" in line and "flow" not in line:
            result["programs"].append(line | {"said": "".join(line["said"])})
        elif "between" in line:
            result["proxy"] = line["between"]
        elif "flow" not in line and "whole" not in line:
            result |= line
    return result | {"flows": flows.ends_of(line for line in lines if "flow" in line)}


def delays_ms(delays: list[float]) -> dict[str, float]:
    there = sorted(delays)
    return {"mean": statistics.fmean(there)} | {
        name: there[int(q * (len(there) - 1))]
        for name, q in (("median", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))
    }


def kernels_counts(interfaces: Sequence[dict[str, Any]]) -> dict[str, Interface]:
    """Packets that the interfaces of the kernel sent and received, in the form that
    conservation.sums_of_paths() takes."""

    def end(interfaces: Sequence[dict[str, Any]]) -> Interface:
        sent, received = (
            (sum(i[key][0] for i in interfaces), sum(i[key][1] for i in interfaces))
            for key in ("sent", "received")
        )
        return {"to_macd": sent, "from_macd": received}

    return {"base": end(interfaces[:1]), "terminal": end(interfaces[1:])}


def tcp_of(ends: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The first TCP flow that goes on for a time or sends its bytes."""
    both = {e["end"]: e for e in ends if e["flow"] == 0 and "failed" not in e}
    if (
        "sender" not in both
        or "mss" not in both["sender"]
        or "bytes" not in both.get("receiver", {})
    ):
        return None
    sender, receiver = both["sender"], both["receiver"]
    seconds = receiver["last"] - receiver["began"]
    return {
        "goodput_bps": receiver["bytes"] * 8 / seconds if seconds > 0 else 0.0,
        "retransmits": sender["retransmits"],
        "received_bytes": receiver["bytes"],
        "sent_bytes": sender["bytes"],
        "seconds": seconds,
        "mss": sender["mss"],
        "rtt_ms": sender["rtt_ms"],
        "congestion_control": sender["congestion_control"],
        "window_kb": sender["window_kb"],
    }
