# SPDX-License-Identifier: GPL-3.0-or-later
"""wip.fading_channel and wip.impairments: that the blocks carry the models' parameters and samples
(the models' own statistics: tests/unit/channels)."""

import tempfile
import time
import unittest

import numpy as np
import pmt
from gnuradio import blocks, gr, wip

from openwip_cli.messages import control

RATE = wip.SAMPLE_RATE
LATENCY = 6  # samples of latency of the tapped delay line


def through(samples, block, chunk=None):
    top = gr.top_block()
    source, sink = blocks.vector_source_c(samples.tolist()), blocks.vector_sink_c()
    if chunk:
        block.set_max_noutput_items(chunk)
    top.connect(source, block, sink)
    top.run()
    return np.array(sink.data(), dtype=np.complex64)


def tone(hz, count=20000, amplitude=0.1):
    return (amplitude * np.exp(2j * np.pi * hz / RATE * np.arange(count))).astype(np.complex64)


class FadingChannel(unittest.TestCase):
    def test_a_tone_gets_the_gain_that_response_tells(self):
        hz = 1.2e6
        for delays, powers in (([0], [0]), ([0, 200, 700], [-3, -5, -9])):
            channel = wip.fading_channel(delays, powers, doppler_hz=500, snr_db=100, seed=3)
            out = through(tone(hz, 60000), channel)
            for n in (1000, 20000, 59000):
                expected = channel.response(n, hz) * np.exp(-2j * np.pi * hz / RATE * LATENCY)
                expected *= tone(hz, 60000)[n]
                self.assertLess(abs(out[n] - expected), 0.002 * 0.1)

    def test_the_gain_moves_with_doppler_and_stands_still_without(self):
        for doppler, moves in ((0, False), (1000, True)):
            out = through(tone(0, 30000), wip.fading_channel(doppler_hz=doppler, snr_db=100))[100:]
            self.assertEqual(np.max(np.abs(out - out[0])) > 0.01 * np.abs(out[0]), moves)

    def test_a_definition_by_name_is_the_same_as_its_taps(self):
        samples = tone(3e5)
        delays = [0, 30, 150, 310, 370, 710, 1090, 1730, 2510]
        powers = [0.0, -1.5, -1.4, -3.6, -0.6, -9.1, -7.0, -12.0, -16.9]
        np.testing.assert_array_equal(
            through(samples, wip.fading_channel(channel="eva", seed=5)),
            through(samples, wip.fading_channel(delays, powers, seed=5)),
        )

    def test_a_definition_from_a_file_with_a_blackout(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write(
                "name: n\nsource: s\nbased_on: awgn\nblackout: [{start_s: 0.001, duration_s:"
                " 0.0005}]\n"
            )
            f.flush()
            channel = wip.fading_channel(channel=f.name, snr_db=100)
            out = np.abs(through(tone(0), channel))
        np.testing.assert_allclose(out[100:7680], 0.1, rtol=1e-3)
        self.assertLess(np.max(out[7680:11520]), 1e-4)
        np.testing.assert_allclose(out[11520:], 0.1, rtol=1e-3)
        self.assertAlmostEqual(abs(channel.response(9000, 0)), 1e-5, places=8)

    def test_a_train_and_shadowing_come_from_the_models(self):
        channel = wip.fading_channel(channel="hst", snr_db=100, shadowing_db=6, seed=4)
        out = through(tone(0), channel)
        # samples at which the gain stage is exact; between them it is off by 0.03 dB at most
        for n in (1280, 10240, 19200):
            self.assertLess(abs(out[n] - 0.1 * channel.response(n, 0)), 7e-4 * abs(out[n]) + 5e-6)
        turned = np.angle(out[19000] * np.conj(out[18000])) / 2 / np.pi
        self.assertAlmostEqual(turned, 1340 * 0.995 * 1000 / RATE, delta=1e-3)
        self.assertGreater(abs(np.abs(out[1000]) - 0.1), 1e-3)

    def test_refuses_what_is_no_channel(self):
        for bad in ("typical", "/nowhere/x.yaml", ""):
            with self.assertRaises(ValueError):
                wip.fading_channel(channel=bad)

    def test_constant_fading_keeps_the_level(self):
        out = through(tone(0), wip.fading_channel(fading="constant", snr_db=100))[100:]
        np.testing.assert_allclose(np.abs(out), 0.1, rtol=1e-3)

    def test_noise_is_that_of_the_snr_and_can_be_changed(self):
        silence = np.zeros(200000, dtype=np.complex64)
        channel = wip.fading_channel(snr_db=10)
        for snr in (10, 20):
            channel.set_snr_db(snr)
            power = np.mean(np.abs(through(silence, channel)) ** 2)
            self.assertAlmostEqual(
                10 * np.log10(power), -15 - snr + 10 * np.log10(768 / 500), delta=0.05
            )

    def test_the_outcome_depends_on_the_seed_and_not_on_the_calls(self):
        samples = tone(1e5)
        make = lambda seed: wip.fading_channel([0, 300], [0, -3], 200, snr_db=10, seed=seed)
        whole = through(samples, make(1))
        np.testing.assert_array_equal(whole, through(samples, make(1), chunk=77))
        self.assertFalse(np.array_equal(whole, through(samples, make(2))))

    def test_bad_parameters_are_refused(self):
        for bad in (
            {"delays_ns": [0, 1]},
            {"delays_ns": [], "powers_db": []},
            {"delays_ns": [-1.0]},
            {"delays_ns": [12501.0]},
            {"powers_db": [101.0]},
            {"doppler_hz": 2001},
            {"doppler_hz": -1},
            {"fading": "rice"},
            {"snr_db": -31},
            {"snr_db": 101},
            {"snr_db": float("nan")},
        ):
            with self.assertRaises(ValueError, msg=bad):
                wip.fading_channel(**bad)


class Impairments(unittest.TestCase):
    def test_defaults_change_nothing(self):
        np.testing.assert_array_equal(through(tone(1e5), wip.impairments()), tone(1e5))

    def test_a_carrier_offset_moves_the_frequency(self):
        np.testing.assert_allclose(
            through(tone(1e5), wip.impairments(cfo_hz=3000)), tone(103e3), atol=1e-4
        )

    def test_a_fast_sampling_clock_lowers_the_frequency(self):
        hz, ppm = 1e6, 100
        out = through(tone(hz, 200000), wip.impairments(clock_ppm=ppm))[1000:]
        turns = np.angle(out[1:].astype(complex) * np.conj(out[:-1])) / (2 * np.pi)
        self.assertAlmostEqual(np.mean(turns) * RATE, hz * (1 - ppm * 1e-6), delta=1)

    def test_an_image_appears_at_the_level_asked_for(self):
        # whole periods of 16 samples
        out = through(tone(480e3), wip.impairments(image_rejection_db=30))
        wanted, image = (np.abs(np.mean(out * np.conj(tone(f)))) for f in (480e3, -480e3))
        self.assertAlmostEqual(20 * np.log10(wanted / image), 30, delta=0.1)

    def test_a_dc_offset_has_the_level_asked_for(self):
        out = through(np.zeros(100, dtype=np.complex64), wip.impairments(dc_dbfs=-40))
        np.testing.assert_allclose(np.abs(out), 0.01, rtol=1e-5)

    def test_the_converter_has_so_many_steps(self):
        out = through(tone(12345.0), wip.impairments(bits=6))
        steps = out.real * 31
        np.testing.assert_allclose(steps, np.round(steps), atol=1e-4)
        self.assertGreater(np.max(np.abs(out - tone(12345.0))), 0.01)

    def test_phase_noise_turns_and_keeps_the_level(self):
        out = through(tone(0, 200000), wip.impairments(linewidth_hz=100))
        np.testing.assert_allclose(np.abs(out), 0.1, rtol=1e-4)
        self.assertGreater(np.std(np.unwrap(np.angle(out))), 0.1)

    def test_bad_parameters_are_refused(self):
        for bad in (
            {"cfo_hz": 2e6},
            {"clock_ppm": 101},
            {"clock_ppm": -101},
            {"linewidth_hz": -1},
            {"linewidth_hz": 10001},
            {"image_rejection_db": 2},
            {"image_rejection_db": 201},
            {"dc_dbfs": 1},
            {"dc_dbfs": -201},
            {"bits": 1},
            {"bits": 17},
            {"bits": -1},
        ):
            with self.assertRaises(ValueError, msg=bad):
                wip.impairments(**bad)


class TransmitChannel(unittest.TestCase):
    def sent(self, samples, starts, chunk=None, **channel):
        """`starts`: device time in samples by item."""

        def tag(item, at):
            t = gr.tag_t()
            t.offset, t.key = item, pmt.intern("tx_time")
            t.value = pmt.make_tuple(pmt.from_uint64(at // RATE), pmt.from_double(at % RATE / RATE))
            return t

        top, block = gr.top_block(), wip.transmit_channel(**channel)
        if chunk:
            block.set_max_noutput_items(chunk)
        source, sink = (
            blocks.vector_source_c(samples.tolist(), False, 1, [tag(*s) for s in starts.items()]),
            blocks.vector_sink_c(),
        )
        top.connect(source, block, sink)
        top.run()
        self.assertEqual([t.offset for t in sink.tags()], list(starts))
        return np.array(sink.data(), dtype=np.complex64), block

    def test_the_channel_is_that_of_the_times_in_the_tags_however_the_calls_are_cut(self):
        x, channel = (
            tone(4e5, 30000),
            {
                "channel": "etu",
                "speed_kmh": 200,
                "shadowing": "6",
                "noise_dbfs": -60,
                "seed": 3,
            },
        )
        whole, _ = self.sent(x, {0: 9_000_000, 12000: 9_050_000}, **channel)
        cut, _ = self.sent(x, {0: 9_000_000, 12000: 9_050_000}, chunk=777, **channel)
        np.testing.assert_array_equal(whole, cut)
        # the first samples come after a second of silence
        self.assertGreater(np.mean(np.abs(whole[100:12000]) ** 2), 1e-4)
        later, _ = self.sent(x[12000:], {0: 9_050_000}, **channel)
        # once nothing is left in the filter of what was sent before
        np.testing.assert_array_equal(whole[12100:], later[100:])

    def test_the_models_are_those_of_the_fading_channel(self):
        x = tone(3e5)
        expected = through(
            x,
            wip.fading_channel(
                doppler_hz=100 / 3.6 * 1.8e9 / 299792458, channel="epa", snr_db=100, seed=5
            ),
        )
        np.testing.assert_allclose(
            self.sent(x, {0: 0}, channel="epa", speed_kmh=100, seed=5)[0], expected, atol=1e-5
        )

    def test_noise_and_clipping(self):
        # The time of a device that has run for years.
        out, block = self.sent(
            np.zeros(50000, np.complex64), {0: 10**15}, channel="awgn", noise_dbfs=-40
        )
        self.assertAlmostEqual(10 * np.log10(np.mean(np.abs(out) ** 2)), -40, delta=0.1)
        self.assertEqual(block.clipped(), 0)
        # the path's six samples of delay
        self.assertEqual(
            self.sent(tone(0, amplitude=1.01, count=100), {0: 0}, channel="awgn")[1].clipped(), 94
        )

    def test_it_changes_while_it_runs_from_the_begin_of_a_slot_on(self):
        with tempfile.TemporaryDirectory(prefix="openwip-test-") as folder:
            endpoint = f"ipc://{folder}/channel"
            top, block = (
                gr.top_block(),
                wip.transmit_channel(channel="awgn", noise_dbfs=-60, control=endpoint),
            )
            sink = blocks.vector_sink_c()
            top.connect(
                blocks.null_source(gr.sizeof_gr_complex),
                blocks.throttle(gr.sizeof_gr_complex, 1e6),
                block,
                sink,
            )
            top.start()
            try:
                asked = control.Control(endpoint).configure(
                    {"channel": {"snr_db": 20, "model": "epa", "speed_kmh": 3}}, 5
                )
                while len(sink.data()) < 5120 * (asked.effective_slot + 4):
                    time.sleep(0.01)
                status = control.Control(endpoint).status(5)
            finally:
                top.stop()
                top.wait()
        self.assertTrue(asked.ok, asked.error)
        level = np.abs(np.array(sink.data()))
        first = int(np.argmax(level > 0.01))
        self.assertTrue(
            0 <= first - 5120 * asked.effective_slot < 100, (first, asked.effective_slot)
        )
        self.assertAlmostEqual(
            20 * np.log10(np.std(level[first + 100 :]) / np.std(level[:first])),
            60 - 33.14,
            delta=0.3,
        )
        self.assertIn("model: epa", status.effective_yaml)
        self.assertTrue(0 <= status.slots - status.now // 5120 <= 1, (status.slots, status.now))
        self.assertEqual(
            (status.clock, [c.key for c in status.changes]),
            ("transmitter", ["channel.model", "channel.snr_db", "channel.speed_kmh"]),
        )

    def test_the_bursts_of_a_station_are_noted_with_the_taps_the_first_sample_s_too(self):
        with tempfile.TemporaryDirectory(prefix="openwip-test-") as folder:
            transmitter = wip.slot_transmitter(timeout_s=1)
            transmitter.set_log_level("off")
            transmitter.send_bursts_first()
            top, block = (
                gr.top_block(),
                wip.transmit_channel(
                    channel="awgn", noise_dbfs=-40, control=f"ipc://{folder}/channel"
                ),
            )
            top.connect(
                transmitter,
                blocks.head(gr.sizeof_gr_complex, 130 * 5120),
                block,
                blocks.null_sink(gr.sizeof_gr_complex),
            )
            top.run()
            status = control.Control(f"ipc://{folder}/channel").status(5)
        self.assertEqual(
            [(p.to, len(p.tap_delay_us)) for p in status.fader_paths], [("terminal", 0)]
        )
        self.assertEqual([(b.to, b.not_judged) for b in status.bursts], [("terminal", "")] * 8)
        for b in status.bursts:
            response = np.array(b.burst.response).view(complex)
            np.testing.assert_allclose(np.abs(response), 1, atol=1e-3)
            self.assertAlmostEqual(b.snr_db, 25, delta=0.5)

    def test_what_no_channel_has_is_refused(self):
        for bad in (
            {"channel": "typical"},
            {"speed_kmh": 501},
            {"channel": "hst", "speed_kmh": 30},
            {"shadowing": "much"},
            {"shadowing": "21"},
            {"user": 64},
            {"channel": "two-user", "user": 2},
            {"noise_dbfs": 101},
        ):
            with self.assertRaises(ValueError, msg=bad):
                wip.transmit_channel(**bad)


if __name__ == "__main__":
    unittest.main()
