# SPDX-License-Identifier: GPL-3.0-or-later
"""How a command ends that cannot go on: one kind of failure, one type, one exit code, one line."""
import contextlib
import io
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from openwip_cli import __main__ as launcher, errors

TOP = pathlib.Path(errors.__file__).resolve().parents[1]     # of the package


def ended(stop):
    """(exit code, standard error) of a command that raises this."""
    def command(_arguments, _places):
        raise stop

    said = io.StringIO()
    with mock.patch.object(launcher, "find", lambda name: command), mock.patch.object(sys, "argv", ["openwip", "demo"]), \
            contextlib.redirect_stderr(said):
        return launcher.main(), said.getvalue()


class Failures(unittest.TestCase):
    def test_each_kind_ends_with_its_code_and_its_line(self):
        for stop, code, line in ((errors.BadInput("--snr is 'x'"), 2, "openwip: --snr is 'x'\n"),
                                 (errors.CellDied("air was killed", [("air", "last words")]), 3, "openwip: air was killed\n  air: last words\n"),
                                 (errors.RecordFailed("record x.h5: No space left"), 3, "openwip: record x.h5: No space left\n"),
                                 (errors.NoAnswer("ipc:///x does not answer"), 3, "openwip: ipc:///x does not answer\n"),
                                 (errors.Refused("link.bins = 99"), 1, "openwip: link.bins = 99\n"),
                                 (errors.NotWritten("--json x: cannot be written"), 4, "openwip: --json x: cannot be written\n"),
                                 (errors.Terminated(signal.SIGINT), 130, "openwip: stopped by Ctrl-C; everything is removed\n"),
                                 (errors.Terminated(signal.SIGTERM), 143, "openwip: stopped by SIGTERM; everything is removed\n")):
            with self.subTest(type(stop).__name__):
                self.assertEqual(ended(stop), (code, line))

    def test_every_kind_is_among_them_and_has_a_code_of_its_own_choice(self):
        kinds = {errors.BadInput, errors.CellDied, errors.RecordFailed, errors.NoAnswer, errors.NotWritten, errors.Terminated}
        self.assertEqual(set(errors.Stop.__subclasses__()), kinds)
        self.assertEqual(set(errors.NoAnswer.__subclasses__()), {errors.Refused})
        self.assertEqual({k.code for k in kinds - {errors.Terminated}}, {errors.BAD_INPUT, errors.DIED, errors.NOT_WRITTEN})

    def test_a_fault_of_our_own_is_no_bad_input(self):
        done = subprocess.run([sys.executable, "-c", "from openwip_cli import __main__ as m\nm.find = lambda name: (lambda a, p: 1 / 0)\nm.main()", "demo"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("ZeroDivisionError", done.stderr)

    def test_where_nothing_is_built_a_line_says_so(self):
        with tempfile.TemporaryDirectory() as build:
            messages = pathlib.Path(build, "python/openwip_schema")
            for _ in ("nothing", "configured, but not compiled"):
                done = subprocess.run([sys.executable, TOP, "status"], capture_output=True, text=True,
                                      env=os.environ | {"OPENWIP_BUILD": build, "PYTHONPATH": f"{build}/python"})
                self.assertEqual((done.returncode, done.stderr),
                                 (2, f"openwip: not built yet (python/openwip_schema/control_pb2.py missing in {build}): run ./openwip build\n"))
                messages.mkdir(parents=True, exist_ok=True)
                (messages / "__init__.py").write_text("from . import control_pb2\n")

    def test_of_several_signals_the_first_ends_the_command_and_none_its_cleaning_up(self):
        done = subprocess.run([sys.executable, "-c", """
import signal, time
from openwip_cli import errors
for signum in errors.SIGNALS:
    signal.signal(signum, errors.raise_terminated)
try:
    signal.raise_signal(signal.SIGTERM)
except errors.Terminated as e:
    for signum in errors.SIGNALS:
        signal.raise_signal(signum)
    print("cleaned up after", e.signum)
"""], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "cleaned up after 15\n", ""))

    def test_a_hangup_that_is_to_be_ignored_stays_ignored(self):
        done = subprocess.run([sys.executable, "-c", """
import signal
from openwip_cli import errors
signal.signal(signal.SIGHUP, signal.SIG_IGN)
before = errors.catch()
signal.raise_signal(signal.SIGHUP)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
print(*(s.name for s in before), *(s.name for s in errors.catch()))
"""], capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("SIGINT SIGTERM SIGINT SIGTERM SIGHUP\n", ""))

    def test_every_command_is_ended_by_sigterm_and_sighup_with_its_code(self):
        for signum in (signal.SIGTERM, signal.SIGHUP):
            done = subprocess.run([sys.executable, "-c", f"""
import signal
from openwip_cli import __main__ as m
m.find = lambda name: lambda a, p: signal.raise_signal({int(signum)})
raise SystemExit(m.main())""", "demo"], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (128 + signum, f"openwip: stopped by {signum.name}; everything is removed\n"))

    def test_a_program_that_a_signal_ended_without_a_word_is_named_with_the_signal(self):
        self.assertEqual(str(errors.of_program("wip_channel", -9, "")), "wip_channel was killed by SIGKILL")
        self.assertEqual(str(errors.of_program("wip_channel", 3, "\n")), "wip_channel ended with exit code 3")

    def test_a_folder_that_is_gone_is_bad_input(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-c", """
import os
from openwip_cli import __main__ as m
os.rmdir(os.getcwd())
m.find = lambda name: lambda a, p: m.whereabouts.outputs.check("--json", "x.json")
raise SystemExit(m.main())""", "demo"], capture_output=True, text=True, cwd=tempfile.mkdtemp(dir=folder), env=os.environ | {"PYTHONPATH": str(TOP)})
        self.assertEqual((done.returncode, done.stderr),
                         (2, "openwip: the current folder was removed; valid: absolute paths, or another folder\n"))

    def test_an_error_of_the_operating_system_is_one_line_wherever_it_comes(self):
        for made, code, line in (("OSError(5, 'Input/output error', '/x')", 1, "openwip: this machine cannot: Input/output error: /x"),
                                 ("OSError(28, 'No space left on device')", 1, "openwip: this machine cannot: No space left on device"),
                                 ("PermissionError(13, 'Permission denied', '/y')", 2, "openwip: this machine cannot: Permission denied: /y"),
                                 ("OSError('a\\nb')", 1, "openwip: this machine cannot: a b")):
            with self.subTest(made):
                done = subprocess.run([sys.executable, "-c", f"""
from openwip_cli import __main__ as m
def fails(arguments, places):
    raise {made}
m.find = lambda name: fails
raise SystemExit(m.main())""", "demo"], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (code, line + "\n"))

    def test_an_output_that_cannot_be_written_at_the_end_is_one_line(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([sys.executable, TOP, "bench", "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (1, "openwip: this machine cannot: No space left on device\n"))

    def test_an_unknown_command_is_bad_input(self):
        done = subprocess.run([sys.executable, "-m", "openwip_cli", "dance"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (2, "openwip: unknown command dance\n"))


if __name__ == "__main__":
    unittest.main()
