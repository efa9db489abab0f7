# SPDX-License-Identifier: GPL-3.0-or-later
"""The command lines that the documentation shows are ones that ./openwip takes: every option, value
and argument of every page is held against the table of command lines. And no block of commands of
the tutorial and the how-to pages is forgotten by the test that runs them (tests/system)."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "tests/support"))
import documented

REFUSED = 2  # exit code
PLACEHOLDERS = {  # words that stand for the reader's own, with a valid one of the kind
    "HZ": "1.8e9",
    "L": "8",
    "D": "10",
    "N": "10240",
    "A..B": "10..20",
    "X": "1",
    "DBM": "-10",
}


def refusal(words, is_there=True):
    """The message of ./openwip about a command line before it does anything; empty: it is valid.
    `is_there`: the files and folders that it names are."""
    words = [PLACEHOLDERS.get(word, word) for word in words]
    with tempfile.TemporaryDirectory() as folder:
        if is_there:
            documented.make_what_it_names(words, pathlib.Path(folder))
        done = subprocess.run(
            [
                "awk",
                "-f",
                TOP / "host/cli/command_line.awk",
                "--",
                TOP / "host/cli/command_lines.txt",
                *words,
            ],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
        )
    return done.stderr.strip() if done.returncode == REFUSED else ""


@unittest.skipUnless(shutil.which("awk"), "no awk")
class DocumentedCommands(unittest.TestCase):
    def test_every_command_line_is_one_that_is_taken(self):
        wrong, seen = [], set()
        for page in [TOP / "README.md", *documented.pages("docs")]:
            for block in documented.blocks(page):
                if not block.is_commands or block.not_run == "not in this tree":
                    continue
                for words in documented.command_lines(block):
                    if "..." in words or tuple(words) in seen or any("$" in w for w in words):
                        continue
                    seen.add(tuple(words))
                    if reported := refusal(words):
                        wrong.append(f"{block.place}: ./openwip {' '.join(words)}: {reported}")
        self.assertGreater(len(seen), 100)
        self.assertEqual([], wrong, "\n".join(wrong))

    def test_a_mistyped_option_would_be_found(self):
        self.assertIn("--bin", refusal(["demo", "--bin", "5"]))
        self.assertEqual("", refusal(["demo", "--bins", "5"]))

    def test_a_file_that_is_missing_would_be_found(self):
        for words in (
            ["report", "run.h5"],
            ["demo", "--config=a.yaml"],
            ["ratings", "export", "x"],
        ):
            self.assertEqual("", refusal(words))
            self.assertIn(words[-1].rpartition("=")[2], refusal(words, is_there=False))

    def test_blocks_are_told_apart(self):
        page = TOP / "docs/tutorial/tcp.md"
        found = documented.blocks(page)
        self.assertEqual([b.save_as for b in found if b.save_as], ["plot.py"])
        self.assertGreaterEqual(sum(b.is_commands for b in found), 3)
        self.assertTrue(any(not b.is_commands and not b.language for b in found), "output")
        install = documented.blocks(TOP / "docs/tutorial/install.md")
        self.assertEqual([b.not_run for b in install if b.not_run], ["it clones"])


if __name__ == "__main__":
    unittest.main()
