# SPDX-License-Identifier: GPL-3.0-or-later
"""How a command ends that cannot go on: one kind of failure, one type, one exit code, one line."""

import contextlib
import io
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from openwip_cli import __main__ as launcher
from openwip_cli import errors
from openwip_cli.cell import program_check
from openwip_cli.measure import traffic

TOP = pathlib.Path(errors.__file__).resolve().parents[1]  # top folder of the package


def ended(stop):
    """(exit code, standard error) of a command that raises this."""

    def command(_arguments, _places):
        raise stop

    printed = io.StringIO()
    with (
        mock.patch.object(launcher, "find", lambda name: command),
        mock.patch.object(sys, "argv", ["openwip", "demo"]),
        contextlib.redirect_stderr(printed),
    ):
        return launcher.main(), printed.getvalue()


class Failures(unittest.TestCase):
    def test_each_kind_ends_with_its_code_and_its_line(self):
        for stop, code, line in (
            (errors.BadInput("--snr is 'x'"), 2, "openwip: --snr is 'x'\n"),
            (
                errors.CellDied("air was killed", [("air", "last words")]),
                3,
                "openwip: air was killed\n  air: last words\n",
            ),
            (
                errors.RecordFailed("record x.h5: No space left"),
                3,
                "openwip: record x.h5: No space left\n",
            ),
            (errors.NoAnswer("ipc:///x does not answer"), 3, "openwip: ipc:///x does not answer\n"),
            (errors.Refused("link.bins = 99"), 1, "openwip: link.bins = 99\n"),
            (
                errors.NotWritten("--json x: cannot be written"),
                4,
                "openwip: --json x: cannot be written\n",
            ),
            (
                errors.Terminated(signal.SIGINT),
                130,
                "openwip: stopped by Ctrl-C; everything is removed\n",
            ),
            (
                errors.Terminated(signal.SIGTERM),
                143,
                "openwip: stopped by SIGTERM; everything is removed\n",
            ),
        ):
            with self.subTest(type(stop).__name__):
                self.assertEqual(ended(stop), (code, line))

    def test_every_kind_is_among_them_and_has_a_code_of_its_own_choice(self):
        kinds = {
            errors.BadInput,
            errors.CellDied,
            errors.RecordFailed,
            errors.NoAnswer,
            errors.NotWritten,
            errors.Terminated,
        }
        self.assertEqual(set(errors.Stop.__subclasses__()), kinds)
        self.assertEqual(set(errors.NoAnswer.__subclasses__()), {errors.Refused})
        self.assertEqual(
            {k.code for k in kinds - {errors.Terminated}},
            {errors.BAD_INPUT, errors.DIED, errors.NOT_WRITTEN},
        )

    def test_a_fault_of_our_own_is_no_bad_input_and_one_line_unless_a_developer_wants_more(self):
        program = (
            "import sys\nfrom openwip_cli import __main__ as m\nm.find = lambda name: (lambda a, p:"
            " 1 / 0)\nsys.exit(m.main())"
        )
        for asked, lines in (({}, 1), ({"OPENWIP_TRACEBACK": "1"}, 6)):
            done = subprocess.run(
                [sys.executable, "-c", program, "demo"],
                capture_output=True,
                text=True,
                env=os.environ | asked,
            )
            self.assertEqual(
                (done.returncode, done.stderr.startswith("Traceback")), (1, bool(asked))
            )
            self.assertGreaterEqual(len(done.stderr.splitlines()), lines)
            self.assertRegex(
                done.stderr.splitlines()[-1],
                r"^openwip: fault of the program: ZeroDivisionError: division by zero \(<string>,"
                r" line 3\); ",
            )
            self.assertEqual(len(done.stderr.splitlines()) == 1, not asked)

    def test_where_nothing_is_built_a_line_says_so(self):
        with tempfile.TemporaryDirectory() as build:
            messages = pathlib.Path(build, "python/openwip_schema")
            for _ in ("nothing", "configured, but not compiled"):
                done = subprocess.run(
                    [sys.executable, TOP, "status"],
                    capture_output=True,
                    text=True,
                    env=os.environ | {"OPENWIP_BUILD": build, "PYTHONPATH": f"{build}/python"},
                )
                self.assertEqual(
                    (done.returncode, done.stderr),
                    (
                        2,
                        (
                            "openwip: not built yet (python/openwip_schema/control_pb2.py missing"
                            f" in {build}): run ./openwip build\n"
                        ),
                    ),
                )
                messages.mkdir(parents=True, exist_ok=True)
                (messages / "__init__.py").write_text("from . import control_pb2\n")

    def test_of_several_signals_the_first_ends_the_command_and_none_its_cleaning_up(self):
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                """
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
""",
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(
            (done.returncode, done.stdout, done.stderr), (0, "cleaned up after 15\n", "")
        )

    def test_a_hangup_that_is_to_be_ignored_stays_ignored(self):
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                """
import signal
from openwip_cli import errors
signal.signal(signal.SIGHUP, signal.SIG_IGN)
before = errors.catch()
signal.raise_signal(signal.SIGHUP)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
print(*(s.name for s in before), *(s.name for s in errors.catch()))
""",
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual((done.stdout, done.stderr), ("SIGINT SIGTERM SIGINT SIGTERM SIGHUP\n", ""))

    def test_every_command_is_ended_by_sigterm_and_sighup_with_its_code(self):
        for signum in (signal.SIGTERM, signal.SIGHUP):
            done = subprocess.run(
                [
                    sys.executable,
                    "-c",
                    f"""
import signal
from openwip_cli import __main__ as m
m.find = lambda name: lambda a, p: signal.raise_signal({int(signum)})
raise SystemExit(m.main())""",
                    "demo",
                ],
                capture_output=True,
                text=True,
            )
            self.assertEqual(
                (done.returncode, done.stderr),
                (128 + signum, f"openwip: stopped by {signum.name}; everything is removed\n"),
            )

    def test_a_program_that_a_signal_ended_without_a_word_is_named_with_the_signal(self):
        self.assertEqual(
            str(errors.of_program("wip_channel", -9, "")), "wip_channel was killed by SIGKILL"
        )
        self.assertEqual(
            str(errors.of_program("wip_channel", 3, "\n")), "wip_channel ended with exit code 3"
        )

    def test_what_a_killed_program_wrote_before_is_not_the_cause_and_a_warning_is_none(self):
        for code, printed, why in (
            (
                -9,
                "iperf3: warning: UDP block size 1472 exceeds TCP MSS\n",
                "iperf3 was killed by SIGKILL",
            ),
            (-11, "iperf3: error - unable to connect\n", "iperf3 was killed by SIGSEGV"),
            (
                1,
                "iperf3: error - unable to connect\nWARNING: option -x is old\n",
                "error - unable to connect",
            ),
            (
                1,
                "iperf3: warning: UDP block size 1472 exceeds TCP MSS\n",
                "iperf3 ended with exit code 1",
            ),
            (2, "iperf3: the warning level is 9\n", "the warning level is 9"),
        ):
            self.assertEqual(errors.cause_of("iperf3", code, printed), why)
            self.assertEqual(str(errors.of_program("iperf3", code, printed)), why)

    def test_a_program_that_checks_a_configuration_and_is_killed_refuses_nothing(self):
        def why(script):
            done = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
            stop = program_check.refusal(done, "/tmp/x.yaml")
            return type(stop), str(stop)

        self.assertEqual(
            why("echo 'macd: /tmp/x.yaml:3: link.bins = 99: not valid' >&2; exit 2"),
            (errors.BadInput, "link.bins = 99: not valid"),
        )
        self.assertEqual(
            why("echo 'macd: warning: no priority' >&2; kill -9 $$"),
            (errors.Stop, "sh was killed by SIGKILL"),
        )

    def test_a_folder_that_is_gone_is_bad_input(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [
                    sys.executable,
                    "-c",
                    """
import os
from openwip_cli import __main__ as m
os.rmdir(os.getcwd())
m.find = lambda name: lambda a, p: m.whereabouts.outputs.check("--json", "x.json")
raise SystemExit(m.main())""",
                    "demo",
                ],
                capture_output=True,
                text=True,
                cwd=tempfile.mkdtemp(dir=folder),
                env=os.environ | {"PYTHONPATH": str(TOP)},
            )
        self.assertEqual(
            (done.returncode, done.stderr),
            (
                2,
                (
                    "openwip: the current folder was removed; valid: absolute paths, or another"
                    " folder\n"
                ),
            ),
        )

    def test_an_error_of_the_operating_system_is_one_line_wherever_it_comes(self):
        for made, code, line in (
            (
                "OSError(5, 'Input/output error', '/x')",
                1,
                "openwip: this machine cannot: Input/output error: /x",
            ),
            (
                "OSError(28, 'No space left on device')",
                1,
                "openwip: this machine cannot: No space left on device",
            ),
            (
                "PermissionError(13, 'Permission denied', '/y')",
                2,
                "openwip: this machine cannot: Permission denied: /y",
            ),
            ("OSError('a\\nb')", 1, "openwip: this machine cannot: a b"),
        ):
            with self.subTest(made):
                done = subprocess.run(
                    [
                        sys.executable,
                        "-c",
                        f"""
from openwip_cli import __main__ as m
def fails(arguments, places):
    raise {made}
m.find = lambda name: fails
raise SystemExit(m.main())""",
                        "demo",
                    ],
                    capture_output=True,
                    text=True,
                )
                self.assertEqual((done.returncode, done.stderr), (code, line + "\n"))

    def test_an_output_that_cannot_be_written_at_the_end_is_one_line(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [sys.executable, TOP, "bench", "--help"],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
            )
        self.assertEqual(
            (done.returncode, done.stderr),
            (4, "openwip: standard output: cannot be written: No space left on device\n"),
        )

    def test_an_unknown_command_is_bad_input(self):
        done = subprocess.run(
            [sys.executable, "-m", "openwip_cli", "dance"], capture_output=True, text=True
        )
        self.assertEqual(
            (done.returncode, done.stderr),
            (2, "openwip: unknown command dance; valid: those that ./openwip help lists\n"),
        )


