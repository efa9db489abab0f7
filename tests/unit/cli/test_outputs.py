# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that a command was asked to write: links, streams, names that cannot be, what somebody else has put there."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from openwip_cli import text
from openwip_cli.errors import BadInput, NotWritten
from openwip_cli.machine import outputs

WRITES = """
import sys
from openwip_cli.machine import outputs
outputs.fresh("--json", sys.argv[1])
print("the screen")
outputs.write_json(sys.argv[1], {"a": 1})
"""
JSON = '{\n  "a": 1\n}\n'


class Outputs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_standard_output_by_its_names_comes_after_the_screen_and_stays_what_it_is(self):
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "-"):
            with self.subTest(name), open(self.folder / "redirected", "w+") as f:
                done = subprocess.run([sys.executable, "-c", WRITES, name], stdout=f, stderr=subprocess.PIPE, text=True)
                f.seek(0)
                self.assertEqual((done.returncode, f.read(), done.stderr), (0, "the screen\n" + JSON, ""))
        self.assertTrue(os.path.islink("/dev/stdout"))
        self.assertEqual(subprocess.run([sys.executable, "-c", WRITES, "/dev/stdout"], capture_output=True, text=True).stdout, "the screen\n" + JSON)

    def test_a_link_stays_one_and_its_file_is_the_new_report(self):
        real, link = self.folder / "real", self.folder / "link"
        real.write_text("a report of before, which is longer than what comes\n")
        link.symlink_to(real)
        outputs.fresh("--json", link)
        self.assertEqual(real.read_text(), "")
        outputs.write_json(link, {"a": 1})
        self.assertTrue(link.is_symlink())
        self.assertEqual(real.read_text(), JSON)

    def test_what_stands_at_the_name_of_the_partial_file_is_not_written_into(self):
        victim, target = self.folder / "victim", self.folder / "report"
        victim.write_text("mine")
        (self.folder / f".report.{os.getpid()}.part").symlink_to(victim)
        with self.assertRaisesRegex(NotWritten, "File exists"):
            outputs.write_json(target, {"a": 1})
        self.assertEqual(victim.read_text(), "mine")

    def test_text_that_cannot_be_encoded_leaves_nothing(self):
        with self.assertRaises(UnicodeEncodeError):
            outputs.write_whole(self.folder / "x", "a\udcff")
        self.assertEqual(list(self.folder.iterdir()), [])
        self.assertEqual(text.shown("a\udcff"), "a\\xff")

    def test_names_that_cannot_be_are_bad_input(self):
        (self.folder / "file").touch()
        for path, why in (("a" * 300, "File name too long"), (self.folder / "file" / "x", "there is no directory"), (self.folder, "it is a directory")):
            with self.subTest(path), self.assertRaisesRegex(BadInput, f"--json .*: cannot be written: {why}"):
                outputs.check("--json", path)
        for path in (self.folder / "file", self.folder / "file" / "x", "a" * 300):
            with self.subTest(path), self.assertRaisesRegex(BadInput, "--logs .*: cannot be written: .*; valid: a folder that is writable"):
                outputs.check_folder("--logs", path)
        outputs.check_folder("--logs", self.folder / "new" / "one")
        self.assertTrue((self.folder / "new" / "one").is_dir())

    @unittest.skipIf(os.geteuid() != 0, "becomes somebody else, which needs root")
    def test_a_folder_that_is_not_ours_to_look_into(self):
        os.chmod(self.folder, 0o700)
        child = os.fork()
        if child == 0:
            os.seteuid(65534)
            try:
                outputs.check("--json", self.folder / "x")
            except BadInput as e:
                os._exit(0 if "Permission denied" in str(e) or "not allowed" in str(e) else 2)
            os._exit(1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


if __name__ == "__main__":
    unittest.main()
