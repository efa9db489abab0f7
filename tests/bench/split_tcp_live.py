#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Split TCP in real time (docs/explanation/umts.md): one download over the bearers of experiment
U-B8, with the proxy between 105 ms of wired network and 30 ms of bearer, and over the same way
whole, each without errors and with 10 % of the blocks lost. TCP is set as in the experiment, the
seed is one for all. JSON:

  download_s   from the server's call of connect() to the terminal's last byte
  connect_s    until that call returned
  verdict      of the run; beside it the blocks, the proxy's connections and the load
  increase     of download_s by the lost blocks, in %, of each bearer and way; nothing unless both
               runs are VALID

There is no budget: the limits are the experiment's.

  sudo /usr/bin/python3 tests/bench/split_tcp_live.py [--case 384/1500] [--kb 1000] [--seed 1]
  [--pacing-limit-ms MS] [--out FILE]

from a built tree, 11 minutes for all cases, on a machine that does nothing else; on another one the
pacing must not be evaluated (--pacing-limit-ms 1000). Exit code 1: a run is INVALID or died."""

import argparse
import json
import os
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("OPENWIP_BUILD", TOP / "build"))
sys.path[:0] = [str(TOP / "host" / "cli"), str(BUILD / "python")]
os.environ |= {"OPENWIP_BUILD": str(BUILD), "OPENWIP_NO_BUILD": "1"}

from openwip_cli.campaign import experiments, flow_results, plan, workloads
from openwip_cli.campaign.tcp_settings import window_kept
from openwip_cli.errors import CellDied, Stop
from openwip_cli.machine import places
from openwip_cli.measure import flows
from openwip_cli.measure.traffic import TrafficFailed
from openwip_cli.runs import emulate

CASES = ("384/576", "384/1500", "128/576")  # kbit/s, MTU
LONGEST_S = 600  # seconds that a download may take


def download(work, kb):
    """A workload: one connection that the server opens."""

    def workload(cell):
        workloads.apply_tcp(cell, work)
        try:
            sent, received = flows.both_ends(
                cell.supervisor,
                cell.cell,
                places.default().program(flows.PROGRAM),
                flow_results.files(work | {"flows": [{"kb": kb, "times": 1}]}),
                LONGEST_S,
                work["window_bytes"],
                before=lambda: workloads.wait_for_start(cell),
                over=lambda: cell.mark("last"),
            )
            return {
                "download": flow_results.sessions(sent["sessions"], received["sessions"])[0],
                "failed": window_kept(work["window_bytes"], received["windows"]),
            }
        except ValueError as e:
            raise TrafficFailed(str(e)) from None
        finally:
            workloads.hang_up(cell)

    return workload


def points_of(experiment, case):
    """(way, share of blocks lost, point) of the experiment's but for the literature's shortcut, the
    bearer alone."""
    for point in experiment.points:
        s = dict(point.settings)
        way = (
            "proxy"
            if s["split_tcp.ports"] != "off"
            else "whole"
            if s["wired.delay_ms"] == 0
            else None
        )
        if way and f"{s['channel']}/{s['mtu']}" == case:
            yield way, s["umts.errors"], point


def run(spec, given):
    settings = spec["emulator"] | (
        {} if given.pacing_limit_ms is None else {"pacing_limit_ms": given.pacing_limit_ms}
    )
    load = os.getloadavg()[0]
    try:
        r = emulate.run(
            settings,
            download(spec["workload"], given.kb),
            places=places.default(),
            name=f"sl{os.getpid() % 10000}",
        )
    except CellDied as e:
        return {"verdict": {"valid": False, "reasons": [str(e)]}, "load": load}
    got, down = r["workload"].get("download", {}), r["bearer"]["down"]
    return {
        "download_s": got.get("last_byte_s"),
        "connect_s": got.get("connect_s"),
        "verdict": r["verdict"],
        "blocks": down["blocks"],
        "blocks_lost": down["blocks_lost"],
        "connections": (r["split_tcp"] or {}).get("connections"),
        "pacing_us": r["realtime"]["pacing_us"],
        "load": load,
    }


def increases(runs):
    found = {}
    for without in (r for r in runs if r["errors"] == 0):
        lossy = next(
            r
            for r in runs
            if r["errors"] > 0 and (r["case"], r["way"]) == (without["case"], without["way"])
        )
        both = all(r["verdict"]["valid"] for r in (without, lossy))
        found[f"{without['case']} {without['way']}"] = (
            round(100 * (lossy["download_s"] / without["download_s"] - 1), 1) if both else None
        )
    return found


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--case", choices=CASES, help="one of them (default all)")
    p.add_argument("--kb", type=int, default=1000, help="of the download, of 1000 bytes")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--pacing-limit-ms", type=int, help="as of emulate")
    p.add_argument("--out")
    given = p.parse_args()
    # Only the settings are taken from the file, not its time.
    experiment = plan.Experiment(experiments.folder(TOP) / "U-B8.yaml", "full", "virtual")
    runs = []
    try:
        for case in [given.case] if given.case else CASES:
            for way, errors, point in points_of(experiment, case):
                runs.append(
                    {"case": case, "way": way, "errors": errors}
                    | run(experiment.spec(point, given.seed), given)
                )
                print(
                    f"{case} {way}, {errors:.0%} lost: {runs[-1].get('download_s')} s,"
                    f" {runs[-1]['verdict']}",
                    file=sys.stderr,
                )
    except Stop as e:
        print(f"split_tcp_live: {e}", file=sys.stderr)
        return e.code
    text = json.dumps(
        {
            "kb": given.kb,
            "seed": given.seed,
            "pacing_limit_ms": given.pacing_limit_ms,
            "increase": increases(runs),
            "runs": runs,
        },
        indent=1,
    )
    if given.out:
        pathlib.Path(given.out).write_text(text + "\n")
    print(text)
    return 0 if all(r["verdict"]["valid"] for r in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
