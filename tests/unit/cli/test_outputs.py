# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that a command was asked to write: links, streams, names that cannot be, what somebody else
has put there."""

import argparse
import os
import pathlib
import pwd
import resource
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from openwip_cli import text
from openwip_cli.errors import BadInput, NotWritten
from openwip_cli.machine import outputs

WRITES = """
import sys
from openwip_cli.machine import outputs
outputs.check_given("--json", sys.argv[1])
print("the screen")
outputs.write_json(sys.argv[1], {"a": 1})
"""
NOBODY = pwd.getpwnam("nobody").pw_uid
JSON = '{\n  "a": 1\n}\n'


class Outputs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_standard_output_by_its_names_comes_after_the_screen_and_stays_what_it_is(self):
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "-"):
            with self.subTest(name), open(self.folder / "redirected", "w+") as f:
                done = subprocess.run(
                    [sys.executable, "-c", WRITES, name],
                    stdout=f,
                    stderr=subprocess.PIPE,
                    text=True,
                )
                f.seek(0)
                self.assertEqual(
                    (done.returncode, f.read(), done.stderr), (0, "the screen\n" + JSON, "")
                )
        self.assertTrue(os.path.islink("/dev/stdout"))
        self.assertEqual(
            subprocess.run(
                [sys.executable, "-c", WRITES, "/dev/stdout"], capture_output=True, text=True
            ).stdout,
            "the screen\n" + JSON,
        )

    def test_a_link_stays_one_and_its_file_is_the_new_report(self):
        real, link = self.folder / "real", self.folder / "link"
        real.write_text("a report of before, which is longer than what comes\n")
        link.symlink_to(real)
        outputs.check_given("--json", link)
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
        for path, why in (
            ("a" * 300, "File name too long"),
            (self.folder / "file" / "x", "there is no directory"),
            (self.folder, "it is a directory"),
        ):
            with (
                self.subTest(path),
                self.assertRaisesRegex(BadInput, f"--json .*: cannot be written: {why}"),
            ):
                outputs.check("--json", path)
        for path in (self.folder / "file", self.folder / "file" / "x", "a" * 300):
            with (
                self.subTest(path),
                self.assertRaisesRegex(
                    BadInput, "--logs .*: cannot be written: .*; valid: a folder that is writable"
                ),
            ):
                outputs.check_folder("--logs", path)

    def test_a_folder_is_made_when_there_is_something_in_it(self):
        new, old = self.folder / "new" / "one", self.folder / "old"
        old.mkdir()
        for folder in (new, old):
            outputs.check_folder("--logs", folder)
        self.assertEqual(list(self.folder.iterdir()), [old])
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, limit[1]))
        try:
            for folder in (new, old):
                with self.assertRaisesRegex(OSError, "File too large"):
                    outputs.write_into(folder, [("long", bytes(1000))])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        self.assertEqual(list(self.folder.iterdir()), [old])
        outputs.write_into(new, [("short", b"1")])
        self.assertEqual((new / "short").read_bytes(), b"1")

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

    def test_a_read_only_file_system_is_no_matter_of_rights(self):
        """--json, --record, --out, -o and folders: a mount in a namespace of its own."""
        script = """
import os, sys
from openwip_cli.errors import BadInput
from openwip_cli.machine import outputs
for check, place in (
    (outputs.check, "new"), (outputs.check, "old"), (outputs.check_folder, "."), (outputs.check_folder, "more")
):
    try:
        check("--out", os.path.join(sys.argv[1], place))
    except BadInput as e:
        print(e)
