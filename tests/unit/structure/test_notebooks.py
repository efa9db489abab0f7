# SPDX-License-Identifier: GPL-3.0-or-later
"""The notebooks of the documentation are kept as they were executed, and the comparison of two
executions (tests/system/test_notebooks.py) finds what it has to find."""

import pathlib
import sys
import unittest

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "tests/support"))
import notebooks


class Kept(unittest.TestCase):
    def test_each_was_executed_from_top_to_bottom_without_an_error(self):
        self.assertEqual(len(notebooks.paths()), 3)
        for path in notebooks.paths():
            cells = [c for c in notebooks.read(path)["cells"] if c["cell_type"] == "code"]
            counts = [c["execution_count"] for c in cells]
            self.assertEqual(counts, list(range(1, len(cells) + 1)), path.name)
            kinds = {output["output_type"] for c in cells for output in c["outputs"]}
            self.assertNotIn("error", kinds, path.name)
            self.assertFalse(
                [o for c in cells for o in c["outputs"] if o.get("name") == "stderr"], path.name
            )
            self.assertGreaterEqual(sum(notebooks.pictures(c) for c in cells), 1, path.name)
            self.assertGreaterEqual(sum(bool(notebooks.printed(c)) for c in cells), 2, path.name)

    def test_each_uses_the_package_alone(self):
        for path in notebooks.paths():
            code = "\n".join(notebooks.code(path))
            compile(code, path.name, "exec")
            self.assertIn("import openwip\n", code)
            for inside in ("openwip_cli", "h5py", "subprocess", "json"):
                self.assertNotIn(inside, code, path.name)

    def test_none_names_a_folder_of_the_computer_that_executed_it(self):
        for path in notebooks.paths():
            cells = [c for c in notebooks.read(path)["cells"] if c["cell_type"] == "code"]
            texts = [*notebooks.code(path), *map(notebooks.printed, cells)]
            for folder in ("/tmp", "/home", "/root", "/work"):
                self.assertNotIn(folder, "\n".join(texts), path.name)


class Comparison(unittest.TestCase):
    def test_pieces_of_what_was_printed_are_one(self):
        a, b, error = (
            {"output_type": "stream", "name": name, "text": text}
            for name, text in (("stdout", ["1\n"]), ("stdout", "2\n"), ("stderr", "3\n"))
        )
        picture = {"output_type": "display_data", "data": {"image/png": ""}}
        found = notebooks.joined([dict(a), dict(b), picture, dict(b), error])
        self.assertEqual([o.get("text") for o in found], ["1\n2\n", None, "2\n", "3\n"])

    def test_the_same_is_the_same(self):
        text = "kalman  4.21 ± 0.32\n17 frames, 9.0% failed"
        self.assertEqual(notebooks.difference(text, text), "")

    def test_another_processor_may_change_the_last_digits(self):
        self.assertEqual(notebooks.difference("NMSE 0.0041", "NMSE 0.0043"), "")
        self.assertEqual(notebooks.difference("goodput 4.35", "goodput 4.21"), "")
        self.assertEqual(notebooks.difference("a   0.5", "a 0.6"), "")

    def test_another_figure_is_found(self):
        self.assertIn("says 5.21", notebooks.difference("goodput 5.21", "goodput 4.21"))
        self.assertIn("says 0.0141", notebooks.difference("NMSE 0.0141", "NMSE 0.0041"))
        self.assertIn("says -3", notebooks.difference("d -3", "d 3"))

    def test_other_words_are_found(self):
        self.assertIn("and not", notebooks.difference("1.2 (not sure)", "1.2 (sure)"))
        self.assertIn("and not", notebooks.difference("a 1", "a 1 b 2"))


if __name__ == "__main__":
    unittest.main()
