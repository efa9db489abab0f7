# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip radio and doctor --loop on software USRPs: what was put into them is found.
Tolerances: levels 0.3 dB (images of an x410, 60 dB down in its 12-bit converter's steps, 1 dB),
frequency 5 Hz, clipped share 1 %, latency of the transport to the step in which leads shrink."""

import json
import math
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import yaml

from demo_support import TOP, openwip
from uhd_support import Medium

PRODUCTS = yaml.safe_load((TOP / "channels/vusrp/devices.yaml").read_text())["products"]


@unittest.skipUnless(
    pathlib.Path(os.environ["OPENWIP_BUILD"], "host/radio/wip_radio").exists(),
    "openwip radio is not part of this build",
)
class Radio(unittest.TestCase):
    def found(self, *arguments, code=0):
        done = openwip(*arguments, "--json")
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout)

    def test_the_software_radio_is_listed(self):
        self.assertIn("type=vusrp, product=VUSRP", openwip("radio", "list").stdout)

    def test_probe_says_what_a_device_is_and_what_it_costs(self):
        of = self.found("radio", "probe", "--radio", "type=vusrp,product=x310", code=1)
        findings = {f["what"]: f for f in of["findings"]}
        self.assertEqual(of["clock_hz"], 200e6)
        self.assertIn("master_clock_rate=184320000", findings["sample rate"]["mend"])
        self.assertEqual(of["receive"]["gain_db"]["highest"], PRODUCTS["x310"]["receive_gain"][1])
        self.assertTrue(of["sensors"]["ref_locked"]["ok"])
        self.assertIn("external", of["clock_sources"])
        done = openwip("radio", "probe", "--radio", "type=vusrp,product=b210")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("ok    sample rate: 7.68 MS/s", done.stdout)

    def check_product(self, name, within):
        p = PRODUCTS[name]
        receive_gain, attenuator, noise = 10, -20, -100
        transmit_gain = (
            math.floor((p["transmit_gain"][1] - 10) / p["transmit_gain"][2]) * p["transmit_gain"][2]
        )
        level = (
            p["full_scale_dbm"][0]
            + transmit_gain
            - p["transmit_gain"][1]
            + attenuator
            + receive_gain
            - p["full_scale_dbm"][1]
        )
        tone = -10 - level if level > -10 else -6  # -10 dBFS or less arrives
        of = self.found(
            "radio",
            "levels",
            "--duration",
            "0.1",
            "--receive-gain",
            str(receive_gain),
            "--transmit-gain",
            str(transmit_gain),
            f"--tone={tone}",
            "--radio",
            f"type=vusrp,product={name},analog=0,noise_dbfs={noise},gain_db={attenuator}",
        )
        heard = of["tone"]
        self.assertAlmostEqual(of["dc_dbfs"], p["receive_dc_dbfs"], delta=within)
        self.assertAlmostEqual(heard["dbfs"], tone + level, delta=0.3)
        self.assertAlmostEqual(heard["receive_image"]["db"], p["receive_image_db"], delta=within)
        self.assertAlmostEqual(heard["transmit_image"]["db"], p["transmit_image_db"], delta=within)
        self.assertAlmostEqual(
            heard["leakage"]["db"], tone - p["transmit_leakage_dbfs"], delta=within
        )
        self.assertEqual(of["clipped"], 0)

    def test_image_constant_and_leakage_of_a_product_are_found(self):
        # The x410's lines are so weak that noise moves them by 0.4 dB from one second to the next.
        for name, within in (("b210", 0.3), ("n210", 0.3), ("x410", 1)):
            with self.subTest(name):
                self.check_product(name, within)

    def test_noise_is_found_and_the_gain_is_taken_off_it(self):
        of = self.found(
            "radio",
            "levels",
            "--radio",
            "type=vusrp,noise_dbfs=-57.5",
            "--receive-gain",
            "20",
            "--duration",
            "0.1",
        )
        self.assertAlmostEqual(of["noise_dbfs"], -37.5, delta=0.3)
        self.assertAlmostEqual(of["noise_at_gain_0_dbfs"], -57.5, delta=0.3)

    def test_clipping_is_counted_and_costs_something(self):
        high = 1.25
        of = self.found(
            "radio",
            "levels",
            "--radio",
            f"type=vusrp,gain_db={20 * math.log10(high):.6f}",
            "--receive-gain",
            "0",
            "--transmit-gain",
            "0",
            "--tone",
            "0",
            "--duration",
            "0.1",
            code=1,
        )
        # The tone has 160 phases; how many of them are clipped depends on the first one.
        share = 4 / math.pi * math.acos(1 / high)
        self.assertAlmostEqual(of["clipped"], share, delta=4 / 160)
        self.assertIn(
            "less --receive-gain", next(f for f in of["findings"] if f["what"] == "level")["mend"]
        )

    def test_two_radios_with_oscillators_of_their_own(self):
        with Medium(
            "clock: realtime",
            "{base: {}, terminal: {noise_dbfs: -100}}",
            "[{from: base, to: terminal, gain_db: -35}]",
        ) as air:
            of = self.found(
                "radio",
                "levels",
                "--radio",
                air.args("terminal") + ",product=b210,analog=0,ppm=-1",
                "--receive-gain",
                "10",
                "--duration",
                "0.1",
                "--tone",
                "--tone-radio",
                air.args("base") + ",product=x310,analog=0,ppm=2",
                "--transmit-gain",
                "21.5",
            )
        self.assertAlmostEqual(of["tone"]["hz"] - of["tone"]["expected_hz"], 3e-6 * 1.8e9, delta=5)
        self.assertAlmostEqual(
            of["tone"]["receive_image"]["db"], PRODUCTS["b210"]["receive_image_db"], delta=0.3
        )
        self.assertAlmostEqual(
            of["tone"]["transmit_image"]["db"], PRODUCTS["x310"]["transmit_image_db"], delta=0.3
        )

    def test_the_spectrum_is_a_picture_and_its_points(self):
        with tempfile.TemporaryDirectory() as folder:
            picture = pathlib.Path(folder, "s.png")
            of = self.found(
                "radio",
                "spectrum",
                "--radio",
                "type=vusrp,noise_dbfs=-60",
                "--receive-gain",
                "0",
                "--out",
                str(picture),
                "--duration",
                "0.1",
            )
            self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        mean = sorted(of["mean_dbfs"])[384]
        self.assertAlmostEqual(mean + 10 * math.log10(768 / 2.0044), -60, delta=0.3)
        self.assertEqual((len(of["offset_hz"]), of["offset_hz"][384]), (768, 0))

    def check_leads(self, loop, name):
        """With leads below the latency no packet arrives in time, with those above its spread
        nearly all do: the machine may stall meanwhile."""
        shortest, longest = (
            PRODUCTS[name]["latency_us"],
            PRODUCTS[name]["latency_us"] + PRODUCTS[name]["spread_us"],
        )
        leads = loop["transmit"]["leads"]
        self.assertTrue(
            all(c["late"] == c["bursts"] for c in leads if c["lead_us"] < shortest), leads
        )
        above = [c for c in leads if c["lead_us"] > longest]
        self.assertLess(
            sum(c["late"] for c in above), 0.05 * sum(c["bursts"] for c in above), leads
        )
        self.assertGreater(
            loop["transmit"]["lead_us"], longest - 0.1 * (longest - shortest) - 10, leads
        )
        self.assertGreaterEqual(loop["receive"]["shortest_us"], shortest)

    def test_the_loop_of_a_b210_is_what_its_latency_makes_it(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "d.json")
            done = openwip(
                "doctor",
                "--loop",
                "--radio",
                "type=vusrp,product=b210,analog=0,delay=100",
                "--transmit-gain",
                "80",
                "--receive-gain",
                "0",
                "--duration",
                "1",
                f"--json={file}",
            )
            self.assertIn(done.returncode, (0, 1), done.stderr)
            of = json.loads(file.read_text())
        self.check_leads(of["loop"], "b210")
        self.assertAlmostEqual(of["loop"]["path_delay_us"], 100 / 7.68, delta=0.2)
        output = of["loop"]["recommended"]
        for one in (output, output["two_computers"]):
            self.assertIn(
                f"--transmit-lead-slots {one['transmit_lead_slots']} --retransmission-delay-ms"
                f" {one['retransmission_delay_ms']:g}",
                done.stdout,
            )
        # a second has too few slots for that
        self.assertIn("not shown for one in 10,000", done.stdout)

    def test_the_loop_of_an_x310_is_shorter_and_needs_no_path(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "d.json")
            openwip(
                "doctor",
                "--loop",
                "--radio",
                "type=vusrp,product=x310,master_clock_rate=184.32e6,gain_db=-150",
                "--receive-gain",
                "0",
                "--duration",
                "1",
                f"--json={file}",
            )
            loop = json.loads(file.read_text())["loop"]
        self.check_leads(loop, "x310")
        self.assertIsNone(loop["path_delay_us"])  # there is no cable

    def test_what_the_radio_refuses_is_one_line_and_exit_code_2(self):
        for arguments, says in (
            (("probe", "--radio", "type=b200,serial=none"), "no radio answers to"),
            (
                ("levels", "--radio", "type=vusrp", "--receive-gain", "100"),
                "receive gain 100 dB; valid: -40..60 dB",
            ),
            (
                ("levels", "--radio", "type=vusrp", "--tone", "--transmit-gain", "100"),
                "transmit gain 100 dB; valid: -80..20 dB",
            ),
            (
                ("levels", "--radio", "type=vusrp", "--gain", "10"),
                "it is now --transmit-gain, of the transmitter, or --receive-gain, of the receiver",
            ),
            (("levels", "--radio", "type=vusrp", "--antenna", "RX9"), "valid: RX2 or TX/RX"),
        ):
            done = openwip("radio", *arguments)
            self.assertEqual(
                (done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr
            )
            self.assertIn(says, done.stderr)

    def test_the_program_behind_it_has_the_same_two_gains_and_no_other(self):
        program = pathlib.Path(os.environ["OPENWIP_BUILD"], "host/radio/wip_radio")
        for command, sides in (
            ("probe", ()),
            ("levels", ("transmit", "receive")),
            ("spectrum", ("receive",)),
            ("loop", ("transmit", "receive")),
        ):
            output = subprocess.run(
                [program, command, "--help"], capture_output=True, text=True, timeout=20
            ).stdout
            self.assertEqual(
                sorted(re.findall(r"--\S*gain\S*", output)),
                sorted(f"--{side}-gain" for side in sides),
                command,
            )
            for gain in (("--gain", "10"), ("--gain=10",)):
                done = subprocess.run(
                    [program, command, "--args", "type=vusrp", *gain],
                    capture_output=True,
                    text=True,
                    timeout=20,
                )
                self.assertEqual(
                    (done.returncode, done.stdout, done.stderr),
                    (
                        2,
                        "",
                        (
                            "radio: --gain is not an option; it is now --transmit-gain, of the"
                            " transmitter, or --receive-gain, of the receiver\n"
                        ),
                    ),
                )


if __name__ == "__main__":
    unittest.main()
