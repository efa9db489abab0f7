# SPDX-License-Identifier: GPL-3.0-or-later
"""wip.slot_receiver: locks to a transmitter in the same flowgraph, keeps the time of rx_time
tags."""

import time
import unittest

import numpy as np
import pmt
from fake_macd import Endpoint, Recorder
from gnuradio import blocks, gr, wip
from openwip_schema import slot_link_pb2 as schema

SLOT = wip.SLOT_SAMPLES
LOCK_SLOTS = 45  # well within the 20 ms + one frame in which the receiver has to lock


def slots_of_pattern(nof_slots, **settings):
    top = gr.top_block()
    sink = blocks.vector_sink_c()
    top.connect(wip.slot_transmitter(nof_slots=nof_slots, **settings), sink)
    top.run()
    return np.array(sink.data(), dtype=np.complex64)


def rx_time(offset, sample, later=0):
    full, rest = divmod(sample, wip.SAMPLE_RATE)
    value = pmt.make_tuple(pmt.from_uint64(full), pmt.from_double((rest + later) / wip.SAMPLE_RATE))
    return gr.tag_utils.python_to_tag((offset, pmt.intern("rx_time"), value, pmt.intern("qa")))


def receive(samples, tags=(), chunk=None, **settings):
    top = gr.top_block()
    source = blocks.vector_source_c(samples.tolist(), False, 1, list(tags))
    receiver = wip.slot_receiver(**settings)
    debug = blocks.message_debug(True)
    if chunk:
        source.set_max_noutput_items(chunk)
    top.connect(source, receiver)
    top.msg_connect(receiver, "slots", debug, "store")
    top.run()
    messages = [pmt.to_python(debug.get_message(i)) for i in range(debug.num_messages())]
    return receiver, messages


