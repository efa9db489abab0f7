# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip before it installs, builds or starts anything: --help, --version and mistyped command
lines, on a machine that has a shell and awk alone; and what of the caller's environment reaches the
programs."""

import contextlib
import io
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from openwip_cli import __main__ as launcher
from openwip_cli import command_lines
from openwip_cli.errors import BadInput
from openwip_cli.machine import places
from openwip_cli.settings.command_line import Parser
from openwip_cli.settings.kinds import Real

TOP = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("OPENWIP_BUILD", TOP / "build"))
TABLE = TOP / "host/cli/command_lines.txt"
PLACES = places.Places(TOP, BUILD, sys.executable)
# Programs of the packages dash, mawk, coreutils, sed and libc-bin.
BARE = "sh awk mawk dirname readlink cat sed env id getent cut pwd grep".split()


def paths_of_table():
    return [
        line.split("\t")[1]
        for line in TABLE.read_text().splitlines()
        if line.startswith("command\t")
    ]


class FirstWords(unittest.TestCase):
    """A clone without a build, on a machine without apt, Python, git or a compiler."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.world = pathlib.Path(folder.name)
        (cls.world / "bin").mkdir()
        for tool in BARE:
            if there := shutil.which(tool):
                (cls.world / "bin" / tool).symlink_to(there)
        # The standard folders are added behind PATH: there a program would be found that a bare
        # machine does not have.
        for tool in ("python3", "apt-get", "dpkg-query", "cmake", "ninja", "sudo", "git"):
            path = cls.world / "bin" / tool
            path.write_text(f'#!/bin/sh\necho {tool} >>"{cls.world}/started"; exit 127\n')
            path.chmod(0o755)

    def answer(self, *arguments, **more):
        environment = {
            "PATH": f"{self.world}/bin",
            "OPENWIP_BUILD": f"{self.world}/build",
            "OPENWIP_PYTHON": f"{self.world}/bin/python3",
        } | more
        return subprocess.run(
            [TOP / "openwip", *arguments],
            capture_output=True,
            text=True,
            env=environment,
            timeout=60,
        )

    def setUp(self):
        (self.world / "started").unlink(missing_ok=True)

    def assert_nothing_started(self):
        self.assertFalse((self.world / "started").exists())
        self.assertFalse((self.world / "build").exists())

    def test_the_help_of_every_command_needs_nothing(self):
        paths = paths_of_table()
        self.assertGreater(len(paths), 55)
        for path in paths:
            for words in ([*path.split(), "--help"], ["help", *path.split()]):
                done = self.answer(*words)
                self.assertEqual((done.returncode, done.stderr), (0, ""), words)
                self.assertIn("usage: ./openwip ", done.stdout.splitlines()[0])
        self.assert_nothing_started()

    def test_every_command_of_the_overview_is_in_the_table(self):
        named = set(re.findall(r"^  ([a-z-]+) ", self.answer("help").stdout, re.M)) - {"help"}
        self.assertGreater(len(named), 25)
        self.assertEqual(named - set(paths_of_table()), set())

    def test_a_mistyped_option_of_every_command_is_refused_in_one_line(self):
        for path in paths_of_table():
            done = self.answer(*path.split(), "--mistyped")
            self.assertEqual(
                (done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), path
            )
            self.assertRegex(done.stderr, "^openwip: .*(--mistyped|required)", path)
        self.assert_nothing_started()

    def test_subcommands_values_and_missing_words_are_refused_with_what_is_valid(self):
        for line, words in (
            ("channel rendr", "command of channel is 'rendr'; valid: list, render, info"),
            ("station bas", "command of station is 'bas'; valid: base, terminal"),
            ("iq", "iq is without a command; valid: record, replay, import, info"),
            ("demo --snr loud", "--snr is 'loud'; valid: -60..80"),
            ("demo --bins 26", "--bins is '26'; valid: 1..25"),
            ("emulate --time=reel", "--time is 'reel'; valid: real|virtual|ns3"),
            ("demo --snr", "argument --snr: a value is missing"),
            ("demo --keep=yes", "argument --keep: it takes no value"),
            ("record", "the following arguments are required: FILE.h5"),
            ("channel render x", "the following arguments are required: -o --out"),
            ("exec bass -- ls", "is 'bass'; valid: base|terminal"),
            ("demo and more", "unrecognized arguments: and more"),
            ("setup --ns4", "unrecognized arguments: --ns4"),
            ("demo --snr " + 9000 * "x", "valid: -60..80"),
        ):
            done = self.answer(*line.split())
            self.assertEqual(
                (done.returncode, done.stderr.count("\n")), (2, 1), (line[:50], done.stderr)
            )
            self.assertIn(words, done.stderr)
            self.assertLess(len(done.stderr), 400)
        self.assert_nothing_started()

    def test_no_command_has_one_gain_for_both_directions(self):
        """--gain drove the transmitter in one command and the receiver in the next."""
        options = {path: {} for path in paths_of_table()}
        for line in TABLE.read_text().splitlines():
            what, *columns = line.split("\t")
            if what == "command":
                path = columns[0]
            elif what == "option":
                options[path] |= dict.fromkeys(columns[0].split(" "))
        gains = {
            path: tuple(o for o in names if o.endswith("gain")) for path, names in options.items()
        }
        transmit, receive = "--transmit-gain", "--receive-gain"
        self.assertEqual(
            {path: names for path, names in gains.items() if names},
            {
                "station base": (transmit,),
                "station terminal": (receive,),
                "doctor": (receive, transmit),
                "radio levels": (receive, transmit),
                "radio spectrum": (receive,),
            },
        )
        for path in ("demo", *(path for path, names in gains.items() if names)):
            names = gains[path]
            for gain in (("--gain", "20"), ("--gain=20",)):
                done = self.answer(*path.split(), *gain)
                self.assertEqual(
                    (done.returncode, done.stdout, done.stderr.count("\n")),
                    (2, "", 1),
                    (path, done.stderr),
                )
                if names:
                    self.assertIn(
                        "--gain is not an option; it is now --transmit-gain, of the transmitter,"
                        " or --receive-gain, of the receiver; valid here:"
                        f" {', '.join(n for n in (transmit, receive) if n in names)}",
                        done.stderr,
                    )
        self.assert_nothing_started()

    def test_the_version_is_that_of_the_project_and_the_commit(self):
        number = (TOP / "VERSION").read_text().strip()
        for words in ("--version", "version"):
            # The tree has no git metadata.
            self.assertRegex(
                self.answer(words).stdout,
                rf"^openwip {re.escape(number)}( \([0-9a-f]{{7,}}[^)]*\))?\n$",
            )
            done = subprocess.run(
                [TOP / "openwip", words],
                capture_output=True,
                text=True,
                env=os.environ | {"GIT_DIR": "/nowhere"},
            )
            self.assertRegex(done.stdout, rf"^openwip {re.escape(number)}( \([^)]+\))?\n$")

    def test_what_a_command_would_take_is_not_refused(self):
        self.there = self.world / "there"
        self.there.mkdir()
        for name in ("a.sigmf-meta", "-t.h5", "run.h5"):
            (self.there / name).touch()
        for line in (
            "demo --snr 20 --bins 0x",
            "demo --snr=-3.5e0 --name a",
            "radio levels --tone --json",
            "demo --json=a.json",
            "demo --json a.json",
            "demo --json",
            "get --json link.bins",
            "iq info --json=a.json a",
            "exec base -- ls --all",
            "exec --name x base -- --odd",
            "set channel.snr_db=-5 link.bins=3",
            "channel info -- -t.h5",
            "channel render jakes -o-t.h5",
            "channel render jakes --output=-t.h5",
            "packets --count 3 --way up",
            "test -R name -j4 --output-on-failure -LE slow",
            "record run.h5",
            "record info run.h5",
            "bench slot-path -- --snr 5",
        ):
            words = line.replace("--bins 0x", "").split()
            done = subprocess.run(
                ["awk", "-f", TOP / "host/cli/command_line.awk", "--", TABLE, *words],
                cwd=self.there,
                capture_output=True,
                text=True,
            )
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""), line)


