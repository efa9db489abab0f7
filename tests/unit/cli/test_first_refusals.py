# SPDX-License-Identifier: GPL-3.0-or-later
"""What ./openwip refuses before anything is installed, built or started, beside options and their
values (test_first_words.py): unknown commands and an output that cannot be written."""

import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[3]
TABLE = TOP / "host/cli/command_lines.txt"
NOT_WRITTEN = 4  # exit code


def lines_of_table():
    return [line.split("\t") for line in TABLE.read_text().splitlines()]


class Refusals(unittest.TestCase):
    """A clone in which any attempt to install or to build would be seen."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.world = pathlib.Path(folder.name)
        self.tools = self.world / "bin"
        self.tools.mkdir()
        for tool in ("apt-get", "dpkg-query", "cmake", "ninja", "sudo", "python3"):
            path = self.tools / tool
            path.write_text(f'#!/bin/sh\necho {tool} >>"{self.world}/started"; exit 127\n')
            path.chmod(0o755)

    def answer(self, *words, **more):
        environment = {
            "PATH": f"{self.tools}:{os.environ['PATH']}",
            "OPENWIP_BUILD": f"{self.world}/build",
            "OPENWIP_PYTHON": f"{self.tools}/python3",
        }
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
        return subprocess.run(
            [TOP / "openwip", *words],
            text=True,
            env=environment,
            cwd=self.world,
            timeout=60,
            **streams,
        )

    def tearDown(self):
        self.assertFalse((self.world / "started").exists())
        self.assertFalse((self.world / "build").exists())

    def assert_refused(self, words, reported):
        done = self.answer(*words)
        self.assertEqual(
            (done.returncode, done.stdout, done.stderr), (2, "", f"openwip: {reported}\n"), words
        )


class Commands(Refusals):
    def test_a_mistyped_command_is_refused_with_the_nearest_ones(self):
        for word, meant in (
            ("dmeo", "demo"),
            ("rerport", "report"),
            ("chamnel", "channel"),
            ("experi", "experiment"),
        ):
            for words in ([word], [word, "--help"], ["help", word], ["setup", word]):
                done = self.answer(*words)
                self.assertEqual((done.returncode, done.stdout), (2, ""), words)
                self.assertRegex(
                    done.stderr,
                    rf"\Aopenwip: command is '{word}'; valid: [a-z, -]+ \(the nearest of those that"
                    r" \./openwip help lists\)\n\Z",
                )
                found = done.stderr.partition("valid: ")[2].partition(" (")[0].split(", ")
                self.assertLessEqual(len(found), 3)
                self.assertIn(meant, found, word)

    def test_a_word_that_is_like_no_command_is_refused_with_the_place_of_the_list(self):
        for word in ("xyzzyxyzzy", "$(id)", "a|b", "-x", ".*", 5000 * "y"):
            done = self.answer(word)
            self.assertEqual((done.returncode, done.stdout), (2, ""), word)
            self.assertRegex(
                done.stderr,
                r"\Aopenwip: command is '.*'; valid: (.* of )?those that \./openwip help lists\)?\n\Z",
            )
            self.assertLess(len(done.stderr), 250)

    def test_what_needs_a_subcommand_is_refused_without_one(self):
        needed = [c[1] for c in lines_of_table() if c[0] == "command" and c[2] == "needed"]
        self.assertLessEqual({"channel", "radio", "iq", "station", "ratings"}, set(needed))
        self.assertEqual(
            {c[2] for c in lines_of_table() if c[0] == "command"}, {"itself", "needed"}
        )
        for command in needed:
            names = next(c[3] for c in lines_of_table() if c[:2] == ["command", command])
            valid = ", ".join(names.split(" "))
            self.assert_refused([command], f"{command} is without a command; valid: {valid}")
            done = self.answer(command, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("usage: ./openwip ", done.stdout)


class Names(Refusals):
    """Files and folders that an argument names, which the table of all command lines has marked."""

    def setUp(self):
        super().setUp()
        (self.world / "folder").mkdir()
        for name in ("file", "it's $(x)", "a.sigmf-meta", "-t.h5", "x.yaml"):
            (self.world / name).touch()

    def of_table(self, *words):
        """(exit code, message): of the first look at a command line."""
        awk = TOP / "host/cli/command_line.awk"
        done = subprocess.run(
            ["awk", "-f", awk, "--", TABLE, *words],
            capture_output=True,
            text=True,
            cwd=self.world,
            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
        )
        return done.returncode, done.stderr

    def test_what_is_missing_is_refused_before_anything_is_installed(self):
        file, folder = "a file that can be read", "an existing folder"
        for words, reported in (
            (
                ["report", "no.h5"],
                f"report: RECORD.h5 is 'no.h5', which does not exist; valid: {file}",
            ),
            (
                ["report", "folder"],
                f"report: RECORD.h5 is 'folder', which is a folder; valid: {file}",
            ),
            (["report", ""], f"report: RECORD.h5 is '', which does not exist; valid: {file}"),
            (
                ["capture", "plot", "no", "-o", "g.png"],
                f"capture plot: FILE is 'no', which does not exist; valid: {file}",
            ),
            (["iq", "info", "no"], f"iq info: FILE is 'no', which does not exist; valid: {file}"),
            (
                ["campaign", "x.yaml", "no.yaml"],
                f"campaign: NAME is 'no.yaml', which does not exist; valid: {file}",
            ),
            (
                ["demo", "--config=no.yaml"],
                f"demo: --config is 'no.yaml', which does not exist; valid: {file}",
            ),
            (
                ["demo", "--channel", "no.h5"],
                f"demo: --channel is 'no.h5', which does not exist; valid: {file}",
            ),
            (
                ["emulate", "--link", "trace", "--trace=no"],
                f"emulate: --trace is 'no', which does not exist; valid: {file}",
            ),
            (
                ["emulate", "--scheduler", "python:no.py:A"],
                f"emulate: the file of --scheduler is 'no.py', which does not exist; valid: {file}",
            ),
            (
                ["demo", "--scheduler", "library:no.so:a:b"],
                f"demo: the file of --scheduler is 'no.so', which does not exist; valid: {file}",
            ),
            (
                ["demo", "--keys", "file"],
                f"demo: --keys is 'file', which is no folder; valid: {folder}",
            ),
            (
                ["ratings", "export", "no"],
                f"ratings export: FOLDER is 'no', which does not exist; valid: {folder}",
            ),
            (
                ["channel", "info", "file", "--json=no/a"],
                "channel info: the folder of --json is 'no/', which is no folder; valid: an"
                " existing one",
            ),
            (
                ["report", "file", "--out", "no/x.html"],
                "report: the folder of --out is 'no/', which is no folder; valid: an existing one",
            ),
            (
                ["demo", "--record", "no/x.h5"],
                "demo: the folder of --record is 'no/', which is no folder; valid: an existing one",
            ),
            (
                ["channel", "export", "file", "--csv", "no/x.csv"],
                "channel export: the folder of --csv is 'no/', which is no folder; valid: an"
                " existing one",
            ),
            (
                ["capture", "-o", "no/x.pcapng"],
                "capture: the folder of -o is 'no/', which is no folder; valid: an existing one",
            ),
            (
                ["channel", "render", "jakes", "-ofile/a"],
                "channel render: the folder of --out is 'file/', which is no folder; valid: an"
                " existing one",
            ),
        ):
            self.assert_refused(words, reported)

    def test_a_flowgraph_that_is_missing_is_refused_with_the_examples(self):
        done = self.answer("grc", "no")
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))
        self.assertRegex(
            done.stderr,
            "^openwip: grc: FLOWGRAPH is 'no', which does not exist; valid: a .grc file, or one of:"
            " arq ",
        )

    def test_what_is_there_is_not_refused(self):
        for words in (
            ["report", "file"],
            ["report", "it's $(x)"],
            ["report", "/dev/stdin"],
            ["channel", "info", "--", "-t.h5"],
            ["channel", "info", "file", "--json=folder/a"],
            ["channel", "info", "file", "--json"],
            ["iq", "info", "a"],
            ["ratings", "analyse", "folder"],
            ["ratings", "analyse", "file"],
            ["campaign", "x.yaml"],
            ["experiment", "A1"],
            ["channel", "render", "jakes", "-o", "new.h5"],
            ["fader", "compare", "tcp://a:1", "file"],
            ["demo", "--keys", "folder"],
            ["record", "new.h5"],
            ["demo", "--channel", "jakes", "--scheduler", "python:file:A"],
            ["emulate", "--scheduler", "library:it's $(x):a:b", "--predictor", "python:file:A"],
        ):
            self.assertEqual(self.of_table(*words), (0, ""), words)

    def test_a_name_is_no_part_of_a_command_of_the_shell(self):
        for name in ("'; touch bad; '", "$(touch bad)", "`touch bad`", '"; touch bad; "', "a\nb"):
            self.assertEqual(self.of_table("report", name)[0], 2, name)
        self.assertFalse((self.world / "bad").exists())

    def test_every_argument_that_is_called_a_file_to_read_is_marked(self):
        """Which name in the help stands for a file is written by hand; a new one is to be marked, or
        to be named here as an output or as a name that its command looks up itself."""
        marked, called = set(), set()
        for line in lines_of_table():
            if line[0] == "command":
                path, words = line[1], []
            elif line[0] == "words":
                words = line[3].split("|") if len(line) > 3 else []
                called |= {(path, w) for w in words if w.startswith(("FILE", "RECORD", "RUN.h5"))}
            elif line[0] == "names" and not line[1].startswith("-"):
                marked |= (
                    {(path, w) for w in words}
                    if line[1] == "any"
                    else {(path, words[int(line[1]) - 1])}
                )
        self.assertGreater(len(marked), 20)
        self.assertEqual(called - marked, {("iq record", "FILE")})

    def test_every_option_whose_value_is_called_a_file_is_marked(self):
        marked, called = set(), set()
        for line in lines_of_table():
            if line[0] == "command":
                path = line[1]
            elif line[0] == "names" and line[1].startswith("-"):
                marked.add((path, line[1]))
            elif line[0] == "help" and len(line) > 1:
                if option := re.match(r"  (?:-\w, )?(-[-\w]+)[ =\[]+FILE\b", line[1]):
                    called.add((path, option[1]))
        self.assertGreater(len(called), 40)
        # ctest makes these two itself, in its own folder.
        of_ctest = {("test", "--output-log"), ("test", "--output-junit")}
        self.assertEqual(called - marked, of_ctest)


@unittest.skipUnless(pathlib.Path("/dev/full").exists(), "no /dev/full")
class FullOutput(Refusals):
    LINES = (
        ["help"],
        [],
        ["--version"],
        ["version"],
        ["demo", "--help"],
        ["channel", "render", "--help"],
        ["help", "report"],
        ["grc", "--help"],
    )

    def test_a_full_standard_output_ends_with_4_and_one_line(self):
        with open("/dev/full", "w") as full:
            for words in self.LINES:
                done = self.answer(*words, stdout=full)
                self.assertEqual(
                    (done.returncode, done.stderr),
                    (
                        NOT_WRITTEN,
                        "openwip: standard output: cannot be written: No space left on device\n",
                    ),
                    words,
                )

    def test_an_output_that_nobody_reads_ends_it_quietly(self):
        for handler in (signal.SIG_DFL, signal.SIG_IGN):
            for words in self.LINES[:4]:
                reader, writer = os.pipe()
                os.close(reader)
                done = self.answer(
                    *words,
                    stdout=writer,
                    restore_signals=False,
                    preexec_fn=lambda: signal.signal(signal.SIGPIPE, handler),
                )
                os.close(writer)
                self.assertEqual((done.returncode, done.stderr), (1, ""), words)

    def test_a_closed_standard_output_is_none(self):
        done = subprocess.run(
            ["sh", "-c", '"$0" help >&-', TOP / "openwip"], capture_output=True, text=True
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