class SlotReceiver(unittest.TestCase):
    def test_receives_the_frames_of_every_modulation(self):
        for k in range(1, 9):
            with self.subTest(bits_per_symbol=k):
                receiver, _ = receive(slots_of_pattern(120, modulation=k))
                status = receiver.status()
                self.assertTrue(status["locked"])
                self.assertGreater(status["slots_locked"], 120 - LOCK_SLOTS)
                self.assertEqual(status["frames_bad"], 0)
                self.assertGreater(status["frames_good"], 25 * (120 - LOCK_SLOTS))

    def test_numbers_slots_as_the_transmitter_does_however_the_samples_come(self):
        samples = slots_of_pattern(90)
        for chunk in (None, 333, 1280, 5120, 8000):
            with self.subTest(chunk=chunk):
                receiver, messages = receive(samples, chunk=chunk, message_period=1)
                locked = [m["air"] for m in messages if m["locked"]]
                self.assertEqual(locked, list(range(locked[0], locked[-1] + 1)))
                self.assertGreaterEqual(locked[-1], 238)
                self.assertEqual(receiver.status()["air"], messages[-1]["air"])

    def test_reads_the_slot_number_off_the_air_when_the_clocks_differ(self):
        # The device says 1 s, the transmitter sent slot 150 at what it calls 0.1 s.
        tags = [rx_time(0, 1500 * SLOT)]
        _, messages = receive(slots_of_pattern(90), tags, message_period=1)
        unlocked = [m["air"] for m in messages if not m["locked"]]
        locked = [m["air"] for m in messages if m["locked"]]
        self.assertEqual(unlocked[:1], [1500])
        # Forwards, to the next number that the air can mean.
        self.assertIn(locked[-1] - 4096 * 30, (238, 239))

    def test_reports_every_5120_samples_of_noise_as_unlocked_slots(self):
        noise = np.random.default_rng(1).normal(0, 0.01, (60 * SLOT, 2)).astype(np.float32)
        receiver, messages = receive(noise.view(np.complex64)[:, 0], message_period=1)
        self.assertFalse(any(m["locked"] for m in messages))
        self.assertEqual(receiver.status()["slots"], 60)
        self.assertEqual([m["air"] for m in messages], list(range(150, 210)))
        self.assertEqual(receiver.status()["frames_good"], 0)

    def test_a_jump_of_rx_time_is_an_overflow_and_reception_goes_on_behind_it(self):
        samples = slots_of_pattern(240)
        kept = np.concatenate([samples[: 100 * SLOT], samples[120 * SLOT :]])
        tags = [rx_time(0, 150 * SLOT), rx_time(100 * SLOT, 270 * SLOT)]
        receiver, messages = receive(kept, tags, message_period=1)
        self.assertEqual(receiver.status()["overflows"], 1)
        self.assertTrue(receiver.status()["locked"])
        self.assertIn(messages[-1]["air"], (388, 389))

    def test_timing_stays_in_time_when_an_overflow_moves_the_grid_of_the_samples(self):
        slots = slots_of_pattern(240)
        spectrum, turns = np.fft.fft(slots), np.fft.fftfreq(len(slots))
        for later, reported in ((0.4, 0.4), (-0.3, -0.3), (0.4, 0)):
            moved = np.fft.ifft(spectrum * np.exp(2j * np.pi * turns * later)).astype(np.complex64)
            kept = np.concatenate([slots[: 100 * SLOT], moved[120 * SLOT : 136 * SLOT]])
            tags = [rx_time(0, 150 * SLOT), rx_time(100 * SLOT, 270 * SLOT, reported)]
            with Endpoint() as endpoint:
                macd = Recorder(endpoint)
                macd.start()
                receiver, _ = receive(kept, tags, endpoint=endpoint)
                nof_slots = receiver.status()["slots"]
                for _ in range(100):
                    if len(macd.reports) == nof_slots:
                        break
                    time.sleep(0.02)
                macd.end()
            timing = [r.state.timing_samples for r in macd.reports if r.HasField("state")][-1]
            # The offset is in the samples; in so few slots only the reported one is corrected.
            self.assertAlmostEqual((timing + SLOT / 2) % SLOT - SLOT / 2, -reported, delta=0.1)

    def test_a_second_tag_that_agrees_with_the_count_is_no_overflow(self):
        tags = [rx_time(0, 150 * SLOT), rx_time(777, 150 * SLOT + 777)]
        receiver, _ = receive(slots_of_pattern(60), tags)
        self.assertEqual(receiver.status()["overflows"], 0)
        self.assertTrue(receiver.status()["locked"])

    def test_a_tag_that_is_no_time_is_ignored(self):
        bad = gr.tag_utils.python_to_tag(
            (100, pmt.intern("rx_time"), pmt.intern("soon"), pmt.intern("qa"))
        )
        receiver, _ = receive(slots_of_pattern(60), [bad])
        self.assertTrue(receiver.status()["locked"])

    def test_another_cells_signal_is_not_received(self):
        receiver, _ = receive(slots_of_pattern(60, cell=1), cell=2)
        self.assertEqual(receiver.status()["frames_good"], 0)

    def test_messages_are_rate_limited_and_off_by_default(self):
        samples = slots_of_pattern(60)
        self.assertEqual(len(receive(samples)[1]), 0)
        self.assertEqual(len(receive(samples, message_period=15)[1]), 4)

    def test_symbols_are_published_as_a_pdu(self):
        top = gr.top_block()
        receiver = wip.slot_receiver(message_period=30)
        debug = blocks.message_debug(True)
        top.connect(wip.slot_transmitter(nof_slots=120, modulation=2, bins=[1, 2]), receiver)
        top.msg_connect(receiver, "symbols", debug, "store")
        top.run()
        self.assertGreater(debug.num_messages(), 0)
        symbols = np.array(
            pmt.c32vector_elements(pmt.cdr(debug.get_message(debug.num_messages() - 1)))
        )
        self.assertEqual(len(symbols), 2 * 108)
        self.assertLess(np.max(np.abs(np.abs(symbols) - 1)), 0.2)

    def test_samples_at_full_scale_are_counted(self):
        samples = slots_of_pattern(60)
        samples[100_000:100_020] = 1.0
        samples[110_000] = -1j
        self.assertEqual(receive(samples)[0].status()["clipped"], 21)

    def test_gain_control_asks_for_gain_at_the_start_of_a_slot_and_not_when_it_has_no_range(self):
        samples = 1e-3 * slots_of_pattern(60)
        for highest, expected in ((60, 1), (0, 0)):
            top = gr.top_block()
            receiver = wip.slot_receiver(highest_gain_db=highest)
            debug = blocks.message_debug(True)
            # The samples come in pieces, as from a radio.
            source = blocks.vector_source_c(samples.tolist())
            source.set_max_noutput_items(2560)
            top.connect(source, receiver)
            top.msg_connect(receiver, "gain", debug, "store")
            top.run()
            with self.subTest(highest=highest):
                status = receiver.status()
                self.assertEqual(debug.num_messages() > 0, expected)
                self.assertEqual(status["gain_changes"], debug.num_messages())
                if not expected:
                    continue
                level = 20 * np.log10(np.sqrt(np.mean(np.abs(samples) ** 2)))
                command = pmt.to_python(debug.get_message(0))
                self.assertEqual(command["chan"], 0)
                self.assertAlmostEqual(command["gain"], -20 - level, delta=1)
                full, fraction = command["time"]
                first = full * wip.SAMPLE_RATE + round(fraction * wip.SAMPLE_RATE)
                self.assertEqual(first % SLOT, 0)
                self.assertGreater(first, 165 * SLOT)

    def test_a_range_of_gain_that_is_none_is_refused(self):
        with self.assertRaisesRegex(
            ValueError, "the lowest gain is 3 dB; valid: at most the highest, 2 dB"
        ):
            wip.slot_receiver(lowest_gain_db=3, highest_gain_db=2)
        with self.assertRaisesRegex(ValueError, "gain_db is 61; valid: 0..60"):
            wip.slot_receiver(gain_db=61, highest_gain_db=60)