class Applications(unittest.TestCase):
    """The programs that make a run's traffic, by scripts in their place."""

    WARNING = "echo 'iperf3: warning: UDP block size 1472 exceeds TCP MSS' >&2"

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.enterPatch(
            mock.patch.dict(os.environ, {"PATH": f"{folder.name}:{os.environ['PATH']}"})
        )
        here = subprocess.Popen
        # in no namespace
        self.enterPatch(
            mock.patch.object(
                traffic.subprocess, "Popen", lambda argv, **more: here(argv[4:], **more)
            )
        )
        # Programs of a shell listen at no port.
        self.enterPatch(
            mock.patch.object(
                traffic, "IPERF3_READY", lambda program: "Server listening" in program.stdout
            )
        )

    def enterPatch(self, patch):
        patch.start()
        self.addCleanup(patch.stop)

    def give(self, program, script):
        file = self.folder / program
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def reason(self, call, *arguments):
        class Supervisor:
            def pause(self, seconds, fds):
                return select.select(fds, [], [], seconds)[0]

        class Cell:
            def namespace(self, station):
                return station

        with self.assertRaises(traffic.TrafficFailed) as raised:
            call(Supervisor(), Cell(), *arguments)
        return str(raised.exception)

    def iperf3(self, client, server="echo Server listening; sleep 9"):
        self.give("iperf3", f"if [ $1 = -s ]; then {server}; else {client}; fi")
        return self.reason(traffic.iperf3, ["-u"], 1)

    def test_one_that_is_killed_is_the_cause_and_not_its_warning(self):
        self.assertEqual(
            self.iperf3(f"{self.WARNING}; kill -9 $$"), "iperf3 was killed by SIGKILL (the sender)"
        )
        self.assertEqual(
            self.iperf3(f"{self.WARNING}; kill -15 $$"), "iperf3 was killed by SIGTERM (the sender)"
        )

    def test_the_other_end_that_was_killed_is_the_cause_and_not_that_it_is_missed(self):
        printed = """echo '{"error": "control socket has closed unexpectedly"}'; exit 1"""
        self.assertEqual(
            self.iperf3(f"sleep 0.3; {printed}", "echo Server listening; kill -9 $$"),
            "iperf3 was killed by SIGKILL (the receiver)",
        )
        self.assertEqual(self.iperf3(printed), "iperf3: control socket has closed unexpectedly")

    def test_one_that_ends_by_itself_says_why_or_its_exit_code(self):
        self.assertEqual(
            self.iperf3(f"echo 'iperf3: no route' >&2; {self.WARNING}; exit 1"),
            "the sender: no route",
        )
        self.assertEqual(
            self.iperf3(f"{self.WARNING}; exit 3"), "the sender: iperf3 ended with exit code 3"
        )
        self.assertEqual(self.iperf3(self.WARNING), "iperf3 printed no report in JSON")

    def test_one_that_does_not_start_says_why(self):
        self.assertEqual(
            self.iperf3("true", f"{self.WARNING}; kill -9 $$"),
            "iperf3 was killed by SIGKILL (the receiver)",
        )
        self.assertEqual(
            self.iperf3("true", "echo 'iperf3: Address already in use' >&2; exit 1"),
            "the receiver: Address already in use",
        )

    def test_a_ping_that_is_killed_after_some_answers_is_no_measurement(self):
        self.give("ping", "echo 'time=3.5 ms'; kill -9 $$")
        self.assertEqual(
            self.reason(traffic.ping, 5, 1.0), "ping was killed by SIGKILL (the sender)"
        )


