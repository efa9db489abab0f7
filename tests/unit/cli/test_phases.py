# SPDX-License-Identifier: GPL-3.0-or-later
"""The one run: the order of its phases, and transfers without a clock from what a program said."""

import contextlib
import pathlib
import unittest
from unittest import mock

from openwip_cli.figures import checks
from openwip_cli.figures.facts import Facts
from openwip_cli.machine.places import Places
from openwip_cli.measure.traffic import TrafficFailed
from openwip_cli.runs import ns3, phases, tcpl, transfers, virtual

PLACES = Places(pathlib.Path("/nowhere"), pathlib.Path("/nowhere"), "python3")


class TestedRun(phases.Run):
    def __init__(self, fault=None):
        super().__init__()
        self.fault, self.calls = fault, []

    @contextlib.contextmanager
    def watched(self):
        self.calls.append("watch")
        yield
        self.calls.append("unwatch")

    def start(self):
        self.calls.append("start")

    def traffic(self):
        self.calls.append("traffic")
        if self.fault:
            raise self.fault

    def drain(self):
        self.calls.append("drain")

    def facts(self):
        self.calls.append("facts")
        return Facts(failed=self.failed)

    def rows(self):
        return {"said": self.calls}


class Phases(unittest.TestCase):
    def test_each_phase_comes_once_and_in_order(self):
        report = phases.carry_out(TestedRun())
        self.assertEqual(report["said"], ["watch", "start", "traffic", "drain", "facts", "unwatch"])
        self.assertEqual(report["verdict"], checks.evaluate(Facts(failed=[])))

    def test_traffic_that_fails_is_a_reason_and_the_phases_after_it_follow(self):
        report = phases.carry_out(TestedRun(TrafficFailed("no packet")))
        self.assertEqual(report["said"][-3:], ["drain", "facts", "unwatch"])
        self.assertEqual(report["verdict"]["reasons"], ["traffic: no packet"])

    def test_whatever_else_fails_ends_the_run(self):
        run = TestedRun(KeyError("a fault"))
        with self.assertRaises(KeyError):
            phases.carry_out(run)
        self.assertEqual(run.calls, ["watch", "start", "traffic"])


SENDER = {"flow": 0, "end": "sender", "retransmits": 2, "congestion_control": "cubic", "mss": 1448}
RECEIVER = {"flow": 0, "end": "receiver", "bytes": 100000, "began": 1.0, "last": 3.0}
WHOLE = {"in": {"packets": "5", "bytes": "50"}, "delivered": {"packets": "5", "bytes": "50"}}
TIMES = {"virtual_seconds": 3, "wall_seconds": 1}


class Transfers(unittest.TestCase):
    def setUp(self):
        _, _, self.settings = tcpl.parse(["--bytes", "100000", "--relay", "off", "--ber", "1e-6"])
        self.point = next(tcpl.points_of(self.settings))
        for of, name, stub in (
            (Places, "program", lambda self, name: name),
            (virtual, "prepared", lambda *_: None),
        ):
            patched = mock.patch.object(of, name, stub)
            patched.start()
            self.addCleanup(patched.stop)

    def in_virtual_time(self, flows, programs=(), path=WHOLE, **result):
        calls = TIMES | {"path": {"forward": path, "back": {}}}
        result |= {"flows": flows, "programs": list(programs)}
        with mock.patch.object(virtual, "launch", lambda *_: (calls, result)):
            return transfers.run_without_clock("virtual", self.point, self.settings, PLACES)

    def under_ns3(self, flows):
        calls = TIMES | {"path": {"forward": WHOLE}, "flows": flows, "damaged": 3, "ns3": "3.37"}
        with mock.patch.object(ns3, "launch", lambda *_: calls):
            return transfers.run_without_clock("ns3", self.point, self.settings, PLACES)

    def test_a_transfer_has_its_throughput_and_the_checks_of_its_facts(self):
        right = {"bytes_wrong": 0, "bits_wrong": 0}
        counted = {"said": "Tcp: A InCsumErrors\nTcp: 1 7\n"}
        for made, damaged in (
            (self.in_virtual_time([SENDER, RECEIVER | right], [counted]), 7),
            (self.under_ns3([SENDER, RECEIVER]), 3),
        ):
            self.assertEqual((made["kbyte_s"], made["checksum_errors"]), (50.0, damaged))
            self.assertEqual((made["retransmits"], made["virtual_seconds"]), (2, 3))
            self.assertEqual(
                made["verdict"]["checks"], {"pacing": True, "sums": True, "traffic": True}
            )

    def test_one_that_does_not_end_is_a_result_and_one_that_fails_a_reason(self):
        for made in (
            self.in_virtual_time([SENDER, RECEIVER | {"bytes": 99, "given_up": True}]),
            self.under_ns3([SENDER]),
        ):
            self.assertEqual((made["unfinished"], made["verdict"]["valid"]), (True, True))
        fault = [{"flow": 0, "end": "sender", "failed": "connect: no"}]
        for made in (self.in_virtual_time(fault), self.under_ns3(fault)):
            self.assertEqual(made["verdict"]["reasons"], ["traffic: flow 0: connect: no"])
            self.assertNotIn("kbyte_s", made)
        made = self.in_virtual_time([], failed="side: no")
        self.assertEqual(made["verdict"]["reasons"], ["traffic: side: no"])

    def test_a_byte_that_the_line_lost_is_a_reason(self):
        lost = WHOLE | {"delivered": {"packets": "5", "bytes": "49"}}
        made = self.in_virtual_time([SENDER, RECEIVER | {"bytes": 9, "given_up": True}], path=lost)
        self.assertEqual(
            made["verdict"]["reasons"],
            [
                "sums: forward at the line, in against delivered + queued + dropped: 5 packets, 50"
                " bytes against 5 packets, 49 bytes"
            ],
        )


if __name__ == "__main__":
    unittest.main()