class Reports(unittest.TestCase):
    def test_every_slot_is_reported_and_the_state_every_15_and_when_the_lock_changes(self):
        samples = slots_of_pattern(91, modulation=4, bins=[5, 6])
        with Endpoint() as endpoint:
            macd = Recorder(endpoint)
            macd.start()
            receiver, _ = receive(samples, endpoint=endpoint)
            nof_slots = receiver.status()["slots"]
            del receiver
            import time

            for _ in range(100):
                if len(macd.reports) == nof_slots:
                    break
                time.sleep(0.02)
            macd.end()
        self.assertEqual(macd.hello.role, "terminal")
        self.assertEqual(len(macd.reports), nof_slots)
        self.assertGreaterEqual(nof_slots, 90)
        since, locked = 0, False
        for report in macd.reports:
            since += 1
            self.assertEqual(report.HasField("state"), since == 15 or report.locked != locked)
            if report.HasField("state"):
                since = 0
            locked = report.locked
            self.assertEqual(len(report.snr_db), 25)
            self.assertEqual(len(report.predicted_snr_db), 25)
            if report.grant_ok:
                self.assertEqual(len(report.grant), 30)
                self.assertEqual([b.bin for b in report.bins], [5, 6])
            else:
                self.assertEqual(len(report.bins), 0)
        self.assertTrue(locked)


class Changer(Recorder):
    """Goes through steps (condition, settings): when the condition on all reports holds, the
    settings are asked for; None ends the flowgraph. asked: how many reports there were then."""

    def __init__(self, endpoint, steps):
        super().__init__(endpoint)
        self.steps, self.asked = list(steps), []

    def on(self, message):
        super().on(message)
        if not self.steps or not self.steps[0][0](self):
            return
        settings = self.steps.pop(0)[1]
        self.asked.append(len(self.reports))
        if settings is None:
            self.stop_flowgraph("all was seen")
        else:
            self.send(schema.ToFlowgraph(receiver=schema.ReceiverSettings(**settings)))

    def state(self):
        """The last one; before the first: None."""
        return next((r.state for r in reversed(self.reports) if r.HasField("state")), None)


def after(nof_reports):
    return lambda macd: len(macd.reports) >= nof_reports


def when(**values):
    def holds(macd):
        state = macd.state()
        return state is not None and all(getattr(state, k) == v for k, v in values.items())

    return holds