class NobodyExpected(unittest.TestCase):
    """Errors of the operating system in processes that run for long: one line with the cause each,
    and no traceback."""

    def output_of(self, program):
        """(exit code, standard error) of a Python program of this package's."""
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            timeout=30,
            env=os.environ
            | {"PYTHONPATH": os.pathsep.join([str(TOP), os.environ.get("PYTHONPATH", "")])},
        )
        return done.returncode, done.stderr

    def test_the_cause_is_what_the_system_says_and_of_which_file(self):
        self.assertEqual(
            errors.describe_os_error(OSError(28, "No space left on device", "/x/y")),
            "No space left on device: /x/y",
        )
        self.assertEqual(
            errors.describe_os_error(OSError(18, "Invalid cross-device link", "/x", None, "/y")),
            "Invalid cross-device link: /x: /y",
        )
        self.assertEqual(errors.describe_os_error(OSError("a\nb")), "a b")
        self.assertEqual(errors.describe_os_error(TimeoutError()), "TimeoutError")

    def test_a_program_ends_in_one_line(self):
        code, printed = self.output_of(
            "from openwip_cli.machine import faults; import sys; "
            "sys.exit(faults.in_one_line('x', lambda: open('/proc/nothing/there')))"
        )
        self.assertEqual(
            (code, printed),
            (1, "x: cannot go on: No such file or directory: /proc/nothing/there\n"),
        )

    def test_what_is_no_error_of_the_system_is_a_fault_of_the_program_and_shows_where(self):
        code, printed = self.output_of(
            "from openwip_cli.machine import faults; faults.in_one_line('x', lambda: 1 / 0)"
        )
        self.assertEqual(code, 1)
        self.assertIn("Traceback", printed)

    def test_a_thread_that_ends_says_which_it_was_in_one_line(self):
        _, printed = self.output_of(
            "from openwip_cli.machine import faults; import threading;"
            " faults.threads_in_one_line('x'); threading.Thread(target=lambda:"
            " open('/proc/nothing'), name='watch').start()"
        )
        self.assertEqual(
            printed, "x: watch cannot go on: No such file or directory: /proc/nothing\n"
        )

    def test_the_supervisor_that_cannot_even_begin_says_why_in_one_line(self):
        from openwip_cli.cell import supervisor

        printed, codes = io.StringIO(), []

        def ended(code):
            codes.append(code)
            raise SystemExit

        with (
            mock.patch.object(
                supervisor, "Supervisor", side_effect=OSError(24, "Too many open files")
            ),
            mock.patch.object(os, "setsid"),
            mock.patch.object(supervisor.system, "set_process_name"),
            mock.patch.object(os, "_exit", ended),
            contextlib.redirect_stderr(printed),
        ):
            self.assertRaises(SystemExit, supervisor._supervisor_main, mock.Mock(), mock.Mock())
        self.assertEqual(
            (codes, printed.getvalue()), ([1], "the supervisor cannot go on: Too many open files\n")
        )


if __name__ == "__main__":
    unittest.main()
