# SPDX-License-Identifier: GPL-3.0-or-later
"""A short demo in lockstep: what it reports is complete and adds up. Nothing here evaluates the
pace."""

import json
import os
import pathlib
import tempfile
import unittest

import jsonschema

from demo_support import GENTLE, built, cells, left_of, openwip
from openwip_cli.campaign import experiments, plan, workloads
from openwip_cli.errors import BadInput
from openwip_cli.machine import places
from openwip_cli.measure.traffic import TrafficFailed
from openwip_cli.runs import demo

CELL = f"d{os.getpid() % 100000}"
NUMBER, COUNT, TEXT = {"type": "number"}, {"type": "integer", "minimum": 0}, {"type": "string"}
COUNTS = {"type": "array", "items": COUNT}


def record(**properties):
    return {"type": "object", "properties": properties, "required": list(properties)}


DIRECTION = record(
    **{
        "in": COUNT,
        "delivered": COUNT,
        "queued": COUNT,
        "dropped": {"type": "object", "additionalProperties": COUNT},
    }
)
REPORT = record(
    verdict=record(valid={"type": "boolean"}, reasons={"type": "array", "items": TEXT}),
    realtime=record(factor=NUMBER, slots=COUNT, late_slots=COUNT),
    ping_ms=record(min=NUMBER, median=NUMBER, p99=NUMBER, max=NUMBER),
    tcp=record(goodput_bps=NUMBER, retransmits=COUNT),
    udp=record(offered_bps=NUMBER, delivered_bps=NUMBER, loss=NUMBER),
    capacity=record(
        payload_bps=NUMBER,
        profile_bps=NUMBER,
        tcp_payload_bps=NUMBER,
        settings_changed={"const": False},
    ),
    changes={"type": "array", "maxItems": 0},
    link=record(
        goodput_bps=NUMBER,
        frames_sent=COUNT,
        frames_failed=COUNT,
        frame_error_rate=NUMBER,
        retransmission_histogram=COUNTS,
        modulation_histogram=COUNTS,
    ),
    packets=record(downlink=DIRECTION, uplink=DIRECTION),
    cpu={"type": "object", "additionalProperties": NUMBER, "minProperties": 5},
    applications=record(
        waiting={"type": ["object", "null"]},
        worst={"type": ["number", "null"]},
        pressure={"type": ["number", "null"]},
    ),
    config={"type": "object"},
    seed=COUNT,
    versions=record(openwip=TEXT, gnuradio=TEXT, uhd=TEXT, kernel=TEXT, iperf3=TEXT),
)


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(built(), "macd is not built")
class ShortDemo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cell = cells.Cell(CELL)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "r.json")
            cls.done = openwip(
                "demo",
                "--name",
                CELL,
                *GENTLE,
                "--duration",
                "1",
                "--pings",
                "20",
                "--modulation",
                "4",
                "--snr",
                "30",
                "--wired-delay-ms",
                "20",
                "--wired-uplink-delay-ms",
                "5",
                f"--json={path}",
            )
            cls.left = left_of(cls.cell)
            if not path.exists():
                raise AssertionError(f"no report: {cls.done.stdout}{cls.done.stderr}")
            cls.report = json.loads(path.read_text())

    def test_the_report_has_every_key(self):
        jsonschema.validate(self.report, REPORT)

    def test_everything_but_the_pace_is_as_a_valid_run_needs_it(self):
        checks = dict(self.report["verdict"]["checks"])
        checks.pop("pacing")
        self.assertTrue(all(checks.values()), self.report["verdict"]["reasons"])

    def test_the_exit_code_is_the_verdict(self):
        self.assertEqual(self.done.returncode, 0 if self.report["verdict"]["valid"] else 1)
        first = self.done.stdout.splitlines()[0]
        self.assertEqual(
            first, "verdict: VALID" if self.report["verdict"]["valid"] else "verdict: INVALID"
        )

    def test_at_30_db_16_qam_loses_nothing(self):
        link, packets = self.report["link"], self.report["packets"]
        self.assertGreater(link["frames_sent"], 1000)
        self.assertEqual(link["frames_failed"], 0)
        self.assertEqual(packets["downlink"]["dropped"], {})
        self.assertEqual(packets["uplink"]["dropped"], {})
        self.assertEqual(self.report["tcp"]["retransmits"], 0)
        self.assertEqual(self.report["udp"]["loss"], 0)

    def test_packets_and_bytes_are_conserved_in_both_directions(self):
        for name, p in self.report["packets"].items():
            for part in (p, p["bytes"]):
                with self.subTest(name):
                    self.assertGreater(part["in"], 0)
                    self.assertEqual(
                        part["in"],
                        part["delivered"] + part["queued"] + sum(part["dropped"].values()),
                    )

    def test_what_was_asked_for_is_what_was_sent(self):
        histogram = self.report["link"]["modulation_histogram"]
        self.assertEqual(sum(histogram), histogram[4])
        self.assertEqual(self.report["config"]["link"]["modulation"], 4)

    def test_goodput_is_below_the_capacity_and_not_far(self):
        ratio = self.report["tcp"]["goodput_bps"] / self.report["capacity"]["tcp_payload_bps"]
        self.assertLessEqual(ratio, 1.0)
        self.assertGreater(ratio, 0.3)  # the pace of a busy machine is in it
        self.assertLessEqual(
            self.report["link"]["goodput_bps"], self.report["capacity"]["profile_bps"]
        )

    def test_every_ping_is_answered_after_both_ways_of_the_wired_network(self):
        self.assertEqual(self.report["ping_ms"]["received"], 20)
        self.assertGreater(self.report["ping_ms"]["min"] * self.report["realtime"]["speed"], 25 + 3)

    def test_nothing_is_left(self):
        self.assertEqual(self.left, [])


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(built(), "macd is not built")
class OwnApplications(unittest.TestCase):
    def test_they_have_the_tcp_of_an_experiment_and_a_failure_is_a_reason_of_the_verdict(self):
        b1 = plan.Experiment(experiments.folder(places.default().top) / "B1.yaml", "quick")
        work, output = b1.spec(b1.points[0], 1)["workload"], []

        def workload(cell):
            output.append(workloads.apply_tcp(cell, work))
            raise TrafficFailed("no packet")

        report = demo.run_workload(
            {"wired.delay_ms": 5, "air.speed": 0.5, "air.pacing_limit_ms": 1000},
            workload,
            name=f"{CELL}w",
        )
        self.assertIn("traffic: no packet", report["verdict"]["reasons"])
        for station in ("base", "terminal"):
            self.assertRegex(output[0][station]["route"][0], "window 64096 .*congctl cubic")
            self.assertEqual(output[0][station]["sysctl"]["tcp_recovery"], "0")
        self.assertNotIn("ping_ms", report)

    def test_what_is_no_setting_is_refused(self):
        for options, words in (
            ({"channel.prediction_nmse": 0.1}, "unknown setting channel.prediction_nmse"),
            ({"wired.loss": 2}, "wired.loss"),
        ):
            with self.assertRaisesRegex(BadInput, words):
                demo.run_workload(options, lambda cell: None)


if __name__ == "__main__":
    unittest.main()
