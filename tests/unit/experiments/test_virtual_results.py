# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of a run in virtual time, made from what its flows tell, and the metrics read from it."""

import unittest

from world import TOP

from openwip_cli.campaign import (
    experiments,
    in_virtual_time,
    metrics,
    virtual_work,
)
from openwip_cli.errors import BadInput


class Results(unittest.TestCase):
    def test_two_uploads_are_added_up_and_their_timeouts_are_as_of_120_s(self):
        def sender(spurious):
            return {
                "since": {
                    "seconds": 40.0,
                    "bytes_acked": 5_000_000,
                    "bytes_sent": 6_000_000,
                    "bytes_retransmitted": 600_000,
                    "rtt_ms": 80,
                    "TCPTimeouts": 10,
                    "TCPLossUndo": spurious,
                }
            }

        verdict = {
            "valid": True,
            "reasons": [],
            "checks": {"sums": True, "traffic": True},
            "findings": [],
        }
        both = {"verdict": verdict, "flows": [sender(4), {"end": "receiver"}, sender(1)]}
        report = virtual_work.result_of(both, "uploads")
        self.assertEqual(report["verdict"], verdict)
        work = report["workload"]
        self.assertEqual((work["goodput_bps"], work["rtt_ms"]), (2e6, 80))
        self.assertEqual(
            (work["timeouts"], work["timeouts_spurious"], work["timeouts_real"]), (60, 15, 45)
        )
        self.assertAlmostEqual(metrics.METRICS["useful"][1]({"workload": work}), 0.9)
        # Two stations: each with its own counters. One server that sends to both: its counters,
        # told twice, the second time from later on.
        for side, expected in ((2, (60, 15, 45)), (1, (30, 12, 18))):
            flows = [
                {"since": sender(4)["since"] | {"side": 1}},
                {
                    "since": (
                        sender(1)["since"] | {"side": side, "TCPTimeouts": 8 if side == 1 else 10}
                    )
                },
            ]
            work = virtual_work.result_of({"verdict": verdict, "flows": flows}, "downloads")[
                "workload"
            ]
            self.assertEqual(
                (
                    work["timeouts"],
                    work["timeouts_spurious"],
                    work["timeouts_real"],
                    work["goodput_bps"],
                ),
                (*expected, 2e6),
            )
        nothing = virtual_work.result_of({"verdict": verdict, "flows": []}, "uploads")["workload"]
        self.assertEqual((nothing["goodput_bps"], nothing["timeouts"]), (0, 0))
        alone = virtual_work.result_of(
            both
            | {
                "flows": [
                    sender(4),
                    {"flow": 1, "end": "sender", "problem": "connect: Connection timed out"},
                ]
            },
            "uploads",
        )
        words = "flow 1: connect: Connection timed out"
        self.assertEqual(
            alone["verdict"],
            {
                "valid": False,
                "reasons": [f"traffic: {words}"],
                "checks": {"sums": True, "traffic": False},
                "findings": [
                    {"check": "traffic", "reason": f"traffic: {words}", "figures": {"what": words}}
                ],
            },
        )

    def test_each_user_has_the_flow_of_its_application_with_a_seed_of_its_own(self):
        work = {
            "kind": "downloads",
            "congestion_control": "vegas",
            "window_bytes": 0,
            "sender": {},
            "start_within_s": 2,
            "measured_from_s": 3,
            "duration_s": 60,
        }

        def flows(application, **more):
            with_it = work | more | {"application": {"kind": application, "packet_bytes": 500}}
            return virtual_work.plan_of({"seed": 1, "terminals": 3}, with_it).flows

        for kind, way, ends in (
            ("telnet", "downloads", [(0, 1), (0, 2), (0, 3)]),
            ("telnet", "uploads", [(1, 0), (2, 0), (3, 0)]),
            # From the user to the server, which sends.
            ("http", "downloads", [(1, 0), (2, 0), (3, 0)]),
            ("http", "uploads", [(0, 1), (0, 2), (0, 3)]),
        ):
            planned = flows(kind, kind=way)
            self.assertEqual([(f["from"], f["to"]) for f in planned], ends)
            self.assertEqual({f["kind"] for f in planned}, {kind})
            self.assertEqual({f["packet_bytes"] for f in planned}, {500})
            self.assertEqual(len({f["seed"] for f in planned}), 3)
            # The same whatever the TCP is.
            again = flows(kind, kind=way, congestion_control="reno")
            self.assertEqual([f["seed"] for f in planned], [f["seed"] for f in again])
        plain = virtual_work.plan_of({"seed": 1, "terminals": 3}, work).flows
        self.assertEqual({f["kind"] for f in plain}, {"bulk"})
        self.assertNotIn("seed", plain[0])

    def test_data_are_counted_for_each_user(self):
        each = [
            {"bytes_acked": 6000, "bytes_sent": 8000},
            {"bytes_acked": 2000, "bytes_sent": 2000},
        ]
        result = {"workload": {"each": each}}
        values = [
            metrics.METRICS[name][1](result, None, None)
            for name in ("acked_kb", "sent_kb", "acked_of_sent")
        ]
        self.assertEqual(values, [4.0, 5.0, 0.8])

    def test_what_each_station_gets_and_how_fair_it_is(self):
        # The last lines of the programs; receiving ends do not report these counts.
        flows = [
            {"flow": n, "end": "sender", "since": {"bytes_acked": mb * 1e6, "seconds": 8}}
            for n, mb in ((1, 3), (0, 1))
        ]
        result = {"flows": [*flows, {"flow": 1, "end": "receiver", "bytes": 5}]}
        station, jain = (metrics.METRICS[name][1] for name in ("station_mbps", "jain"))
        self.assertEqual([station(result, None, n) for n in ("1", "2")], [1, 3])
        self.assertAlmostEqual(jain(result, None, None), 16 / (2 * 10))
        self.assertAlmostEqual(jain({"flows": flows[:1]}, None, None), 1)
        self.assertRaises(LookupError, station, result, None, "3")  # the tables have no such row
        for wrong in ("0", "two", None):
            with self.assertRaisesRegex(
                BadInput, f"station_mbps:{wrong}; valid: station_mbps:1 for"
            ):
                station(result, None, wrong)

    def test_the_length_of_the_loop_is_shown_with_the_error_of_its_prediction_and_its_delay(self):
        e = experiments.load(TOP, ["L1"], "quick")[0]
        self.assertEqual(metrics.metrics_of(e), ["goodput_mbps", "prediction_nmse", "tcp_rtt_ms"])
        result = {
            "emulator": {"prediction_nmse": 0.02},
            "workload": {"rtt_ms": 80, "goodput_bps": 3e6},
        }
        self.assertEqual(
            [metrics.value_of(result, e.points[0], m) for m in metrics.metrics_of(e)],
            [3.0, 0.02, 80],
        )

    def test_percentiles_of_delays_are_delays_that_there_were(self):
        there = in_virtual_time.percentiles_ms([ms * 1_000_000 for ms in range(200, 0, -1)])
        self.assertEqual([there[n] for n in (0, 1, 50, 95, 100)], [1, 2, 100, 190, 200])
        self.assertEqual(in_virtual_time.percentiles_ms([7_000_000]), [7.0] * 101)
        result = {"workload": {"packet_delay": {"packets": 200, "percentiles_ms": there}}}
        self.assertEqual(metrics.value_of(result, None, "packet_delay_ms:95"), 190)
        self.assertEqual(
            metrics.label("packet_delay_ms:95"), "percentile 95 of the delay of a packet (ms)"
        )
        for wrong in ("packet_delay_ms:101", "packet_delay_ms:9.5", "packet_delay_ms"):
            with self.assertRaisesRegex(
                BadInput,
                f"metric is '{wrong}'; valid: packet_delay_ms:NUMBER, a whole number 0..100",
            ):
                metrics.split(wrong, "here: ")
        with self.assertRaises(LookupError):  # a run without a connection has none
            metrics.value_of({"workload": {}}, None, "packet_delay_ms:95")

    def test_what_the_downlink_queue_marked_and_dropped_is_a_share_of_what_came(self):
        dropped = {"queue_full": 3, "queue_managed": 7, "not_ip": 5}
        result = {"packets": {"downlink": {"in": 200, "marked": 20, "dropped": dropped}}}
        read = [metrics.value_of(result, None, m) for m in ("marked", "queue_dropped")]
        self.assertEqual(read, [0.1, 0.05])


if __name__ == "__main__":
    unittest.main()
