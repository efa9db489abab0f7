# SPDX-License-Identifier: GPL-3.0-or-later
"""The benches that try other machines and compilers: a machine with nothing installed, packages,
64-bit ARM, several compilers, and the time of a build."""

import contextlib
import io
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

from bench_support import BENCH, bench, code_of

fresh, arm, compilers = bench("fresh_machine"), bench("arm_core"), bench("compilers")
packages = bench("fresh_packages")
build_times = bench("build_times")


class FreshMachine(unittest.TestCase):
    # In the place of the root file system: `test` leaves a file of ctest, `demo` a log of the
    # build; the second command sees what the first one wrote.
    INSIDE = """base=$1 run=$2 lists=$3; shift 4
mkdir -p "$run/upper/openwip/build"; cd "$run/upper/openwip/build"
echo "verdict of $*, after $(cat said 2>/dev/null || echo nothing), lists $lists"; echo "$*" >said
if [ "$1" = demo ]; then printf 'a.cpp:1:2: warning: no\\na warning: of whom\\n' >openwip-build.log; exit 3; fi
echo '<testsuite tests="3"><testcase name="a" status="run"/><testcase name="b" status="fail"/><testcase name="c" status="notrun"/></testsuite>' >openwip-tests.xml
"""

    def test_commands_run_one_after_another_on_the_same_machine(self):
        with (
            tempfile.TemporaryDirectory() as folder,
            contextlib.redirect_stdout(io.StringIO()) as output,
            unittest.mock.patch.multiple(fresh, INSIDE=self.INSIDE, IN_NAMESPACE=[]),
        ):
            code = fresh.one_machine(
                pathlib.Path(folder),
                "trixie",
                pathlib.Path("/"),
                "none",
                fresh.split("demo --duration 5 --then test".split()),
            )
            demo, test = json.loads(output.getvalue())["commands"]
            self.assertEqual([f.suffix for f in pathlib.Path(folder).iterdir()], 2 * [".log"])
        self.assertEqual(code, 3)
        self.assertEqual(
            (demo["command"], demo["exit_code"], demo["tests"], demo["warnings"]),
            (["demo", "--duration", "5"], 3, None, ["a.cpp:1:2: warning: no"]),
        )
        self.assertEqual(
            (test["command"], test["exit_code"], test["warnings"]), (["test"], 0, None)
        )
        self.assertEqual(test["said"], ["verdict of test, after demo --duration 5, lists none"])
        self.assertEqual(
            test["tests"],
            {"tests": 3, "passed": 1, "failed": 1, "left_out": 1, "names_of_failed": ["b"]},
        )

    def test_a_machine_that_is_kept_goes_on_with_the_next_call(self):
        with (
            tempfile.TemporaryDirectory() as folder,
            contextlib.redirect_stdout(io.StringIO()) as output,
            unittest.mock.patch.multiple(fresh, INSIDE=self.INSIDE, IN_NAMESPACE=[]),
        ):
            for word in ("first", "second"):
                output.truncate(output.seek(0))
                fresh.one_machine(
                    pathlib.Path(folder),
                    "trixie",
                    pathlib.Path("/"),
                    "none",
                    [[word]],
                    pathlib.Path(folder, "kept"),
                )
            (second,) = json.loads(output.getvalue())["commands"]
        self.assertEqual(second["said"], ["verdict of second, after first, lists none"])

    def test_bad_words_are_one_line(self):
        for words, output in (
            (("trixie", "demo", "--then"), "--then without a command"),
            (("--machine", "m", "trixie"), "valid: --lists none"),
            (("woody",), "woody"),
            (("--lists", "old", "trixie"), "old"),
        ):
            code, line = code_of(fresh, *words)
            self.assertEqual((code, output in line), (2, True), line)

    def test_the_script_of_the_platforms_names_what_is_valid(self):
        for words in ((), ("woody",), ("trixie", "demo")):
            done = subprocess.run(
                [BENCH.parent / "platforms", *words], capture_output=True, text=True
            )
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            for release in (*fresh.RELEASES, "next", "arm64"):
                self.assertIn(release, done.stderr)

    def test_each_release_has_its_turn(self):
        """Python, of another program of this name, is in the place of what would make the
        machine."""
        tried = []
        with tempfile.TemporaryDirectory() as folder:
            for name, output in (("python3", 'echo "$4"'), ("git", "echo $COMMITS")):
                program = pathlib.Path(folder, name)
                program.write_text(f"#!/bin/sh\n{output}\n")
                program.chmod(0o755)
            for commits in range(4000, 4000 + len(fresh.RELEASES)):
                done = subprocess.run(
                    [BENCH.parent / "platforms", "next"],
                    capture_output=True,
                    text=True,
                    env={"PATH": f"{folder}:/usr/bin:/bin", "COMMITS": str(commits)},
                )
                tried.append(done.stdout.strip())
        self.assertEqual(sorted(tried), sorted(fresh.RELEASES))


