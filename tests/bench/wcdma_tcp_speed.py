#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much processor time the runs of W-120 take, by the number of terminals (docs/results/wcdma-tcp.md).

    wcdma_tcp_speed.py [--json FILE]

Counted is the processor time of wip_ns3, user and system, which other load changes little, for 61 s
of simulated time: NewReno with SACK, 20 Hz."""

import argparse
import json
import pathlib
import resource
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import kept_result
from openwip_cli.campaign import in_ns3, options
from openwip_cli.machine import places

SIMULATED_S = 61
TERMINALS = (1, 7, 25, 160)


def processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    p = argparse.ArgumentParser(description="processor time of the runs of W-120")
    p.add_argument("--json", metavar="FILE", help="write the times to FILE")
    given = p.parse_args()
    here = places.default()
    (experiment,) = options.load(here.top, ["W-120"], "quick", "ns3")
    wanted = {"method": "20 Hz 160", "congestion_control": "newreno", "sack": 1}
    found = []
    for point in experiment.points:
        if not point.matches(wanted):
            continue
        spec = experiment.run(point, 1).spec
        for terminals in TERMINALS:
            before = processor_s()
            report = in_ns3.run(
                spec["emulator"] | {"terminals": terminals},
                spec["workload"],
                spec.get("tcp"),
                lambda text: None,
                places=here,
            )
            took = processor_s() - before
            found.append(
                {
                    "application": point["application"],
                    "terminals": terminals,
                    "processor_s": round(took, 3),
                    "times_real_time": round(SIMULATED_S / took),
                    "valid": report["verdict"]["valid"],
                }
            )
            print(json.dumps(found[-1]), flush=True)
    if given.json:
        command = "/usr/bin/python3 tests/bench/wcdma_tcp_speed.py --json FILE"
        kept_result.write(given.json, command, {"runs": found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
