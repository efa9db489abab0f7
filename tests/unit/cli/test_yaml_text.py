# SPDX-License-Identifier: GPL-3.0-or-later
"""Configurations as text: the same tree with libyaml and without it, and what cannot be written is said."""
import unittest
import unittest.mock

import yaml

from openwip_cli.errors import BadInput
from openwip_cli.yaml_text import to_yaml

TREE = {"b": [1, 2.5, None, True], "a": {"text": "two words " * 30, "empty": "", "number": "1e3", "yes": "on", "accents": "h\u00e9, \U0001f4e1"}}


class AsText(unittest.TestCase):
    def without_libyaml(self):
        kept = {name: value for name, value in vars(yaml).items() if name != "CSafeDumper"}
        return unittest.mock.patch("openwip_cli.yaml_text.yaml", unittest.mock.Mock(spec=list(kept), **{n: kept[n] for n in ("dump", "SafeDumper")}))

    def test_it_is_read_back_as_the_same_tree(self):
        self.assertEqual(yaml.safe_load(to_yaml(TREE)), TREE)
        self.assertEqual(list(yaml.safe_load(to_yaml(TREE))), ["b", "a"])

    def test_without_libyaml_too(self):
        with self.without_libyaml():
            self.assertEqual(yaml.safe_load(to_yaml(TREE)), TREE)

    def test_what_is_not_utf8_is_said_with_its_key(self):
        for tree, key in (({"channel": {"file": "/tmp/tr\udcff.h5"}}, "channel.file"), ({"ends": ["a", "\udcff"]}, "ends.1")):
            with self.assertRaisesRegex(BadInput, f"{key} is .*udcff.*valid: text in UTF-8"):
                to_yaml(tree)
            with self.without_libyaml(), self.assertRaisesRegex(BadInput, f"{key} is"):
                to_yaml(tree)


if __name__ == "__main__":
    unittest.main()
