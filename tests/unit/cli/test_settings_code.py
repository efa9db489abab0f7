# SPDX-License-Identifier: GPL-3.0-or-later
"""The C++ that the build makes of the table of settings: what its columns become in the rows and in
the structs, and that a table which is none ends the build."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[3]
TABLE = (TOP / "mac/schema/settings.yaml").read_text()
EAGERNESS = """  link.eagerness: {in: [macd, emulator, demo, emulate], type: integer, range: 2..9, default: 4,
    unit: tries, flag: --eagerness, live: base, monitor: {Downlink: Eagerness}, emulator: {default: 6},
    help: how eager the link is}
"""


def made(table: str) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "t.yaml")
        file.write_text(table)
        done = subprocess.run(
            [sys.executable, "-I", "-B", TOP / "host/cli/settings_code.py", file, folder],
            capture_output=True,
            text=True,
        )
        files = {p.name: p.read_text() for p in pathlib.Path(folder, "settings").glob("*")}
        return done, files


def row(files: dict[str, str], process: str, key: str) -> str:
    rows = files["rows.cpp"].partition(f"{process}_rows[]")[2].partition("};\n")[0]
    return next((line for line in rows.splitlines() if f'.path = "{key}"' in line), "")


class SettingsCode(unittest.TestCase):
    def test_a_setting_that_nobody_has_heard_of_needs_one_entry(self):
        done, files = made(TABLE.replace("  link.packing:", f"{EAGERNESS}  link.packing:"))
        self.assertEqual(done.returncode, 0, done.stderr)
        for process, default in (("macd", 4), ("emulator", 6)):
            text = row(files, process, "link.eagerness")
            for column in (
                ".type = kind::integer",
                f'.fallback = "{default}"',
                '.unit = "tries"',
                '.live = "base"',
                ".lowest = 2.0, .highest = 9.0",
                ".whole = true",
            ):
                self.assertIn(column, text)
        self.assertEqual(row(files, "tcpl", "link.eagerness"), "")
        self.assertIn("    int eagerness{4};\n", files["configuration.h"])
        self.assertIn('const char* link_eagerness = "link.eagerness";', files["configuration.h"])
        self.assertIn(
            '{"Downlink", "Eagerness", "base", "link.eagerness", control_row::kind::whole, {}, 2.0,'
            ' 9.0, "tries", "How eager the link is"},',
            files["rows.cpp"],
        )

    def test_a_column_of_a_program_goes_over_the_general_one_and_like_lends_the_rest(self):
        done, files = made(
            "reasons: {}\nimpairments: {}\nsettings:\n"
            "  a.b: {in: [macd, tcpl], type: real, range: 0..1, default: 0.5, unit: s, help: x,"
            " tcpl: {range: 0..2, default: 2}}\n  c: {in: [macd], like: a.b, default: 1, help: y}\n"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(".lowest = 0.0, .highest = 1.0", row(files, "macd", "a.b"))
        self.assertIn(".lowest = 0.0, .highest = 2.0", row(files, "tcpl", "a.b"))
        self.assertIn('.fallback = "2"', row(files, "tcpl", "a.b"))
        self.assertIn('.fallback = "1", .doc = "y", .unit = "s"', row(files, "macd", "c"))
        self.assertIn("    double c{1};\n", files["configuration.h"])

    def test_two_processes_have_one_struct_of_what_both_have(self):
        _, files = made(TABLE)
        header = files["configuration.h"]
        self.assertIn("struct macd_link_settings : link_settings {", header)
        self.assertIn("struct emulator_link_settings : link_settings {", header)
        shared = header.partition("struct link_settings {")[2].partition("\n};")[0]
        self.assertIn("    int bins{10};\n", shared)
        self.assertNotIn("transmit_lead_slots", shared)

    def test_what_is_the_same_is_not_written_again(self):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-I", "-B", TOP / "host/cli/settings_code.py"]
            command += [TOP / "mac/schema/settings.yaml", folder]
            subprocess.run(command, check=True)
            before = {p: p.stat().st_mtime_ns for p in pathlib.Path(folder, "settings").iterdir()}
            subprocess.run(command, check=True)
            self.assertEqual({p: p.stat().st_mtime_ns for p in before}, before)
            self.assertEqual(len(before), 3)

    def test_a_table_that_is_none_is_refused(self):
        for entries, why in (
            ("  a: {in: [macd], sort: real}\n", "t.yaml: a: column is sort; valid: attributes, "),
            ("  a: {in: [mcad]}\n", "t.yaml: a: program is mcad; valid: demo, "),
            ("  a: {in: [macd]}\n  a: {in: [macd]}\n", "t.yaml:3 has settings.a twice"),
            ("  a: {in: [macd], like: b}\n", "t.yaml: a: like is b; valid: a setting"),
            ("  a: {in: [macd], type: real, range: 3..2}\n", "a: range is 3..2; valid: LOW..HIGH"),
            ("  a: {in: [macd], type: text, check: taste}\n", "a: check is taste; valid: "),
            ("  a: {in: [macd], tcpl: {type: int}}\n", "a: tcpl: type is int; valid: boolean, "),
            ("  a: {in: [macd]", "t.yaml:3 is not YAML"),
            (
                "  a: {in: [macd]}\nrules:\n  - {of: [b], needs: a, to_be: [1], why: x}\n",
                "rule 1: b is no setting of the table; valid: one of its keys",
            ),
            (
                "  a: {in: [macd]}\nrules:\n  - {of: [a], needs: a, why: x}\n",
                "rule 1: to_be and not_to_be are both given or both missing; valid: one of the two",
            ),
            (
                "  a: {in: [macd]}\nsums:\n  - {of: a, at_least: [b], plus: 3, why: x}\n",
                "sum 1: setting is b; valid: a",
            ),
            (
                "  a: {in: [macd]}\nsums:\n  - {of: a, at_least: [a], plus: x, why: x}\n",
                "sum 1: plus is 'x'; valid: a whole number of slots",
            ),
            (
                "  a: {in: [macd]}\nsums:\n  - {of: a, at_least: [a]}\n",
                "sum 1: has of, at_least; valid: at_least, of, plus, why",
            ),
        ):
            done, files = made("settings:\n" + entries)
            self.assertEqual((done.returncode, files), (2, {}), entries)
            self.assertIn(why, done.stderr)
            self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
