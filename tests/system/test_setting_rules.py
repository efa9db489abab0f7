# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules between settings stand once, in the table: what a command refuses by one, the process
refuses as well, in the same words, and both take what the rule calls valid.

A rule (openwip_cli/settings/rules.py): if the setting `of` has one of the values `is_`, or none of
`is_not`, then the setting `needs` has to have one of the values `to_be`, or none of `not_to_be`."""

import contextlib
import os
import pathlib
import subprocess
import sys
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "host" / "cli"))

from openwip_cli.errors import BadInput
from openwip_cli.settings import rules, table
from openwip_cli.settings.scenario import text_of

BUILD = pathlib.Path(os.environ.get("OPENWIP_BUILD", TOP / "build"))
PROGRAMS = {"emulator": "host/emulator/wip_emulator", "macd": "host/macd/macd"}
COMMANDS = {"emulator": "emulate", "macd": "demo"}
# The settings that a process needs besides the two of a rule.
BESIDE = {"macd": ["link.retransmission_delay_ms=32"], "emulator": []}


def another(key, program, values):
    """A valid text for the setting that is not among `values`."""
    view = table.views(program)
    kind = table.kind_of(key, view)
    candidates = [
        *table.column(key, "choices", view),
        "on",
        "off",
        "built_in",
        "library:/nowhere.so",
        "",
        "1,1",
        *map(str, (0, 1, 2, 3, 8, 9, 20, 500)),
    ]
    for text in candidates:
        try:
            kind.read(text or [])  # an empty text is what a list reads as []
        except (ValueError, TypeError):
            continue
        if text not in values:
            return text
    raise AssertionError(f"{key} has no other value than {values}")


def broken(rule, program):
    """Texts of both settings that break the rule."""
    of_text = rule.is_[0] if rule.is_ else another(rule.of, program, rule.is_not)
    needs_text = rule.not_to_be[0] if rule.not_to_be else another(rule.needs, program, rule.to_be)
    return of_text, needs_text


class SettingRules(unittest.TestCase):
    def check(self, program, values):
        done = subprocess.run(
            [
                BUILD / PROGRAMS[program],
                "--check",
                *(f"--set={key}={text}" for key, text in values.items()),
                *(f"--set={assignment}" for assignment in BESIDE[program]),
                *(["--set=role=base"] if program == "macd" and "role" not in values else []),
            ],
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stderr

    def test_a_process_refuses_by_each_of_its_rules(self):
        for program in PROGRAMS:
            found = rules.rules_of(program)
            self.assertGreaterEqual(len(found), 5)
            for rule in found:
                of, needs = broken(rule, program)
                with self.subTest(program=program, of=rule.of, needs=rule.needs):
                    self.assertTrue(rule.is_broken(of, needs))
                    code, reported = self.check(program, {rule.of: of, rule.needs: needs})
                    self.assertEqual(code, 2, reported)
                    beside = f"with {rule.needs} = {needs}" if needs else f"without {rule.needs}"
                    # Once as it is written out here, and once as the rule makes the same sentence.
                    self.assertIn(f"{rule.of} is {of}: {beside}, {rule.why};", reported)
                    refusal = rule.refusal(of, needs, lambda key: key, " = ")
                    self.assertIn(f"--set: {rule.of} is {of}: {refusal}\n", reported)

    def test_process_and_command_refuse_the_same_sums_in_the_same_words(self):
        (one,) = rules.sums_of("macd")
        self.assertEqual(rules.sums_of("demo"), [one])
        for ms, lead, fader in (
            (8, 10, 0),
            (8.65, 10, 0),
            (8.66, 10, 0),
            (8, 9, 0),
            (2, 0, 3),
            (4, 0, 3),
            (32, 40, 6),
            (32, 39, 6),
        ):
            values = {one.of: ms, **dict(zip(one.at_least, (lead, fader)))}
            with self.subTest(values):
                refusal = one.refusal(ms, values, lambda key: key)
                with contextlib.suppress(BadInput):
                    rules.check_sums("demo", values)
                    self.assertEqual(refusal, "")
                beside = [f"--set={key}={v}" for key, v in values.items()]
                done = subprocess.run(
                    [BUILD / PROGRAMS["macd"], "--check", "--set=role=base", *beside],
                    capture_output=True,
                    text=True,
                )
                self.assertEqual(done.returncode, 2 if refusal else 0, done.stderr)
                if refusal:
                    self.assertIn(f"--set: {one.of} is {ms:g}: {refusal}\n", done.stderr)

    def test_the_command_refuses_by_the_same_rules(self):
        for program, command in COMMANDS.items():
            has = {rule.of: rule for rule in rules.rules_of(command)}
            self.assertGreater(len(has), 10)
            for rule in rules.rules_of(program):
                if rule.of not in has or rule.needs not in table.keys_of(command):
                    continue
                of, needs = broken(rule, program)
                with self.subTest(command=command, of=rule.of, needs=rule.needs):
                    both = [(table.setting(rule.of, command), of)]
                    both += [(table.setting(rule.needs, command), needs)]
                    values = {s.key: s.kind.read(text) if text else s.default for s, text in both}
                    with self.assertRaises(BadInput) as refused:
                        rules.check(command, values, text_of)
                    self.assertIn(rule.why, str(refused.exception))

    def test_defaults_break_no_rule(self):
        for program in PROGRAMS:
            self.assertEqual(self.check(program, {}), (0, ""))
        for command in table.CELLS:
            values = {s.key: s.default for s in table.settings_of(command)}
            rules.check(command, values, text_of)


if __name__ == "__main__":
    unittest.main()
