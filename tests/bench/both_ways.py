# SPDX-License-Identifier: GPL-3.0-or-later
"""A fader with two paths, one each way, in real time beside the cell whose downlink goes through
one of them: a demo on cables with a free-running clock. The path back receives the base station as
well, so that both paths compute the same; there is noise at both ends. It prints JSON: each figure
beside its budget, and the verdict of the run:

  fader_cores      cores that the fader uses; budget: 12 % of a core for each path
  left_us          the least time that was left of the fader's delay; budget: more than 0
  late_slots       number of late slots; budget: one in a thousand
  sounding_db      residual of the sounding of each path; budget: its limit

  sudo /usr/bin/python3 tests/bench/both_ways.py [--seconds 8] [--lead 22] [--delay-samples 65280]
  [--delay-ms 32] [--cores X] [--out FILE]

from a built tree, on a machine that does nothing else. Exit code 1: a figure is outside, or the
run is INVALID."""

import argparse
import contextlib
import json
import os
import pathlib
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("OPENWIP_BUILD", TOP / "build"))
sys.path[:0] = [str(TOP / "host" / "cli"), str(BUILD / "python")]
os.environ |= {
    "OPENWIP_BUILD": str(BUILD),
    "OPENWIP_NO_BUILD": "1",
    "PYTHONPATH": os.pathsep.join(sys.path[:2]),
}

from openwip_cli.cell import configuration
from openwip_cli.figures import checks
from openwip_cli.machine import places
from openwip_cli.runs import demo

SCENARIO = [
    "--air",
    "cabled",
    "--clock",
    "realtime",
    "--product",
    "x310",
    "--channel",
    "jakes",
    "--speed-kmh",
    "75",
    "--snr",
    "20",
    "--bins",
    "25",
    "--pings",
    "20",
]
CORES_A_PATH = 0.12  # docs/results/cabled.md, Cost

one_way_air, one_way_fader = configuration.air_config, configuration.fader_config


def air_config(cell, scenario):
    """The fader's radio at the terminal's cable receives, too, and the one at the base station's
    sends, to nobody."""
    found = one_way_air(cell, scenario)
    if "fader-base" in found["nodes"]:
        found["air"]["wait_for"] = {"transmitters": 3, "receivers": 3}
        heard = found["paths"][0]
        found["paths"].append(heard | {"to": "fader-terminal"})
    return found


def fader_config(cell, scenario):
    found = one_way_fader(cell, scenario)
    base, terminal = (found["nodes"][n] for n in ("base", "terminal"))
    base |= {"transmit_gain_db": terminal["transmit_gain_db"], "noise_dbfs": terminal["noise_dbfs"]}
    terminal["receive_gain_db"] = base["receive_gain_db"]
    found["paths"].append(found["paths"][0] | {"from": "terminal", "to": "base"})
    return found


def figures(r):
    rt, fader = r["realtime"], r["fader"]
    cores = {
        name: {"found": round(value, 3)}
        for name, value in r["cpu"].items()
        if name in ("fader", "total")
    }
    cores["fader"]["budget"] = 2 * CORES_A_PATH
    return {
        "fader_cores": cores["fader"],
        "all_cores": cores["total"],
        "left_us": {"found": fader["least_lead_us"], "budget": 0, "of": fader["delay_us"]},
        "late_slots": {
            "found": rt["late_slots"],
            "budget": checks.LATE_SHARE * rt["slots"],
            "of": rt["slots"],
        },
        "soundings": [
            {
                "from": s["from"],
                "to": s["to"],
                "sounding_db": {"found": s["residual_db"], "budget": s["limit_db"]},
            }
            for s in fader["soundings"]
        ],
        "through_radios_db": {
            "found": fader["through_radios"].get("residual_db"),
            "budget": fader["through_radios"].get("limit_db"),
            "heard": fader["through_radios"]["heard"],
        },
    }


def outside(found):
    return [
        name
        for name, ok in (
            ("fader_cores", found["fader_cores"]["found"] <= found["fader_cores"]["budget"]),
            ("left_us", found["left_us"]["found"] > 0),
            ("late_slots", found["late_slots"]["found"] <= found["late_slots"]["budget"]),
            (
                "soundings",
                len(found["soundings"]) == 2
                and all(
                    s["sounding_db"]["found"] <= s["sounding_db"]["budget"]
                    for s in found["soundings"]
                ),
            ),
        )
        if not ok
    ]


def evaluated(r):
    """A run that ended before its figures were taken (no lock) has the verdict alone."""
    if not all(r.get(part) for part in ("realtime", "fader", "cpu")):
        return {"verdict": r["verdict"], "outside": None}
    found = figures(r)
    return found | {"verdict": r["verdict"], "outside": outside(found)}


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--seconds", type=int, default=8)
    p.add_argument("--lead", type=int, default=22)
    p.add_argument("--delay-samples", type=int, default=65280)
    p.add_argument("--delay-ms", type=float, default=32)
    p.add_argument("--cores", default="auto", help="of the slot path, as demo takes them")
    p.add_argument("--out")
    given = p.parse_args()
    configuration.air_config, configuration.fader_config = air_config, fader_config
    options = [
        *SCENARIO,
        "--transmit-lead-slots",
        str(given.lead),
        "--fader-delay-samples",
        str(given.delay_samples),
        "--retransmission-delay-ms",
        str(given.delay_ms),
        "--duration",
        str(given.seconds),
        "--cores",
        given.cores,
        "--name",
        f"bw{os.getpid() % 10000}",
    ]
    with tempfile.TemporaryDirectory(prefix="openwip-both-") as folder:
        report = pathlib.Path(folder, "report.json")
        with contextlib.redirect_stdout(sys.stderr):
            demo.main([*options, f"--json={report}"], places.default())
        r = json.loads(report.read_text())
    found = {"options": " ".join(options), "load": os.getloadavg()[0], **evaluated(r)}
    text = json.dumps(found, indent=1)
    if given.out:
        pathlib.Path(given.out).write_text(text + "\n")
    print(text)
    return 0 if r["verdict"]["valid"] and found["outside"] == [] else 1


if __name__ == "__main__":
    sys.exit(main())
