# SPDX-License-Identifier: GPL-3.0-or-later
"""One scenario on the medium and through the fader: software USRPs in lockstep, same seeds, same
traffic, and the medium with the loop that the fader needs (4 ms). JSON, what was found beside what
is asked:

  snr_db              terminal's SNR, by bin: mean over the slots that both have recorded; rms over
                      the bins of all seeds of the difference, at most 0.3 dB; and that of single
                      slots, which have noise of their own on either way (not evaluated)
  frame_error_rate    of each way with its 95 % interval over the seeds: each mean inside the
                      other's interval
  tcp_bps             ratio of the means within 3 %, with the 95 % interval of the pairs

  sudo /usr/bin/python3 tests/bench/cabled.py [--seeds 8] [--seconds 8] [--speed 0.5] [--out FILE]
  [-- DEMO OPTIONS]

from a built tree. Exit code 1: a figure is outside. A run that is INVALID (the machine was too
busy) is repeated, twice at most; if it is INVALID again, it is left out and named."""

import argparse
import dataclasses
import pathlib
import sys
import tempfile

import h5py
import numpy

import valid_demo

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "host" / "cli")]

from openwip_cli.figures import estimates

SCENARIO = [
    "--channel",
    "jakes",
    "--speed-kmh",
    "30",
    "--snr",
    "20",
    "--bins",
    "25",
    "--tcp-window-kb",
    "128",
    "--pings",
    "5",
    "--retransmission-delay-ms",
    "4",
]
WAYS = {"medium": [], "cabled": ["--air", "cabled"]}
MOST_SNR_DB, MOST_TCP = 0.3, 0.03


def run(way, seed, given, folder):
    """(report, SNR by slot: 25 values); None: never valid."""
    found = valid_demo.run(
        f"{way}, seed {seed}",
        folder,
        lambda base: [
            "--name",
            f"cb{way[0]}",
            *SCENARIO,
            *WAYS[way],
            "--seed",
            str(seed),
            "--duration",
            str(given.seconds),
            "--speed",
            str(given.speed),
            "--record",
            f"{base}.h5",
            *given.more,
        ],
        given.before,
    )
    if found is None:
        return None
    report, base = found
    with h5py.File(f"{base}.h5") as f:
        slot = f["topics/slot/terminal"]
        locked = slot["locked"][:] & slot["snr_db.known"][:]
        snr = dict(zip(slot["message.slot"][:][locked], slot["snr_db"][:][locked]))
    return report, snr


def figures(ways, runs):
    """The values of each way, by seed: only of runs valid on both."""
    seeds = sorted(set(runs["medium"]) & set(runs["cabled"]))
    by_bin, by_slot = [], []
    for seed in seeds:
        a, b = (runs[way][seed][1] for way in ways)
        both = sorted(set(a) & set(b))
        difference = numpy.array([b[k] for k in both]) - numpy.array([a[k] for k in both])
        by_bin.append(difference.mean(axis=0))
        by_slot.append(difference)
    rms = float(numpy.sqrt(numpy.mean(numpy.square(by_bin))))
    each = [float(numpy.sqrt(numpy.mean(numpy.square(d)))) for d in by_bin]
    fer = {
        way: estimates.estimate(runs[way][s][0]["link"]["frame_error_rate"] for s in seeds)
        for way in ways
    }
    tcp = {way: {s: runs[way][s][0]["tcp"]["goodput_bps"] for s in seeds} for way in ways}
    share = estimates.ratio(tcp["cabled"], tcp["medium"])
    pairs = estimates.difference(
        *(
            {s: runs[way][s][0]["link"]["frame_error_rate"] for s in seeds}
            for way in ("cabled", "medium")
        )
    )
    return {
        "seeds": seeds,
        "snr_db": {
            "rms": rms,
            "budget": MOST_SNR_DB,
            "rms_by_seed": each,
            "mean_difference": float(numpy.mean(by_bin)),
            "slots": [len(d) for d in by_slot],
            "rms_of_single_slots": float(
                numpy.sqrt(numpy.mean(numpy.square(numpy.concatenate(by_slot))))
            ),
            "ok": rms <= MOST_SNR_DB,
        },
        "frame_error_rate": {
            **{way: dataclasses.asdict(e) for way, e in fer.items()},
            "difference": dataclasses.asdict(pairs),
            "frames": {
                way: sum(runs[way][s][0]["link"]["frames_sent"] for s in seeds) for way in ways
            },
            "ok": (
                fer["medium"].covers(fer["cabled"].mean)
                and fer["cabled"].covers(fer["medium"].mean)
            ),
        },
        "tcp_bps": {
            **{way: dataclasses.asdict(estimates.estimate(of.values())) for way, of in tcp.items()},
            "ratio": dataclasses.asdict(share),
            "budget": MOST_TCP,
            "ok": abs(share.mean - 1) <= MOST_TCP,
        },
        "sounding": [runs["cabled"][s][0]["fader"] for s in seeds][:1],
    }


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seeds", type=int, default=8)
    p.add_argument("--seconds", type=int, default=8)
    p.add_argument("--speed", type=float, default=0.5)
    valid_demo.options(p)
    given = p.parse_args()
    runs = {way: {} for way in WAYS}
    with tempfile.TemporaryDirectory(prefix="openwip-cabled-") as folder:
        for seed in range(1, given.seeds + 1):
            for way in WAYS:
                if (done := run(way, seed, given, folder)) is not None:
                    runs[way][seed] = done
    found = {
        "scenario": SCENARIO + given.more,
        "seconds": given.seconds,
        "speed": given.speed,
        "not_valid": valid_demo.not_valid(runs, WAYS, given.seeds),
        **figures(list(WAYS), runs),
    }
    valid_demo.written(found, given.out)
    return 0 if all(found[key]["ok"] for key in ("snr_db", "frame_error_rate", "tcp_bps")) else 1


if __name__ == "__main__":
    sys.exit(main())
