# SPDX-License-Identifier: GPL-3.0-or-later
"""The reader of telemetry against a scripted publisher on real ZeroMQ."""

import pathlib
import tempfile
import time
import unittest

from openwip_schema import control_pb2
from openwip_schema import telemetry_pb2 as pb
from scripted_publisher import Publisher

from openwip_cli.cell import cell as cells
from openwip_cli.errors import BadInput
from openwip_cli.messages import telemetry

LAST = 10**9  # slot of a message that says that it is the last
STATUS = {"mac": control_pb2.MacStatus(role="base")}


class World(unittest.TestCase):
    TOPICS = ("status", "slot")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.endpoints = {name: f"ipc://{self.folder}/{name}" for name in ("base", "terminal")}
        self.base = Publisher(self.endpoints["base"])
        self.addCleanup(self.base.close)
        self.reader = telemetry.Reader(self.endpoints, self.TOPICS)
        self.addCleanup(self.reader.close)
        for topic in self.TOPICS:
            self.base.await_subscribers(topic)

    def read(self, n, of=None):
        """The next `n` messages that the reader hands out."""
        messages, deadline = [], time.monotonic() + 20
        while len(messages) < n and time.monotonic() < deadline:
            messages += (of or self.reader).poll(0.1)
        self.assertEqual(len(messages), n)
        return messages

    def read_until_end(self):
        """Reads up to a last good message, after which everything that was sent before it has
        come."""
        self.base.send("slot", slot=LAST, slot_sample={})
        messages, deadline = [], time.monotonic() + 20
        while time.monotonic() < deadline:
            messages += self.reader.poll(0.1)
            if messages and messages[-1].telemetry.slot == LAST:
                return messages[:-1]
        self.fail("the last message did not come")


class Reading(World):
    def test_a_message_arrives_as_sent_with_its_publisher_and_topic(self):
        sent = self.base.send("slot", slot=7, slot_sample=pb.SlotSample(snr_db=[1.5] * 25))
        (m,) = self.read(1)
        self.assertEqual((m.source, m.topic, m.lost_before), ("base", "slot", 0))
        self.assertEqual(m.telemetry, sent)

    def test_topics_are_counted_apart_and_a_gap_is_a_loss_told_with_the_next_message(self):
        for n in (7, 8, 12):
            self.base.send("status", sequence=n, **STATUS)
        self.base.send("slot", sequence=1, slot_sample={})
        self.assertEqual([m.lost_before for m in self.read(4)], [0, 0, 3, 0])
        self.assertEqual(self.reader.counts["base", "status"].lost, 3)
        self.assertEqual(
            (self.reader.lost(), self.reader.lost("terminal"), self.reader.received("base")),
            (3, 0, 4),
        )

    def test_the_numbers_of_two_publishers_are_independent(self):
        terminal = Publisher(self.endpoints["terminal"])
        self.addCleanup(terminal.close)
        terminal.await_subscribers("status")
        self.base.send("status", sequence=1, **STATUS)
        terminal.send("status", sequence=100, **STATUS)
        self.assertEqual({m.source for m in self.read(2)}, {"base", "terminal"})
        self.assertEqual(self.reader.lost(), 0)

    def test_a_publisher_that_begins_again_is_a_restart_not_a_loss(self):
        for n in (7, 1, 2):
            self.base.send("status", sequence=n, **STATUS)
        self.read(3)
        self.assertEqual((self.reader.lost(), self.reader.restarts()), (0, 1))

    def test_topics_not_asked_for_are_not_subscribed(self):
        self.base.send("packet", packets={})
        self.assertEqual(self.read_until_end(), [])
        self.assertEqual(self.base.subscribed, {"status": 1, "slot": 1})

    def test_the_bound_on_waiting_messages_costs_messages_that_are_counted(self):
        endpoint = f"ipc://{self.folder}/fast"
        fast = Publisher(endpoint, high_water=10)
        self.addCleanup(fast.close)
        slow = telemetry.Reader({"fast": endpoint}, ("status",), high_water=10)
        self.addCleanup(slow.close)
        fast.await_subscribers("status")
        more_than_the_kernel_holds, sent = "x" * 100000, 302
        for _ in range(sent - 1):
            fast.send("status", mac=control_pb2.MacStatus(role=more_than_the_kernel_holds))
        while slow.poll(0.5):
            pass
        fast.send("status", **STATUS)  # tells how many are missing
        self.read(1, slow)
        self.assertGreater(slow.lost("fast"), 0)
        self.assertEqual(slow.received() + slow.lost(), sent)


