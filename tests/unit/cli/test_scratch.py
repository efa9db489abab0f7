# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders of a while: gone at the end, and those of killed processes with the next one; never one
that is in use or new."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

from openwip_cli.machine import scratch

HOLDS_ONE = """
import sys, time
from openwip_cli.machine import scratch
with scratch.folder() as made:
    (made / "socket").write_text("x")
    print(made, flush=True)
    time.sleep(600)
"""


class Scratch(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)
        for world in (
            mock.patch.dict(os.environ, TMPDIR=place.name),
            mock.patch.object(tempfile, "tempdir", None),
        ):
            world.start()
            self.addCleanup(world.stop)

    def other(self):
        """A process with a folder, which seems to be old."""
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDS_ONE], stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        folder = pathlib.Path(process.stdout.readline().strip())
        self.age(folder)
        return process, folder

    @staticmethod
    def age(folder):
        then = time.time() - 2 * scratch.NEW_S
        os.utime(folder, (then, then))

    def there(self):
        return set(self.place.iterdir())

    def test_it_is_gone_at_the_end(self):
        with self.assertRaises(KeyError), scratch.folder() as made:
            self.assertEqual(self.there(), {made})
            (made / "sub").mkdir()
            raise KeyError
        with scratch.file("a: 1\n") as name:
            self.assertEqual(pathlib.Path(name).read_text(), "a: 1\n")
        self.assertEqual(self.there(), set())

    def test_what_a_killed_process_left_goes_with_the_next(self):
        process, folder = self.other()
        with scratch.folder() as made:
            self.assertEqual(self.there(), {folder, made})  # the folder's process is alive
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertTrue((folder / "socket").exists())
        with scratch.folder() as made:
            self.assertEqual(self.there(), {made})

    def test_what_is_new_or_of_others_stays(self):
        new, other, link = (
            self.place / name
            for name in (f"{scratch.PREFIX}new", "openwip-attenuator-old", f"{scratch.PREFIX}link")
        )
        new.mkdir()
        other.mkdir()
        link.symlink_to(other)
        self.age(other)
        with scratch.folder():
            pass
        self.assertEqual(self.there(), {new, other, link})

    def test_one_at_a_time(self):
        # the folder of a campaign may be a symbolic link
        link = self.place.parent / f"{self.place.name}.link"
        link.symlink_to(self.place)
        self.addCleanup(link.unlink)
        with scratch.locked(link), self.assertRaises(BlockingIOError), scratch.locked(self.place):
            pass
        with (
            scratch.locked(self.place),
            self.assertRaises(BlockingIOError),
            scratch.locked(self.place),
        ):
            pass
        with scratch.locked(self.place):
            pass


if __name__ == "__main__":
    unittest.main()