class SettingsAtRunTime(unittest.TestCase):
    LEARNING = 300  # slots

    def run_with(self, *steps):
        """Runs in real time, so that a setting arrives within a few slots. Ends with the last step;
        6000 slots are more than any of them takes."""
        with Endpoint() as endpoint:
            macd = Changer(endpoint, steps)
            macd.start()
            top = gr.top_block()
            throttle = blocks.throttle(gr.sizeof_gr_complex, wip.SAMPLE_RATE)
            throttle.set_max_noutput_items(4 * SLOT)
            receiver = wip.slot_receiver(endpoint=endpoint)
            top.connect(wip.slot_transmitter(nof_slots=6000, modulation=4), throttle, receiver)
            top.run()
            macd.end()
        self.assertEqual(macd.steps, [], "not all was seen")
        self.assertIn("all was seen", receiver.end_reason())
        return macd

    def seen(self, macd):
        """The settings it ran with, in turn: (predictor, horizon, combining), first report that
        shows each."""
        seen = []
        for i, r in enumerate(macd.reports):
            if r.HasField("state"):
                values = (r.state.predictor, r.state.horizon, r.state.combining)
                if not seen or seen[-1][0] != values:
                    seen.append((values, i))
        return [v for v, _ in seen], [i for _, i in seen]

    def test_predictor_horizon_and_combining_change_and_lock_is_kept(self):
        macd = self.run_with(
            (after(100), {"predictor": "kalman", "horizon": 6, "combining": False}),
            (when(combining=False), {"predictor": "last"}),
            (when(predictor="last"), None),
        )
        values, at = self.seen(macd)
        # Combining is off at once; kalman is replaced while it learns, and its horizon stays.
        self.assertEqual(values, [("delay", 3, True), ("delay", 3, False), ("last", 6, False)])
        self.assertGreaterEqual(at[2], macd.asked[1] + self.LEARNING)
        state = macd.state()
        self.assertEqual((state.lock_losses, state.settings_refused), (0, 0))
        locked = [r.air for r in macd.reports if r.locked]
        self.assertEqual(locked, list(range(locked[0], locked[0] + len(locked))))
        for r in macd.reports[at[2] :]:
            self.assertTrue(all(np.isfinite(r.predicted_snr_db)))

    def test_an_unknown_predictor_is_counted_and_nothing_changes(self):
        macd = self.run_with((after(100), {"predictor": "oracle"}), (after(600), None))
        self.assertEqual(self.seen(macd)[0], [("delay", 3, True)])
        state = macd.state()
        self.assertEqual((state.settings_refused, state.lock_losses), (1, 0))

    def test_a_refusal_while_another_learns_leaves_it_and_the_first_can_be_asked_for_again(self):
        macd = self.run_with(
            (after(100), {"predictor": "ls", "combining": False}),
            (when(combining=False), {"predictor": "oracle"}),
            (when(predictor="ls"), {"predictor": "delay"}),
            (when(predictor="delay"), None),
        )
        values, at = self.seen(macd)
        self.assertEqual(
            values, [("delay", 3, True), ("delay", 3, False), ("ls", 3, False), ("delay", 3, False)]
        )
        self.assertGreaterEqual(at[2], macd.asked[0] + self.LEARNING)
        self.assertGreaterEqual(at[3], macd.asked[2] + self.LEARNING)
        self.assertEqual(macd.state().settings_refused, 1)


class CombiningMeter(unittest.TestCase):
    def test_without_the_other_receiver_it_holds_no_more_than_two_updates(self):
        """An update has 4 slots with 25 frames each; the longest list is that of the other
        receiver's first slot."""
        top, meter, debug = gr.top_block(), wip.combining_meter(1, 4), blocks.message_debug(True)
        top.msg_connect(meter, "needed_single", debug, "store")
        top.start()

        def reported(port, slots):
            for air in slots:
                meter.to_basic_block()._post(
                    pmt.intern(port),
                    pmt.to_pmt({"air": air, "grant_ok": True, "outcome": np.ones(25, np.uint8)}),
                )

        for of in range(0, 3000, 100):
            reported("single", range(of, of + 100))
            until = time.monotonic() + 10
            while sum(meter.single()) < 25 * (of + 100) and time.monotonic() < until:
                time.sleep(0.001)
        self.assertEqual(list(meter.single()), [25 * 3000, 0])
        reported("combined", [3000])
        while not debug.num_messages() and time.monotonic() < until:
            time.sleep(0.001)
        top.stop()
        top.wait()
        self.assertTrue(0 < pmt.length(pmt.cdr(debug.get_message(0))) <= 2 * 4 * 25)


if __name__ == "__main__":
    unittest.main()
