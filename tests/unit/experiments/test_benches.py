# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests/bench keeps and judges: runs that were made with something else are not used, and what was not measured agrees with nothing."""
import contextlib
import importlib.util
import io
import json
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

from openwip_cli.errors import BadInput

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
MADE = {"seconds": 10, "sender": "cubic", "version": "a"}


def bench(name):
    spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


five, other = bench("five_fidelities"), bench("other_processors")


def code_of(module, *arguments):
    """Exit code of its command, and its last line."""
    said = io.StringIO()
    with unittest.mock.patch.object(sys, "argv", [module.__name__, *arguments]), contextlib.redirect_stderr(said):
        try:
            code = module.main()
        except SystemExit as e:
            code = e.code
    return code, said.getvalue().strip().splitlines()[-1]


class Fidelities(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)

    def kept(self, **values):
        kept = five.Kept(self.out / "none.json", MADE)
        kept.runs = {f"P|{name}|{seed}": float(v) for name, all_ in values.items() for seed, v in all_.items()}
        return kept

    def test_runs_made_with_something_else_are_refused(self):
        file = self.out / "runs.json"
        file.write_text(json.dumps(MADE | {"runs": {"P|ns3|1": 2.0}}))
        self.assertEqual(five.Kept(file, MADE).values("P", "ns3"), {1: 2.0})
        for name, value in (("seconds", 5), ("sender", "reno"), ("version", "b")):
            with self.assertRaisesRegex(BadInput, f"{name} .*another OUT"):
                five.Kept(file, MADE | {name: value})
        file.write_text(json.dumps({"P|ns3|1": 2.0}))      # of before it had that
        with self.assertRaisesRegex(BadInput, "another OUT"):
            five.Kept(file, MADE)

    def test_the_looser_rule_is_for_real_time_only(self):
        wide, near = {1: 1.0, 2: 1.0, **{seed: 2.0 for seed in range(3, 9)}}, {1: 0.98, 2: 0.985}
        self.assertTrue(self.kept(real=near, virtual=wide).agree("P", "real", "virtual"))      # within 3 % of seeds 1 and 2
        self.assertFalse(self.kept(ns3=near, virtual=wide).agree("P", "ns3", "virtual"))

    def test_a_file_in_real_time_is_one_transfer_until_its_last_byte(self):
        name, values = next(p for p in five.POINTS if p[0] == "C1")
        report = {"verdict": {"valid": True, "reasons": []}, "workload": {"flows": {"100": {"last_byte_s": 0.5, "goodput_bps": 1}}}}
        with unittest.mock.patch.object(five.emulate, "run", return_value=report) as run, \
                unittest.mock.patch.object(five.workloads, "make", side_effect=lambda work: work):
            self.assertAlmostEqual(five.FIDELITIES["real"](five.Point(name, values, 1), 1, None), 1.6)
        work = run.call_args.args[1]
        self.assertEqual((work["kind"], work["flows"], work["congestion_control"]), ("flows", [{"kb": 100, "times": 1}], "cubic"))
        report["verdict"] = {"valid": False, "reasons": ["pacing"]}
        with unittest.mock.patch.object(five.emulate, "run", return_value=report), self.assertRaisesRegex(RuntimeError, "pacing"):
            five.FIDELITIES["real"](five.Point(name, values, 1), 1, None)

    def test_what_was_not_measured_agrees_with_nothing(self):
        six = {seed: 1 + seed / 10 for seed in range(1, 7)}
        self.assertIsNone(self.kept(ns3={1: 1.0}, virtual=six).agree("P", "ns3", "virtual"))
        self.assertIsNone(self.kept(virtual=six).agree("P", "real", "virtual"))
        self.assertIsNone(self.kept(real={8: 1.0, 9: 1.0}, virtual=six).agree("P", "real", "virtual"))     # no seed of theirs

    def test_bad_words_are_one_line(self):
        for words in (["--fidelities", "ns4"], ["--points", "Z9"], ["--seeds", "0"]):
            code, said = code_of(five, str(self.out), *words)
            self.assertEqual(code, 2)
            self.assertIn(words[0], said)


class Processors(unittest.TestCase):
    def test_no_machine_is_a_folder_of_results(self):
        with tempfile.TemporaryDirectory() as folder:
            result = pathlib.Path(folder, "here.json")
            result.touch()
            for machines in ("", "tcg:max,", ",kvm:host", "xen:max", "tcg:", "tcg:../..", "here"):
                code, said = code_of(other, folder, "--machines", machines)
                self.assertEqual(code, 2)
                self.assertIn("--machines has", said)
            self.assertTrue(result.exists())
        self.assertTrue(other.MACHINE.fullmatch("tcg:max,-avx512f,vendor=GenuineIntel"))

    def test_runs_of_other_seconds_programs_and_options_are_made_again(self):
        asked = {"seconds": 60.0, "programs": {"a": "1"}}
        runs = {"cubic": {"sha256": "x", "options": other.RUNS["cubic"]}, "ns3": {"sha256": "y", "options": ["--time", "virtual"]},
                "umts": {"failed": "so", "options": other.RUNS["umts"]}}
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "here.json")
            self.assertEqual(other.kept_runs(file, asked), {})
            file.write_text(json.dumps(asked | {"runs": runs}))
            self.assertEqual(list(other.kept_runs(file, asked)), ["cubic"])
            self.assertEqual(other.kept_runs(file, asked | {"seconds": 5.0}), {})
            self.assertEqual(other.kept_runs(file, asked | {"programs": {"a": "2"}}), {})


if __name__ == "__main__":
    unittest.main()
