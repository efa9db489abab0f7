# SPDX-License-Identifier: GPL-3.0-or-later
"""The emulator against theory: tables 5.3 to 5.5 and 5.7 of Alfredsson 2012, with TCP (in real
time, of a kernel in virtual time, or of ns-3) and in virtual time with the packet generator
(docs/explanation/emulator.md).

  total = goodput of the receiving application + headers + what the last frame of a packet leaves
  empty

and total / theory says how much of the capacity was there."""

import argparse
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from ..air import SLOTS_PER_SECOND, SYMBOLS_PER_BIN
from ..cell.session import Progress
from ..errors import INVALID, VALID, not_valid
from ..figures.capacities import MTU, USUAL_MSS
from ..figures.checks import evaluate_also
from ..figures.facts import Facts
from ..machine import outputs, rights, system
from ..machine.places import Places
from ..measure import flows
from ..settings import emulator
from ..settings.command_line import Parser
from ..settings.kinds import Real
from . import emulate, ns3, virtual
from .options import CLOCKS
from .run import MeasuredCell

Modulation: TypeAlias = int | str  # bits per symbol, or "adaptive"
Case: TypeAlias = tuple[str, int, Modulation]  # kind, bins
NAME = "validate"
STEPS_DB = (8, 12, 15, 18, 22, 25, 28, 32)  # one SNR in each interval of the switching table
TARGETS = {
    ("fixed", 1): 0.9990,
    ("fixed", 13): 0.9990,
    ("fixed", 25): 0.9970,
    ("adaptive", 8): 0.9995,
    ("adaptive", 16): 0.9995,
    ("adaptive", 24): 0.9946,
}
TABLE = {1: "5.3", 13: "5.4", 25: "5.5"}
GENERATOR_HEADER = 52  # bytes of each 1500 that TCP would use for headers
LONGEST_TAIL_S = 60  # seconds until all packets sent have arrived
# The name of each mode in the output.
TIMES = {
    "real": "real time",
    "virtual": "virtual time",
    "kernel": "virtual time with TCP",
    "ns3": "ns-3",
}


def frames_of(modulation: Modulation, bins: int) -> list[int]:
    """Bits of the frames of one slot, in the order in which they are filled."""
    if isinstance(modulation, str):
        return [SYMBOLS_PER_BIN * (b % len(STEPS_DB) + 1) for b in range(bins)]
    return [SYMBOLS_PER_BIN * modulation] * bins


def truncation_bits(frames: list[int]) -> float:
    """Mean number of bits that a packet leaves empty in its last frame: packets one behind the
    other until the first frame of a packet is one where a packet began before (eq. 5.4; for the
    adaptive table the cycle of table 5.6)."""
    at = 0
    seen: dict[int, int] = {}
    lost: list[int] = []
    while at not in seen:
        seen[at] = len(lost)
        left = MTU * 8
        while left > 0:
            left -= frames[at]
            at = (at + 1) % len(frames)
        lost.append(-left)
    cycle = lost[seen[at] :]
    return sum(cycle) / len(cycle)


def cases(quick: bool) -> Iterator[Case]:
    modulations, bins = (range(1, 9), (1, 13, 25)) if not quick else ((1, 4, 8), (1, 25))
    for n in bins:
        for k in modulations:
            yield "fixed", n, k
    for n in (8, 16, 24) if not quick else (8, 24):
        yield "adaptive", n, "adaptive"


def settings(kind: str, bins: int, modulation: Modulation) -> dict[str, Any]:
    """No errors, no wired network, an uplink that does not count: nothing but the downlink's
    capacity is left to measure. Everything else has the defaults."""
    s = {
        "channel.model": "static",
        "channel.snr_db": 40,
        "channel.error_free": "on",
        "link.bins": bins,
        "link.modulation": modulation,
        "link.allocation": "static",
        "link.switch_table": "nmse_0",
        "wired.delay_ms": 0,
        "uplink.kbps": 100000,
    }
    if kind == "adaptive":
        s["channel.bins_db"] = list(STEPS_DB) * 3
    return s


def tcp_transfer(duration: float, places: Places) -> Callable[[MeasuredCell], dict[str, Any]]:
    """TCP for a time and everything that it has sent. The kernel doubles the buffer and makes a
    window of it: 40 packets, fewer than the queue holds."""
    program = places.program(flows.PROGRAM)

    def workload(cell: MeasuredCell) -> dict[str, Any]:
        flow = flows.flow(
            "bulk",
            0,
            1,
            seconds=duration,
            whole=True,
            congestion_control=cell.scenario["traffic.tcp_cc"],
            buffer_kb=cell.scenario["traffic.tcp_window_kb"],
        )
        sent, received = flows.both_ends(
            cell.supervisor, cell.cell, program, flow, duration + LONGEST_TAIL_S
        )
        if "problem" in sent:
            return {"failed": [sent["problem"]]}
        wrong = (
            []
            if sent["bytes"] == received["bytes"]
            else [f"{received['bytes']} bytes arrived of {sent['bytes']}"]
        )
        return {"transfer": received | {"mss": sent["mss"]}, "failed": wrong}

    return workload


