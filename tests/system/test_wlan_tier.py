#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Delay injection still takes the timeouts of a persistent 802.11b link away, with the TCP of Linux
and of ns-3: a minute or two, a tier of its own, `./openwip test -C wlan -R wlan_`
(docs/how-to/develop.md). Nothing is evaluated by the wall clock."""

import json
import pathlib
import tempfile
import unittest

from demo_support import environment, openwip

BUILD = pathlib.Path(environment()["OPENWIP_BUILD"])
NEEDS = {"virtual": "virtual-time/linux", "ns3": "host/simulator/wip_ns3"}


def lacks(*parts):
    missing = [part for part in parts if not (BUILD / part).exists()]
    return unittest.skipIf(missing, f"not built: {', '.join(missing)}")


class Wlan(unittest.TestCase):
    def all_holds(self, time, *more):
        with tempfile.TemporaryDirectory() as folder:
            done = openwip(
                "experiment",
                "D-guard",
                "--quick",
                "--time",
                time,
                *more,
                "--out",
                folder,
                timeout=1800,
            )
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
            guard = json.loads(pathlib.Path(folder, "comparison.json").read_text())["experiments"][
                "D-guard"
            ]
        self.assertEqual(len(guard["statements"]), 4)
        self.assertEqual([s for s in guard["statements"] if s["holds"] != "yes"], [])

    @lacks(NEEDS["virtual"])
    def test_linux(self):
        self.all_holds("virtual")

    @lacks(NEEDS["ns3"])
    def test_a_sender_of_2003(self):
        self.all_holds("ns3", "--tcp", "sender=newreno")


if __name__ == "__main__":
    unittest.main()
