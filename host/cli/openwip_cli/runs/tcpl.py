# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip tcp-l: transfers over a line with residual bit errors, with the host's TCP alone and
with the relay that takes damaged segments (docs/explanation/corrupt-delivery.md; Alfredsson 2012,
section 4.4).

main() runs the points of a scenario, several at a time, each in a process of its own so that a kill
of any of them is cleaned up as always; transfers.py is one of them."""

import argparse
import dataclasses
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

from ..cell.session import Progress, check_congestion_control, identity
from ..errors import INVALID, VALID, BadInput, not_valid
from ..figures import capacities, report
from ..machine import outputs, placement, rights, scratch, system
from ..machine.places import Places, virtual_kernel
from ..settings.command_line import OUTPUT
from ..settings.kinds import Choice
from ..settings.scenario import Scenario
from ..settings.table import Setting, settings_of
from ..shapes import Verdict
from . import failure, ns3, ns3_tcp, transfer_results, transfers, virtual
from .options import CLOCKS, scenario_of, settings_parser
from .pool import Pool

MOST_VIRTUAL = 16_000_000  # bytes of a transfer in virtual time, which is in memory three times


SETTINGS = settings_of("tcp-l")
# lists, of which a value that is there twice counts once
VARIED = ("line.mtu", "errors.ber", "errors.burstiness")


def parse(arguments: list[str]) -> tuple[argparse.Namespace, str, Scenario]:
    """Every transfer has a cell of its own, or none."""
    parser = settings_parser(
        "tcp-l",
        "Measures TCP transfers over an emulated line with bit errors: plain TCP, and TCP that"
        " accepts segments with bit errors (TCP-L).",
        SETTINGS,
        transfers.NAME,
        one_cell=False,
    )
    parser.add_argument(
        "--csv",
        names=OUTPUT,
        metavar="FILE",
        help="write a line for each TCP transfer into this CSV file",
    )
    parser.add_argument(
        "--png",
        names=OUTPUT,
        metavar="FILE",
        help="draw throughput against bit error rate (or burstiness) into this PNG file",
    )
    parser.add_argument(
        "--time",
        choices=CLOCKS,
        default="real",
        help=(
            "how time passes and whose TCP runs: real (the clock and the kernel of this"
            " machine), virtual (a Linux kernel of its own) or ns3 (the TCP of ns-3, only"
            " with --relay off); virtual and ns3 need no root"
            " (docs/explanation/virtual-time.md, docs/explanation/ns3.md; default real)"
        ),
    )
    given = parser.parse_args(arguments)
    if given.time in transfers.WITHOUT_CLOCK and given.parallel is not None:
        raise not_valid(
            "--parallel",
            given.parallel,
            "with --time real",
            more=f" with --time {given.time}, which has one transfer on each core",
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
        raise not_valid(
            "--bytes",
            s["traffic.bytes"],
            f"1000..{MOST_VIRTUAL}, as the kernel's memory holds them",
            more=" with --time virtual",
        )
    if given.time == "virtual" and max(s["line.mtu"]) > capacities.MTU:
        raise not_valid(
            "--mtu",
            max(s["line.mtu"]),
            f"576..{capacities.MTU}",
            more=" with --time virtual, whose kernel takes no larger packets",
        )
    if given.time == "ns3" and s["relay"] != "off":
        raise not_valid(
            "--relay",
            repr(s["relay"]),
            "off",
            more=" with --time ns3, which takes no damaged segment: it drops them at the interface",
        )
    return given, given.name, s


def settings_with(time: str) -> list[Setting]:
    """ns-3 has senders of its own."""
    own = {"traffic.tcp_cc": Choice(*ns3_tcp.SENDERS)} if time == "ns3" else {}
    return [
        dataclasses.replace(setting, kind=own.get(setting.key, setting.kind))
        for setting in SETTINGS
    ]


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

        # Runs without a clock never wait, so there is one at a time on each core.
        Pool(
            places,
            folder,
            len(placement.usable()) if time in transfers.WITHOUT_CLOCK else s["parallel"],
        ).run(specs, take)
    return [results[key] for key in specs], repeated


def main(arguments: list[str], places: Places) -> int:
    given, name, s = parse(arguments)
    if given.time == "virtual":
        virtual.check(places, transfers.PROGRAM)
    elif given.time == "ns3":
        ns3.check(places, transfers.NS3_PROGRAM)
    else:
        rights.require_for_a_cell()
        system.require_tun()
        places.check_built(transfers.PROGRAM, "python/openwip_schema")
        check_congestion_control(s["traffic.tcp_cc"])
    outputs.check_given("--json", given.json)
    results, repeated = run_all(s, name, places, Progress(), given.time)
    rows = transfer_results.summary(results)
    invalid = [r for r in results if not r["verdict"]["valid"]]
    verdict: Verdict = {
        "valid": not invalid,
        "reasons": sorted({reason for r in invalid for reason in r["verdict"]["reasons"]}),
    }
    lines = [
        *report.verdict_lines(verdict),
        f"line: {s['line.rate_kbps']:g} kbit/s, {s['line.delay_ms']:g} ms each way;"
        f" {s['traffic.bytes']} bytes, {s['traffic.tcp_cc']}, --time {given.time}, {s['runs']} runs"
        f" of each; {repeated} repeated\n",
        transfer_results.table(rows),
    ]
    if unfinished := sum(bool(r.get("unfinished")) for r in results):
        lines.append(
            f"\n{unfinished} of {len(results)} transfers did not end within"
            f" {s['traffic.limit_s']:g} s (--limit): they are in no mean"
        )
    outputs.say(given.json, "\n".join(lines))
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
            transfer_results.write_csv(given.csv, results)
    if given.png:
        with outputs.writing("--png", given.png):
            with outputs.replacing(given.png, binary=True) as out:
                transfer_results.draw(rows).savefig(out, dpi=90, format="png")
    return VALID if verdict["valid"] else INVALID
