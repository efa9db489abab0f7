# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands of the tutorial, the how-to pages and the lab course, run as a reader runs them:
page by page, each block behind the one before, in a folder that looks like the top of the tree;
files that the page says to save are saved. Every command has to end with 0.

A quarter of an hour, with cells in real time: only for `ctest -C documented`, or here by hand.
OPENWIP_DOCUMENTED=first-cell,tcp: these pages alone."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

from demo_support import TOP, built, environment

sys.path.insert(0, str(TOP / "tests/support"))
import documented

LIMIT_S = 900  # seconds that the commands of a page may take
ASKED = [name for name in os.environ.get("OPENWIP_DOCUMENTED", "").split(",") if name]
PAGES = [
    page
    for page in documented.pages("docs/tutorial", "docs/how-to", "docs/lab")
    if not ASKED or page.stem in ASKED
]


def runnable(block):
    return block.is_commands and not block.not_run and not block.prompt


def script(page, folder):
    """A script of all blocks of a page, one behind the other; a file that it says to save is saved
    first."""
    lines = ["set -eu"]
    for block in documented.blocks(page):
        if block.save_as:
            (folder / block.save_as).write_text(block.text)
        elif runnable(block):
            lines += [f"echo '== {block.place}' >&2", block.text]
    return "\n".join(lines), len(lines) > 1


def as_top_of_the_tree(folder):
    """A folder with everything that the top of the tree has, in which commands may write."""
    for entry in TOP.iterdir():
        if entry.name != "build":
            (folder / entry.name).symlink_to(entry)
    (folder / "bin").mkdir()
    sudo = folder / "bin/sudo"  # the test is root already
    sudo.write_text('#!/bin/sh\nexec "$@"\n')
    sudo.chmod(0o755)


@unittest.skipIf(os.geteuid() != 0, "cells need root")
@unittest.skipUnless(built(), "the cell is not built")
class Documented(unittest.TestCase):
    def run_page(self, page):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            folder.chmod(0o755)  # the account of a cell reads code of the user's own in it
            as_top_of_the_tree(folder)
            text, any_ = script(page, folder)
            if not any_:
                return 0
            home = environment() | {"PATH": f"{folder}/bin:{os.environ['PATH']}"}
            try:
                with subprocess.Popen(
                    ["bash", "-c", text],
                    cwd=folder,
                    env=home,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    start_new_session=True,
                ) as process:
                    try:
                        reported, _ = process.communicate(timeout=LIMIT_S)
                    except subprocess.TimeoutExpired:
                        os.killpg(process.pid, signal.SIGKILL)
                        reported, _ = process.communicate()
                        reported += f"\nended after {LIMIT_S} s"
                    finally:
                        self.end(process.pid)
            finally:
                subprocess.run(
                    ["./openwip", "down"], cwd=folder, env=home, capture_output=True, check=False
                )
            self.assertEqual(process.returncode, 0, f"{page.relative_to(TOP)}:\n{reported[-6000:]}")
        return 1

    @staticmethod
    def end(group):
        """Ends the programs that a page has left in the background, such as its server."""
        try:
            os.killpg(group, signal.SIGTERM)
        except ProcessLookupError:
            pass

    def test_every_page(self):
        run = 0
        for page in PAGES:
            with self.subTest(page=page.stem):
                run += self.run_page(page)
        self.assertGreaterEqual(run, 1 if ASKED else 8)


if __name__ == "__main__":
    unittest.main()