class FreshPackages(unittest.TestCase):
    # In the place of the root file system: installing works, and `top` finds what was installed.
    INSIDE = """run=$2; shift 3; cd "$run/tree"
case $1 in
    apt-get) [ "$2" = update ] || ls >../installed ;;
    openwip) [ "$2" = top ] && echo "verdict: VALID beside $(cat ../installed)" ;;
esac
"""

    def test_packages_are_installed_before_the_command_runs(self):
        with (
            tempfile.TemporaryDirectory() as folder,
            unittest.mock.patch.multiple(
                packages.fresh_machine, INSIDE=self.INSIDE, IN_NAMESPACE=[]
            ),
        ):
            there = pathlib.Path(folder, "there")
            there.mkdir()
            for name in ("openwip", "openwip-dev"):
                (there / f"{name}_1_all.deb").touch()
            for command, code in ((["top"], 0), (["bottom"], 1)):
                steps = packages.install_and_run(
                    pathlib.Path(folder), pathlib.Path("/"), there, command
                )
                self.assertEqual(
                    [step["command"] for step in steps],
                    [
                        "apt-get update -q",
                        "apt-get install -y -q --no-install-recommends ./openwip_1_all.deb",
                        f"openwip {command[0]}",
                    ],
                )
                self.assertEqual([step["exit_code"] for step in steps], [0, 0, code])
            self.assertEqual(steps[-1]["verdict"], "")

    def test_the_command_that_is_kept_is_the_one_that_was_given(self):
        step = {"exit_code": 0, "seconds": 1.0}
        with (
            tempfile.TemporaryDirectory() as folder,
            contextlib.redirect_stdout(io.StringIO()),
            unittest.mock.patch.object(packages.os, "geteuid", return_value=0),
            unittest.mock.patch.object(packages.shutil, "which", return_value="/debootstrap"),
            unittest.mock.patch.object(packages.fresh_machine, "base"),
            unittest.mock.patch.object(packages, "install_and_run", return_value=[step]),
            unittest.mock.patch.object(packages.kept_result, "write") as write,
        ):
            pathlib.Path(folder, "openwip_1_all.deb").touch()
            asked = ["--within=90", folder, "trixie", "top", "--words", "two words"]
            options = [f"--folder={folder}/roots", f"--json={folder}/kept.json"]
            with unittest.mock.patch.object(packages.sys, "argv", ["", *options, *asked]):
                self.assertEqual(packages.main(), 0)
        command = write.call_args.args[1]
        self.assertEqual(shlex.split(command), [*packages.COMMAND, *asked])

    def test_a_folder_without_packages_is_refused_in_one_line(self):
        code, line = code_of(packages, "/nowhere", "bookworm")
        self.assertEqual((code, "/nowhere has no openwip_*.deb" in line), (2, True), line)


class ArmCore(unittest.TestCase):
    def test_what_it_cannot_begin_with_is_said_in_one_line(self):
        for release, tool, words, output in (
            ("plucky", True, (), "this is plucky"),
            ("trixie", False, (), "aarch64-linux-gnu-g++ is missing"),
            ("trixie", True, ("--jobs", "0"), "--jobs is 0"),
        ):
            with (
                unittest.mock.patch.object(
                    arm.platform, "freedesktop_os_release", lambda: {"VERSION_CODENAME": release}
                ),
                unittest.mock.patch.object(arm.shutil, "which", lambda name: tool),
            ):
                code, line = code_of(arm, *words)
            self.assertEqual((code, output in line), (2, True), line)


class Compilers(unittest.TestCase):
    def test_what_one_build_says_of_the_recording_of_another_is_bounded(self):
        slot = ["0", "1", *compilers.BINS * ["1"], *(2 * compilers.BINS * ["20"]), "ab"]
        for at, value, kept in ((27, "20.0009", True), (60, "20.0011", False), (5, "2", False)):
            other = slot[:at] + [value] + slot[at + 1 :]
            pair = compilers.compared([slot, slot], [slot, other])
            self.assertEqual((pair["slots_with_equal_bits"], compilers.is_kept(pair)), (1, kept))
        self.assertFalse(compilers.is_kept(compilers.compared([slot, slot], [slot])))


class BuildTimes(unittest.TestCase):
    LOG = (
        "# ninja log"
        " v5\n0\t2000\t1\ttests/unit/mac/CMakeFiles/test_a.dir/test_a.cpp.o\tc1\n0\t500\t1\tmac/gen/a.pb.h\tc2\n"
        "0\t500\t1\tmac/gen/a.pb.cc\tc2\n2000\t2500\t1\ttests/unit/mac/test_a\tc3\n"
        "3000\t4000\t2\ttests/unit/mac/CMakeFiles/test_a.dir/test_a.cpp.o\tc1\n"
    )

    def printed(self, log, *words):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, ".ninja_log").write_text(log)
            out, err = io.StringIO(), io.StringIO()
            with (
                unittest.mock.patch.object(sys, "argv", ["build_times", folder, *words]),
                contextlib.redirect_stdout(out),
                contextlib.redirect_stderr(err),
            ):
                code = build_times.main()
        return code, out.getvalue(), err.getvalue()

    def test_the_last_time_of_each_step_counts_once_whatever_it_made(self):
        code, text, _ = self.printed(self.LOG, "--top", "1", "--budget", "0.5")
        found = json.loads(text)
        self.assertEqual((code, found["seconds"], found["within_budget"]), (0, 2.0, False))
        self.assertEqual(found["kinds"], {"objects": 1.0, "other": 0.5, "links and archives": 0.5})
        self.assertEqual(found["rooms"], {"tests/unit/mac": 1.5, "mac/gen": 0.5})
        self.assertEqual(
            found["longest"], {"tests/unit/mac/CMakeFiles/test_a.dir/test_a.cpp.o": 1.0}
        )

    def test_a_log_that_is_not_of_ninja_is_one_line_with_the_file_and_what_is_valid(self):
        for log in ("", "something else\n", "# ninja log v5\n1\t2\n"):
            code, text, error = self.printed(log)
            self.assertEqual((code, text, len(error.splitlines())), (2, "", 1))
            self.assertRegex(error, r"\.ninja_log: line \d is .*; valid: ")


if __name__ == "__main__":
    unittest.main()