def rate_since(received: dict[str, Any], first: str) -> float:
    """bit/s from an arrival to the last one: neither the handshake nor the size of a packet against
    a slow link is in it."""
    seconds = received["last"] - received[first]
    bits: float = 8 * (received["bytes"] - received[f"{first}_bytes"])
    return bits / seconds if seconds > 0 else 0.0


def row_of(
    mode: str,
    kind: str,
    bins: int,
    modulation: Modulation,
    goodput: float,
    header_bytes: int,
    verdict: dict[str, Any],
) -> dict[str, Any]:
    """One line of a table; `goodput` in bit/s of packets with `header_bytes` of headers."""
    frames = frames_of(modulation, bins)
    theory = SLOTS_PER_SECOND * sum(frames)
    packets = goodput / 8 / (MTU - header_bytes)
    header = packets * header_bytes * 8
    truncation = packets * truncation_bits(frames)
    total = goodput + header + truncation
    target = TARGETS[kind, bins]
    return {
        "mode": mode,
        "table": TABLE.get(bins, "5.7") if kind == "fixed" else "5.7",
        "bins": bins,
        "modulation": modulation,
        "theory_bps": theory,
        "goodput_bps": goodput,
        "header_bps": header,
        "header_bytes": header_bytes,
        "truncation_bps": truncation,
        "total_bps": total,
        "ratio": total / theory,
        "target": target,
        "verdict": verdict,
        "passed": verdict["valid"] and total / theory >= target,
    }


def in_real_time(case: Case, duration: float, name: str, places: Places) -> dict[str, Any]:
    kind, bins, modulation = case
    report = emulate.run(
        settings(*case), tcp_transfer(duration, places), name=name, places=places, cores="auto"
    )
    t = report["workload"].get("transfer")
    rate = rate_since(t, "first") if t else 0.0
    row = row_of(
        "real", kind, bins, modulation, rate, MTU - (t["mss"] if t else 1448), report["verdict"]
    )
    if t and "steady_first" in t and rate:
        row["steady_ratio"] = row["ratio"] * rate_since(t, "steady_first") / rate
    row["realtime"], row["cpu"] = report["realtime"], report["cpu"]
    row["release_us"] = report["emulator"]["release_us"]
    return row


def with_tcp(mode: str, case: Case, duration: float, places: Places) -> dict[str, Any]:
    """TCP in virtual time, of a kernel or of ns-3: a transfer of what fits into the time, from
    arrival to arrival."""
    kind, bins, modulation = case
    s = emulator.scenario_of(settings(*case) | {"traffic.duration_s": duration})
    size = round(SLOTS_PER_SECOND * sum(frames_of(modulation, bins)) * duration / 8)
    plan = virtual.Plan(
        [
            flows.flow(
                "transfer",
                0,
                1,
                start_s=virtual.START_S,
                bytes=size,
                congestion_control=s["traffic.tcp_cc"],
                buffer_kb=s["traffic.tcp_window_kb"],
            )
        ]
    )
    report = virtual.run(s, places, plan) if mode == "kernel" else ns3.run(s, places, plan)
    ends = {e["end"]: e for e in report["flows"] if "failed" not in e}
    got, sent = ends.get("receiver"), ends.get("sender")
    if not got or not sent or got["bytes"] != size:
        found = report["verdict"]
        if found["valid"]:
            found = evaluate_also(found, Facts(failed=[f"not all of {size} bytes arrived"]))
        return row_of(mode, kind, bins, modulation, 0.0, MTU - USUAL_MSS, found)
    rate = rate_since(got, "first")
    return row_of(mode, kind, bins, modulation, rate, MTU - sent["mss"], report["verdict"]) | {
        "realtime": report["realtime"]
    }


def in_virtual_time(case: Case, duration: float, places: Places) -> dict[str, Any]:
    kind, bins, modulation = case
    report, raw = emulate.generate(emulator.scenario_of(settings(*case)), duration, places)
    arrived = raw["arrivals"]
    rate = (
        arrived["packets"] * (MTU - GENERATOR_HEADER) * 8 / arrived["seconds"]
        if arrived["seconds"]
        else 0.0
    )
    row = row_of("virtual", kind, bins, modulation, rate, GENERATOR_HEADER, report["verdict"])
    row["real_time_factor"] = raw["real_time_factor"]
    return row


