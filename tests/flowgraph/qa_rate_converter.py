# SPDX-License-Identifier: GPL-3.0-or-later
"""wip.rate_converter: samples and their times between the rate of a radio and that of the cell (the
filter itself: tests/unit/channels/test_rate_converter.cpp)."""

import fractions
import unittest

import numpy as np
import pmt
from gnuradio import blocks, gr, wip

CELL = wip.SAMPLE_RATE
N210 = 100_000_000, 12  # clock and divider of 8.333 MS/s


def signal(seconds):
    """Tones over the band of the carrier, at any time."""
    return sum(
        0.02 * np.exp(2j * np.pi * (k * 1e5 + 1234) * seconds + 1j * k * k) for k in range(-25, 26)
    )


def sampled(first, count, rate):
    return signal((first + np.arange(count)) / float(rate))


def tag(offset, key, value):
    made = gr.tag_t()
    made.offset, made.key, made.value = offset, pmt.intern(key), value
    return made


def time_of(sample, rate):
    exact = fractions.Fraction(sample) / rate
    return pmt.make_tuple(pmt.from_uint64(int(exact)), pmt.from_double(float(exact % 1)))


def through(samples, tags, *rates, chunk=None, **more):
    top = gr.top_block()
    source, sink = blocks.vector_source_c(samples.tolist(), tags=tags), blocks.vector_sink_c()
    converter = wip.rate_converter(*rates, **more)
    if chunk:
        converter.set_max_noutput_items(chunk)
    top.connect(source, converter, sink)
    top.run()
    reported = [(t.offset, pmt.symbol_to_string(t.key), t.value) for t in sink.tags()]
    return np.array(sink.data()), reported


def seconds(value):
    return fractions.Fraction(pmt.to_uint64(pmt.tuple_ref(value, 0))) + fractions.Fraction(
        pmt.to_double(pmt.tuple_ref(value, 1))
    )


