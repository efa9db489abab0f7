# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip tcp-l: transfers over a line with residual bit errors, with the host's TCP alone and
with the relay that takes damaged segments (docs/explanation/corrupt-delivery.md; Alfredsson 2012,
section 4.4).

run_one(point, ...) is one transfer in namespaces of its own; main() runs the points of a scenario,
several at a time, each in a process of its own so that a kill of any of them is cleaned up as
always."""

import argparse
import contextlib
import csv
import dataclasses
import itertools
import json
import pathlib
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from google.protobuf import json_format
from openwip_schema import control_pb2 as pb

from ..cell import cell as cells
from ..cell.cell import Cell
from ..cell.keeper import KeeperClient
from ..cell.running import Running
from ..cell.session import Progress, check_congestion_control, identity, owned_cell, start_process
from ..errors import INVALID, VALID, BadInput
from ..figures import accounting, meaning, report
from ..figures.estimates import estimate
from ..machine import outputs, placement, rights, scratch, system
from ..machine.places import Places, isolated, virtual_kernel
from ..measure import traffic
from ..programs import transfer as transfer_program
from ..settings.kinds import Choice
from ..settings.scenario import Scenario
from ..settings.table import Setting, nested, process_keys, settings_of
from ..shapes import Verdict
from . import failure, ns3, ns3_tcp, virtual
from . import run as runs
from .options import CLOCKS, Options, scenario_of, settings_parser
from .pool import Pool
from .pool import check as check_pool

NAME = "tcpl"
PROGRAM = "host/tcpl/wip_tcpl"
NS3_PROGRAM = "host/simulator/wip_ns3_line"
PORT = 5300
MOST_VIRTUAL = 16_000_000  # bytes of a transfer, which is held three times
# of a packet; a fifth of the shortest time in which TCP here reacts to anything
LATE_LIMIT_MS = 20.0


SETTINGS = settings_of("tcp-l")
# lists, of which a value that is there twice counts once
VARIED = ("line.mtu", "errors.ber", "errors.burstiness")


def parse(arguments: list[str]) -> tuple[argparse.Namespace, str, Scenario]:
    """Every transfer has a cell of its own, or none."""
    parser = settings_parser(
        "tcp-l",
        "Transfers over a line with bit errors: TCP alone, and with damaged segments accepted.",
        SETTINGS,
        NAME,
        one_cell=False,
    )
    parser.add_argument("--csv", metavar="FILE", help="write one line for each transfer there")
    parser.add_argument(
        "--png", metavar="FILE", help="draw throughput over bit error rate (or burstiness) there"
    )
    parser.add_argument(
        "--time",
        choices=CLOCKS,
        default="real",
        help=(
            "virtual: with a Linux kernel of its own; ns3: with the TCP of ns-3, only with --relay"
            " off; no root (docs/explanation/virtual-time.md, docs/explanation/ns3.md; default"
            " real)"
        ),
    )
    given = parser.parse_args(arguments)
    if given.time in WITHOUT_CLOCK and given.parallel is not None:
        raise BadInput(
            f"--parallel is {given.parallel} with --time {given.time}, which has one transfer on"
            " each core; valid: with --time real"
        )
    outputs.apart(given, "config", "json", "csv", "png")
    if len(given.name) > 8:
        raise BadInput(
            f"--name is {given.name!r}; valid here: 1..8 letters, cells are NAME0, NAME1, ..."
        )
    s = scenario_of(given, settings_with(given.time))
    for key in VARIED:
        if not s[key]:
            raise BadInput(
                f"--{key.partition('.')[2]} is ''; valid: a number, or several separated by commas"
            )
    if given.time == "virtual" and s["traffic.bytes"] > MOST_VIRTUAL:
        raise BadInput(
            f"--bytes is {s['traffic.bytes']} with --time virtual; valid: 1000..{MOST_VIRTUAL}, as"
            " the kernel's memory holds them"
        )
    if given.time == "virtual" and max(s["line.mtu"]) > accounting.MTU:
        raise BadInput(
            f"--mtu is {max(s['line.mtu'])} with --time virtual, whose kernel takes no longer"
            f" packets; valid: 576..{accounting.MTU}"
        )
    if given.time == "ns3" and s["relay"] != "off":
        raise BadInput(
            f"--relay is {s['relay']!r} with --time ns3, which takes no damaged segment: it drops"
            " them at the interface; valid: off"
        )
    return given, given.name, s


def settings_with(time: str) -> list[Setting]:
    """ns-3 has senders of its own."""
    own = {"traffic.tcp_cc": Choice(*ns3_tcp.SENDERS)} if time == "ns3" else {}
    return [dataclasses.replace(of, kind=own.get(of.key, of.kind)) for of in SETTINGS]


def points_of(s: Scenario) -> Iterator[dict[str, Any]]:
    """Every transfer of the scenario, as plain values."""
    relays = {"off": [False], "on": [True], "both": [False, True]}[s["relay"]]
    for run, mtu, ber, burst, relay in itertools.product(
        range(s["runs"]), *(dict.fromkeys(s[key]) for key in VARIED), relays
    ):
        yield {
            "mtu": mtu,
            "ber": ber,
            "burstiness": burst,
            "relay": relay,
            "run": run,
            "seed": s["seed"] + run,
        }


# --- one transfer ---


def config(cell: Cell, s: Scenario, point: dict[str, Any]) -> dict[str, Any]:
    """Of wip_tcpl: every setting of the scenario that it has, with those of this transfer, and what
    belongs to the cell."""
    values = {theirs: s[ours] for theirs, ours in process_keys("tcpl", "tcp-l").items()}
    values |= {
        "seed": point["seed"],
        "errors.ber": point["ber"],
        "errors.burstiness": point["burstiness"],
        "relay.on": point["relay"],
        "relay.ports": str(PORT),
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


def kernel_checksum_errors(cell: Cell, keeper: KeeperClient) -> int:
    program = traffic.Program(cell.namespace("terminal"), ["cat", "/proc/net/snmp"])
    try:
        program.wait(keeper, 10)
        names, values = [
            line.split()[1:] for line in program.stdout.splitlines() if line.startswith("Tcp:")
        ]
        return int(dict(zip(names, values))["InCsumErrors"])
    finally:
        program.kill()


def run_one(
    point: dict[str, Any],
    s: Scenario,
    name: str,
    places: Places,
    workload: Callable[..., dict[str, Any] | None] | None = None,
    cores: Any = "auto",
) -> dict[str, Any]:
    """One transfer; returns what was measured, with its verdict. `workload(cell, keeper)` instead
    of the transfer, for tests."""

    def silent(_text: str) -> None:
        pass

    with owned_cell(name, silent) as (cell, keeper):
        return runs.in_cell(
            cell,
            keeper,
            Options(s, name=name, cores=cores),
            places,
            silent,
            lambda: phases(
                cell, keeper, s, point, places, workload or (lambda c, k: transfer(c, k, s, point))
            ),
        )


def phases(
    cell: Cell,
    keeper: KeeperClient,
    s: Scenario,
    point: dict[str, Any],
    places: Places,
    workload: Callable[..., dict[str, Any] | None],
) -> dict[str, Any]:
    path = cells.write_config(cell, "tcpl", config(cell, s, point))
    running = Running(cell, keeper)
    start_process(
        keeper,
        cells.Process(
            "tcpl",
            [places.program(PROGRAM), "--config", path],
            {"OPENWIP_RUN": str(cell.run)},
            slot_path=True,
        ),
        running.air,
    )
    moved, failed = {}, []
    try:
        moved = workload(cell, keeper) or {}
    except traffic.TrafficFailed as e:
        failed.append(str(e))
    checksum_errors = kernel_checksum_errors(cell, keeper)
    keeper.wait_until(
        lambda: not any(d.queued.packets for d in both_ways(running.ask(running.air)).values()),
        runs.DRAIN_LIMIT_S,
    )
    return result_of(point, moved, failed, running.ask(running.air), checksum_errors)


def result_of(
    point: dict[str, Any],
    moved: dict[str, Any],
    failed: list[str],
    status: pb.PathStatus,
    checksum_errors: int,
) -> dict[str, Any]:
    """`moved`: what the two programs said of the transfer."""
    ends = {way: accounting.End(direction) for way, direction in both_ways(status).items()}
    late = status.late_max_ms
    return (
        point
        | moved
        | {
            "packets": status.forward.delivered.packets,
            "packets_damaged": status.packets_damaged,
            "queue_drops": sum(meaning.drops(status.forward).values()),
            "path_bits_wrong": status.bits_wrong,
            "late_max_ms": round(late, 2),
            "realtime_priority": status.realtime_priority,
            "headers_restored": status.headers_restored,
            "checksum_errors": checksum_errors,
            "relay_verdicts": {d.reason: d.count.packets for d in status.relay},
            "verdict": accounting.verdict(
                [
                    ("traffic", failed),
                    (
                        "sums",
                        [
                            f"{way}: packets in, delivered and dropped do not add up"
                            for way, e in ends.items()
                            if e.came_in[0] != e.accounted[0]
                        ],
                    ),
                    (
                        "pacing",
                        (
                            [
                                f"pacing: a packet left {late:.0f} ms late (limit"
                                f" {LATE_LIMIT_MS:g} ms)"
                            ]
                            if late > LATE_LIMIT_MS
                            else []
                        ),
                    ),
                ]
            ),
        }
    )


def both_ways(status: pb.PathStatus) -> dict[str, pb.Direction]:
    return {"forward": status.forward, "back": status.back}


def transfer(
    cell: Cell, keeper: KeeperClient, s: Scenario, point: dict[str, Any]
) -> dict[str, Any]:
    python = [sys.executable, *isolated(), str(transfer_program.__file__)]
    common = [cells.ADDRESS["terminal"], str(PORT), str(s["traffic.bytes"]), str(point["seed"])]
    with traffic.pair(
        keeper,
        cell,
        [*python, "receive", *common],
        [*python, "send", *common, s["traffic.tcp_cc"], str(s["traffic.tcp_window_kb"])],
    ) as (receiver, sender):
        if not receiver.wait(keeper, s["traffic.limit_s"]):
            # a result, of TCP under errors, and not a failure of the run
            return {"unfinished": True}
        sender.wait(keeper, 30)
        try:
            got = json.loads(receiver.stdout.splitlines()[-1])
        except (ValueError, IndexError):
            traffic.check_ended(receiver=receiver)
            raise traffic.TrafficFailed("the receiver gave no result") from None
        sent = {}  # its last acknowledgement may be lost with the end of the cell
        with contextlib.suppress(ValueError):
            sent = json.loads(sender.stdout)
    if got["bytes"] != s["traffic.bytes"]:
        raise traffic.TrafficFailed(f"{got['bytes']} of {s['traffic.bytes']} bytes arrived")
    return {
        "seconds": got["seconds"],
        "kbyte_s": got["bytes"] / got["seconds"] / 1000,
        "bytes_wrong": got["bytes_wrong"],
        "bits_wrong": got["bits_wrong"],
    } | sent


def run_virtual(point: dict[str, Any], s: Scenario, places: Places) -> dict[str, Any]:
    """As run_one(), with the TCP of a Linux kernel in virtual time
    (docs/explanation/virtual-time.md)."""
    tree = config(Cell(NAME), s, point)
    tree["relay"]["ports"] = str(virtual.PORT)
    size, limit = s["traffic.bytes"], s["traffic.limit_s"]
    plan = virtual.Plan(
        [
            f"compare 0 1 {virtual.START_S:g} {size} {s['traffic.tcp_cc']}"
            f" {s['traffic.tcp_window_kb']} {limit:g} {point['seed']}"
        ],
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
            places,
        )
        raw, result = virtual.launch(
            places.program(PROGRAM), root, virtual.START_S + limit + 600, None
        )
    ends = {e["end"]: e for e in result["flows"] if "failed" not in e}
    failed = [f"flow {e['flow']}: {e['failed']}" for e in result["flows"] if "failed" in e] + (
        [result["failed"]] if "failed" in result else []
    )
    moved: dict[str, Any] = {}
    if not failed:
        got, sent = ends["receiver"], ends["sender"]
        seconds = got["last"] - got["began"]
        moved = (
            {"unfinished": True}
            if got["bytes"] < size
            else {
                "seconds": seconds,
                "kbyte_s": size / seconds / 1000,
                **{k: got[k] for k in ("bytes_wrong", "bits_wrong")},
                **{k: sent[k] for k in ("retransmits", "congestion_control", "mss")},
            }
        )
    names, values = (
        line.split()[1:]
        for line in (result["programs"] or [{"said": "Tcp: InCsumErrors\nTcp: 0"}])[-1][
            "said"
        ].splitlines()
    )
    errors = int(dict(zip(names, values))["InCsumErrors"])
    return result_of(
        point, moved, failed, json_format.ParseDict(raw["path"], pb.PathStatus()), errors
    ) | {"virtual_seconds": raw["virtual_seconds"], "wall_seconds": raw["wall_seconds"]}


def run_ns3(point: dict[str, Any], s: Scenario, places: Places) -> dict[str, Any]:
    """As run_one(), with the TCP of ns-3 (docs/explanation/ns3.md). Segments are as long as the MTU
    lets them be; bytes are not compared, since what is damaged does not come up."""
    size, limit, sender = s["traffic.bytes"], s["traffic.limit_s"], s["traffic.tcp_cc"]
    timestamps = sender not in ns3_tcp.WITHOUT_TIMESTAMPS
    # It goes on to the limit, as Linux does for longer than that.
    lines = ns3_tcp.settings_of(
        {
            "mss": point["mtu"] - ns3_tcp.HEADERS - timestamps * ns3_tcp.TIMESTAMPS,
            ns3_tcp.SOCKET + "ConnCount": 1000,
            ns3_tcp.SOCKET + "DataRetries": 1000,
        }
    )
    with scratch.folder() as folder:
        raw = ns3.launch(
            places.program(NS3_PROGRAM),
            folder,
            config(Cell(NAME), s, point),
            [
                *lines,
                f"transfer 0 1 {virtual.START_S:g} {size} {sender} {s['traffic.tcp_window_kb']}",
            ],
            ["--seconds", f"{virtual.START_S + limit:.9g}"],
        )
    ends = {e.get("end"): e for e in raw["flows"]}
    failed = [f"flow {e['flow']}: {e['failed']}" for e in raw["flows"] if "failed" in e]
    moved: dict[str, Any] = {} if failed else {"unfinished": True}
    if not failed and "receiver" in ends:
        seconds = ends["receiver"]["last"] - ends["receiver"]["began"]
        moved = {
            "seconds": seconds,
            "kbyte_s": size / seconds / 1000,
            "bytes_wrong": 0,
            "bits_wrong": 0,
            "congestion_control": sender,
        }
        moved |= {k: ends["sender"][k] for k in ("retransmits", "mss")} if "sender" in ends else {}
    return result_of(
        point, moved, failed, json_format.ParseDict(raw["path"], pb.PathStatus()), raw["damaged"]
    ) | {
        "ns3": raw["ns3"],
        "virtual_seconds": raw["virtual_seconds"],
        "wall_seconds": raw["wall_seconds"],
    }


WITHOUT_CLOCK = {"virtual": run_virtual, "ns3": run_ns3}


# --- many ---


def run_all(
    s: Scenario, name: str, places: Places, progress: Callable[[str], None], time: str = "real"
) -> tuple[list[dict[str, Any]], int]:
    """Every point, s["parallel"] at a time; results in the order of the points. A run that is
    invalid for its pacing is repeated, and every repetition counted."""
    specs = {
        f"{n:x}": {"tcp-l": point, "settings": s.values, "name": name, "time": time}
        for n, point in enumerate(points_of(s))
    }
    results: dict[str, dict[str, Any]] = {}
    repeated = 0
    with scratch.folder() as folder:

        def take(key: str) -> None:
            nonlocal repeated
            run = json.loads((folder / "runs" / f"{key}.json").read_text())
            repeated += len(run["attempts"]) - 1
            result = run["result"]
            if result is None:
                raise failure.stop_of(run, "a transfer")
            results[key] = {"time": time} | result
            progress(
                f"{len(results)} of {len(specs)}: MTU {result['mtu']}, BER {result['ber']:g},"
                f" burstiness {result['burstiness']:g}, {'TCP-L' if result['relay'] else 'TCP  '}: "
                + (
                    f"{result['kbyte_s']:.1f} kbyte/s"
                    if "kbyte_s" in result
                    else "unfinished"
                    if result.get("unfinished")
                    else "failed"
                )
                + (
                    ""
                    if result["verdict"]["valid"]
                    else f" (invalid: {'; '.join(result['verdict']['reasons'])})"
                )
                + (f"; {repeated} repeated so far" if repeated else "")
            )

        # Without a clock one at a time on each core: they do not wait for a clock.
        Pool(
            places, folder, len(placement.usable()) if time in WITHOUT_CLOCK else s["parallel"]
        ).run(specs, take)
    return [results[key] for key in specs], repeated


def interval(values: Sequence[float]) -> tuple[float | None, float | None]:
    """(mean, half of the 95 % interval), None for what is not known."""
    if len(values) < 2:
        return (values[0] if values else None), None
    found = estimate(values)
    return found.mean, found.half


def summary(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each (mtu, ber, burstiness): throughput of both, damage that reached the
    application."""
    rows = []
    key = lambda r: (r["mtu"], r["ber"], r["burstiness"])
    for (mtu, ber, burst), same in itertools.groupby(sorted(results, key=key), key):
        row = {"mtu": mtu, "ber": ber, "burstiness": burst}
        group = list(same)
        for name, relay in (("tcp", False), ("tcpl", True)):
            valid = [r for r in group if r["relay"] == relay and r["verdict"]["valid"]]
            mine = [r for r in valid if not r.get("unfinished")]
            row[f"{name}_unfinished"] = len(valid) - len(mine)
            row[f"{name}_kbyte_s"], row[f"{name}_interval"] = interval([r["kbyte_s"] for r in mine])
            row[f"{name}_runs"] = len(mine)
        taken = [
            r for r in group if r["relay"] and r["verdict"]["valid"] and not r.get("unfinished")
        ]
        if taken:
            row["packets_damaged"] = statistics.mean(
                r["packets_damaged"] / r["packets"] for r in taken
            )
            row["recovered"] = sum(r["relay_verdicts"].get("recovered", 0) for r in taken) / max(
                1, sum(r["packets_damaged"] for r in taken)
            )
            row["bits_wrong"] = statistics.mean(r["bits_wrong"] for r in taken)
        rows.append(row)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    def number(row: dict[str, Any], name: str) -> str:
        mean, half = row[f"{name}_kbyte_s"], row[f"{name}_interval"]
        text = "-" if mean is None else f"{mean:.1f}" + ("" if half is None else f" ± {half:.1f}")
        return text + (
            f" ({row[f'{name}_unfinished']} unfinished)" if row[f"{name}_unfinished"] else ""
        )

    head = (
        f"{'MTU':>5} {'BER':>8} {'burst':>6}  {'TCP kbyte/s':>14}  {'TCP-L kbyte/s':>14} "
        f" {'damaged':>8} {'taken':>7} {'wrong bits':>11}"
    )
    lines = [head]
    for r in rows:
        line = (
            f"{r['mtu']:>5} {r['ber']:>8.2g} {r['burstiness']:>6.2g}  {number(r, 'tcp'):>14} "
            f" {number(r, 'tcpl'):>14}"
        )
        if "bits_wrong" in r:
            line += (
                f"  {100 * r['packets_damaged']:>7.1f}% {100 * r['recovered']:>6.1f}%"
                f" {r['bits_wrong']:>11.0f}"
            )
        lines.append(line)
    return "\n".join(lines)


