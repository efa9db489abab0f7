# SPDX-License-Identifier: GPL-3.0-or-later
"""Transmitter and receiver with a macd each, in one flowgraph without a radio; and how they end."""

import math
import os
import threading
import time
import unittest

from fake_macd import Endpoint, FakeMacd, Planner, Recorder
from gnuradio import analog, blocks, gr, wip
from openwip_schema import slot_link_pb2 as schema

MODULATION = [k % 9 for k in range(25)]
NOISE = os.urandom


def wait_within(top, seconds):
    """True when the flowgraph ends by itself in time; else it is stopped."""
    thread = threading.Thread(target=top.wait, daemon=True)
    thread.start()
    thread.join(seconds)
    over = not thread.is_alive()
    if not over:
        top.stop()
        thread.join(5)
    return over


class Loopback(unittest.TestCase):
    def test_what_one_macd_plans_the_other_gets_reported(self):
        nof_slots = 200
        with Endpoint() as base, Endpoint() as terminal:
            planner = Planner(base, MODULATION, last_slot=150 + nof_slots - 1)
            recorder = Recorder(terminal)
            planner.start(), recorder.start()
            top = gr.top_block()
            transmitter = wip.slot_transmitter(endpoint=base)
            receiver = wip.slot_receiver(endpoint=terminal)
            top.connect(transmitter, receiver)
            top.start()
            self.assertTrue(wait_within(top, 20))
            for _ in range(100):
                if len(recorder.reports) == receiver.status()["slots"]:
                    break
                time.sleep(0.02)
            planner.end(), recorder.end()
        self.assertEqual(transmitter.end_reason(), "macd asks to stop: the run is over")
        self.assertEqual([r.air for r in planner.requests], list(range(150, 150 + nof_slots + 1)))
        self.assertEqual(planner.hello.role, "base")
        received = 0
        for report in recorder.reports:
            if not report.grant_ok:
                continue
            sent = planner.sent[report.air]
            self.assertEqual({b.bin: b.payload for b in report.bins}, sent)
            self.assertTrue(all(b.outcome == schema.GOOD for b in report.bins))
            received += 1
        self.assertGreater(received, nof_slots - 45)

    def test_locks_to_a_cell_that_grants_nothing(self):
        with Endpoint() as base:
            planner = Planner(base, [0] * 25, last_slot=249)
            planner.start()
            top = gr.top_block()
            receiver = wip.slot_receiver()
            top.connect(wip.slot_transmitter(endpoint=base), receiver)
            top.start()
            self.assertTrue(wait_within(top, 20))
            planner.end()
        self.assertTrue(receiver.status()["locked"])
        self.assertGreater(receiver.status()["grants_ok"], 100 - 45)

    def test_a_plan_that_is_impossible_goes_out_as_an_empty_slot_and_is_counted(self):
        class Clumsy(Planner):
            def plan(self, air):
                message = super().plan(air)
                if air % 4 == 1:
                    message.plan.grant = b"short"
                elif air % 4 == 2:
                    message.plan.payload[0].bin = 25
                elif air % 4 == 3:
                    message.plan.payload[0].payload += b"x"
                return message

        with Endpoint() as base:
            planner = Clumsy(base, [2] * 25, last_slot=249)
            planner.start()
            top = gr.top_block()
            transmitter, receiver = wip.slot_transmitter(endpoint=base), wip.slot_receiver()
            top.connect(transmitter, receiver)
            top.start()
            self.assertTrue(wait_within(top, 20))
            planner.end()
        self.assertEqual(transmitter.status()["plans_refused"], 75)
        self.assertTrue(receiver.status()["locked"])
        self.assertGreater(receiver.status()["frames_good"], 25 * 10)

    def test_bytes_that_are_no_message_are_counted_and_dropped(self):
        class Noisy(Planner):
            bad = 0

            def before_plan(self, air):
                for _ in range(3):
                    junk = b"\xff" + NOISE(air % 60)
                    self.bad += 1
                    self.socket.send(junk)

        with Endpoint() as base:
            planner = Noisy(base, [2] * 25, last_slot=199)
            planner.start()
            top = gr.top_block()
            transmitter = wip.slot_transmitter(endpoint=base)
            top.connect(transmitter, blocks.null_sink(gr.sizeof_gr_complex))
            top.start()
            self.assertTrue(wait_within(top, 20))
            planner.end()
        self.assertEqual(planner.bad, 150)
        self.assertEqual(transmitter.status()["malformed"], 150)
        self.assertEqual(transmitter.status()["slots"], 50)


