# SPDX-License-Identifier: GPL-3.0-or-later
"""The scalars of a configuration mean what the programs in C++ make of them: the same table holds
test_yaml_scalars.cpp."""

import pathlib
import tempfile
import unittest

import yaml

from openwip_cli import core_schema
from openwip_cli.errors import BadInput
from openwip_cli.settings import scenario, table
from openwip_cli.settings.kinds import ON_OFF, Integer, Real
from openwip_cli.text import NotYaml, of_yaml, to_yaml

TABLE = pathlib.Path(__file__).resolve().parents[2] / "vectors/yaml_scalars.tsv"
ROWS = [
    line.split("\t")
    for line in TABLE.read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
KINDS = (Integer(-1000, 100000), Real(-1e6, 1e6), ON_OFF)


def meaning(text):
    """The meaning of a scalar, in the form of the table."""
    try:
        value = of_yaml(f"a: {text}")["a"]
    except NotYaml:
        return "refused"
    return (
        "null"
        if value is None
        else (
            "boolean" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"
        )
    )


def taken(kind, value):
    """The value that a kind reads, in the form of the table."""
    try:
        found = kind.read(value)
    except (ValueError, TypeError, OverflowError):
        return "-"
    return found if isinstance(found, str) else f"{found:.10g}"


class Table(unittest.TestCase):
    def test_a_scalar_without_quotes_means_what_the_table_says(self):
        self.assertGreater(len(ROWS), 80)
        for text, expected, *_ in ROWS:
            with self.subTest(text):
                self.assertEqual(meaning(text), expected)

    def test_a_setting_takes_what_the_table_says_with_quotes_and_without_them_and_as_an_option(
        self,
    ):
        for text, means, *expected in ROWS:
            with self.subTest(text):
                self.assertEqual([taken(k, text) for k in KINDS], expected)
                self.assertEqual([taken(k, of_yaml(f"a: '{text}'")["a"]) for k in KINDS], expected)
                if means != "refused":
                    self.assertEqual(
                        [taken(k, of_yaml(f"a: {text}")["a"]) for k in KINDS], expected
                    )

    def test_what_is_written_is_read_back_as_the_same_text_by_this_and_by_older_readers(self):
        for text, *_ in ROWS:
            with self.subTest(text):
                self.assertEqual(
                    of_yaml(to_yaml({"a": text, text or "b": [text]})),
                    {"a": text, text or "b": [text]},
                )
                self.assertEqual(yaml.safe_load(to_yaml({"a": text})), {"a": text})


class Files(unittest.TestCase):
    def refused(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write(text)
            f.flush()
            with self.assertRaises(BadInput) as raised:
                scenario.read_file(f.name, table.settings_of("emulate"))
            return str(raised.exception).replace(f.name, "FILE")

    def test_a_refusal_says_key_line_and_value_and_what_to_write(self):
        for text, why in (
            (
                "link: {bins: 3}\nseed: 010\n",
                (
                    "seed = 010: it begins with 0, which means octal in YAML 1.1 and nothing in"
                    " YAML 1.2; valid: 10, or '010' in quotes for a text (line 2)"
                ),
            ),
            (
                "channel:\n  snr_db: 1_0\n",
                (
                    "channel.snr_db = 1_0: it is a number in YAML 1.1 and a text in YAML 1.2;"
                    " valid: 10, or '1_0' in quotes for a text (line 2)"
                ),
            ),
            (
                "seed: 0x1F",
                (
                    "seed = 0x1F: it is a number that is not decimal; valid: a decimal number, or"
                    " '0x1F' in quotes for a text (line 1)"
                ),
            ),
            (
                "seed: 1:30",
                (
                    "seed = 1:30: it is a number of base 60 in YAML 1.1 and a text in YAML 1.2;"
                    " valid: a decimal number, or '1:30' in quotes for a text (line 1)"
                ),
            ),
        ):
            with self.subTest(text):
                self.assertEqual(self.refused(text), f"scenario file FILE has {why}")
        self.assertEqual(
            self.refused("channel: {snr_db: .inf}"),
            "scenario file FILE: channel.snr_db is '.inf'; valid: "
            + scenario_kind("channel.snr_db").valid,
        )
        self.assertEqual(
            self.refused("seed: '010'"),
            "scenario file FILE: seed is '010'; valid: " + scenario_kind("seed").valid,
        )
        self.assertIn(
            "has the tag tag:yaml.org,2002:int; valid: no tag (line 1)",
            self.refused("seed: !!int 3"),
        )
        self.assertIn("has 010: it begins with 0", self.refused("010: 3"))
        self.assertIn("has an empty key; valid: a name (line 2)", self.refused("seed: 1\n~: 3"))
        self.assertIn("has seed twice; valid: once (line 2)", self.refused("seed: 1\n'seed': 3"))
        self.assertIn("is not YAML", self.refused("seed: 1\n---\nseed: 2"))

    def test_keys_are_texts_as_they_stand_there(self):
        self.assertEqual(
            of_yaml("{1: a, on: b, 1.50: c, true: d, 2024-01-02: e}"),
            {"1": "a", "on": "b", "1.50": "c", "true": "d", "2024-01-02": "e"},
        )

    def test_of_a_long_value_the_middle_is_left_out_and_never_what_is_valid(self):
        for text, value in (
            (f"seed: {'x' * 900}", "x" * 40),
            (f"seed: '{'7' * 900}'", "7" * 40),
            (f"{'k' * 900}: 010", "k" * 40),
        ):
            reported = self.refused(text)
            self.assertLess(len(reported), 700)
            self.assertIn(value, reported)
            self.assertIn("...", reported)
            self.assertIn("; valid: ", reported)
        self.assertLess(len(str(BadInput("x" * 99999 + "; valid: 3"))), 2100)
        self.assertTrue(str(BadInput("x" * 99999 + "; valid: 3")).endswith("; valid: 3"))


def scenario_kind(key):
    return next(s.kind for s in table.settings_of("emulate") if s.key == key)


class Resolver(unittest.TestCase):
    def test_every_scalar_that_is_refused_is_so_everywhere_in_a_document(self):
        for where in (
            "{}",
            "[{}]",
            "a: {}",
            "a: [1, {}]",
            "a: {{b: {}}}",
            "a: &x {}\nb: *x",
            "{}: 1",
            "a: {{{}: 1}}",
        ):
            for text, means, *_ in ROWS:
                if means == "refused" and ":" not in text:
                    with self.subTest(where=where, text=text), self.assertRaises(NotYaml):
                        of_yaml(where.format(text))
        self.assertEqual(core_schema.value("1e3"), 1000)


if __name__ == "__main__":
    unittest.main()