class Json(unittest.TestCase):
    """--json[=FILE] means the same in every command."""

    def given(self, was_a_word, *words):
        p = Parser("try")
        p.add_argument("names", nargs="*")
        p.json("the result", was_a_word=was_a_word)
        printed = io.StringIO()
        with contextlib.redirect_stderr(printed):
            given = p.parse_args(words)
        return given.json, given.names, printed.getvalue()

    def test_alone_it_is_standard_output_and_a_file_stands_behind_the_equal_sign(self):
        for was_a_word in (False, True):
            self.assertEqual(self.given(was_a_word, "x"), (None, ["x"], ""))
            self.assertEqual(self.given(was_a_word, "x", "--json"), ("-", ["x"], ""))
            self.assertEqual(self.given(was_a_word, "--json=a", "x"), ("a", ["x"], ""))
        self.assertEqual(self.given(False, "--json", "x"), ("-", ["x"], ""))
        with self.assertRaisesRegex(BadInput, "--json= names no file; valid: --json, or"):
            self.given(False, "--json=")

    def test_a_file_as_the_next_word_is_taken_with_a_warning_where_it_was(self):
        for file in ("a", "-"):
            self.assertEqual(
                self.given(True, "--json", file, "x"),
                (
                    file,
                    ["x"],
                    f"openwip: --json {file} is --json={file} now; the next release takes --json"
                    " alone for standard output\n",
                ),
            )

    def test_it_has_one_form_in_the_table_of_all_commands(self):
        lines = [
            line for line in TABLE.read_text().splitlines() if re.match(r"help\t  --json\b", line)
        ]
        self.assertGreater(len(lines), 15)
        self.assertEqual([line for line in lines if "--json[=FILE]" not in line], [])


