# SPDX-License-Identifier: GPL-3.0-or-later
"""Ordinary programs in the namespaces: ping and iperf3, and what they cost."""

import contextlib
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from ..cell.cell import ADDRESS, Cell
from ..cell.supervisor import SupervisorClient
from ..errors import cause_of, complaint, how_ended
from ..machine import system

# seconds after the start, what is called then
Calls = Sequence[tuple[float, Callable[[], None]]]
LONGEST_REASON = 300  # characters


class TrafficFailed(Exception):
    pass


class Program:
    """A program in a namespace, its name and output, and its CPU time once it has ended."""

    def __init__(self, namespace: str, argv: list[str]) -> None:
        self.started = time.monotonic()
        self.name = os.path.basename(argv[0])
        self.process: Any = subprocess.Popen(
            ["ip", "netns", "exec", namespace, *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=os.environ | {"LC_ALL": "C"},
            preexec_fn=system.follower(),
        )
        self.pidfd = system.open_pidfd(self.process.pid)
        self.output = {
            self.process.stdout.fileno(): bytearray(),
            self.process.stderr.fileno(): bytearray(),
        }
        self.cpu = 0.0

    @property
    def stdout(self) -> str:
        return self.output[self.process.stdout.fileno()].decode(errors="replace")

    @property
    def stderr(self) -> str:
        return self.output[self.process.stderr.fileno()].decode(errors="replace")

    def wait(
        self,
        supervisor: SupervisorClient,
        timeout: float,
        until: Callable[["Program"], bool] = lambda program: False,
    ) -> bool:
        """Collect output until the program ends, or until(self). False when `timeout` passes."""
        open_fds = set(self.output)
        deadline = time.monotonic() + timeout
        while self.process.returncode is None and not until(self):
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            for fd in supervisor.pause(left, [*open_fds, self.pidfd]):
                if fd == self.pidfd:
                    self._collect(open_fds)
                else:
                    data = os.read(fd, 65536)
                    self.output[fd] += data
                    if not data:
                        open_fds.discard(fd)
        return True

    def _collect(self, open_fds: Iterable[int]) -> None:
        for fd in open_fds:
            while data := os.read(fd, 65536):
                self.output[fd] += data
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu = usage.ru_utime + usage.ru_stime

    def kill(self) -> None:
        """End it and forget its output. Not Popen.kill(), which would reap it and lose its CPU
        time."""
        if self.process.returncode is None:
            system.signal_pidfd(self.pidfd, signal.SIGKILL)
            self._collect(())
        os.close(self.pidfd)
        self.process.stdout.close()
        self.process.stderr.close()


def check_killed(**ends: Program) -> None:
    """TrafficFailed when one of these ends was killed: the output of the other end, or its own
    before that, is not the cause."""
    for end, program in ends.items():
        code = program.process.returncode
        if code is not None and code < 0:
            raise TrafficFailed(f"{program.name} {how_ended(code)} (the {end})")


def check_ended(**ends: Program) -> None:
    """TrafficFailed when one of these ends, which are over, did not end well."""
    check_killed(**ends)
    for end, program in ends.items():
        if code := program.process.returncode:
            raise TrafficFailed(
                f"the {end}: {cause_of(program.name, code, program.stderr)}"[:LONGEST_REASON]
            )


def ping(supervisor: SupervisorClient, cell: Cell, count: int, speed: float) -> dict[str, Any]:
    """Round trips over the idle link, base station to terminal, in ms of the wall clock."""
    interval = max(0.01, 0.02 / speed)
    program = Program(
        cell.namespace("base"),
        ["ping", "-n", "-i", f"{interval:.3f}", "-c", str(count), "-W", "5", ADDRESS["terminal"]],
    )
    try:
        program.wait(supervisor, 60 + count * interval + 10 / speed)
        times = sorted(float(t) for t in re.findall(r"time=([\d.]+) ms", program.stdout))
        check_killed(sender=program)
        if not times:
            raise TrafficFailed(f"ping: no answer ({complaint(program.stderr) or 'all lost'})")
    finally:
        program.kill()
    return {
        "min": times[0],
        "median": statistics.median(times),
        "p99": times[min(len(times) - 1, -(-99 * len(times) // 100) - 1)],
        "max": times[-1],
        "sent": count,
        "received": len(times),
    }


Ready: TypeAlias = Callable[[Program], bool]


def says_ready(program: Program) -> bool:
    """A program of ours, which writes this line when it listens."""
    return "ready" in program.stdout.splitlines()


def listens(port: int) -> Ready:
    """Whether a TCP socket listens at the port, in the program's namespace."""
    where = re.compile(rf"^ *\d+: [0-9A-F]+:{port:04X} [0-9A-F]+:0000 0A ", re.M)

    def look(program: Program) -> bool:
        of_process = pathlib.Path("/proc", str(program.process.pid), "net")
        with contextlib.suppress(OSError):
            return any(where.search((of_process / t).read_text()) for t in ("tcp", "tcp6"))
        return False

    return look


def started(program: Program, supervisor: SupervisorClient, ready: Ready, name: str) -> Program:
    """Waits until the program is ready, which is checked whenever it has written something, and
    returns it. Raises TrafficFailed."""
    try:
        program.wait(supervisor, 10, until=ready)
        if not ready(program):
            check_ended(**{name: program})
            raise TrafficFailed(
                f"{name}: {complaint(program.stderr)[:LONGEST_REASON] or 'did not start'}"
            )
    except BaseException:
        program.kill()
        raise
    return program


@contextlib.contextmanager
def pair(
    supervisor: SupervisorClient,
    cell: Cell,
    receive: list[str],
    send: list[str],
    ready: Ready = says_ready,
    before: Callable[[], object] = lambda: None,
) -> Iterator[tuple[Program, Program]]:
    """(receiver at the terminal, which is ready; sender at the base station, after
    before()). Both are gone afterwards, and their output and processor time can be read."""
    receiver = started(Program(cell.namespace("terminal"), receive), supervisor, ready, "receiver")
    sender = None
    try:
        before()
        sender = Program(cell.namespace("base"), send)
        yield receiver, sender
    finally:
        receiver.kill()
        if sender is not None:
            sender.kill()


def iperf3_server(*arguments: str) -> list[str]:
    """The command of an iperf3 server that ends after one test."""
    return ["iperf3", "-s", "-1", "-B", ADDRESS["terminal"], "--forceflush", *arguments]


IPERF3_PORT = 5201  # iperf3's own default
IPERF3_READY = listens(IPERF3_PORT)


def iperf3(
    supervisor: SupervisorClient, cell: Cell, arguments: list[str], duration: float, at: Calls = ()
) -> tuple[dict[str, Any], dict[str, float]]:
    """Base station (client, sender) to terminal (server). `at`: (seconds after the start, function)
    pairs to call meanwhile. Returns (JSON of the client, {"iperf3.client": CPU seconds, ...})."""
    send = ["iperf3", "-c", ADDRESS["terminal"], "-t", f"{duration:g}", "-J", *arguments]
    with pair(supervisor, cell, iperf3_server(), send, IPERF3_READY) as (server, client):
        for seconds, call in at:
            client.wait(supervisor, max(0.0, client.started + seconds - time.monotonic()))
            call()
        if not client.wait(supervisor, duration + 60):
            raise TrafficFailed(f"iperf3 did not end within {duration + 60:g} s")
        try:
            report = json.loads(client.stdout)
        except ValueError:
            report = None
        if report is None or "error" in report:  # the error may be that the other end has gone
            server.wait(supervisor, 1)
            check_killed(sender=client, receiver=server)
            if report is None:
                check_ended(sender=client)
                raise TrafficFailed("iperf3 printed no report in JSON")
            raise TrafficFailed(f"iperf3: {report['error']}")
        server.wait(supervisor, 10)
    return report, {"iperf3.sender": client.cpu, "iperf3.receiver": server.cpu}


def tcp_arguments(scenario: Any) -> list[str]:
    return ["-C", scenario["traffic.tcp_cc"], "-w", f"{scenario['traffic.tcp_window_kb']}K"]


def tcp(
    supervisor: SupervisorClient, cell: Cell, scenario: Any, at: Calls
) -> tuple[dict[str, Any], dict[str, float], int]:
    speed = scenario.speed
    duration = max(1, round(scenario["traffic.duration_s"] / speed))
    report, cpu = iperf3(supervisor, cell, tcp_arguments(scenario), duration, at)
    end, start = report["end"], report["start"]
    received, sent = end["sum_received"], end["sum_sent"]
    streams = end["streams"][0]["sender"]
    return (
        {
            "goodput_bps": received["bits_per_second"] / speed,
            "retransmits": sent["retransmits"],
            "received_bytes": received["bytes"],
            "sent_bytes": sent["bytes"],
            "seconds": received["seconds"],
            "mss": start["tcp_mss_default"],
            "rtt_ms": {
                "min": streams["min_rtt"] / 1000,
                "mean": streams["mean_rtt"] / 1000,
                "max": streams["max_rtt"] / 1000,
            },
            "congestion_control": end.get("sender_tcp_congestion", scenario["traffic.tcp_cc"]),
            "window_kb": scenario["traffic.tcp_window_kb"],
        },
        cpu,
        duration,
    )


def udp(supervisor: SupervisorClient, cell: Cell, scenario: Any, rate_bps: float) -> dict[str, Any]:
    speed = scenario.speed
    duration = max(1, round(max(2.0, scenario["traffic.duration_s"] / 2) / speed))
    report, _ = iperf3(
        supervisor, cell, ["-u", "-b", f"{rate_bps * speed:.0f}", "-l", "1472"], duration
    )
    total = report["end"]["sum"]
    received = report["end"].get("sum_received", total)
    packets, lost = total["packets"], total["lost_packets"]
    seconds = total["seconds"]
    return {
        "offered_bps": rate_bps,
        "delivered_bps": (packets - lost) * 1472 * 8 / seconds / speed,
        "loss": lost / packets if packets else 0.0,
        "packets": packets,
        "lost_packets": lost,
        "jitter_ms": received.get("jitter_ms", total.get("jitter_ms", 0.0)),
        "seconds": seconds,
    }
