# SPDX-License-Identifier: GPL-3.0-or-later
"""Telemetry as JSON lines: what another program gets to read."""

import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

from google.protobuf import json_format
from openwip_schema import telemetry_pb2 as pb
from scripted_publisher import Publisher

from openwip_cli.messages import telemetry
from openwip_cli.views import telemetry_lines

STREAM = """
import os, sys
from openwip_cli.messages import telemetry
from openwip_cli.views import follow, telemetry_lines
with follow.following({"base": sys.argv[1]}, telemetry_lines.EVERY_DAY) as reader:
    telemetry_lines.stream(reader, lambda: True, sys.stdout)
os._exit(0)
"""


class Lines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.endpoint = f"ipc://{folder.name}/base"
        self.base = Publisher(self.endpoint)
        self.addCleanup(self.base.close)

    def test_a_line_is_the_protobuf_json_of_the_message_with_where_it_is_from(self):
        reader = telemetry.Reader({"base": self.endpoint}, ("slot", "packet"))
        self.addCleanup(reader.close)
        self.base.await_subscribers("packet")
        self.base.send(
            "slot", slot=7, slot_sample={"snr_db": [1.5, float("nan")], "outcome": b"\1\2"}
        )
        sent = self.base.send(
            "packet",
            sequence=3,
            slot=2**60,
            packets={"packet": [{"number": 2**63, "dropped": "queue_full"}]},
        )
        messages = []
        while len(messages) < 2:
            messages += reader.poll(1)
        out = io.StringIO()
        for m in messages:
            out.write(telemetry_lines.line_of(m) + "\n")
        slot, packet = [json.loads(line) for line in out.getvalue().splitlines()]
        self.assertEqual((slot["source"], slot["topic"], slot["lostBefore"]), ("base", "slot", 0))
        self.assertEqual(slot["slotSample"]["snrDb"], [1.5, "NaN"])
        self.assertEqual(
            packet["packets"]["packet"], [{"number": str(2**63), "dropped": "queue_full"}]
        )
        for added in ("source", "topic", "lostBefore"):
            del packet[added]
        self.assertEqual(json_format.ParseDict(packet, pb.Telemetry()), sent)

    def test_a_reader_that_has_enough_is_no_error(self):
        process = subprocess.Popen(
            [sys.executable, "-c", STREAM, self.endpoint],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.base.await_subscribers("slot")
        self.base.send("slot", slot_sample={})
        self.assertEqual(json.loads(process.stdout.readline())["topic"], "slot")
        process.stdout.close()  # the reader goes, as head -n 1 does
        while process.poll() is None:
            self.base.send("slot", slot_sample={"snr_db": [1.0] * 25})
            try:
                process.wait(0.05)
            except subprocess.TimeoutExpired:
                pass
        self.assertEqual((process.returncode, process.stderr.read()), (0, ""))
        process.stderr.close()

    def test_the_end_of_the_cell_ends_it(self):
        reader = telemetry.Reader({"base": self.endpoint}, ("slot",))
        self.addCleanup(reader.close)
        self.assertIsNone(telemetry_lines.stream(reader, lambda: False, io.StringIO()))


class Commands(unittest.TestCase):
    def refuse(self, *arguments):
        done = subprocess.run(
            [sys.executable, "-m", "openwip_cli", *arguments], capture_output=True, text=True
        )
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
        return done.stderr

    def test_bad_arguments_are_named(self):
        self.assertIn(
            "--topics is 'slots'; valid: all, or some of",
            self.refuse("telemetry", "--topics", "slots"),
        )
        self.assertIn("--duration is 'x'", self.refuse("telemetry", "--duration", "x"))
        self.assertIn("--port is '70000'", self.refuse("metrics", "--port", "70000"))
        self.assertIn("--listen is 'everywhere'", self.refuse("metrics", "--listen", "everywhere"))
        self.assertIn("--topics", self.refuse("record", "--topics", "none", "x.h5"))
        self.assertIn("FILE", self.refuse("record"))

    @unittest.skipIf(os.geteuid() != 0, "without root the answer is that it needs root")
    def test_no_cell_is_said(self):
        for command in (["telemetry"], ["metrics"], ["record", "/tmp/x.h5"]):
            self.assertIn("no cell is up", self.refuse(*command, "--name", "nobodyhere"))


if __name__ == "__main__":
    unittest.main()
