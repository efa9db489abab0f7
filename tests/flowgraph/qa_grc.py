# SPDX-License-Identifier: GPL-3.0-or-later
"""flowgraphs/grc: grcc compiles every graph with the blocks of this tree, and the program that
comes out runs to its end without a display and shows what it is there to show."""

import ast
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

TOP = pathlib.Path(__file__).resolve().parents[2]
GRAPHS = TOP / "flowgraphs" / "grc"


class Blocks(unittest.TestCase):
    def test_every_block_has_ports_and_defaults_and_refuses_what_is_out_of_range(self):
        blocks = sorted((TOP / "blocks" / "grc").glob("*.block.yml"))
        self.assertGreater(len(blocks), 10)
        for path in blocks:
            with self.subTest(path.name):
                block = yaml.safe_load(path.read_text())
                self.assertTrue(block["category"].startswith("[OpenWIP]/"))
                self.assertTrue(block.get("inputs") or block.get("outputs"))
                for parameter in block.get("parameters", []):
                    self.assertIn("default", parameter)
                    free = parameter["dtype"] == "string" or "options" in parameter
                    self.assertTrue(
                        free or any(parameter["id"] in a for a in block["asserts"]), parameter["id"]
                    )


class Graphs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.environment = {
            **os.environ,
            "GRC_BLOCKS_PATH": str(TOP / "blocks" / "grc"),
            "HOME": str(cls.folder),
            "XDG_RUNTIME_DIR": str(cls.folder),
            "QT_QPA_PLATFORM": "offscreen",
        }
        cls.environment.pop("DISPLAY", None)

    def output_of(self, graph, *arguments, change=lambda program: program):
        compiled = subprocess.run(
            ["grcc", "-o", self.folder, GRAPHS / f"{graph}.grc"],
            capture_output=True,
            text=True,
            env=self.environment,
            timeout=100,
        )
        output = compiled.stdout + compiled.stderr
        self.assertEqual(compiled.returncode, 0, output)
        program = self.folder / f"{graph}.py"
        self.assertTrue(program.exists(), output)
        program.write_text(change(program.read_text()))
        ran = subprocess.run(
            [sys.executable, "-u", program, *arguments],
            capture_output=True,
            text=True,
            env=self.environment,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran.stdout + ran.stderr

    def test_every_graph_is_run_here(self):
        self.assertEqual(
            {p.stem for p in GRAPHS.glob("*.grc")},
            {"loopback", "fading", "prediction", "arq", "spectrum", "cabled"},
        )

    def test_every_graph_says_what_to_look_at_and_what_to_try(self):
        for path in GRAPHS.glob("*.grc"):
            notes = [b for b in yaml.safe_load(path.read_text())["blocks"] if b["id"] == "note"]
            text = " ".join(n["parameters"]["comment"] for n in notes)
            self.assertIn("Look:", text, path)
            self.assertIn("Try:", text, path)

    def test_loopback_receives_frames(self):
        shown = self.output_of("loopback")
        messages = re.findall(r"\(outcome \. #\[([0-9 ]*)\]", shown)
        self.assertEqual(len(messages), 4, shown[-2000:])  # 700 slots, every 150th
        self.assertEqual(
            messages[1:], [" ".join("1" * 25)] * 3, "frames of the later slots are all good"
        )

    def test_fading_keeps_its_lock_and_loses_the_frames_of_faded_bins(self):
        shown = self.output_of("fading", "--nof-slots", "900")
        status = ast.literal_eval(re.search(r"received (\{.*\})", shown).group(1))
        self.assertEqual((status["locks"], status["lock_losses"]), (1, 0))
        self.assertGreater(status["grants_ok"], 850)
        self.assertGreater(status["frames_good"], 2 * status["frames_bad"])
        self.assertGreater(status["frames_bad"], 0)

    def test_cabled_receives_what_the_channel_before_the_usrp_has_faded(self):
        shown = self.output_of("cabled", "--nof-slots", "900")
        status = ast.literal_eval(re.search(r"received (\{.*\})", shown).group(1))
        self.assertEqual((status["locks"], status["lock_losses"]), (1, 0))
        self.assertGreater(status["frames_good"], 2 * status["frames_bad"])
        self.assertGreater(status["frames_bad"], 0)

    def test_prediction_beats_the_last_value(self):
        shown = self.output_of("prediction", "--nof-slots", "900")
        nmse, last = map(
            float, re.search(r"NMSE ([0-9.e-]+) last value ([0-9.e-]+)", shown).groups()
        )
        self.assertGreater(nmse, 0)
        self.assertLess(nmse, 0.25 * last)

    def test_combining_brings_frames_that_no_transmission_alone_brings(self):
        shown = self.output_of("arq", "--nof-slots", "900")
        single, combined = (
            ast.literal_eval(text)
            for text in re.search(r"needed (\[.*?\]) combined (\[.*?\])", shown).groups()
        )
        self.assertEqual(len(single), 5)  # 1 .. 4 transmissions, none
        self.assertEqual(sum(single), sum(combined))  # the same frames
        self.assertGreater(sum(single), 900 / 4 * 25 * 0.9)
        self.assertEqual(single[0], combined[0])  # nothing to combine with yet
        self.assertGreater(single[-1], 0)
        self.assertLess(combined[-1], 0.8 * single[-1])

    def test_a_transmitter_that_is_late_at_its_start_begins_anew(self):
        """The clock of the device runs before the first samples come: a slot at 0.7 ms is late."""
        now = lambda program: program.replace("start_slot=1500", "start_slot=1")
        shown = self.output_of("cabled", "--nof-slots", "900", change=now)
        self.assertRegex(shown, "'slots_locked': [1-9]")

    def test_spectrum_runs_on_a_software_usrp_until_its_time_is_over(self):
        shown = self.output_of("spectrum", "--seconds", "2")
        self.assertNotIn("errors occurred", shown)  # nothing late, no underflow


if __name__ == "__main__":
    unittest.main()