class RateConverter(unittest.TestCase):
    def near(self, found, wanted, db=-70):
        error = 10 * np.log10(np.mean(np.abs(found - wanted) ** 2) / np.mean(np.abs(wanted) ** 2))
        self.assertLess(error, db)

    def test_receives_at_the_cells_times_what_the_radio_has_sampled(self):
        clock, divider = N210
        rate = fractions.Fraction(clock, divider)
        first = 1_000_003  # first sample, in the radio's count
        out, tags = through(
            sampled(first, 50_000, rate),
            [tag(0, "rx_time", time_of(first, rate))],
            clock,
            divider,
            CELL,
            1,
        )
        ((offset, key, value),) = tags
        self.assertEqual((offset, key), (0, "rx_time"))
        start = round(seconds(value) * CELL)
        self.assertAlmostEqual(float(seconds(value) * CELL), start, places=5)
        self.assertEqual(start, -(-first * CELL // rate))  # the first one not before
        self.near(out[50:], sampled(start + 50, len(out) - 50, CELL))
        self.assertAlmostEqual(len(out) / 50_000, CELL / float(rate), places=3)

    def test_first_says_with_which_sample_it_begins(self):
        clock, divider = N210
        rate = fractions.Fraction(clock, divider)
        out, tags = through(
            sampled(1_000_003, 20_000, rate),
            [tag(0, "rx_time", time_of(1_000_003, rate))],
            clock,
            divider,
            CELL,
            1,
            first=922_000,
        )
        self.assertEqual(round(seconds(tags[0][2]) * CELL), 922_000)
        self.near(out, sampled(922_000, len(out), CELL))  # the filter is full by then

    def test_a_burst_keeps_its_time_and_its_end(self):
        clock, divider = N210
        rate = fractions.Fraction(clock, divider)
        first, size = 5120 * 151, 5120 * 4
        tags = [
            tag(0, "tx_sob", pmt.PMT_T),
            tag(0, "tx_time", time_of(first, CELL)),
            tag(size - 1, "tx_eob", pmt.PMT_T),
        ]
        out, reported = through(sampled(first, size, CELL), tags, CELL, 1, clock, divider)
        reported = {key: (offset, value) for offset, key, value in reported}
        self.assertEqual(set(reported), {"tx_sob", "tx_time", "tx_eob"})
        start, end = -(-first * rate // CELL), -(-(first + size) * rate // CELL)
        self.assertEqual(round(seconds(reported["tx_time"][1]) * rate), start)
        self.assertEqual(
            (reported["tx_sob"][0], reported["tx_time"][0], reported["tx_eob"][0]),
            (0, 0, end - start - 1),
        )
        self.assertEqual(len(out), end - start)
        self.near(out[50:-50], sampled(int(start) + 50, len(out) - 100, rate))

    def test_a_gap_starts_anew_at_its_time(self):
        clock, divider = N210
        rate = fractions.Fraction(clock, divider)
        a, b = 1_000_000, 1_600_007
        samples = np.concatenate([sampled(a, 10_000, rate), sampled(b, 10_000, rate)])
        out, tags = through(
            samples,
            [tag(0, "rx_time", time_of(a, rate)), tag(10_000, "rx_time", time_of(b, rate))],
            clock,
            divider,
            CELL,
            1,
        )
        self.assertEqual([key for _, key, _ in tags], ["rx_time"] * 2)
        start = round(seconds(tags[1][2]) * CELL)
        self.assertEqual(start, -(-b * CELL // rate))
        after = out[tags[1][0] :]
        self.near(after[50:], sampled(start + 50, len(after) - 50, CELL))

    def test_a_part_of_a_sample_of_the_radio_is_told_of_the_cells_samples(self):
        # The times are those behind an overflow: the receiver begins at any tick of the radio's
        # clock.
        clock, divider = N210
        rate = fractions.Fraction(clock, divider)
        for later in (fractions.Fraction(3, 12), fractions.Fraction(-5, 12), 0):
            # exactly a second of the radio: the part of a sample leads over it, or before it
            a, b = 1_000_000, 8_333_334 if later == 0 else int(2 * rate)
            samples = np.concatenate(
                [sampled(a, 10_000, rate), sampled(float(b + later), 10_000, rate)]
            )
            tags = [
                tag(0, "rx_time", time_of(a, rate)),
                tag(10_000, "rx_time", time_of(b + later, rate)),
            ]
            out, reported = through(samples, tags, clock, divider, CELL, 1)
            start = seconds(reported[1][2]) * CELL
            nominal = -(-b * CELL // rate)
            self.assertAlmostEqual(float(start - nominal), float(later * CELL / rate), places=5)
            after = out[reported[1][0] :]
            self.near(after[50:], sampled(float(start) + 50, len(after) - 50, CELL))

    def test_a_time_that_is_counted_anyway_is_said_again_and_changes_nothing(self):
        clock, divider = N210
        for key, rates, first in (
            ("rx_time", (clock, divider, CELL, 1), 700_000),
            ("tx_time", (CELL, 1, clock, divider), 5120 * 150),
        ):
            fin, fout = fractions.Fraction(*rates[:2]), fractions.Fraction(*rates[2:])
            x = sampled(first, 20_000, fin)
            one = [tag(0, key, time_of(first, fin))]
            plain, _ = through(x, one, *rates)
            again, tags = through(x, [*one, tag(5120, key, time_of(first + 5120, fin))], *rates)
            np.testing.assert_array_equal(plain, again)
            self.assertEqual([k for _, k, _ in tags], [key] * 2)
            start = -(-first * fout // fin)
            for (offset, _, value), wanted in zip(tags, (first, first + 5120)):
                sample = -(-wanted * fout // fin)
                self.assertEqual((offset, round(seconds(value) * fout)), (sample - start, sample))

    def test_a_slot_left_out_costs_none_before_it_and_ends_the_burst(self):
        clock, divider = N210
        rate = fractions.Fraction(clock, divider)
        a, b, size = 5120 * 150, 5120 * 153, 5120 * 2
        samples = np.concatenate([sampled(a, size, CELL), sampled(b, size, CELL)])
        out, tags = through(
            samples,
            [tag(0, "tx_time", time_of(a, CELL)), tag(size, "tx_time", time_of(b, CELL))],
            CELL,
            1,
            clock,
            divider,
        )
        start, end, later = (-(-n * rate // CELL) for n in (a, a + size, b))
        found = {(key, offset): value for offset, key, value in tags}
        self.assertEqual(
            set(found),
            {
                ("tx_time", 0),
                ("tx_eob", end - start - 1),
                ("tx_sob", end - start),
                ("tx_time", end - start),
            },
        )
        self.assertEqual(round(seconds(found["tx_time", end - start]) * rate), later)
        self.near(
            out[50 : int(end - start) - 50], sampled(int(start) + 50, int(end - start) - 100, rate)
        )

    def test_the_cut_of_the_calls_changes_nothing(self):
        clock, divider = N210
        x = sampled(0, 30_000, fractions.Fraction(clock, divider))
        whole, _ = through(x, [], clock, divider, CELL, 1)
        pieces, _ = through(x, [], clock, divider, CELL, 1, chunk=37)
        np.testing.assert_array_equal(whole[: len(pieces)], pieces[: len(whole)])
        self.assertLess(abs(len(whole) - len(pieces)), 2)

    def test_there_and_back_adds_less_than_half_a_percent_of_evm_and_fails_no_256_qam_frame_at_40_db(
        self,
    ):
        random = np.random.default_rng(1)
        for clock, divider in (N210, (200_000_000, 26)):
            with self.subTest(clock=clock):
                top, sink = gr.top_block(), blocks.vector_sink_c()
                top.connect(
                    wip.slot_transmitter(nof_slots=120, modulation=8),
                    wip.rate_converter(CELL, 1, clock, divider),
                    wip.rate_converter(clock, divider, CELL, 1),
                    sink,
                )
                top.run()
                clean = np.array(sink.data(), np.complex64)
                # Power of the noise, 40 dB below a subcarrier.
                amplitude = np.sqrt(10**-1.5 * 768 / 500 * 1e-4 / 2)
                noise = amplitude * (
                    random.standard_normal(len(clean)) + 1j * random.standard_normal(len(clean))
                )
                found = []
                for samples in (clean, clean + noise):
                    top, receiver = gr.top_block(), wip.slot_receiver()
                    top.connect(blocks.vector_source_c(samples.tolist()), receiver)
                    top.run()
                    found.append(receiver.status())
                print(
                    f"{clock / divider / 1e6:.3f} MS/s: EVM {found[0]['evm_percent']:.3f} %, with"
                    f" noise {found[1]['evm_percent']:.2f} %"
                )
                self.assertLess(found[0]["evm_percent"], 0.5)
                self.assertEqual(found[1]["frames_bad"], 0)
                self.assertGreater(found[1]["frames_good"], 100 * 25)

    def test_bad_parameters_are_named(self):
        for arguments, words in (
            ((0, 1, CELL, 1), "in_clock"),
            ((CELL, 0, CELL, 1), "in_divider"),
            ((CELL, 1, -5, 1), "out_clock"),
            ((CELL, 1, CELL, 1, -1), "first"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                wip.rate_converter(*arguments)


if __name__ == "__main__":
    unittest.main()
