# SPDX-License-Identifier: GPL-3.0-or-later
"""channel pass: delay and Doppler shift of a satellite's pass, by the closed form of a circular
orbit and by SGP4 from two-line elements."""

import contextlib
import io
import math
import pathlib
import sys
import tempfile
import unittest

import numpy

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "host" / "cli"))

from openwip_cli.channel import satellite_pass
from openwip_cli.errors import BadInput

LIGHT = 299_792_458.0  # m/s
# Elements of the ISS, the example of Wikipedia's page on two-line elements.
ISS = """ISS (ZARYA)
1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927
2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537
"""
PLACE = ["--latitude-deg", "59.4", "--longitude-deg", "13.5"]
try:
    import sgp4
except ImportError:
    sgp4 = None


class Passes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        (self.folder / name).write_text(text)
        return str(self.folder / name)

    def run_pass(self, *arguments):
        out, delays = str(self.folder / "pass.csv"), str(self.folder / "delays")
        with contextlib.redirect_stdout(io.StringIO()) as said:
            satellite_pass.main(["-o", out, "--delays", delays, *arguments], None)
        table = numpy.loadtxt(out, delimiter=",", skiprows=1)
        return table, numpy.loadtxt(delays), said.getvalue()

    def refused(self, pattern, *arguments):
        with self.assertRaisesRegex(BadInput, pattern) as caught:
            self.run_pass(*arguments)
        self.assertNotIn("\n", str(caught.exception))

    def test_a_circular_orbit_has_its_closed_form(self):
        table, delays, said = self.run_pass("--altitude-km", "600", "--duration", "600")
        t, delay, doppler, elevation = table.T
        self.assertEqual(len(t), 6001)
        middle = len(t) // 2
        self.assertAlmostEqual(delay[middle], 600e3 / LIGHT * 1e3, 5)
        self.assertAlmostEqual(doppler[middle], 0, 1)
        self.assertAlmostEqual(elevation[middle], 90, 1)
        # Both are even and odd about the middle.
        self.assertLess(abs(delay - delay[::-1]).max(), 1e-5)
        self.assertLess(abs(doppler + doppler[::-1]).max(), 0.05)
        # The largest rate of change: f v^2 / (c h), v as seen from a place on the ground.
        earth, orbit = 6371e3, 6971e3
        v2 = 3.986004418e14 / orbit
        rate = 2e9 / LIGHT * v2 * earth / orbit / 600e3
        self.assertAlmostEqual(numpy.gradient(doppler, t)[middle], -rate, 0)
        self.assertIn("changing by up to 581 Hz/s", said)
        # At the horizon all of R / (R + h) of the speed is along the way.
        far = satellite_pass.circular(600, 90, 1600, 0.1)
        at = numpy.argmin(abs(far.elevation_deg))
        self.assertAlmostEqual(
            abs(far.doppler_hz(2e9)[at]), 2e9 / LIGHT * math.sqrt(v2) * earth / orbit, -1
        )
        self.assertEqual(delays[-1][0], 600_000)
        self.assertLess(abs(numpy.interp(t * 1e3, delays[:, 0], delays[:, 1]) - delay).max(), 1e-5)

    def test_a_pass_that_is_not_overhead_and_a_transparent_satellite(self):
        one, _, _ = self.run_pass("--highest-deg", "30", "--carrier-hz", "1e9")
        two, _, _ = self.run_pass("--highest-deg", "30", "--carrier-hz", "1e9", "--legs", "2")
        self.assertAlmostEqual(one[:, 3].max(), 30, 2)
        # Slant range of 30 degrees, by the law of sines.
        slant = math.sqrt(6971e3**2 - (6371e3 * math.cos(math.radians(30))) ** 2) - 6371e3 * 0.5
        self.assertAlmostEqual(one[:, 1].min(), slant / LIGHT * 1e3, 4)
        self.assertLess(abs(two[:, 1] - 2 * one[:, 1]).max(), 1e-5)
        self.assertLess(abs(two[:, 2] - one[:, 2]).max(), 0.01)

    @unittest.skipIf(sgp4 is None, "python3-sgp4 is not installed")
    def test_elements_of_a_real_satellite(self):
        table, _, said = self.run_pass("--tle", self.file("iss.tle", ISS), *PLACE, "--step", "1")
        t, delay, doppler, elevation = table.T
        self.assertGreaterEqual(elevation.min(), 10 - 0.1)
        # The Doppler shift is that of the distance, which is written in ns.
        by_distance = -numpy.gradient(delay * 1e-3, t) * 2e9
        self.assertLess(abs(by_distance - doppler)[1:-1].max(), 3)
        # The height above the ground that belongs to elevation and distance.
        distance = delay * 1e-3 * LIGHT
        height = (
            numpy.sqrt(
                6371e3**2
                + distance**2
                + 2 * 6371e3 * distance * numpy.sin(numpy.radians(elevation))
            )
            - 6371e3
        )
        self.assertLess(abs(height - 350e3).max(), 25e3)
        self.assertIn("elevation 10.0 to 13.6 degrees", said)
        around, _, _ = self.run_pass("--tle", self.file("iss.tle", ISS), *PLACE, "--duration", "60")
        self.assertEqual(len(around), 601)
        self.assertAlmostEqual(around[:, 3].max(), elevation.max(), 2)

    @unittest.skipIf(sgp4 is None, "python3-sgp4 is not installed")
    def test_places_of_the_satellite_are_those_of_skyfield(self):
        # skyfield 1.45: elevation, distance and its change, seen from the place
        lines = satellite_pass.elements_of(ISS, "iss")
        orbit = satellite_pass.Orbit(lines, satellite_pass.place_of(59.4, 13.5, 0), "iss")
        seen = orbit.seen(numpy.array([3600.0, 72000.0]))
        for k, (elevation, distance, speed) in enumerate(
            ((-39.3013, 8603885, -3731.49), (-32.8539, 7544303, 1335.88))
        ):
            self.assertAlmostEqual(seen.elevation_deg[k], elevation, delta=0.005)
            self.assertAlmostEqual(seen.distance_m[k], distance, delta=200)
            self.assertAlmostEqual(seen.speed_m_per_s[k], speed, delta=0.5)

    @unittest.skipIf(sgp4 is None, "python3-sgp4 is not installed")
    def test_a_place_on_the_ground(self):
        x, y, z = satellite_pass.place_of(0, 0, 0).at_m
        self.assertAlmostEqual(x, 6378137.0, 3)
        self.assertAlmostEqual(y + z, 0, 3)
        self.assertAlmostEqual(satellite_pass.place_of(90, 0, 0).at_m[2], 6356752.314, 2)
        # Greenwich mean sidereal time at 2000-01-01 12:00 UT1: 18 h 41 min 50.548 s.
        self.assertAlmostEqual(
            float(satellite_pass.sidereal_rad(2451545.0)),
            math.radians((18 + 41 / 60 + 50.54841 / 3600) * 15),
            6,
        )

    def test_what_cannot_be_is_refused(self):
        with self.assertRaisesRegex(BadInput, "neither -o nor --delays is given"):
            satellite_pass.main([], None)
        lines = ISS.splitlines()
        for pattern, text in (
            (
                r"has no two-line elements \(TLE\) of a satellite; valid: a line that begins with '1 '",
                "hello\n",
            ),
            ("has no two-line elements", ""),
            ("has 68 characters; valid: 69", "\n".join([lines[1][:68], lines[2]])),
            ("ends with the check digit 7; valid: 8", ISS.replace("98067A ", "98068A ")),
        ):
            with self.subTest(pattern):
                self.refused(pattern, "--tle", self.file("bad.tle", text))
        self.refused("cannot be read: No such file", "--tle", "/nowhere")
        self.refused("cannot be read: is no regular file", "--tle", "/dev/zero")
        self.refused("--legs", "--legs", "3")
        self.refused("--altitude-km", "--altitude-km", "10")
        if sgp4 is not None:
            self.refused(
                "does not rise above 10 degrees at this place",
                "--tle",
                self.file("iss.tle", ISS),
                "--latitude-deg",
                "85",
            )


if __name__ == "__main__":
    unittest.main()