"""
        (self.folder / "old").write_text("")
        inside = [
            "unshare",
            "-m",
            "sh",
            "-c",
            'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"',
            str(self.folder),
        ]
        if subprocess.run([*inside, "true"], capture_output=True).returncode:
            self.skipTest("no mount namespaces here")
        done = subprocess.run(
            [*inside, sys.executable, "-c", script, str(self.folder)],
            capture_output=True,
            text=True,
        )
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 4, done.stderr)
        for line in lines:
            self.assertRegex(line.lower(), "cannot be written: read-only file system; valid: ")

    def test_what_is_there_stays_until_there_is_something_to_write(self):
        target = self.folder / "report.json"
        target.write_text("yesterday")
        outputs.check("--json", target)
        outputs.apart(argparse.Namespace(json=str(target)), "json")
        self.assertEqual(target.read_text(), "yesterday")
        with self.assertRaisesRegex(RuntimeError, "in the middle"), outputs.replacing(target) as f:
            f.write("half of it")
            f.flush()
            self.assertEqual(target.read_text(), "yesterday")
            raise RuntimeError("in the middle")
        self.assertEqual(
            (target.read_text(), os.listdir(self.folder)), ("yesterday", ["report.json"])
        )

    def test_a_file_that_is_read_is_not_written_by_any_of_its_names(self):
        read, link, hard = (self.folder / n for n in ("scenario.yaml", "link", "hard"))
        read.write_text("seed: 1")
        link.symlink_to(read)
        hard.hardlink_to(read)
        for path in (read, link, hard, f"{self.folder}/./scenario.yaml"):
            with self.subTest(path), self.assertRaisesRegex(BadInput, "that file is given twice"):
                outputs.apart(argparse.Namespace(json=str(path)), "json", inputs=[read])
        outputs.write_into(self.folder, [("new.yaml", b"1")], [read])
        with self.assertRaisesRegex(OSError, "an input of the run"):
            outputs.write_into(self.folder, [("scenario.yaml", b"lost")], [read])
        self.assertEqual(read.read_text(), "seed: 1")

    def test_a_full_disk_is_named_and_leaves_what_was_there(self):
        with self.assertRaisesRegex(
            NotWritten, "--json /dev/full: cannot be written: No space left on device"
        ):
            outputs.write_json("/dev/full", {"a": 1})
        old = self.folder / "old"
        old.write_text("yesterday")
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, limit[1]))
        try:
            with self.assertRaisesRegex(NotWritten, "File too large"):
                outputs.write_json(old, {"a": "x" * 1000})
            with self.assertRaisesRegex(OSError, "File too large"):
                outputs.write_into(self.folder, [("short", b"1"), ("long", bytes(1000))])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        self.assertEqual(
            (old.read_text(), sorted(os.listdir(self.folder))), ("yesterday", ["old", "short"])
        )

    def test_a_descriptor_of_this_process_is_written_as_it_is(self):
        ours, theirs = os.pipe()
        self.addCleanup(os.close, ours)
        outputs.check("--json", f"/dev/fd/{theirs}")
        outputs.write_json(f"/dev/fd/{theirs}", {"a": 1})
        os.close(theirs)
        self.assertEqual(os.read(ours, 1000).decode(), JSON)


@unittest.skipIf(os.geteuid() != 0, "an attacker on root needs root")
class Planted(unittest.TestCase):
    """Another user has made links in a folder that both may write in; root's outputs lead there."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.victim = (
            pathlib.Path(folder.name, "shared"),
            pathlib.Path(folder.name, "victim"),
        )
        self.folder.mkdir()
        self.folder.chmod(0o1777)
        self.victim.write_text("root's")
        self.secret = pathlib.Path(folder.name, "secret")
        self.secret.mkdir()

    def plant(self, name, leads_to):
        path = self.folder / name
        path.symlink_to(leads_to)
        os.lchown(path, NOBODY, NOBODY)
        return path

    def test_a_link_at_the_name_is_replaced_and_its_file_is_left(self):
        for name, write in (
            ("report", lambda p: outputs.write_json(p, {"a": 1})),
            ("text", lambda p: outputs.write_whole(p, "1")),
        ):
            planted = self.plant(name, self.victim)
            outputs.check("--json", planted)
            write(planted)
            self.assertFalse(planted.is_symlink())
            self.assertIn("1", planted.read_text())
        outputs.write_into(self.folder, [(self.plant("base.log", self.victim).name, b"a log")])
        self.assertEqual(self.victim.read_text(), "root's")

    def test_a_fifo_at_the_name_is_not_waited_for(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        os.chown(fifo, NOBODY, NOBODY)
        outputs.write_json(fifo, {"a": 1})
        self.assertEqual(fifo.read_text(), JSON)

    def test_a_link_on_the_way_is_refused_with_its_owner(self):
        way = self.plant("way", self.secret)
        for refused in (
            lambda: outputs.check("--json", way / "x"),
            lambda: outputs.check_folder("--logs", way),
            lambda: outputs.check_folder("--logs", way / "new"),
        ):
            with self.assertRaisesRegex(
                BadInput, "way on the way to .* is a symbolic link of user nobody"
            ):
                refused()
        with self.assertRaisesRegex(OSError, "a symbolic link of user nobody"):
            outputs.write_into(way, [("base.log", b"a log")])
        self.assertEqual(list(self.secret.iterdir()), [])

    def test_who_called_sudo_and_root_may_have_links_there(self):
        way = self.plant("way", self.secret)
        with mock.patch.dict(os.environ, SUDO_UID=str(NOBODY)):
            outputs.write_json(way / "x", {"a": 1})
        self.assertEqual((self.secret / "x").read_text(), JSON)


if __name__ == "__main__":
    unittest.main()
