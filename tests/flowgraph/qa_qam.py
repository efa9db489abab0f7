# SPDX-License-Identifier: GPL-3.0-or-later
"""wip.qam_mapper, wip.qam_demapper, wip.qam_soft_demapper."""

import unittest

import numpy as np
from gnuradio import blocks, gr, wip


def through(data, *chain):
    top = gr.top_block()
    source = (
        blocks.vector_source_b(data.tolist())
        if data.dtype == np.uint8
        else blocks.vector_source_c(data.tolist())
    )
    sink = {1: blocks.vector_sink_b, 4: blocks.vector_sink_f, 8: blocks.vector_sink_c}[
        chain[-1].output_signature().sizeof_stream_item(0)
    ]()
    top.connect(source, *chain, sink)
    top.run()
    return np.array(sink.data())


def labels_of(k, count=3000):
    return np.random.default_rng(k).integers(0, 2**k, count).astype(np.uint8)


class Qam(unittest.TestCase):
    def test_points_have_unit_mean_energy_and_differ(self):
        for k in range(1, 9):
            points = np.array(wip.qam_mapper(k).points())
            self.assertEqual(len(set(points.round(5))), 2**k)
            self.assertAlmostEqual(np.mean(np.abs(points) ** 2), 1, places=5)

    def test_the_mapper_sends_the_point_of_each_label(self):
        for k in range(1, 9):
            labels, mapper = labels_of(k), wip.qam_mapper(k)
            points = np.array(mapper.points(), dtype=np.complex64)
            np.testing.assert_array_equal(through(labels, mapper), points[labels])

    def test_only_the_lower_bits_of_a_byte_count(self):
        labels = labels_of(3)
        np.testing.assert_array_equal(
            through(labels | 0xF8, wip.qam_mapper(3)), through(labels, wip.qam_mapper(3))
        )

    def test_mapper_and_demapper_give_back_the_labels(self):
        for k in range(1, 9):
            labels = labels_of(k)
            np.testing.assert_array_equal(
                through(labels, wip.qam_mapper(k), wip.qam_demapper(k)), labels
            )

    def test_the_demapper_takes_the_nearest_point_in_noise(self):
        rng = np.random.default_rng(5)
        for k in range(1, 9):
            points = np.array(wip.qam_mapper(k).points())
            received = (rng.normal(0, 0.9, (2000, 2)) @ [1, 1j]).astype(np.complex64)
            distance = np.abs(received[:, None] - points[None, :])
            got = through(received, wip.qam_demapper(k))
            nearest = distance.min(axis=1)
            self.assertLess(np.max(distance[np.arange(2000), got] - nearest), 1e-5)

    def test_soft_bits_agree_with_max_log_by_definition(self):
        rng = np.random.default_rng(6)
        for k in range(1, 9):
            points = np.array(wip.qam_mapper(k).points())
            received = (rng.normal(0, 0.7, (500, 2)) @ [1, 1j]).astype(np.complex64)
            got = through(received, wip.qam_soft_demapper(k, 0.25)).reshape(-1, k)
            distance = np.abs(received[:, None] - points[None, :]) ** 2
            for bit in range(k):
                one = (np.arange(2**k) >> (k - 1 - bit) & 1).astype(bool)
                expected = (distance[:, one].min(axis=1) - distance[:, ~one].min(axis=1)) / 0.25
                np.testing.assert_allclose(got[:, bit], expected, atol=2e-4)

    def test_bad_parameters_are_refused(self):
        for make in (wip.qam_mapper, wip.qam_demapper, wip.qam_soft_demapper):
            for k in (0, 9, -1):
                self.assertRaises(ValueError, make, k)
        for variance in (0, -1, float("nan")):
            with self.assertRaisesRegex(ValueError, "noise_variance"):
                wip.qam_soft_demapper(2, variance)


if __name__ == "__main__":
    unittest.main()