class Table(unittest.TestCase):
    def setUp(self):
        if not (BUILD / "python/openwip_schema").exists():
            self.skipTest("the messages are not built")

    def sections(self, lines):
        found, name = {}, None
        for line in lines:
            if line.startswith("command\t"):
                name = line.split("\t")[1]
                found[name] = []
            if name:
                found[name].append(line)
        return found

    def test_it_is_what_the_parsers_of_the_commands_are(self):
        """To make it again: python3 host/cli command-lines > host/cli/command_lines.txt (with
        OPENWIP_BUILD, everything built)."""
        kept = self.sections(TABLE.read_text().splitlines())
        window = kept.pop("monitor")
        self.assertEqual(kept, self.sections(command_lines.sections(PLACES)))
        if (BUILD / command_lines.WINDOW).exists():
            self.assertEqual(
                window, command_lines.of_program("monitor", BUILD / command_lines.WINDOW)
            )

    def test_what_is_refused_first_is_refused_by_the_command_as_well(self):
        for line in (
            "demo --snr loud",
            "demo --bins 26",
            "emulate --time reel",
            "demo --snr",
            "demo --keep=yes",
            "channel render x",
            "demo and more",
            "packets --way u",
            "radio levels --tone 5",
            "radio levels --gain 5",
            "station base --gain=5",
            "attenuator sweep --step 0",
            "channel rendr",
            "iq",
            "record",
            "top --mistyped",
            "keys",
            "emulate --bins nan",
            "demo --bins 1e1",
            "channel",
            "radio",
            "report missing.h5",
            "record info missing.h5",
            "record blocks missing.h5 -o t",
            "record recover missing.h5.part",
            "record missing/r.h5",
            "capture plot missing.pcapng -o g.png",
            "iq info missing",
            "iq replay missing",
            "iq import missing out",
            "channel info missing.h5",
            "channel info missing.h5 --json=missing/a.json",
            "channel plot missing.h5 -o p.png",
            "channel import missing.csv -o t.h5",
            "channel export missing.h5 --csv t.csv",
            "channel fit missing",
            "channel pass -o t.csv --tle missing",
            "channel render missing.yaml -o t.h5",
            "attenuator play missing.csv",
            "fader compare missing.yaml missing.json",
            "lab check 1 --answers missing.yaml",
            "ratings export missing",
            "ratings analyse missing.csv",
            "ratings session missing --subject 1",
            "demo --config missing.yaml",
            "emulate --config=missing.yaml",
            "demo --replay-iq missing",
            "campaign missing.yaml",
            "experiment-run missing.json out.json",
        ):
            command, *words = line.split()
            done = subprocess.run(
                ["awk", "-f", TOP / "host/cli/command_line.awk", "--", TABLE, command, *words],
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.returncode, 2, line)
            with self.assertRaises(BadInput, msg=line), contextlib.redirect_stderr(io.StringIO()):
                launcher.find(command)(words, PLACES)


