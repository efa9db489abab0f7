# SPDX-License-Identifier: GPL-3.0-or-later
"""A cabled cell on a free-running clock, with the lead and the delays that follow from what its
radios and this machine take. It measures with doctor --loop until it is shown that at most one
burst in 10,000 is late (30,000 bursts without a late one, or more with some), takes the settings
that --loop auto would take, and makes some demos with them. It prints JSON: what was measured, the
settings, how many of the demos were VALID, and for each demo its verdict with the reasons, what
missed its time, what was left of the fader's delay, and the stalls of the machine.

  sudo /usr/bin/python3 tests/bench/cabled_loop.py [--product x310] [--runs 5] [--seconds 8]
  [--measured-s 600] [--at-least N] [--out FILE] [-- DEMO OPTIONS]

from a built tree, on a machine that does nothing else. Exit code 1: a share of one in 10,000 was
not shown within --measured-s, no loop can be as long as was found, or fewer than --at-least
(default: all) of the runs were VALID."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("OPENWIP_BUILD", TOP / "build"))
sys.path[:0] = [str(TOP / "host" / "cli"), str(BUILD / "python")]

from openwip_cli.commands.radio_findings import SHARE
from openwip_cli.figures import stalls, timing
from openwip_cli.runs import loop, options

SCENARIO = [
    "--air",
    "cabled",
    "--clock",
    "realtime",
    "--channel",
    "jakes",
    "--speed-kmh",
    "3",
    "--snr",
    "20",
]


def openwip(*arguments):
    subprocess.run(
        [TOP / "openwip", *arguments],
        env=os.environ | {"OPENWIP_BUILD": str(BUILD), "OPENWIP_NO_BUILD": "1"},
        stdout=sys.stderr,
        check=False,
    )


def report(file):
    """The JSON of a report; None: the run left none."""
    try:
        return json.loads(pathlib.Path(file).read_text())
    except (OSError, ValueError):
        return None


def of_run(r):
    """The values of a report; without one the run did not come so far."""
    if r is None:
        return {"valid": False, "reasons": ["no report"]}
    rt, fader = r.get("realtime"), r.get("fader")
    found = {"valid": r["verdict"]["valid"], "reasons": r["verdict"]["reasons"]}
    if rt:
        found |= {
            "slots": rt["slots"],
            "missed": timing.missed_words(rt["missed"]),
            "standstills": stalls.words(rt.get("standstills")).removeprefix("; "),
        }
    return found | (
        {
            "least_lead_us": fader["least_lead_us"],
            "late_pieces": fader["late"] + fader["underflows"],
        }
        if fader
        else {}
    )


def evaluated(measured, settled, runs, wanted):
    """(what is wrong, k)"""
    valid = sum(r["valid"] for r in runs)
    wrong = []
    if measured["transmit"]["late_at_most"] > SHARE:
        wrong.append(
            f"of the bursts a share of {measured['transmit']['late_at_most']:.1e} may be late,"
            f" {SHARE:g} was to be shown: a longer --measured-s"
        )
    if settled.why:
        wrong.append(f"{settled.flags}: {settled.why}")
    elif valid < wanted:
        wrong.append(f"{valid} of {len(runs)} runs were VALID, {wanted} are asked")
    return wrong, valid


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--product", default="x310")
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--seconds", type=int, default=8)
    p.add_argument("--measured-s", type=float, default=600)
    p.add_argument("--at-least", type=int)
    p.add_argument("--out")
    p.add_argument("more", nargs="*")
    given = p.parse_args()
    reported = [*SCENARIO, "--product", given.product, *given.more]
    scenario = options.parse_demo(reported).scenario
    radios = loop.radios_of_demo(scenario)
    measured, runs = {}, []
    with tempfile.TemporaryDirectory(prefix="openwip-loop-") as folder:
        for k, one in enumerate(dict.fromkeys(radios.values())):
            file = pathlib.Path(folder, f"radio-{k}.json")
            openwip(
                "doctor",
                "--loop",
                "--radio",
                one.radio,
                "--seconds",
                f"{given.measured_s:g}",
                f"--json={file}",
            )
            if (found := report(file)) is None:
                sys.exit(
                    f"./openwip doctor --loop --radio {one.radio} found nothing; what it said is"
                    " above"
                )
            measured[one] = found["loop"]
        settled = loop.settle({role: measured[one] for role, one in radios.items()}, scenario, 0)
        for k in range(0 if settled.why else given.runs):
            file = pathlib.Path(folder, f"run-{k}.json")
            openwip(
                "demo",
                "--name",
                f"cl{os.getpid() % 10000}",
                *reported,
                *settled.flags.split(),
                "--duration",
                str(given.seconds),
                f"--json={file}",
            )
            runs.append(of_run(report(file)))
    worst = max(measured.values(), key=lambda m: m["transmit"]["late_at_most"])
    wrong, valid = evaluated(
        worst, settled, runs, given.runs if given.at_least is None else given.at_least
    )
    found = {
        "options": reported,
        "load": os.getloadavg()[0],
        "settings": settled.flags,
        "fader_delay_of": settled.share,
        "measured": {
            one.radio: {"bursts": m["transmit"]["leads"][-1]["bursts"], **m}
            for one, m in measured.items()
        },
        "runs": runs,
        "valid": valid,
        "of": len(runs),
        "wrong": wrong,
    }
    text = json.dumps(found, indent=1)
    if given.out:
        pathlib.Path(given.out).write_text(text + "\n")
    print(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
