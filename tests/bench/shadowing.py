# SPDX-License-Identifier: GPL-3.0-or-later
"""Allocation shares (A5) at the sample level: shadowing of 4 dB, 2 m on one path, as the medium
makes it and in the steps in which the programmable attenuator plays it (docs/how-to/attenuator.md);
software USRPs in lockstep, the same seeds. JSON:

  share      of the frames by bits per symbol, in %: of each with its 95 % interval over the seeds,
             and of the differences seed by seed; asked: each mean inside the other's interval (of
             shares of 0.5 % and more)
  tcp_bps    the same, and the ratio, asked: within 3 %

  sudo /usr/bin/python3 tests/bench/shadowing.py [--seeds 8] [--seconds 6] [--speed 0.5] [--out
  FILE] [-- DEMO OPTIONS]

from a built tree. Exit code 1: a figure is outside. A run that is INVALID (the machine was too
busy) is repeated, twice at most; if it is INVALID again, it is left out and named."""

import argparse
import dataclasses
import pathlib
import sys
import tempfile

import valid_demo

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "host" / "cli")]

from openwip_cli.figures import estimates

SCENARIO = [
    "--speed-kmh",
    "30",
    "--snr",
    "16",
    "--bins",
    "10",
    "--allocation",
    "static",
    "--switch-table",
    "nmse_0",
    "--shadowing",
    "on",
    "--tcp-window-kb",
    "64",
    "--pings",
    "5",
]
WAYS = ("shadowing", "attenuator")  # --channel
MOST_BITS, LEAST_SHARE, MOST_TCP = 8, 0.5, 0.03


def run(channel, seed, given, folder):
    """The report; None: never valid."""
    found = valid_demo.run(
        f"{channel}, seed {seed}",
        folder,
        lambda _: [
            "--name",
            f"sh{channel[0]}",
            "--channel",
            channel,
            *SCENARIO,
            "--seed",
            str(seed),
            "--duration",
            str(given.seconds),
            "--speed",
            str(given.speed),
            *given.more,
        ],
        given.before,
    )
    return found and found[0]


def shares(report):
    counts = report["link"]["modulation_histogram"]
    return [100 * n / sum(counts) for n in (counts + [0] * MOST_BITS)[1 : MOST_BITS + 1]]


def intervals_agree(a, b):
    return a.covers(b.mean) and b.covers(a.mean)


def compared(by_way):
    """Compares {way: {seed: value}}: estimates as JSON, and whether they are alike."""
    of = {way: estimates.estimate(values.values()) for way, values in by_way.items()}
    both = [by_way[way] for way in WAYS]
    return {
        **{way: dataclasses.asdict(e) for way, e in of.items()},
        "difference": dataclasses.asdict(estimates.difference(both[1], both[0])),
    }, of


def figures(runs):
    seeds = sorted(set.intersection(*(set(runs[way]) for way in WAYS)))
    found = []
    for bits in range(1, MOST_BITS + 1):
        row, of = compared(
            {way: {s: shares(runs[way][s])[bits - 1] for s in seeds} for way in WAYS}
        )
        evaluated = max(e.mean for e in of.values()) >= LEAST_SHARE
        found.append(
            {
                "bits": bits,
                **row,
                "judged": evaluated,
                "ok": not evaluated or intervals_agree(*of.values()),
            }
        )
    goodput = {way: {s: runs[way][s]["tcp"]["goodput_bps"] for s in seeds} for way in WAYS}
    row, of = compared(goodput)
    ratio = estimates.ratio(goodput[WAYS[1]], goodput[WAYS[0]])
    return {
        "seeds": seeds,
        "share": found,
        "frames": {way: sum(runs[way][s]["link"]["frames_sent"] for s in seeds) for way in WAYS},
        "tcp_bps": {
            **row,
            "ratio": dataclasses.asdict(ratio),
            "ok": intervals_agree(*of.values()) and abs(ratio.mean - 1) <= MOST_TCP,
        },
    }


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seeds", type=int, default=8)
    p.add_argument("--seconds", type=int, default=6)
    p.add_argument("--speed", type=float, default=0.5)
    valid_demo.options(p)
    given = p.parse_args()
    runs = {way: {} for way in WAYS}
    with tempfile.TemporaryDirectory(prefix="openwip-shadowing-") as folder:
        for seed in range(1, given.seeds + 1):
            for way in WAYS:
                if (done := run(way, seed, given, folder)) is not None:
                    runs[way][seed] = done
    found = {
        "scenario": SCENARIO + given.more,
        "seconds": given.seconds,
        "speed": given.speed,
        "not_valid": valid_demo.not_valid(runs, WAYS, given.seeds),
        **figures(runs),
    }
    valid_demo.written(found, given.out)
    return 0 if found["tcp_bps"]["ok"] and all(row["ok"] for row in found["share"]) else 1


if __name__ == "__main__":
    sys.exit(main())