class Environment(unittest.TestCase):
    """Variables that a caller has set for other programs do not change ours."""

    ODD = {
        "PYTHONSAFEPATH": "1",
        "PYTHONWARNINGS": "error",
        "PYTHONINSPECT": "1",
        "PYTHONVERBOSE": "1",
        "PYTHONHOME": "/nowhere",
        "PYTHONPATH": "/nowhere",
        "PYTHONOPTIMIZE": "2",
        "PYTHONIOENCODING": "ascii",
        "PYTHONNOUSERSITE": "",
        "PYTHONPLATLIBDIR": "lib99",
        "PYTHONDEVMODE": "1",
        "PYTHONPYCACHEPREFIX": "/nowhere",
        "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "none",
        "MPLBACKEND": "none",
        "GTEST_FILTER": "none",
        "GIT_DIR": "/nowhere",
        "CDPATH": "/usr",
    }

    def run_it(self, *arguments, **environment):
        base = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
        } | {"OPENWIP_NO_BUILD": "1", "OPENWIP_BUILD": str(BUILD)}
        return subprocess.run(
            [TOP / "openwip", *arguments],
            capture_output=True,
            text=True,
            env=base | environment,
            timeout=60,
        )

    def setUp(self):
        if not (BUILD / "python/openwip_schema").exists():
            self.skipTest("the messages are not built")

    def test_variables_of_other_programs_do_not_reach_ours(self):
        plain = self.run_it("keys", "/dev/null/keys")
        self.assertEqual((plain.returncode, plain.stdout), (2, ""))
        for name, value in self.ODD.items():
            with self.subTest(name):
                done = self.run_it("keys", "/dev/null/keys", **{name: value})
                self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", plain.stderr))

    def test_a_unit_without_home_and_path_is_enough(self):
        done = subprocess.run(
            [TOP / "openwip", "keys", "/dev/null/keys"],
            capture_output=True,
            text=True,
            env={"OPENWIP_NO_BUILD": "1", "OPENWIP_BUILD": str(BUILD)},
            timeout=60,
        )
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)

    def test_programs_that_a_command_starts_have_an_environment_of_ours(self):
        code = (
            "import os, sys; from openwip_cli.machine import places; places.own_environment();"
            " print(sorted(n for n in os.environ if n.startswith('PYTHON')),"
            " sorted(places.callers_python))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env={
                "PYTHONPATH": str(TOP / "host/cli"),
                "PYTHONSAFEPATH": "1",
                "PYTHONUTF8": "1",
                "PATH": os.environ["PATH"],
            },
        )
        self.assertEqual(
            done.stdout,
            "['PYTHONDONTWRITEBYTECODE', 'PYTHONNOUSERSITE', 'PYTHONPATH'] ['PYTHONPATH',"
            " 'PYTHONSAFEPATH', 'PYTHONUTF8']\n",
            done.stderr,
        )
        self.assertEqual(
            places.Places(TOP, BUILD, "python3").module("judge", 1),
            ["python3", "-I", "-B", str(TOP / "host/cli"), "judge", "1"],
        )

    def test_a_record_is_read_with_numpy_and_h5py_only(self):
        """docs/how-to/run-record.md promises it for a Python that has nothing else."""
        code = (
            "import sys\nfor name in ('yaml', 'zmq', 'google', 'scipy', 'matplotlib', 'jinja2',"
            " 'openwip_schema', 'gnuradio'): sys.modules[name] = None\nfrom"
            " openwip_cli.records.run_record import RunRecord\nfrom openwip_cli.records import"
            " contents, contents_process\nprint(sorted({m.partition('.')[0] for m in sys.modules} &"
            " {'numpy', 'h5py', 'openwip_cli'}))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": str(TOP / "host/cli")},
        )
        self.assertEqual((done.stdout, done.stderr), ("['h5py', 'numpy', 'openwip_cli']\n", ""))

    def test_every_start_of_python_in_this_tree_is_isolated_or_in_our_environment(self):
        """C++ and shell: with -I. In Python everything is started from an environment that main()
        has put in order."""
        for path in (*TOP.glob("host/**/*.cpp"), *TOP.glob("host/**/*.sh"), TOP / "openwip"):
            for line in path.read_text().splitlines():
                if re.search(r'"\$(candidate|python)" -[a-zA-Z]|"-m", "openwip', line):
                    self.assertRegex(line, r"-I", f"{path}: {line}")

    def test_ctrl_c_ends_it_at_any_moment_without_a_traceback(self):
        """Ctrl-C comes from the first moment on. `telemetry` without a cell would end by itself, so
        the test covers its start."""
        # A shell starts what it puts in the background with Ctrl-C ignored, and every program below
        # inherits that. With a handler here, the programs start with the default again.
        self.addCleanup(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        seen = set()
        for n in range(40):
            process = subprocess.Popen(
                [TOP / "openwip", "record", "blocks", "/dev/zero", "-o", "/dev/null"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
                env=os.environ | {"OPENWIP_NO_BUILD": "1", "OPENWIP_BUILD": str(BUILD)},
            )
            time.sleep(0.015 * n)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGINT)
            stdout, stderr = process.communicate(timeout=60)
            self.assertNotIn("Traceback", stderr, 0.015 * n)
            self.assertLessEqual(stderr.count("\n"), 1)
            seen.add(process.returncode)
        self.assertLessEqual(seen, {-signal.SIGINT, 130, 2})  # 2: it was over before
        self.assertGreaterEqual(len(seen & {-signal.SIGINT, 130}), 1)


class EarlierNames(unittest.TestCase):
    """An option that was renamed is taken under its earlier name for a release, with a warning."""

    def parse(self, *words):
        p = Parser("record", "Telemetry into a file.")
        p.value("--duration", Real(0.1, 1e6), was="--seconds", metavar="S", help="ends after S")
        p.add_argument("words", nargs="*")
        printed = io.StringIO()
        with contextlib.redirect_stderr(printed):
            given = p.parse_args(list(words))
        return given, printed.getvalue(), p

    def test_both_names_give_the_same_value_and_the_earlier_one_warns(self):
        given, printed, _ = self.parse("--duration", "5")
        self.assertEqual((given.seconds, printed), (5, ""))
        for words in (("--seconds", "5"), ("--seconds=5",)):
            given, printed, _ = self.parse(*words)
            self.assertEqual(given.seconds, 5)
            self.assertEqual(
                printed,
                "openwip: --seconds is called --duration now; the next release does not take"
                " --seconds\n",
            )

    def test_a_word_behind_two_dashes_is_no_option(self):
        given, printed, _ = self.parse("--", "--seconds")
        self.assertEqual((given.words, printed), (["--seconds"], ""))

    def test_help_and_errors_have_the_name_of_today(self):
        _, _, p = self.parse()
        self.assertIn("--duration S", p.format_help())
        self.assertNotIn("--seconds", p.format_help())
        with self.assertRaisesRegex(BadInput, "^--duration is '0'; valid"):
            self.parse("--seconds", "0")
        self.assertEqual(p.named_options(self.parse("--duration", "5")[0]), ["--duration"])


if __name__ == "__main__":
    unittest.main()
