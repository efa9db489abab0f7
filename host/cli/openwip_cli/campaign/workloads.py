# SPDX-License-Identifier: GPL-3.0-or-later
"""The applications of an experiment in the two namespaces of a cell, and their results.

A link that is too bad for a test is a result, not a failure: iperf3 that cannot connect within
CONNECT_S has a goodput of 0, and one whose closing exchange is lost has what the receiver's own
report of every second says.

TCP of the text: Linux with SACK, delayed ACKs, at most 64 kB of window (64096 bytes in the packet
captures, no window scaling), a minimum RTO of 200 ms. Its kernels (2.6, before 2.6.39) started with
3 segments and had neither RACK nor tail loss probes. All of it is set in the namespaces and read
back into the record of the run."""

import json
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..air import SAMPLE_RATE
from ..cell.cell import ADDRESS, STATIONS
from ..errors import BadInput, cause_of
from ..machine import system
from ..measure.traffic import (
    IPERF3_READY,
    TrafficFailed,
    check_ended,
    check_killed,
    iperf3_server,
    pair,
)
from ..programs import flow_program, voip_program
from ..runs.run import MeasuredCell
from .settings import START_S
from .tcp_settings import route_metrics, sysctls_of, window_kept

PORT = 5001
CONNECT_S = 6
PATIENCE_S = 6  # after the planned end of an application
# for the last packets of a stream: 30 retransmissions after 16 ms take half of it
DRAIN_S = 1.0


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
    """At the sender's host, before the link: a bottleneck of its own, with this queue, as long as
    Linux makes it."""
    if work.get("qdisc", "none") == "none":
        return []
    if "bottleneck_mbps" not in work:
        raise BadInput(
            f"qdisc is {work['qdisc']!r} without bottleneck_mbps: nothing would wait in it; valid:"
            " both"
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


# --- TCP for a time, with iperf3 ---


def server_intervals(text: str) -> tuple[float, float]:
    """(seconds, bits) that the receiving iperf3 reported, summed over its intervals."""
    seconds = bits = 0.0
    for begin, end, rate in re.findall(
        r"\]\s+([\d.]+)-([\d.]+)\s+sec\s+[\d.]+ \w?Bytes\s+([\d.]+) Kbits/sec", text
    ):
        length = float(end) - float(begin)
        if length <= 1.5:  # the last line is the sum
            seconds, bits = seconds + length, bits + float(rate) * 1000 * length
    return seconds, bits


def bulk_tcp(cell: MeasuredCell, work: dict[str, Any]) -> dict[str, Any]:
    settings = apply_tcp(cell, work)
    supervisor, duration = cell.supervisor, work["duration_s"]
    send = [
        "iperf3",
        "-c",
        ADDRESS["terminal"],
        "-t",
        str(duration),
        "-J",
        "-i",
        str(duration),
        "--connect-timeout",
        str(CONNECT_S * 1000),
    ]
    started_s = wait_for_start(cell)
    with pair(supervisor, cell.cell, iperf3_server("-i", "1", "-f", "k"), send, IPERF3_READY) as (
        server,
        client,
    ):
        client.wait(supervisor, CONNECT_S + duration + PATIENCE_S)
        cell.mark("last")
        server.wait(supervisor, 2)
        check_killed(sender=client, receiver=server)
        intervals = server_intervals(server.stdout)
        text = client.stdout if client.process.returncode is not None else ""
    return {
        "kind": "tcp",
        "tool": "iperf3",
        "tcp_settings": settings,
        "started_s": started_s,
    } | goodput_of(text, intervals, duration)


def goodput_of(client_json: str, intervals: tuple[float, float], duration: float) -> dict[str, Any]:
    """From the client's report, or, when it has none because the link was too bad, from what the
    server saw."""
    try:
        report = json.loads(client_json)
        problem = report.get("error")
    except ValueError:
        report, problem = None, "the test did not end"
    if problem is None:
        end = report["end"]
        stream = end["streams"][0]["sender"]
        return {
            "goodput_bps": end["sum_received"]["bits_per_second"],
            "seconds": end["sum_received"]["seconds"],
            "retransmits": end["sum_sent"]["retransmits"],
            "mss": report["start"]["tcp_mss_default"],
            "rtt_ms": stream["mean_rtt"] / 1000,
            "max_cwnd": stream.get("max_snd_cwnd"),
            "congestion_control": end.get("sender_tcp_congestion"),
            "measured_by": "iperf3 receiver",
        }
    _, bits = intervals
    return {
        "goodput_bps": bits / duration,
        "seconds": float(duration),
        "retransmits": None,
        "rtt_ms": None,
        "problem": problem,
        "measured_by": "intervals of the receiving iperf3",
    }


# --- programs of our own: a receiver in the terminal's namespace, a sender at the base station's
# ---


def python(program: ModuleType, *arguments: object) -> list[str]:
    return [
        shutil.which("python3") or sys.executable,
        "-I",
        "-S",
        str(program.__file__),
        *map(str, arguments),
    ]


def both_ends(
    cell: MeasuredCell, receive: list[str], send: list[str], seconds: float, stop_receiver: bool
) -> tuple[Any, Any]:
    """(JSON of the sender, JSON of the receiver)."""
    supervisor = cell.supervisor
    with pair(supervisor, cell.cell, receive, send, before=lambda: wait_for_start(cell)) as (
        receiver,
        sender,
    ):
        if not sender.wait(supervisor, seconds + PATIENCE_S):
            raise TrafficFailed(f"the sender did not end within {seconds + PATIENCE_S:.0f} s")
        cell.mark("last")
        check_ended(sender=sender)
        if stop_receiver:
            receiver.wait(supervisor, DRAIN_S)
            system.signal_pidfd(receiver.pidfd, signal.SIGTERM)
        if not receiver.wait(supervisor, PATIENCE_S):
            raise TrafficFailed("the receiver did not end")
        check_ended(receiver=receiver)
        return json.loads(sender.stdout), json.loads(receiver.stdout.split("\n", 1)[1])


def voip(cell: MeasuredCell, work: dict[str, Any]) -> dict[str, Any]:
    packets = work["duration_s"] * work["packets_per_s"]
    sent, received = both_ends(
        cell,
        python(voip_program, "receive", PORT),
        python(
            voip_program,
            "send",
            ADDRESS["terminal"],
            PORT,
            packets,
            work["packets_per_s"],
            work["payload_bytes"],
        ),
        work["duration_s"],
        True,
    )
    return {
        "kind": "voip",
        "worst_lateness_us": sent["worst_lateness_us"],
        "foreign": received["foreign"],
    } | stream(sent["sent"], received["arrived"])


def stream(sent: int, arrived: list[list[int]]) -> dict[str, Any]:
    """Summary of it; `numbers` are those of the packets that arrived, beside their delays, where
    some did not or not in order."""
    numbers = list(dict.fromkeys(number for number, _ in arrived))
    return voip_program.summary(sent, arrived) | (
        {"numbers": numbers} if numbers != list(range(sent)) else {}
    )


def flows(cell: MeasuredCell, work: dict[str, Any]) -> dict[str, Any]:
    settings = apply_tcp(cell, work)
    wanted = [(f["kb"], f["times"]) for f in work["flows"]]
    seconds = sum(times * (1 + kb / 100) for kb, times in wanted)
    sent, received = both_ends(
        cell,
        python(
            flow_program, "receive", PORT, sum(times for _, times in wanted), work["window_bytes"]
        ),
        python(
            flow_program,
            "send",
            ADDRESS["terminal"],
            PORT,
            *(f"{kb}:{times}" for kb, times in wanted),
        ),
        seconds,
        False,
    )
    settings["windows_at_the_end"] = [f["window"] for f in received]
    return {
        "kind": "flows",
        "tcp_settings": settings,
        "failed": window_kept(work["window_bytes"], settings["windows_at_the_end"]),
        "flows": by_size(flow_program.summary(sent, received)),
    }


def by_size(done: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The results of the flows of each size: throughput from the mean time of a session, which
    includes set-up and closing."""
    sizes = {}
    for kb in dict.fromkeys(f["kb"] for f in done):
        mine = [f for f in done if f["kb"] == kb]
        session = statistics.fmean(f["session_s"] for f in mine)
        connect = statistics.fmean(f["connect_s"] for f in mine)
        sizes[str(kb)] = {
            "times": len(mine),
            "goodput_bps": kb * 8000 / session,
            "session_s": session,
            "last_byte_s": statistics.fmean(f["last_byte_s"] for f in mine),
            "rtt_s": connect,
            "session_rtts": session / connect,
            "each_session_s": [round(f["session_s"], 6) for f in mine],
        } | {
            k: statistics.fmean(found)
            for k in flow_program.MORE
            if (found := [f[k] for f in mine if k in f])
        }
        # of the first: when each fiftieth was there
        sizes[str(kb)] |= {k: mine[0][k] for k in ("arrived_s",) if k in mine[0]}
    return sizes


def hang_up(cell: MeasuredCell) -> None:
    """On a bad link the kernels go on repeating segments of connections whose programs have ended,
    while the sums are being taken. Without a route nothing more enters the cell; what is in it is
    still delivered."""
    for station in (*STATIONS, *cell.cell.controller):
        system.ip("-n", cell.namespace(station), "route", "flush", "all")


def make(work: dict[str, Any]) -> Callable[[MeasuredCell], dict[str, Any]]:
    """workload(cell) for runs.emulate.run."""
    kinds = {"tcp": bulk_tcp, "flows": flows, "voip": voip}

    def workload(cell: MeasuredCell) -> dict[str, Any]:
        began, server = time.monotonic(), cell.namespace("base")
        queue = queue_commands(work, "wip0")
        for command in queue:
            in_namespace(server, *command.split())
        try:
            result = kinds[work["kind"]](cell, work) | {
                "wall_s": round(time.monotonic() - began, 3)
            }
            return result | (
                {"queue": in_namespace(server, *queue_report("wip0").split())} if queue else {}
            )
        finally:
            hang_up(cell)

    return workload
