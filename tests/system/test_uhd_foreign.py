# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of others, unmodified, on the software USRP as each product: UHD's examples, UHD's Python
API, SoapyUHD, a GNU Radio flowgraph with bursts; gqrx: test_uhd_gqrx."""

import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from uhd_support import Medium, example

HERE = pathlib.Path(__file__).resolve().parent
PRODUCTS = {
    "b210": "product=b210",
    "x310": "product=x310,master_clock_rate=184.32e6",
    "n310": "product=n310,master_clock_rate=122.88e6",
    "e320": "product=e320,master_clock_rate=30.72e6",
}
# Device time runs slower than the clock, so that a loaded machine keeps up; AT_SPEED is for programs
# that wait by the clock until a device time has come.
SLOWER = "type=vusrp,speed=0.05,ppm=0"
GENTLE, AT_SPEED = "type=vusrp,speed=0.25,ppm=0", "type=vusrp,ppm=0"
RATE, CARRIER = "7.68e6", "1.8e9"
TRIES = 10  # attempts at a program that a busy machine disturbs
# Gain of the transmitter at which its full scale is that of a receiver of its kind at gain 0.
UNITY = {"b210": "69.75", "x310": "11.5", "n310": "50", "e320": "69.75"}
SLOW_MEDIUM = (
    "clock: realtime, speed: 0.1, hearing_hz: 1000000, wait_for: {transmitters: 1, receivers: 1}"
)


def of_product(product, base=GENTLE):
    return f"{base},{PRODUCTS[product]}"


def has_module(name):
    return importlib.util.find_spec(name) is not None


class Foreign(unittest.TestCase):
    def run_program(self, *command, timeout=120, code=0):
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
        text = done.stdout + done.stderr
        if code is not None:
            self.assertEqual(done.returncode, code, text)
        return text

    def example(self, name):
        path = example(name)
        if not path:
            self.skipTest(f"UHD's example {name} is not installed")
        return path

    def found(self, *arguments):
        """The results of foreign_radio.py."""
        done = subprocess.run(
            [sys.executable, HERE / "foreign_radio.py", *arguments],
            capture_output=True,
            text=True,
            timeout=300,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def each_product(self, test):
        for product in PRODUCTS:
            with self.subTest(product=product):
                test(product)

    # --- UHD's examples ---

    def test_a_pulse_is_found_and_its_absence_is_said(self):
        program = self.example("test_pps_input")

        def test(product):
            args = of_product(product, AT_SPEED)
            text = self.run_program(program, "--args", f"{args},pps=1", "--source", "external")
            self.assertIn("Success!", text)
            text = self.run_program(program, "--args", args, "--source", "external", code=None)
            self.assertNotIn("Success!", text)
            self.assertIn("may not be getting a PPS signal", text)

        self.each_product(test)

    def test_time_is_set_by_gps(self):
        program = self.example("sync_to_gps")

        def test(product):
            args = f"{of_product(product, AT_SPEED)},gpsdo=1"
            text = self.run_program(program, "--args", args)
            self.assertIn("GPS Locked", text)
            self.assertIn("synchronized to GPS time", text)

        self.each_product(test)

    def test_a_transmission_is_received_by_the_same_radio(self):
        import numpy as np

        program = self.example("txrx_loopback_to_file")

        def once(product, folder):
            out, args = pathlib.Path(folder, "samples.dat"), of_product(product, AT_SPEED)
            text = self.run_program(
                program,
                *("--tx-args", args, "--rx-args", args, "--file", out, "--type", "float"),
                *("--tx-rate", RATE, "--rx-rate", RATE, "--tx-freq", CARRIER),
                *("--rx-freq", CARRIER, "--tx-gain", UNITY[product], "--rx-gain", "0"),
                *("--wave-type", "SINE", "--wave-freq", "120e3", "--ampl", "0.5"),
                *("--nsamps", "65536", "--settling", "0.7"),
            )
            return text, np.fromfile(out, np.complex64)

        def test(product):
            with tempfile.TemporaryDirectory() as folder:
                # A transmitter that ran dry (UHD prints U), as on a machine that stalled for
                # a millisecond, sends nothing more: an RFNoC radio waits for an end of burst.
                for _ in range(TRIES):
                    text, x = once(product, folder)
                    if not re.search(r"^[ULO]+$", text, re.M):
                        break
                else:
                    self.skipTest(f"{product} ran dry or overflowed {TRIES} times: a busy machine")
            self.assertEqual(x.size, 65536, text)
            # 120 kHz is 1024 turns of 65536 samples; a gap would spread it.
            power = np.abs(np.fft.fft(x)) ** 2
            self.assertEqual(int(power.argmax()), 1024)
            self.assertGreater(power[1022:1027].sum() / power.sum(), 0.8)

        self.each_product(test)

    def test_a_burst_is_acknowledged(self):
        """tx_bursts waits --secs from when it has handed over the last packet, so it sees the
        acknowledgement, which comes with the last sample, only if that took as long as the burst:
        a burst has to be longer than a B2xx and its frames hold (52,640 samples)."""

        def test(product):
            for name, samples, more in (
                ("tx_timed_samples", "20000", ()),
                ("tx_bursts", "60000", ("--freq", CARRIER)),
            ):
                for _ in range(TRIES):
                    text = self.run_program(
                        self.example(name),
                        *("--args", of_product(product, AT_SPEED), "--rate", RATE),
                        *("--nsamps", samples, "--secs", "0.5", *more),
                    )
                    if not re.search(r"^[ULS]+$", text, re.M):
                        break
                else:
                    self.skipTest(f"{product} was late or ran dry {TRIES} times: a busy machine")
                self.assertRegex(text, "burst ACK\\.\\.\\. success", name)

        self.each_product(test)

    def test_samples_are_received_from_the_time_on_that_was_asked_for(self):
        program = self.example("rx_timed_samples")

        def test(product):
            text = self.run_program(
                program,
                *("--args", of_product(product, AT_SPEED), "--rate", RATE),
                *("--nsamps", "50000", "--secs", "0.5", "--dilv"),
            )
            self.assertNotIn("Receive timeout", text)
            text = self.run_program(
                program,
                *("--args", of_product(product, AT_SPEED), "--rate", RATE),
                *("--nsamps", "50000", "--secs", "0.5"),
            )
            found = re.findall(r"packet: (\d+) samples, (\d+) full secs, ([0-9.]+) frac", text)
            self.assertEqual((found[0][1], float(found[0][2])), ("0", 0.5), text)
            self.assertEqual(sum(int(samples) for samples, _, _ in found), 50000, text)

        self.each_product(test)

    def test_messages_are_those_of_the_product(self):
        """A late command, a burst's acknowledgement, an underflow and a late burst, as UHD's own
        test asks for them in an order that it draws."""
        program = self.example("test_messages")

        def test(product):
            text = self.run_program(
                program,
                *("--args", of_product(product, AT_SPEED), "--ntests", "24"),
                code=None,
                timeout=240,
            )
            counts = {
                name: (int(good), int(bad))
                for name, good, bad in re.findall(
                    r"^(\S.*?)\s+->\s+(\d+) successes,\s+(\d+) failures", text, re.M
                )
            }
            self.assertEqual(len(counts), 4, text)
            self.assertEqual(sum(good for good, _ in counts.values()), 24, text)

        self.each_product(test)

    # --- APIs ---

    @unittest.skipUnless(has_module("uhd"), "python3-uhd is not installed")
    def test_300_short_receptions_in_python(self):
        def test(product):
            found = self.found("python", of_product(product) + ",noise_dbfs=-60")
            self.assertEqual(found["receptions"], 300)
            self.assertEqual(found["sizes"], [2000])
            self.assertEqual(found["errors"], 0)
            self.assertGreater(found["least_power"], 1e-8)
            self.assertLess(found["furthest_time_s"], 1 / 7.68e6)

        self.each_product(test)

    @unittest.skipUnless(has_module("SoapySDR"), "python3-soapysdr is not installed")
    @unittest.skipUnless(
        list(pathlib.Path("/usr/lib").glob("*/SoapySDR/modules*/libuhdSupport.so")),
        "soapysdr-module-uhd is not installed",
    )
    def test_soapy(self):
        def test(product):
            found = self.found("soapy", of_product(product, SLOWER))
            self.assertEqual(found["rate"], 7.68e6)
            self.assertAlmostEqual(found["frequency"], 1.8e9, delta=1)
            self.assertEqual(found["gain"], 20)
            self.assertIn("RX2", found["antennas"])
            self.assertNotIn("error", found)
            self.assertEqual(found["samples"], 60000)
            self.assertLess(abs(found["first_time_ns"]), 1000)
            # The burst is there a millisecond after the start, for 20000 samples.
            self.assertAlmostEqual(found["burst_from"], 7680, delta=150)
            self.assertAlmostEqual(found["burst_to"] - found["burst_from"], 20000, delta=150)
            self.assertTrue(found["acknowledged"])

        self.each_product(test)

    @unittest.skipUnless(has_module("gnuradio"), "gnuradio is not installed")
    def test_gnu_radio_bursts_and_a_retune_by_message(self):
        def test(product):
            # The default of 16 frames holds 4 ms, which GNU Radio's start takes on a busy machine.
            frames = ",num_recv_frames=256" * (product == "b210")
            with Medium(SLOW_MEDIUM, "{a: {}, b: {}}", "[{from: a, to: b, gain_db: -20}]") as air:
                found = self.found(
                    "grc",
                    *(f"{air.args(node)},ppm=0,{PRODUCTS[product]}{frames}" for node in "ab"),
                )
            self.assertEqual(len(found["bursts"]), 8, found)
            for i, burst in enumerate(found["bursts"]):
                self.assertAlmostEqual(burst["at"], (0.005 + i * 0.01) * 7.68e6, delta=150)
                self.assertAlmostEqual(burst["samples"], 4000, delta=150)
                # An AD9361 and an AD9371 know no command times: the message holds when it comes.
                tuned_anew = i >= 4 or product != "x310"
                wanted = 625e3 + 100e3 * tuned_anew
                self.assertAlmostEqual(burst["hz"], wanted, delta=500, msg=str(found))

        self.each_product(test)


if __name__ == "__main__":
    unittest.main()
