# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs at the ends of a cell, over the loopback interface, and how their output is read."""

import json
import pathlib
import signal
import subprocess
import sys
import unittest

from openwip_cli.campaign import metrics, tcp_settings, workloads
from openwip_cli.programs import flow_program, voip_program

PROGRAMS = pathlib.Path(flow_program.__file__).parent


def start(program, *arguments):
    p = subprocess.Popen(
        [sys.executable, PROGRAMS / program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert p.stdout.readline() == "ready\n"
    return p


def free_port():
    import socket

    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]


class Voip(unittest.TestCase):
    def test_every_packet_arrives_over_loopback_with_its_number_and_a_delay(self):
        port = free_port()
        receiver = start("voip_program.py", "receive", port)
        sent = json.loads(
            subprocess.run(
                [
                    sys.executable,
                    PROGRAMS / "voip_program.py",
                    "send",
                    "127.0.0.1",
                    str(port),
                    "40",
                    "200",
                    "172",
                ],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        receiver.send_signal(signal.SIGTERM)
        got = json.loads(receiver.communicate(timeout=10)[0])
        self.assertEqual((sent["sent"], sent["not_sent"], got["foreign"]), (40, 0, 0))
        self.assertEqual([n for n, _ in got["arrived"]], list(range(40)))
        # Both ends have one clock: a delay over loopback is not negative, and not a second.
        self.assertTrue(all(0 <= d < 1_000_000 for _, d in got["arrived"]), got)

    def test_the_clocks_are_compared_although_the_process_loses_the_processor(self):
        # The first reading is interrupted for 5 ms, the second takes 300 ns and counts.
        real = iter([1_000_005_000_050, 1_000_006_000_150])
        readings = iter([0, 5_000_000, 6_000_000, 6_000_300])
        self.assertEqual(
            voip_program.realtime_ahead_ns(lambda: next(readings), lambda: next(real)),
            1_000_000_000_000,
        )

    def test_the_payload_has_the_size_asked_for(self):
        self.assertEqual(len(voip_program.packet(7, 123, 172)), 172)

    def test_summary_counts_loss_duplicates_and_reordering(self):
        s = voip_program.summary(6, [[0, 10], [2, 12], [1, 30], [2, 13], [5, 11]])
        self.assertEqual(
            (s["received"], s["reordered"], s["duplicates"], s["delays_us"]),
            (4, 1, 1, [10, 12, 30, 11]),
        )
        self.assertAlmostEqual(s["loss"], 2 / 6)


class Flows(unittest.TestCase):
    def test_flows_arrive_whole_and_are_timed_from_connect_to_the_last_acknowledgement(self):
        port = free_port()
        receiver = start("flow_program.py", "receive", port, 5, 20440)
        sent = json.loads(
            subprocess.run(
                [
                    sys.executable,
                    PROGRAMS / "flow_program.py",
                    "send",
                    "127.0.0.1",
                    str(port),
                    "1:3",
                    "200:2",
                ],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        received = json.loads(receiver.communicate(timeout=10)[0])
        self.assertEqual({f["window"] for f in received}, {20440})
        done = flow_program.summary(sent, received)
        self.assertEqual([f["kb"] for f in done], [1, 1, 1, 200, 200])
        for f in done:
            self.assertTrue(0 < f["connect_s"] < f["last_byte_s"] <= f["session_s"] < 5, f)
        sizes = workloads.by_size(done)
        self.assertEqual(sizes["1"]["times"], 3)
        self.assertAlmostEqual(sizes["200"]["goodput_bps"], 1_600_000 / sizes["200"]["session_s"])

    def test_a_receiver_that_ended_with_another_window_is_no_valid_run(self):
        # tuned; one that nobody connected to
        for asked, windows in ((0, [175104]), (20440, [20440, 0, 20440])):
            self.assertEqual(tcp_settings.window_kept(asked, windows), [])
        self.assertIn(
            "window of 20440 bytes ended as 175104",
            tcp_settings.window_kept(20440, [20440, 175104])[0],
        )

    def test_of_what_only_some_flows_tell_the_mean_is_theirs(self):
        sent = [
            {"kb": 1, "began_ns": 0, "connected_ns": 10**9, "window": w, "window_variance": 9.0}
            for w in (10, 20, 30)
        ]
        sent[1]["first_retransmission_s"], sent[2]["first_retransmission_s"] = 2.0, 4.0
        done = flow_program.summary(
            sent, 3 * [{"bytes": 1000, "last_byte_ns": 2 * 10**9, "closed_ns": 3 * 10**9}]
        )
        point = {"flow_kb": 1}
        result = {
            "workload": {"flows": workloads.by_size(done)},
            "bearer": {"down": {"busy_rate_bps": 2e5, "received_octets_most": 1500}},
        }
        for metric, value in (
            ("flow_first_retransmission_s", 3),
            ("send_window", 20),
            ("send_window_varies", 0.15),
            ("peak_kbps", 200),
            ("terminal_buffer_kb", 1.5),
        ):
            self.assertAlmostEqual(metrics.value_of(result, point, metric), value, msg=metric)
        with self.assertRaises(LookupError):  # of a run without any
            metrics.value_of(
                {"workload": {"flows": workloads.by_size(done[:1])}},
                point,
                "flow_first_retransmission_s",
            )

    def test_a_flow_that_arrived_short_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "1 kB arrived with 999 bytes"):
            flow_program.summary(
                [{"kb": 1, "began_ns": 0, "connected_ns": 1}],
                [{"bytes": 999, "last_byte_ns": 2, "closed_ns": 3}],
            )


class Iperf(unittest.TestCase):
    SERVER = """Server listening on 5201
[ ID] Interval           Transfer     Bitrate
[  5]   0.00-1.00   sec   500 KBytes  4096 Kbits/sec
[  5]   1.00-2.00   sec   250 KBytes  2048 Kbits/sec
[  5]   2.00-2.03   sec  0.00 Bytes  0.00 Kbits/sec
- - - - -
[  5]   0.00-2.03   sec   750 KBytes  3027 Kbits/sec                  receiver
"""

    def test_intervals_of_the_receiver_are_summed_without_the_last_line(self):
        seconds, bits = workloads.server_intervals(self.SERVER)
        self.assertAlmostEqual(seconds, 2.03)
        self.assertAlmostEqual(bits, 6.144e6)

    def test_a_link_without_a_connection_has_a_goodput_of_zero_and_says_why(self):
        got = workloads.goodput_of(
            '{"error": "unable to connect to server: Connection timed out"}', (0, 0), 6
        )
        self.assertEqual(
            (got["goodput_bps"], got["problem"]),
            (0, "unable to connect to server: Connection timed out"),
        )

    def test_a_test_that_did_not_close_has_what_the_receiver_saw(self):
        got = workloads.goodput_of("", workloads.server_intervals(self.SERVER), 6)
        self.assertAlmostEqual(got["goodput_bps"], 1.024e6)
        self.assertEqual(got["measured_by"], "intervals of the receiving iperf3")

    def test_a_whole_test_is_read_from_the_report(self):
        report = {
            "start": {"tcp_mss_default": 1448},
            "end": {
                "sum_received": {"bits_per_second": 4e6, "seconds": 6.1},
                "sum_sent": {"retransmits": 3},
                "sender_tcp_congestion": "cubic",
                "streams": [{"sender": {"mean_rtt": 26700, "max_snd_cwnd": 60000}}],
            },
        }
        got = workloads.goodput_of(json.dumps(report), (0, 0), 6)
        self.assertEqual(
            (got["goodput_bps"], got["retransmits"], got["rtt_ms"], got["congestion_control"]),
            (4e6, 3, 26.7, "cubic"),
        )


if __name__ == "__main__":
    unittest.main()
