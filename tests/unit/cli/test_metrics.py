# SPDX-License-Identifier: GPL-3.0-or-later
"""The page for Prometheus, fetched over HTTP and read by the client's own parser."""

import contextlib
import http.client
import io
import socket
import struct
import tempfile
import threading
import time
import unittest
from unittest import mock

from openwip_schema import control_pb2
from prometheus_client.parser import text_string_to_metric_families
from scripted_publisher import Publisher

from openwip_cli.errors import BadInput
from openwip_cli.machine import system
from openwip_cli.messages import telemetry
from openwip_cli.views import metrics

MAC = control_pb2.MacStatus(
    slot=1500,
    malformed_messages=2,
    base={
        "frames_sent": 100,
        "frames_failed": 3,
        "modulation_histogram": [0, 0, 60, 40],
        "payload_bits_acknowledged": 12345,
    },
    downlink={
        "in": {"packets": 10, "bytes": 15000},
        "delivered": {"packets": 8, "bytes": 12000},
        "queued": {"packets": 1, "bytes": 1500},
        "dropped": [{"reason": "queue_full", "count": {"packets": 1, "bytes": 1500}}],
    },
)


class Page(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        endpoints = {name: f"ipc://{folder.name}/{name}" for name in ("base", "observer")}
        self.base = Publisher(endpoints["base"])
        self.addCleanup(self.base.close)
        self.reader = telemetry.Reader(endpoints, metrics.TOPICS)
        self.addCleanup(self.reader.close)
        self.latest = metrics.Latest(self.reader)
        self.server, self.port = metrics.serve(self.latest, "127.0.0.1", 0)
        metrics.begin(self.server)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        for topic in metrics.TOPICS:
            self.base.await_subscribers(topic)
        self.sent = 0

    def tell(self, topic, **what):
        self.base.send(topic, **what)
        self.sent += 1
        while (
            self.reader.received()
            + sum(self.reader.malformed.values())
            + sum(self.reader.future.values())
            < self.sent
        ):
            self.latest.take(self.reader.poll(1))

    def page(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        self.addCleanup(connection.close)
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200)
        self.families = {f.name: f for f in text_string_to_metric_families(answer.read().decode())}
        return {
            (s.name, *sorted(s.labels.items())): s.value
            for f in self.families.values()
            for s in f.samples
        }

    def test_counters_are_counters_with_their_labels_and_every_family_has_help(self):
        self.tell("status", mac=MAC)
        page = self.page()
        self.assertEqual(
            page[
                "openwip_packets_dropped_total",
                ("direction", "downlink"),
                ("reason", "queue_full"),
                ("station", "base"),
            ],
            1,
        )
        self.assertEqual(page["openwip_frames_total", ("station", "base"), ("what", "failed")], 3)
        self.assertEqual(
            page[
                "openwip_frames_sent_modulation_total",
                ("bits_per_symbol", "3"),
                ("station", "base"),
            ],
            40,
        )
        self.assertEqual(
            page["openwip_queue_bytes", ("direction", "downlink"), ("station", "base")], 1500
        )
        self.assertEqual(self.families["openwip_packets"].type, "counter")
        self.assertEqual(self.families["openwip_queue_packets"].type, "gauge")
        for name, family in self.families.items():
            self.assertEqual((family.type, family.documentation), metrics.METRICS[name], name)

    def test_a_link_without_an_snr_has_no_metric_of_it(self):
        self.tell("status", mac=control_pb2.MacStatus(terminal={}, radio={"locked": True}))
        page = self.page()
        self.assertTrue([name for name, *_ in page if name == "openwip_receiver_locked"])
        self.assertEqual([name for name, *_ in page if name.startswith("openwip_receiver_snr")], [])

    def test_every_metric_there_is_appears_from_messages_that_have_it(self):
        self.tell("status", mac=MAC)
        terminal = control_pb2.MacStatus(
            terminal={},
            radio={"locked": True, "mean_snr_db": 16.5},
            base={"retransmission_histogram": [5]},
        )
        self.tell("status", mac=terminal)
        self.assertEqual(self.page()["openwip_receiver_snr_decibels", ("station", "base")], 16.5)
        seen = set(self.families)
        self.tell("status", mac=MAC)
        self.tell("air", air={"real_time_factor": 1.0, "pacing_p99_us": 250.0})
        self.tell(
            "tcp",
            tcp={
                "flow": [
                    {
                        "station": "base",
                        "local": "10.42.0.1:5201",
                        "remote": "10.42.0.2:4",
                        "rtt_ms": 15.0,
                    }
                ]
            },
        )
        self.tell(
            "cpu", cpu={"process": [{"name": "air", "cores": 0.25}], "pressure_percent": 50.0}
        )
        self.tell("verdict", verdict={"valid": True, "goodput_bps": 4e6})
        self.tell("event", event={"kind": "drop", "reason": "queue_full", "count": 3})
        page = self.page()
        self.assertEqual(page["openwip_air_pacing_p99_seconds",], 0.00025)
        self.assertEqual(
            page[
                "openwip_tcp_rtt_seconds",
                ("local", "10.42.0.1:5201"),
                ("remote", "10.42.0.2:4"),
                ("station", "base"),
            ],
            0.015,
        )
        self.assertEqual(
            page[
                "openwip_events_total",
                ("kind", "drop"),
                ("publisher", "base"),
                ("reason", "queue_full"),
            ],
            3,
        )
        self.assertEqual(page["openwip_cpu_pressure_ratio",], 0.5)
        self.assertEqual(seen | set(self.families), set(metrics.METRICS))

    def test_the_verdict_is_a_gauge(self):
        self.tell("verdict", verdict={"valid": True})
        self.assertEqual(self.page()["openwip_verdict_valid",], 1)
        self.tell("verdict", verdict={"valid": False, "reason": ["late: 1", "sums: 2"]})
        page = self.page()
        self.assertEqual((page["openwip_verdict_valid",], page["openwip_verdict_reasons",]), (0, 2))

    def test_events_add_up(self):
        self.tell("event", event={"kind": "drop", "reason": "a", "count": 3})
        self.tell("event", event={"kind": "drop", "reason": "a", "count": 4})
        self.assertEqual(
            self.page()[
                "openwip_events_total", ("kind", "drop"), ("publisher", "base"), ("reason", "a")
            ],
            7,
        )

    def test_a_publisher_that_has_stopped_leaves_no_old_figure(self):
        self.tell("status", mac=MAC)
        self.assertEqual(self.page()["openwip_up", ("publisher", "base")], 1)
        before, metrics.STALE_S = metrics.STALE_S, 0
        try:
            page = self.page()
        finally:
            metrics.STALE_S = before
        self.assertEqual(page["openwip_up", ("publisher", "base")], 0)
        self.assertNotIn("openwip_slot", self.families)

    def test_garbage_and_later_versions_are_counted(self):
        self.base.raw(b"status", b"\xff")
        self.sent += 1
        self.tell("status", version=9, mac=MAC)
        self.assertEqual(
            self.page()["openwip_telemetry_refused_messages_total", ("publisher", "base")], 2
        )

    def test_labels_with_anything_in_them(self):
        reason = 'a "quote", a \\ and a\nline'
        self.tell("event", event={"kind": "setting", "reason": reason})
        self.assertEqual(
            self.page()[
                "openwip_events_total",
                ("kind", "setting"),
                ("publisher", "base"),
                ("reason", reason),
            ],
            1,
        )

    def connection(self):
        s = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        self.addCleanup(s.close)
        return s

    def failed(self):
        return self.page()["openwip_failed_connections_total",]

    def test_clients_that_are_slow_reset_or_talk_nonsense_are_one_counter_and_not_a_line_of_the_log(
        self,
    ):
        self.assertEqual(self.failed(), 0)
        output = io.StringIO()
        with contextlib.redirect_stderr(output), mock.patch.object(metrics.Page, "timeout", 0.2):
            slow, reset, nonsense = (self.connection() for _ in range(3))
            reset.sendall(b"GET /metrics HTTP/1.0\r\nX: ")
            reset.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            reset.close()
            nonsense.sendall(b"\xff\x00 nonsense\r\n\r\n")
            self.assertEqual(slow.recv(1), b"")  # closed
            deadline = time.monotonic() + 10
            while self.server.failed_connections < 3 and time.monotonic() < deadline:
                time.sleep(0.02)
        self.assertEqual((self.failed(), output.getvalue()), (3, ""))

    def test_connections_are_few_and_a_new_one_is_answered_all_the_same(self):
        idle = [self.connection() for _ in range(3 * metrics.MOST_CONNECTIONS)]
        # A connection that was ended is counted by its thread, which ends a moment later.
        self.assertTrue(system.wait_until(lambda: self.failed() > 0, 10))
        self.assertLessEqual(len(self.server.connections), metrics.MOST_CONNECTIONS)
        few = lambda: threading.active_count() < 2 * metrics.MOST_CONNECTIONS
        self.assertTrue(system.wait_until(few, 10), threading.active_count())
        self.assertEqual(idle[0].recv(1), b"")

    def test_a_client_that_says_a_letter_now_and_then_does_not_last(self):
        with mock.patch.object(metrics, "CONNECTION_S", 0.5):
            slow, began = self.connection(), time.monotonic()
            with self.assertRaises(OSError):
                while time.monotonic() - began < 10:
                    slow.sendall(b"G")
                    time.sleep(0.05)
            self.assertLess(time.monotonic() - began, 5)

    def test_a_port_in_use_is_named(self):
        with self.assertRaisesRegex(BadInput, f"--port {self.port}: .*valid"):
            metrics.serve(self.latest, "127.0.0.1", self.port)


if __name__ == "__main__":
    unittest.main()
