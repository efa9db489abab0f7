#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time-sequence graphs of downloads with a handover, as in figures 7.4 to 7.18 of Teyeb (2006):
what the sender sends, sends again, has acknowledged and has selectively acknowledged, with lines at
the beginning and the end of the handover. Each is one run of experiment H-1 or H-3.

    handover_graph.py --out FILE.png [--only 7.4]"""

import argparse
import pathlib
import sys
import tempfile

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "host/cli"))

from openwip_cli.campaign import in_virtual_time, options
from openwip_cli.capture import plot
from openwip_cli.machine import places
from openwip_cli.measure import time_sequence

# figure of the literature: experiment, channel, buffering, delay, timestamps, SACK
GRAPHS = {
    "7.4": ("H-1", "WLAN-UMTS", "none", 5, 0, 0),
    "7.5": ("H-1", "WLAN-UMTS", "intermediate", 5, 0, 0),
    "7.6": ("H-1", "WLAN-UMTS", "full", 5, 0, 0),
    "7.8": ("H-3", "WLAN-UMTS-second", "none", 0, 1, 0),
    "7.9": ("H-3", "WLAN-UMTS-first", "none", 2, 1, 0),
    "7.10": ("H-1", "WLAN-UMTS", "intermediate", 2, 1, 0),
    "7.11": ("H-1", "WLAN-UMTS", "full", 2, 1, 0),
    "7.13": ("H-1", "WLAN-UMTS", "none", 0, 0, 1),
    "7.15": ("H-1", "UMTS-WLAN", "none", 0, 0, 1),
    "7.17": ("H-1", "GPRS-UMTS", "none", 10, 0, 0),
    "7.18": ("H-1", "GPRS-UMTS", "intermediate", 10, 0, 0),
}
BUFFERING = {"none": "NB", "intermediate": "IB", "full": "FB"}


def spec_of(experiment, channel, buffering, delay, timestamps, sack):
    wanted = {
        "channel": channel,
        "buffering": buffering,
        "handover_delay_s": delay,
        "timestamps": timestamps,
        "sack": sack,
    }
    (e,) = options.load(TOP, [experiment], "full", "virtual")
    (point,) = [p for p in e.points if p.matches(wanted)]
    return e.run(point, 1).spec


def measured(number, where):
    spec = spec_of(*GRAPHS[number])
    with tempfile.TemporaryDirectory() as folder:
        packets = str(pathlib.Path(folder, "packets.pcap"))
        report = in_virtual_time.run(
            spec["emulator"],
            spec["workload"],
            lambda text: None,
            places=where,
            keep_packets=packets,
        )
        return time_sequence.of_capture(packets), report["mobility"]["latest"][0]


def draw(axes, number, sequence, handover):
    _, channel, buffering, delay, timestamps, sack = GRAPHS[number]
    began = handover["began_s"]
    plot.draw(axes, sequence, marks_s=(began, handover["over_s"]))
    scale = 40 if channel.startswith("GPRS") else 8
    axes.set_xlim(began - 0.2 * scale, began + delay + scale)
    axes.set_ylim(450, 800)
    kind = "Eifel" if timestamps else "SACK" if sack else "ordinary"
    axes.set_title(
        f"{number}: {channel.removesuffix('-second').removesuffix('-first').replace('-', ' to ')}, {delay} s, "
        f"{kind}, {BUFFERING[buffering]}",
        fontsize=9,
    )


def main() -> int:
    p = argparse.ArgumentParser(description="time-sequence graphs of handovers")
    p.add_argument("--out", required=True, metavar="FILE.png")
    p.add_argument("--only", choices=GRAPHS, action="append", help="repeatable; default all")
    given = p.parse_args()
    numbers = given.only or list(GRAPHS)
    columns = min(3, len(numbers))
    rows = -(-len(numbers) // columns)
    figure, all_axes = plt.subplots(rows, columns, figsize=(4.4 * columns, 3 * rows), squeeze=False)
    where = places.default()
    for n, axes in enumerate(all_axes.flat):
        if n >= len(numbers):
            axes.axis("off")
            continue
        draw(axes, numbers[n], *measured(numbers[n], where))
        if n % columns == 0:
            axes.set_ylabel("kB")
        if n >= len(numbers) - columns:
            axes.set_xlabel("s")
        if n == 0:
            axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(given.out, dpi=110)
    return 0


if __name__ == "__main__":
    sys.exit(main())