def draw(rows: list[dict[str, Any]]) -> Any:
    """The figure of the text: throughput over bit error rate or burstiness, a panel for each
    MTU."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    by_burst = len({r["burstiness"] for r in rows}) > 1
    x = "burstiness" if by_burst else "ber"
    sizes = sorted({r["mtu"] for r in rows})
    figure, axes = plt.subplots(
        1, len(sizes), figsize=(5.2 * len(sizes), 4), squeeze=False, sharey=True
    )
    for a, mtu in zip(axes[0], sizes):
        mine = [r for r in rows if r["mtu"] == mtu]
        for name, label, style in (("tcpl", "TCP-L", "o-"), ("tcp", "TCP", "s--")):
            shown = [r for r in mine if r[f"{name}_kbyte_s"] is not None]
            a.errorbar(
                [r[x] for r in shown],
                [r[f"{name}_kbyte_s"] for r in shown],
                [r[f"{name}_interval"] or 0 for r in shown],
                fmt=style,
                capsize=3,
                ms=4,
                label=label,
            )
        a.set(xlabel="burstiness" if by_burst else "bit error rate", title=f"MTU {mtu}")
        a.grid(color="0.9")
        a.legend()
    # Last: a limit that is set ends the scaling, and the axes share it.
    axes[0][0].set_ylim(bottom=0)
    axes[0][0].set_ylabel("throughput (kbyte/s), 95 % interval")
    figure.tight_layout()
    return figure


def write_csv(path: pathlib.Path | str, results: list[dict[str, Any]]) -> None:
    columns = [
        "time",
        "mtu",
        "ber",
        "burstiness",
        "relay",
        "run",
        "seed",
        "seconds",
        "kbyte_s",
        "bytes_wrong",
        "bits_wrong",
        "packets",
        "packets_damaged",
        "queue_drops",
        "path_bits_wrong",
        "headers_restored",
        "checksum_errors",
        "retransmits",
        "late_max_ms",
        "unfinished",
        "valid",
    ]
    with outputs.replacing(path) as f:
        out = csv.DictWriter(f, columns, extrasaction="ignore")
        out.writeheader()
        for r in results:
            out.writerow({"unfinished": False} | r | {"valid": r["verdict"]["valid"]})


def main(arguments: list[str], places: Places) -> int:
    given, name, s = parse(arguments)
    if given.time == "virtual":
        virtual.check(places, PROGRAM)
    elif given.time == "ns3":
        ns3.check(places, NS3_PROGRAM)
    else:
        rights.require_for_a_cell()
        system.require_tun()
        places.check_built(PROGRAM, "python/openwip_schema")
        check_congestion_control(s["traffic.tcp_cc"])
    check_pool(places)
    outputs.check_given("--json", given.json)
    results, repeated = run_all(s, name, places, Progress(), given.time)
    rows = summary(results)
    invalid = [r for r in results if not r["verdict"]["valid"]]
    verdict: Verdict = {
        "valid": not invalid,
        "reasons": sorted({reason for r in invalid for reason in r["verdict"]["reasons"]}),
    }
    print("\n".join(report.verdict_lines(verdict)))
    print(
        f"line: {s['line.rate_kbps']:g} kbit/s, {s['line.delay_ms']:g} ms each way;"
        f" {s['traffic.bytes']} bytes, {s['traffic.tcp_cc']}, --time {given.time}, {s['runs']} runs"
        f" of each; {repeated} repeated\n"
    )
    print(table(rows))
    if unfinished := sum(bool(r.get("unfinished")) for r in results):
        print(
            f"\n{unfinished} of {len(results)} transfers did not end within"
            f" {s['traffic.limit_s']:g} s (--limit): they are in no mean"
        )
    made = {
        "verdict": verdict,
        "time": given.time,
        "summary": rows,
        "runs": results,
        "repeated": repeated,
    } | identity(s, places)
    made["versions"] = (
        made["versions"]
        | {"ns3": r["ns3"] for r in results if "ns3" in r}
        | (virtual_kernel(places) if given.time == "virtual" else {})
    )
    outputs.write_json(given.json, made)
    if given.csv:
        with outputs.writing("--csv", given.csv):
            write_csv(given.csv, results)
    if given.png:
        with outputs.writing("--png", given.png):
            with outputs.replacing(given.png, binary=True) as out:
                draw(rows).savefig(out, dpi=90, format="png")
    return VALID if verdict["valid"] else INVALID
