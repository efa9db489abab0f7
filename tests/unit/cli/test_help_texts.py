# SPDX-License-Identifier: GPL-3.0-or-later
"""Each line of a help text is read alone: it has words of its own, the unit or the choices of its
value, and names of options where it is about another setting."""

import pathlib
import re
import sys
import unittest

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "host" / "cli"))
from openwip_cli.errors import not_valid
from openwip_cli.settings import table
from openwip_cli.settings.command_line import (
    HELP_WIDTH,
    Parser,
    entry,
    help_of_setting,
    placeholder,
    with_options,
)
from openwip_cli.settings.kinds import (
    Choice,
    ChoiceOrFile,
    Extension,
    Integer,
    NumberOrWord,
    Numbers,
    Optional,
    Real,
    Text,
    TextOrFile,
)

ENTRY = re.compile(r"help\t  (\S.*?)(?: {2,}(\S.*))?$")


def entries():
    """(command, name of an option or argument, what it does) of every line of the table."""
    command, found = "", []
    for line in (TOP / "host" / "cli" / "command_lines.txt").read_text().splitlines():
        if line.startswith("command\t"):
            command = line.split("\t")[1]
        elif line.startswith("help\t   ") and found:
            found[-1][2] += " " + line.split("\t")[1].strip()
        elif match := ENTRY.match(line):
            found.append([command, match[1], match[2] or ""])
    return found


class Placeholders(unittest.TestCase):
    def test_a_value_is_called_by_its_unit_its_choices_or_the_option(self):
        for flag, kind, unit, name in (
            ("--snr", Real(-60, 80), "dB", "DB"),
            ("--poll-window-percent", Integer(0, 100), "%", "PERCENT"),
            ("--pings", Integer(5, 100000), "", "NUMBER"),
            ("--speed-kmh", Optional(Real(0, 500), "30"), "km/h", "KM/H"),
            ("--speed", NumberOrWord(Real(0, 1), ("auto",)), "", "auto|NUMBER"),
            ("--mtu", Numbers(Integer(576, 9000), 5), "bytes", "BYTES,..."),
            ("--packing", Choice("on", "off"), "", "on|off"),
            ("--queue", Choice("drop_tail", "codel", "fq_codel", "pie"), "", "QUEUE"),
            ("--channel", ChoiceOrFile(("awgn", "flat"), (".h5",)), "", "NAME|FILE"),
            ("--trace", TextOrFile(("",)), "", "FILE"),
            ("--scheduler", Extension(), "", "built_in|CODE"),
            ("--networks", Text(), "", "NETWORKS"),
        ):
            with self.subTest(flag):
                self.assertEqual(placeholder(flag, kind, unit), name)

    def test_no_value_of_a_command_is_called_x(self):
        self.assertEqual([e for e in entries() if re.search(r"\bX\b", e[1])], [])


class Texts(unittest.TestCase):
    def test_every_option_and_argument_says_what_it_is(self):
        self.assertEqual([e[:2] for e in entries() if not e[2]], [])

    def test_no_choice_of_a_long_list_is_broken(self):
        choices = [f"choice-{n:02}" for n in range(30)]
        lines = entry("--kind KIND", f"kind of it; {'|'.join(choices)} (default choice-00)")
        self.assertGreater(len(lines), 4)
        for line in lines:
            self.assertLessEqual(len(line), HELP_WIDTH)
            for word in line.split()[-1].strip("()").split("|"):
                self.assertTrue(word in (*choices, ""), line)

    def test_a_setting_that_takes_any_text_does_not_say_so(self):
        self.assertEqual(help_of_setting("a name", Text(), "", "x"), "a name (default x)")
        self.assertEqual(
            help_of_setting("a name", Optional(Text(), "none"), "", ""),
            "a name (none when not given)",
        )
        self.assertEqual(
            help_of_setting("a time", Real(0, 5), "ms", "2"), "a time; 0..5 ms (default 2)"
        )

    def test_a_setting_is_called_by_its_option_where_the_command_has_one(self):
        flags = {"a.b": "--b", "a.b_c": "--c"}
        self.assertEqual(
            with_options("as a.b = on, a.b, a.b_c and a.d = 2; see docs/index.md", flags),
            "as --b on, --b, --c and a.d = 2; see docs/index.md",
        )
        p = Parser("x")
        p.setting(table.setting("wired.delay_ms", "emulate"))
        p.setting(table.setting("wired.uplink_delay_ms", "emulate"))
        self.assertIn("--wired-delay-ms when not given", " ".join(p.format_help().split()))

    def test_no_text_of_a_command_has_a_key_that_is_an_option_of_it(self):
        for command in ("demo", "emulate", "tcp-l"):
            flags = {s.key: s.flag for s in table.settings_of(command) if s.flag}
            for _, name, text in (e for e in entries() if e[0] == command):
                with self.subTest(command, option=name):
                    self.assertEqual(with_options(text, flags), text)


class Errors(unittest.TestCase):
    def test_an_error_of_a_value_may_say_why_it_is_not_valid_here(self):
        self.assertEqual(
            str(not_valid("--a", "b", "c", more=" with --d, which has none")),
            "--a is b with --d, which has none; valid: c",
        )

    def test_a_path_is_shown_as_it_is(self):
        self.assertEqual(
            str(not_valid("--a", pathlib.Path("/b"), "a file")), "--a is /b; valid: a file"
        )


if __name__ == "__main__":
    unittest.main()
