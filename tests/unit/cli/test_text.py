# SPDX-License-Identifier: GPL-3.0-or-later
"""Configurations as text: they have the same tree with libyaml and without it, and values that
cannot be written are reported."""

import unittest
import unittest.mock

import yaml

from openwip_cli.errors import BadInput
from openwip_cli.text import DEEPEST, NotYaml, of_json, of_yaml, to_yaml

TREE = {
    "b": [1, 2.5, None, True],
    "a": {
        "text": "two words " * 30,
        "empty": "",
        "number": "1e3",
        "yes": "on",
        "accents": "h\u00e9, \U0001f4e1",
    },
}


class AsText(unittest.TestCase):
    def without_libyaml(self):
        kept = {name: value for name, value in vars(yaml).items() if name != "CSafeDumper"}
        return unittest.mock.patch(
            "openwip_cli.text.yaml",
            unittest.mock.Mock(spec=list(kept), **{n: kept[n] for n in ("dump", "SafeDumper")}),
        )

    def test_it_is_read_back_as_the_same_tree(self):
        self.assertEqual(yaml.safe_load(to_yaml(TREE)), TREE)
        self.assertEqual(list(yaml.safe_load(to_yaml(TREE))), ["b", "a"])

    def test_without_libyaml_too(self):
        with self.without_libyaml():
            self.assertEqual(yaml.safe_load(to_yaml(TREE)), TREE)

    def test_what_is_read_is_what_is_written_and_a_text_that_is_not_yaml_is_refused_with_its_line(
        self,
    ):
        self.assertEqual(of_yaml(to_yaml(TREE)), TREE)
        for text, why, line in (
            ("a: 1\nb: [", "is not YAML", 3),
            ("a: \0", "is not YAML", None),
            ("a: 1\nb: !!python/object:os.system x", "is not YAML", 2),
        ):
            with self.subTest(text), self.assertRaisesRegex(NotYaml, why) as caught:
                of_yaml(text)
            self.assertEqual(caught.exception.line, line)

    def test_a_key_that_stands_twice_is_said_with_its_place(self):
        for text, key, line in (
            ("a: 1\nb: {a: 2}\na: 1\n", "a", 3),
            ("a:\n  - {b: 1}\n  - c: {d: 1, e: 2,\n    d: 1}\n", "a.c.d", 4),
            ("x: {1: 2, '1': 2}", "x.1", 1),
        ):
            with (
                self.subTest(text),
                self.assertRaisesRegex(NotYaml, f"^has {key} twice; valid: once$") as caught,
            ):
                of_yaml(text)
            self.assertEqual(caught.exception.line, line)
        self.assertEqual(
            of_yaml("a: &a {b: 1}\nc: [*a, *a, {b: 2}]\nd: {<<: *a, b: 3}"),
            {"a": {"b": 1}, "c": [{"b": 1}, {"b": 1}, {"b": 2}], "d": {"b": 3}},
        )
        # The 2**30 values are counted with one visit to each node, or this would not end.
        with self.assertRaisesRegex(NotYaml, "has more than 1000000 values, by its aliases"):
            of_yaml(
                "".join(
                    f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" if i else "a0: &a0 x\n"
                    for i in range(30)
                )
                + "b: &b [*b]"
            )

    def test_a_key_that_is_a_list_or_a_mapping_is_said_with_its_line(self):
        for text, line in (
            ("a: 1\nbins: {{ bins }}\n", 2),
            ("a: 1\n? [1]\n: 2\n", 2),
            ("- {a: 1}\n-\n  ? {b: 1}\n  : c\n", 3),
            ("a: &a [1]\nb: {*a : 1}", 1),
        ):
            with (
                self.subTest(text),
                self.assertRaisesRegex(
                    NotYaml, "^has a list or mapping as a key; valid: a name$"
                ) as caught,
            ):
                of_yaml(text)
            self.assertEqual(caught.exception.line, line)
        self.assertEqual(of_yaml("a: &a b\n*a : 1"), {"a": "b", "b": 1})

    def test_a_text_that_is_nested_too_deeply_is_refused_and_does_not_crash_the_process(self):
        self.assertEqual(
            of_yaml(DEEPEST * "[" + DEEPEST * "]"), of_json(DEEPEST * "[" + DEEPEST * "]")
        )
        for text in (
            300_000 * "[",
            300_000 * "- ",
            300_000 * "? ",
            "".join(f"{i * ' '}a:\n" for i in range(300)),
        ):
            with (
                self.subTest(text[:4]),
                self.assertRaisesRegex(NotYaml, "lists nested more than 100 deep"),
            ):
                of_yaml(text)
        with self.assertRaisesRegex(ValueError, "nested too deeply"):
            of_json(300_000 * "[")

    def test_aliases_that_repeat_more_than_memory_has_or_have_no_end_are_refused_at_once(self):
        laughs = "a0: &a0 [x, x]\n" + "".join(
            f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60)
        )
        for pattern, text in (
            ("has more than 1000000 values, by its aliases", laughs),
            ("an alias inside of the value for which it stands", "a: &a [*a]\n"),
            ("an alias inside of the value for which it stands", "a: &a {b: {c: *a}}\n"),
        ):
            with self.subTest(pattern), self.assertRaisesRegex(NotYaml, pattern):
                of_yaml(text)
        self.assertEqual(of_yaml("a: &a [1]\nb: *a\n"), {"a": [1], "b": [1]})

    def test_what_is_not_utf8_is_said_with_its_key(self):
        for tree, key in (
            ({"channel": {"file": "/tmp/tr\udcff.h5"}}, "channel.file"),
            ({"ends": ["a", "\udcff"]}, "ends.1"),
        ):
            with self.assertRaisesRegex(BadInput, f"{key} is .*udcff.*valid: text in UTF-8"):
                to_yaml(tree)
            with self.without_libyaml(), self.assertRaisesRegex(BadInput, f"{key} is"):
                to_yaml(tree)


if __name__ == "__main__":
    unittest.main()
