#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why Linux's Westwood+ loses more than Reno on a bearer of 384 kbit/s with packets of 576 bytes
(docs/results/umts.md). It takes the acknowledgements of a download of experiment U-B6 (virtual
time, PDUs delivered out of order, 10 % of the blocks lost) from its capture, and computes the
bandwidth estimate from them as net/ipv4/tcp_westwood.c does.

It prints JSON. Each estimate is a mean over all recoveries, in segments: the bandwidth times the
least round-trip time, which is the window that a sender continues with after a recovery.

  kernel     computed as Linux does: bytes in a jiffy of 1 ms, each filter (7 a + b) / 8, all
             rounded down
  jiffy_10   the same with jiffies of 10 ms
  exact      nothing rounded
  recoveries, window   the number of recoveries, and Linux's mean send window

There is no budget.

  /usr/bin/python3 tests/bench/westwood_estimate.py [--seed 1]

from a built tree, half a minute."""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import struct
import sys
import tempfile
from unittest import mock

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("OPENWIP_BUILD", TOP / "build"))
sys.path[:0] = [str(TOP / "host" / "cli"), str(BUILD / "python")]
os.environ |= {"OPENWIP_BUILD": str(BUILD), "OPENWIP_NO_BUILD": "1"}

from openwip_cli.campaign import experiments, in_virtual_time, plan
from openwip_cli.machine import places
from openwip_cli.measure import packet_rtt

OF = {"congestion_control": "westwood", "umts.order": "as_completed", "umts.errors": 0.1, "rack": 0}
MSS, NUMBERS, LEAST_MS = 536, 2**32 - 1, 50


def at_the_server(path):
    """(ms, number of the last octet or acknowledgement, sent) of one connection: what leaves and
    what has arrived there."""
    seen, first = set(), None
    for ns, ip in packet_rtt.packets(path):
        header = (ip[0] & 15) * 4
        if ip[9] != packet_rtt.TCP:
            continue
        sequence, acknowledged, offset = struct.unpack_from(">IIB", ip, header + 4)
        octets = len(ip) - header - (offset >> 4) * 4
        name = (ip[12:20], ip[4:6], ip[header : header + 12], octets)
        arrived = name in seen
        seen.add(name)
        if octets and not arrived:
            first = sequence if first is None else first
            yield ns * 1e-6, (sequence - first & NUMBERS) + octets, True
        elif (
            not octets
            and arrived
            and first is not None
            and (acknowledged - first & NUMBERS) < 2**31
        ):
            yield ns * 1e-6, acknowledged - first & NUMBERS, False


def estimates(events, jiffy_ms, whole):
    """The estimate of each recovery, at its end: bandwidth times least round trip, segments."""

    def jiffies(ms):
        return int(ms // jiffy_ms) if whole else ms / jiffy_ms

    def share(a, b):
        return a // b if whole else a / b

    sent, highest, una, duplicates, recover = {}, 0, 0, 0, None
    short = long = held = counted = rtt = 0
    began, least, found = None, float("inf"), []
    for ms, number, is_sent in events:
        if is_sent:
            if number > highest or number in sent:  # otherwise the segment is acknowledged already
                sent[number] = (ms, number in sent)
            highest = max(highest, number)
            continue
        if number < una:
            continue
        began = jiffies(ms) if began is None else began
        acked = [sent.pop(n) for n in [n for n in sent if n <= number]]
        if acked and not any(again for _, again in acked):
            rtt = (
                jiffies(ms) - jiffies(min(at for at, _ in acked))
                if whole
                else (ms - max(at for at, _ in acked)) / jiffy_ms
            )
        span = jiffies(ms) - began
        if rtt and span > max(rtt, LEAST_MS / jiffy_ms):
            sample = share(held, span)
            short = sample if short == long == 0 else share(7 * short + sample, 8)
            long = share(7 * long + short, 8) if long else short
            held, began = 0, jiffies(ms)
        new = number - una
        if new == 0:
            counted, new = counted + MSS, MSS
        elif new > MSS:
            counted, new = (counted - new, MSS) if counted >= new else (0, new - counted)
        held += new
        least = min(least, rtt or least)
        duplicates = duplicates + 1 if number == una else 0
        una = number
        if recover is None and duplicates == 3:
            recover = highest
        elif recover is not None and una >= recover:
            found.append(max(long * least / MSS, 2))
            recover = None
    return found


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--seed", type=int, default=1)
    given = p.parse_args()
    experiment = plan.Experiment(experiments.folder(TOP) / "U-B6.yaml", "full", "virtual")
    spec = experiment.spec(
        next(point for point in experiment.points if point.matches(OF)), given.seed
    )
    with tempfile.TemporaryDirectory() as folder:
        capture = pathlib.Path(folder, "packets.pcap")
        with (
            mock.patch.object(in_virtual_time, "MOST_KB", 10**6),
            mock.patch.object(
                packet_rtt, "of_capture", lambda path: shutil.copy(path, capture) and {}
            ),
        ):
            report = in_virtual_time.run(
                spec["emulator"], spec["workload"], lambda _: None, places=places.default()
            )
        events = list(at_the_server(capture))
    ways = {"kernel": (1, True), "jiffy_10": (10, True), "exact": (1, False)}
    of = {name: estimates(events, *way) for name, way in ways.items()}
    print(
        json.dumps(
            {name: round(statistics.fmean(found), 2) for name, found in of.items()}
            | {
                "recoveries": len(of["exact"]),
                "window": next(iter(report["workload"]["flows"].values()))["window"],
                "valid": report["verdict"]["valid"],
            },
            indent=1,
        )
    )
    return 0 if report["verdict"]["valid"] else 1


if __name__ == "__main__":
    sys.exit(main())