class Ends(unittest.TestCase):
    def test_stop_while_waiting_for_a_plan_does_not_hang(self):
        with Endpoint() as endpoint:
            silent = FakeMacd(endpoint)  # says hello, plans nothing
            silent.start()
            top = gr.top_block()
            transmitter = wip.slot_transmitter(endpoint=endpoint)
            top.connect(transmitter, blocks.null_sink(gr.sizeof_gr_complex))
            top.start()
            time.sleep(0.3)
            begin = time.monotonic()
            top.stop()
            top.wait()
            self.assertLess(time.monotonic() - begin, 2)
            self.assertEqual(transmitter.end_reason(), "")
            silent.end()

    def test_stop_without_any_macd_does_not_hang(self):
        with Endpoint() as endpoint:
            top = gr.top_block()
            top.connect(
                wip.slot_transmitter(endpoint=endpoint), blocks.null_sink(gr.sizeof_gr_complex)
            )
            top.start()
            time.sleep(0.1)
            begin = time.monotonic()
            top.stop()
            top.wait()
            self.assertLess(time.monotonic() - begin, 2)

    def test_a_macd_that_goes_away_ends_the_transmitter(self):
        with Endpoint() as endpoint:
            planner = Planner(endpoint, [2] * 25)
            planner.start()
            top = gr.top_block()
            transmitter = wip.slot_transmitter(endpoint=endpoint)
            throttle = blocks.throttle(gr.sizeof_gr_complex, wip.SAMPLE_RATE)
            top.connect(transmitter, throttle, blocks.null_sink(gr.sizeof_gr_complex))
            top.start()
            time.sleep(0.2)
            planner.end()
            self.assertTrue(wait_within(top, 2))
            self.assertEqual(transmitter.end_reason(), f"macd at {endpoint} went away")
            self.assertGreater(transmitter.status()["slots"], 0)

    def test_a_macd_that_goes_away_ends_the_receiver(self):
        with Endpoint() as endpoint:
            recorder = Recorder(endpoint)
            recorder.start()
            top = gr.top_block()
            source = wip.slot_transmitter()
            throttle = blocks.throttle(gr.sizeof_gr_complex, wip.SAMPLE_RATE)
            receiver = wip.slot_receiver(endpoint=endpoint)
            top.connect(source, throttle, receiver)
            top.start()
            time.sleep(0.3)
            self.assertGreater(receiver.status()["slots"], 0)
            recorder.end()
            self.assertTrue(wait_within(top, 2))
            self.assertEqual(receiver.end_reason(), f"macd at {endpoint} went away")

    def test_a_macd_that_asks_the_receiver_to_stop_is_obeyed(self):
        with Endpoint() as endpoint:
            recorder = Recorder(endpoint)
            recorder.start()
            top = gr.top_block()
            receiver = wip.slot_receiver(endpoint=endpoint)
            top.connect(wip.slot_transmitter(), receiver)
            top.start()
            time.sleep(0.2)
            recorder.stop_flowgraph("the base station died")
            self.assertTrue(wait_within(top, 2))
            self.assertEqual(receiver.end_reason(), "macd asks to stop: the base station died")
            recorder.end()

    def test_without_a_cell_there_is_the_spectrum_of_what_comes_and_no_more(self):
        with Endpoint() as endpoint:
            recorder = Recorder(endpoint)
            recorder.start()
            top = gr.top_block()
            top.connect(
                analog.noise_source_c(analog.GR_GAUSSIAN, 0.1, 1),
                blocks.throttle(gr.sizeof_gr_complex, 7.68e6 / 2),
                wip.slot_receiver(endpoint=endpoint),
            )
            top.start()
            recorder.send(schema.ToFlowgraph(detail=schema.DetailRequest(every=150)))
            until = time.monotonic() + 30
            while (
                not (details := [r for r in recorder.reports if r.HasField("detail")])[2:]
                and time.monotonic() < until
            ):
                time.sleep(0.1)
            recorder.stop_flowgraph("enough")
            self.assertTrue(wait_within(top, 5))
            recorder.end()
        self.assertGreater(len(details), 2)
        for report in details:
            self.assertFalse(report.locked)
            self.assertEqual(report.state.mode, "searching")
            self.assertEqual(
                (report.air % 150, len(report.detail.points), len(report.detail.channel)), (0, 0, 0)
            )
            self.assertEqual(len(report.detail.spectrum_dbfs), 768)
            # An amplitude of 0.1: -20 dBFS, over 768 points that are 2.0044 wide.
            power = sum(10 ** (v / 10) for v in report.detail.spectrum_dbfs) / 2.0044
            self.assertAlmostEqual(10 * math.log10(power), -20, delta=0.5)

    def test_a_macd_that_merely_takes_its_time_is_waited_for(self):
        class Slow(Planner):
            def before_plan(self, air):
                if air == 155:
                    time.sleep(1.0)

        with Endpoint() as endpoint:
            planner = Slow(endpoint, [2] * 25, last_slot=160)
            planner.start()
            top = gr.top_block()
            transmitter = wip.slot_transmitter(endpoint=endpoint, timeout_s=0.4)
            top.connect(transmitter, blocks.null_sink(gr.sizeof_gr_complex))
            top.start()
            self.assertTrue(wait_within(top, 10))
            self.assertEqual(transmitter.end_reason(), "macd asks to stop: the run is over")
            planner.end()


if __name__ == "__main__":
    unittest.main()