class Refusals(World):
    def test_garbage_is_counted_and_what_follows_is_read(self):
        self.base.raw(b"status", b"\xff\xff\xff")
        self.base.raw(b"status")
        self.base.raw(b"status", b"", b"")
        self.base.raw(b"status", b"")
        self.base.raw(b"status\xff", pb.Telemetry(sequence=1, **STATUS).SerializeToString())
        self.assertEqual(self.read_until_end(), [])
        self.assertEqual(self.reader.malformed, {"base": 5, "terminal": 0})

    def test_a_topic_that_carries_something_else_is_malformed(self):
        self.base.send("status", slot_sample={})
        self.assertEqual(self.read_until_end(), [])
        self.assertEqual(self.reader.malformed["base"], 1)

    def test_what_no_publisher_could_have_sent_is_malformed(self):
        for wrong in (
            {"version": 0},
            {"sequence": 0},
            {"slot": -1},
            {"version": telemetry.VERSION + 1, "sequence": 0},
        ):
            message = pb.Telemetry(**({"version": 1, "sequence": 5, "slot": 0} | STATUS | wrong))
            self.assertIsNone(self.reader.take("base", [b"status", message.SerializeToString()]))
        self.assertEqual((self.reader.malformed["base"], self.reader.lost()), (4, 0))

    def test_a_later_version_is_refused_counted_and_no_loss(self):
        self.base.send("status", sequence=1, **STATUS)
        self.base.send("status", sequence=2, version=telemetry.VERSION + 1, **STATUS)
        self.base.send("status", sequence=3, **STATUS)
        self.assertEqual([m.telemetry.sequence for m in self.read_until_end()], [1, 3])
        self.assertEqual((self.reader.future["base"], self.reader.lost()), (1, 0))
        self.assertIn("1 of a later version", self.reader.summary())

    def test_random_bytes_never_raise(self):
        import random

        generator = random.Random(5)
        good = pb.Telemetry(
            sequence=1,
            version=1,
            slot=3,
            mac=control_pb2.MacStatus(slot=3, base={"frames_sent": 7}),
        ).SerializeToString()
        handed_out = 0
        for _ in range(3000):
            body = bytearray(good)
            for _ in range(generator.randrange(1, 4)):
                body[generator.randrange(len(body))] = generator.randrange(256)
            frames = [b"status", bytes(body[: generator.randrange(len(body) + 1)])]
            handed_out += self.reader.take("base", frames) is not None
        taken = handed_out + self.reader.malformed["base"] + self.reader.future["base"]
        self.assertEqual(taken, 3000)

    def test_an_endpoint_that_is_none_is_named(self):
        with self.assertRaisesRegex(BadInput, "nonsense://x"):
            telemetry.Reader({"base": "nonsense://x"})


class Silence(World):
    def test_who_was_never_heard_and_who_has_stopped(self):
        self.assertEqual(self.reader.silent(), {"base": None, "terminal": None})
        self.base.send("status", **STATUS)
        self.read(1)
        self.assertEqual(self.reader.silent(1000), {"terminal": None})
        self.assertGreater(self.reader.silent(0)["base"], 0)

    def test_an_attenuator_that_was_never_heard_is_no_silence_one_that_has_stopped_is(self):
        with telemetry.Reader({"attenuator": "inproc://nobody"}, ("attenuator",)) as reader:
            self.assertEqual(reader.silent(0), {})
            reader.take(
                "attenuator",
                [
                    b"attenuator",
                    pb.Telemetry(
                        sequence=1, version=1, attenuator={"state": "idle"}
                    ).SerializeToString(),
                ],
            )
            self.assertIn("attenuator", reader.silent(0))


class Names(unittest.TestCase):
    def test_a_cell_has_the_publishers_of_its_stations_and_of_its_observers(self):
        class Two(cells.Cell):
            state = {"namespaces": ["owip-x-base", "owip-x-terminal", "owip-x-terminal2"]}

        self.assertEqual(
            telemetry.endpoints_of(Two("x")),
            {
                n: f"ipc:///run/openwip/x/{n}.telemetry"
                for n in ("base", "terminal", "terminal2", "observer", "keeper", "attenuator")
            },
        )

    def test_topics_of_an_option(self):
        self.assertEqual(telemetry.topics_of("slot, status,slot"), ("slot", "status"))
        self.assertEqual(telemetry.topics_of("all"), telemetry.TOPICS)
        for wrong in ("", "slots", "status,all"):
            with self.assertRaisesRegex(
                BadInput, "--topics is .*valid: all, or some of status,slot"
            ):
                telemetry.topics_of(wrong)

    def test_every_topic_of_the_schema_is_known(self):
        fields = {f.name for f in pb.Telemetry.DESCRIPTOR.oneofs_by_name["what"].fields}
        self.assertEqual(set(telemetry.CONTENT.values()), fields)


if __name__ == "__main__":
    unittest.main()
