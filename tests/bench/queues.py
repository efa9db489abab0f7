# SPDX-License-Identifier: GPL-3.0-or-later
"""Queue disciplines over the fading link: CUBIC, BBR and DCTCP of a Linux kernel in virtual time,
each with each discipline in the downlink queue (docs/results/queues.md).

    python3 tests/bench/queues.py [--runs 5] [--seconds 20] > docs/results/data/queues.json

A run is a download over the emulated cell (channel jakes at 75 km/h, 16 dB, 10 bins, 20 ms of wired
network, queues of 200 packets, ECN on). Delays are those of all packets that the base station's
queue took after the first 3 s, from there to the terminal; a run's percentile is one value, and the
interval is that of the mean over the runs."""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "host/cli"), str(TOP / "tests/support")]

import kept_result
import openwip

QUEUES = ("drop_tail", "codel", "fq_codel", "pie", "dualpi2")
SENDERS = ("cubic", "bbr", "dctcp")
SETTLED_S = 3
PERCENTILES = (50, 95, 99)


def run(queue, sender, seed, seconds, folder):
    """Goodput and delays of one run."""
    record = folder / f"{queue}-{sender}-{seed}.h5"
    options = {
        "time": "virtual",
        "duration": seconds,
        "seed": seed,
        "record": str(record),
        "queue": queue,
        "tcp_cc": sender,
        "queue_packets": 200,
        "channel": "jakes",
        "speed_kmh": 75,
        "snr": 16,
        "prediction_nmse": 0.1,
        "wired_delay_ms": 10,
    }
    report = openwip.run("emulate", sysctl={"net.ipv4.tcp_ecn": 1}, **options)
    with openwip.open_record(record) as opened:
        child = opened.children("packet", "base")[0]
        packets = opened.frame("packet", "base", child)
    record.unlink()
    packets = packets[(packets["bytes"] > 500) & (packets["arrived_ns"] > SETTLED_S * 1e9)]
    delivered = packets[packets["dropped"].isin(["", b""])]
    delays = (delivered["left_ns"] - delivered["arrived_ns"]) / 1e6
    first, last = delivered["left_ns"].min(), delivered["left_ns"].max()
    return {
        "valid": report["verdict"]["valid"],
        "mbps": float(8e3 * delivered["bytes"].sum() / (last - first)),
        "marked": float(delivered["marked"].mean()),
        "dropped": float(1 - len(delivered) / len(packets)),
        **{f"p{p}": float(delays.quantile(p / 100)) for p in PERCENTILES},
    }


def with_interval(values):
    """[mean, half of the 95 % interval]."""
    if len(values) < 2:
        return [round(values[0], 4), None]
    # Student's t for 95 %, two-sided, by the degrees of freedom
    t = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
    half = t.get(len(values) - 1, 2.0) * statistics.stdev(values) / len(values) ** 0.5
    return [round(statistics.mean(values), 4), round(half, 4)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20)
    given = parser.parse_args()
    points = []
    with tempfile.TemporaryDirectory() as folder:
        for sender in SENDERS:
            for queue in QUEUES:
                runs = [
                    run(queue, sender, seed, given.seconds, pathlib.Path(folder))
                    for seed in range(1, given.runs + 1)
                ]
                bad = [r for r in runs if not r["valid"]]
                if bad:
                    sys.exit(f"{queue}, {sender}: {len(bad)} runs are not valid")
                point = {"queue": queue, "sender": sender, "runs": len(runs)}
                for name in ("mbps", "marked", "dropped", *(f"p{p}" for p in PERCENTILES)):
                    point[name] = with_interval([r[name] for r in runs])
                points.append(point)
                print(json.dumps(point), file=sys.stderr)
    command = (
        f"python3 tests/bench/queues.py --runs {given.runs} --seconds {given.seconds:g}"
        " > docs/results/data/queues.json"
    )
    print(kept_result.text_of(command, {"points": points}))


if __name__ == "__main__":
    main()
