# SPDX-License-Identifier: GPL-3.0-or-later
"""UHD's own programs, unmodified, on the software USRP."""

import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

from uhd_support import Medium, example


def run(*command, timeout=60):
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    return done.returncode, done.stdout + done.stderr


class Stock(unittest.TestCase):
    def received(self, air, node, sender, out):
        """The samples that this node receives of a sender that is then ended, in a file."""
        try:
            deadline = time.monotonic() + 20
            while not any(n.transmits for n in air.ask().air.nodes):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.05)
            time.sleep(0.5)
            code, text = run(
                self.program("rx_samples_to_file"),
                "--args",
                air.args(node),
                "--rate",
                "7.68e6",
                "--freq",
                "1e9",
                "--nsamps",
                "65536",
                "--type",
                "float",
                "--file",
                str(out),
            )
        finally:
            sender.send_signal(signal.SIGINT)
            sender.wait(10)
        self.assertEqual(code, 0, text)

    def program(self, name):
        path = example(name)
        if not path:
            self.skipTest(f"UHD's example {name} is not installed")
        return path

    def count(self, text, what):
        found = re.search(re.escape(what) + r":\s+(\d+)", text)
        self.assertTrue(found, f"no '{what}' in:\n{text}")
        return int(found.group(1))

    def test_probe_shows_the_whole_radio(self):
        code, text = run("uhd_usrp_probe", "--args", "type=vusrp")
        self.assertEqual(code, 0, text)
        for part in (
            "Software USRP",
            "RX Frontend: 0",
            "TX Frontend: 0",
            "Sensors: lo_locked",
            "Sensors: ref_locked",
            "Antennas: TX/RX",
        ):
            self.assertIn(part, text)

    def test_find_lists_it_only_when_asked(self):
        code, text = run("uhd_find_devices", "--args", "type=vusrp")
        self.assertEqual(code, 0, text)
        self.assertIn("type: vusrp", text)
        _, text = run("uhd_find_devices", "--args", "type=b200")
        self.assertNotIn("vusrp", text)

    def test_benchmark_rate_loses_nothing(self):
        code, text = run(
            self.program("benchmark_rate"),
            "--args",
            "type=vusrp,speed=0.25",
            "--rx_rate",
            "7.68e6",
            "--tx_rate",
            "7.68e6",
            "--duration",
            "4",
        )
        self.assertEqual(code, 0, text)
        # Device time runs at a quarter of the speed, so a loaded machine keeps up; 4 s are one.
        self.assertGreater(self.count(text, "Num received samples"), 6e6)
        self.assertGreater(self.count(text, "Num transmitted samples"), 6e6)
        for what in (
            "Num dropped samples",
            "Num overruns detected",
            "Num underruns detected",
            "Num late commands",
            "Num sequence errors (Tx)",
            "Num sequence errors (Rx)",
        ):
            self.assertEqual(self.count(text, what), 0, text)

    def test_timed_commands_are_on_time(self):
        code, text = run(self.program("test_timed_commands"), "--args", "type=vusrp")
        self.assertEqual(code, 0, text)
        self.assertIn("Testing support for timed commands on this hardware... pass", text)
        for what in (
            "Difference of response time 1",
            "Difference of response time 2",
            "Difference between stream time and first packet",
        ):
            found = re.search(what + r": (-?[0-9.]+) us", text)
            self.assertTrue(found, text)
            self.assertLess(abs(float(found.group(1))), 1.0, text)

    def test_samples_to_file_gives_the_samples_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "samples.dat"
            code, text = run(
                self.program("rx_samples_to_file"),
                "--args",
                "type=vusrp",
                "--rate",
                "7.68e6",
                "--freq",
                "1e9",
                "--nsamps",
                "1000000",
                "--file",
                str(out),
            )
            self.assertEqual(code, 0, text)
            self.assertEqual(out.stat().st_size, 4 * 1000000)  # sc16

    def test_waveforms_are_heard_by_another_radio(self):
        with (
            tempfile.TemporaryDirectory() as folder,
            Medium("clock: realtime, speed: 0.5", "{a: {}, b: {}}", "[{from: a, to: b}]") as air,
        ):
            out = pathlib.Path(folder) / "samples.dat"
            sender = subprocess.Popen(
                [
                    self.program("tx_waveforms"),
                    "--args",
                    air.args("a"),
                    "--rate",
                    "7.68e6",
                    "--freq",
                    "1e9",
                    "--wave-type",
                    "SINE",
                    "--wave-freq",
                    "120e3",
                    "--ampl",
                    "0.5",
                ],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            self.received(air, "b", sender, out)
            self.assertEqual(sender.returncode, 0)
            import numpy as np

            x = np.fromfile(out, np.complex64)
            self.assertEqual(x.size, 65536)
            # 120 kHz is 1024 turns of 65536 samples; an underflow would leave a gap.
            power = np.abs(np.fft.fft(x)) ** 2
            self.assertEqual(int(power.argmax()), 1024)
            self.assertGreater(power[1024] / power.sum(), 0.8)

    def test_both_channels_of_a_device_are_received_together(self):
        arguments = "type=vusrp,product=b210,clock=lockstep"
        code, text = run(
            self.program("rx_multi_samples"),
            "--args",
            arguments,
            "--rate",
            "7.68e6",
            "--channels",
            "0,1",
            "--nsamps",
            "200000",
        )
        self.assertEqual(code, 0, text)
        self.assertEqual(sum(map(int, re.findall(r"Received packet: (\d+) samples", text))), 200000)
        self.assertNotIn("error", text)
        code, text = run(
            self.program("rx_multi_samples"),
            "--args",
            arguments,
            "--rate",
            "7.68e6",
            "--channels",
            "0,2",
        )
        self.assertNotEqual(code, 0)
        self.assertIn("channel", text)

    def test_the_second_channel_sends_to_its_own_node(self):
        of = "product=x310,master_clock_rate=184.32e6,ppm=0"
        with (
            tempfile.TemporaryDirectory() as folder,
            Medium(
                "clock: realtime, speed: 0.25", "{a: {}, b: {}, c: {}}", "[{from: b, to: c}]"
            ) as air,
        ):
            out = pathlib.Path(folder) / "samples.dat"
            sender = subprocess.Popen(
                [
                    self.program("tx_waveforms"),
                    "--args",
                    f"{air.args('a:b')},{of}",
                    "--rate",
                    "7.68e6",
                    "--freq",
                    "1e9",
                    "--gain",
                    "11.5",
                    "--wave-type",
                    "SINE",
                    "--wave-freq",
                    "120e3",
                    "--ampl",
                    "0.5",
                    "--channels",
                    "1",
                ],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            self.received(air, "c", sender, out)
            import numpy as np

            power = np.abs(np.fft.fft(np.fromfile(out, np.complex64))) ** 2
            self.assertEqual(int(power.argmax()), 1024)

    def test_soapy_is_not_needed_and_unknown_rates_are_coerced_with_a_warning(self):
        code, text = run(
            self.program("rx_samples_to_file"),
            "--args",
            "type=vusrp",
            "--rate",
            "7.7e6",
            "--freq",
            "1e9",
            "--nsamps",
            "1000",
            "--null",
        )
        self.assertEqual(code, 0, text)
        self.assertIn("7.68", text)


if __name__ == "__main__":
    unittest.main()