def screen(rows: list[dict[str, Any]]) -> str:
    lines = [
        "  mode    table bins  bits  theory    measured  headers   truncation  total     ratio  "
        " target  steady"
    ]
    for r in rows:
        steady = f"{r['steady_ratio']:.4f}" if "steady_ratio" in r else ""
        lines.append(
            f"  {r['mode']:<8}{r['table']:<6}{r['bins']:<6}{r['modulation']!s:<9.9}"
            + "".join(
                f"{r[k] / 1e3:<10.2f}"
                for k in ("theory_bps", "goodput_bps", "header_bps", "truncation_bps", "total_bps")
            )
            + f"{r['ratio']:.4f}  {r['target']:.4f}  {steady:<7} "
            + ("ok" if r["passed"] else "; ".join(r["verdict"]["reasons"]) or "MISSED")
        )
    missed = sum(not r["passed"] for r in rows)
    lines.append(
        f"validation: {'PASSED' if not missed else 'MISSED'}, {len(rows) - missed} of {len(rows)}"
        " rows at their target with a valid verdict (kbit/s)"
    )
    return "\n".join(lines)


def parse(arguments: list[str]) -> argparse.Namespace:
    p = Parser(
        "validate",
        "Measures the capacity of the emulated link and compares it with theory, as tables 5.3-5.5"
        " and 5.7 of Alfredsson (2012) do: with TCP in real time, and with a packet generator in"
        " virtual time.",
        NAME,
    )
    p.json("the measured and the expected capacities", was_a_word=True)
    p.add_argument(
        "--quick",
        action="store_true",
        help="measure fewer rows of the tables of Alfredsson (2012), for 5 s each",
    )
    p.value(
        "--duration",
        Real(1, 3600),
        metavar="S",
        help=(
            "duration of the measurement for each row of a table, in seconds; 1..3600 (default 30)"
        ),
    )
    p.add_argument(
        "--mode",
        choices=("real", "virtual", "both"),
        default="both",
        help=(
            "traffic that is measured: TCP in real time (real), generated packets in virtual time"
            " (virtual), or both (default both)"
        ),
    )
    p.add_argument(
        "--time",
        choices=CLOCKS,
        default="real",
        help=(
            "in the rows with TCP, how time passes and whose TCP runs: real (the clock and"
            " the kernel of this machine), virtual (a Linux kernel of its own) or ns3 (the"
            " TCP of ns-3); virtual and ns3 need no root (docs/explanation/virtual-time.md,"
            " docs/explanation/ns3.md; default real)"
        ),
    )
    given = p.parse_args(arguments)
    if given.time != "real" and given.mode == "virtual":
        raise not_valid(
            "--time",
            given.time,
            "--mode real or both",
            more=" with --mode virtual, where there is no TCP",
        )
    given.duration = given.duration or (5.0 if given.quick else 30.0)
    return given


def main(arguments: list[str], places: Places) -> int:
    given = parse(arguments)
    outputs.check_given("--json", given.json)
    places.check_built(emulate.PROGRAM, "python/openwip_schema")
    if given.time != "real":
        (virtual if given.time == "virtual" else ns3).check(places)
    tcp = {"real": "real", "virtual": "kernel", "ns3": "ns3"}[given.time]
    modes = {"both": ("virtual", tcp), "real": (tcp,), "virtual": ("virtual",)}[given.mode]
    if "real" in modes:  # checked before the first row is made
        rights.require_for_a_cell()
        system.require_tun()
    todo = [(mode, case) for mode in modes for case in cases(given.quick)]
    progress, rows = Progress(), []
    for i, (mode, case) in enumerate(todo, 1):
        row = (
            in_real_time(case, given.duration, given.name, places)
            if mode == "real"
            else (
                in_virtual_time(case, given.duration, places)
                if mode == "virtual"
                else with_tcp(mode, case, given.duration, places)
            )
        )
        rows.append(row)
        progress(
            f"{i} of {len(todo)}: {TIMES[mode]}, {case[1]} bins, {case[2]} bits: "
            f"{row['ratio']:.4f} of theory, {'valid' if row['verdict']['valid'] else 'INVALID'}"
        )
    result = {"passed": all(r["passed"] for r in rows), "duration_s": given.duration, "rows": rows}
    outputs.say(given.json, screen(rows))
    outputs.write_json(given.json, result)
    return VALID if result["passed"] else INVALID
