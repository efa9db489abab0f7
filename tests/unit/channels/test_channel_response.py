# SPDX-License-Identifier: GPL-3.0-or-later
"""Channel responses as ray tracers export them, imported as SNRs of bins and slots: shapes of
Sionna RT and QuaDRiGa, closed forms of few paths, and what is refused."""

import math
import pathlib
import sys
import tempfile
import unittest

import h5py
import numpy
import scipy.io

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "host" / "cli"))

from openwip_cli.channel import opened
from openwip_cli.errors import BadInput

# Frequencies of the occupied subcarriers: 250 below the carrier and 250 above it.
HZ = numpy.concatenate([numpy.arange(-250, 0), numpy.arange(1, 251)]) * 1e4


class Responses(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def npz(self, **arrays):
        numpy.savez(self.folder / "cir.npz", **arrays)
        return "cir.npz"

    def rows(self, name, **asked):
        log = opened.opened_log(str(self.folder / name), opened.Asked(**asked))
        self.addCleanup(log.close)
        self.assertTrue(log.by_slots)
        return numpy.vstack([b.snr for b in log.blocks()])

    def refused(self, pattern, name, **asked):
        with self.assertRaisesRegex(BadInput, pattern) as caught:
            self.rows(name, **asked)
        self.assertNotIn("\n", str(caught.exception))

    def test_two_paths_have_their_closed_form_in_frequency(self):
        gain, delay = 0.5, 1.3e-6
        rows = self.rows(
            self.npz(
                a=numpy.array([[1.0 + 0j], [gain * 1j]]), tau=numpy.array([2e-6, 2e-6 + delay])
            ),
            snr_db=20,
        )
        self.assertEqual(rows.shape, (1, 25))
        power = 1 + gain**2 + 2 * gain * numpy.sin(2 * math.pi * HZ * delay)
        power = power.reshape(25, 20).mean(axis=1)
        expected = 20 + 10 * numpy.log10(power / power.mean())
        self.assertLess(abs(rows[0] - expected).max(), 1e-4)

    def test_two_paths_beat_with_the_difference_of_their_doppler_shifts(self):
        t = numpy.arange(2001) / 1000
        gains = numpy.stack([numpy.exp(2j * math.pi * 3 * t), numpy.exp(-2j * math.pi * 7 * t)])
        rows = self.rows(self.npz(h=gains, tau=numpy.zeros(2), t=t), snr_db=10)
        self.assertEqual(rows.shape, (3000, 25))
        at = (numpy.arange(3000) + 0.5) / 1500
        expected = 10 + 10 * numpy.log10(1 + numpy.cos(2 * math.pi * 10 * at))
        deep = expected < -5  # linear gains between snapshots are not exact there
        self.assertLess(abs(rows[:, 0] - expected)[~deep].max(), 0.05)
        self.assertEqual(len(set(map(tuple, rows.T))), 1)  # all bins alike
        fast = self.rows(self.npz(h=gains, tau=numpy.zeros(2)), snr_db=10, rate=2000)
        self.assertEqual(len(fast), 1500)

    def test_a_moving_delay_turns_the_frequency_response(self):
        tau = numpy.stack([numpy.zeros(11), numpy.linspace(0, 2e-6, 11)])
        rows = self.rows(
            self.npz(
                a=numpy.ones((2, 11), dtype=complex), delay=tau, time_ms=numpy.arange(11) * 100
            )
        )
        self.assertEqual(len(rows), 1500)
        linear = 10 ** (rows / 10)
        at = (numpy.arange(1500) + 0.5) / 1500
        power = 2 + 2 * numpy.cos(2 * math.pi * HZ * (2e-6 * at)[:, None])
        power = power.reshape(1500, 25, 20).mean(axis=2)
        self.assertLess(abs(linear / linear.mean() - power / power.mean()).max(), 1e-4)

    def test_shapes_of_sionna_and_quadriga(self):
        rng = numpy.random.default_rng(2)
        gains = rng.normal(size=(4, 6)) + 1j * rng.normal(size=(4, 6))
        gains = numpy.cumsum(0.1 * gains, axis=1) + 1
        gains[3] = 0  # an absent path has no gain and the delay -1
        tau = numpy.array([0, 3e-7, 9e-7, -1])
        plain = self.rows(self.npz(a=gains[:3], tau=tau[:3]), rate=100)
        self.assertEqual(len(plain), 75)
        # Sionna RT: RX, RX antenna, TX, TX antenna, path, snapshot
        a = numpy.zeros((2, 1, 1, 2, 4, 6), dtype="c8")
        a[1, 0, 0, 1] = gains
        taus = numpy.full((2, 1, 4), 5e-7)
        taus[1, 0] = tau
        for delays in (taus, numpy.broadcast_to(taus[:, None, :, None], (2, 1, 1, 2, 4))):
            rows = self.rows(self.npz(a=a, tau=delays), rate=100, pick=(1, 0, 0, 1))
            self.assertLess(abs(rows - plain).max(), 1e-3)
        # QuaDRiGa: coeff and delay of RX, TX, path, snapshot, saved with -v7 and -v7.3
        coeff = numpy.stack([gains[:3], 2 * gains[:3]])[:, None]
        delay = numpy.broadcast_to(tau[:3, None], (2, 1, 3, 6))
        scipy.io.savemat(self.folder / "five.mat", {"coeff": coeff, "delay": delay})
        with h5py.File(self.folder / "seven.mat", "w", userblock_size=512) as f:
            pair = numpy.zeros(coeff.T.shape, dtype=[("real", "<f8"), ("imag", "<f8")])
            pair["real"], pair["imag"] = coeff.T.real, coeff.T.imag
            f["h/coeff"], f["h/delay"] = pair, delay.T
        with (self.folder / "seven.mat").open("r+b") as f:
            f.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
        for name in ("five.mat", "seven.mat"):
            rows = self.rows(name, rate=100, pick=(1, 0))
            self.assertLess(abs(rows - plain).max(), 1e-4, name)

    def test_the_mean_is_the_snr_that_was_asked_for(self):
        rng = numpy.random.default_rng(7)
        gains = numpy.cumsum(rng.normal(size=(5, 400)) + 1j * rng.normal(size=(5, 400)), axis=1)
        name = self.npz(a=gains + 100, tau_ns=[0, 200, 500, 900, 1700])
        for snr in (0, 25):
            linear = 10 ** (self.rows(name, rate=1000, snr_db=snr) / 10)
            self.assertAlmostEqual(10 * math.log10(linear.mean()), snr, 3)

    def test_what_cannot_be_is_refused(self):
        a, tau = numpy.ones((2, 3), dtype=complex), numpy.array([0, 1e-7])
        for pattern, arrays, asked in (
            (r"has a \(2 x 3, complex\) and no delays", {"a": a}, {}),
            (
                r"has tau \(3, real\), a shape that does not fit a",
                {"a": a, "tau": [0, 0, 0]},
                {"rate": 9},
            ),
            ("has 3 snapshots and no times; valid: --rate", {"a": a, "tau": tau}, {}),
            (
                r"has t \(2, real\), which are not ascending times of the 3 snapshots",
                {"a": a, "tau": tau, "t": [0, 1]},
                {},
            ),
            ("which are not ascending times", {"a": a, "tau": tau, "t": [0, 2, 1]}, {}),
            ("has only zeros in a", {"a": 0 * a, "tau": tau}, {"rate": 9}),
            ("values in a that are no numbers", {"a": a * numpy.nan, "tau": tau}, {"rate": 9}),
            ("negative delays in tau of paths with a gain", {"a": a, "tau": -tau}, {"rate": 9}),
            (
                r"--pick is not given; valid: a number for each dimension .*\(0..1 x 0..2\)",
                {"a": numpy.ones((2, 3, 4, 5), dtype=complex), "tau": numpy.zeros(4)},
                {"rate": 9},
            ),
            (
                r"--pick is 2,0; valid",
                {"a": numpy.ones((2, 3, 4, 5), dtype=complex), "tau": numpy.zeros(4)},
                {"rate": 9, "pick": (2, 0)},
            ),
            (
                "too far apart: strong paths turn by 2.50 rad",
                {"a": numpy.exp(2.5j * numpy.arange(9))[None], "tau": [0]},
                {"rate": 9},
            ),
            ("--snr 5 is given with .*no channel response", {"snr_db": [1.0, 2]}, {"snr_db": 5}),
            ("--pick 1 is given with .*no channel response", {"snr_db": [1.0, 2]}, {"pick": (1,)}),
        ):
            with self.subTest(pattern):
                self.refused(pattern, self.npz(**arrays), **asked)
        (self.folder / "a.csv").write_text("1\n2\n")
        self.refused("--snr 5 is given with .*a.csv; valid: with a MATLAB", "a.csv", snr_db=5)


if __name__ == "__main__":
    unittest.main()
