# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip before it hands over: which packages and programs a command asks for, when it
configures again, and the line that moves meanwhile. apt, dpkg, CMake, ninja and Python are stood in
for by scripts that note what they were asked."""

import os
import pathlib
import pty
import pwd
import re
import shutil
import subprocess
import sys
import time
import unittest

from openwip_cli.machine import places

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from entry_point_world import OPENWIP, TOP, EntryPointCase

BUILD = os.environ.get("OPENWIP_BUILD", str(TOP / "build"))


class EntryPoint(EntryPointCase):
    def everything(self):
        """The packages of the table but those of what has a `setup --...` of its own."""
        rows = re.findall(r"^([a-z0-9.+-]+)(?:/\S+)?\|([a-z0-9 -]+)\|.", OPENWIP.read_text(), re.M)
        own = {"virtual-time", "ns3", "notebooks"}
        return {name for name, groups in rows if set(groups.split()) - own}

    def test_the_demo_asks_for_its_own_packages_and_programs(self):
        packages = self.packages_of("demo", "--snr", "20")
        for name in ("g++", "gnuradio-dev", "libuhd-dev", "python3-zmq", "iperf3"):
            self.assertIn(name, packages)
        for name in (
            "libgtest-dev",
            "qt6-base-dev",
            "libhdf5-dev",
            "python3-matplotlib",
            "python3-scipy",
            "tshark",
            "xvfb",
        ):
            self.assertNotIn(name, packages)
        self.assertEqual(self.asked[-2:], ["ninja demo", "python host/cli demo --snr 20"])

    def test_the_emulator_asks_for_no_gnu_radio(self):
        packages = self.packages_of("emulate")
        self.assertEqual({p for p in packages if "gnuradio" in p or "uhd" in p or "qt" in p}, set())
        self.assertIn("libhdf5-dev", packages)
        self.assertIn("ninja emulate", self.asked)

    def test_radios_are_measured_without_a_cell_and_doctor_looks_without_a_build(self):
        packages = self.packages_of("radio", "list")
        self.assertLess(
            {"libuhd-dev", "libliquid-dev", "nlohmann-json3-dev", "python3-matplotlib"}, packages
        )
        self.assertNotIn("libhdf5-dev", packages)
        self.assertEqual(self.asked[-2:], ["ninja radio", "python host/cli radio list"])
        self.run_it("doctor", "--radio", "type=b200")
        self.assertEqual(self.asked, ["python host/cli doctor --radio type=b200"])
        self.run_it("doctor", "--loop")
        self.assertEqual(self.asked, ["ninja radio", "python host/cli doctor --loop"])

    def test_options_ask_for_what_they_need(self):
        self.packages_of("demo")
        (self.world / "jakes.h5").touch()
        self.assertEqual(self.packages_of("demo", "--record", "run.h5"), {"python3-h5py"})
        self.assertEqual(self.packages_of("demo", "--channel", "jakes.h5"), {"libhdf5-dev"})
        installed = self.world / "installed"
        installed.write_text(installed.read_text().replace("libhdf5-dev\n", ""))
        for text, missing in (
            ("channel: {model: jakes}     # as jakes.h5\nlink: {loop: as_set}\n", set()),
            ("channel:\n  model: jakes.h5\nlink:\n  loop: auto\n", {"libhdf5-dev"}),
        ):
            (self.world / "s.yaml").write_text(text)
            self.assertEqual(
                self.packages_of("demo", "--config", str(self.world / "s.yaml")), missing
            )
            self.assertEqual("ninja demo radio" in self.asked, "auto" in text)
        installed.write_text(installed.read_text().replace("nlohmann-json3-dev\n", ""))
        self.assertEqual(
            self.packages_of("station", "base", "--config", str(self.world / "s.yaml")),
            {"nlohmann-json3-dev"},
        )
        self.assertIn("ninja demo radio", self.asked)
        self.assertEqual(
            self.packages_of("demo", "--monitor"), {"qt6-base-dev", "libqcustomplot-dev"}
        )
        self.assertIn("ninja demo monitor", self.asked)
        self.assertEqual(
            self.packages_of(
                "demo", "--capture=run.pcapng", "--clock", "realtime", "--loop", "auto"
            ),
            set(),
        )
        self.assertIn("ninja demo capture radio", self.asked)

    def test_of_two_names_the_one_that_the_release_has(self):
        """Ubuntu 24.04 has no libvolk2-dev but mentions it, 22.04 no cppzmq-dev. A container's
        image has no lists at first."""
        for mentioned, name, other in (
            ("libvolk2-dev", "libvolk-dev", "libvolk2-dev"),
            ("", "libvolk2-dev", "libvolk-dev"),
            ("cppzmq-dev", "libzmq3-dev", "cppzmq-dev"),
        ):
            for lists in (True, False):
                with self.subTest(mentioned, lists=lists):
                    (self.world / "installed").write_text("")
                    if not lists:
                        (self.world / "lists").unlink()
                    done = self.run_it("demo", MENTIONED=mentioned)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    asked = [line.split() for line in self.asked if line.startswith("apt-get")]
                    self.assertEqual(
                        [line[1] for line in asked], ["install"] if lists else ["update", "install"]
                    )
                    self.assertIn(name, asked[-1])
                    self.assertNotIn(other, asked[-1] + done.stdout.split())

    def names_asked_for(self, *arguments, **more):
        """The words of each call of apt-get, update or install with its names."""
        done = self.run_it(*arguments, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [
            line.split()[1:2] + [w for w in line.split()[2:] if not w.startswith("-")]
            for line in self.asked
            if line.startswith("apt-get")
        ]

    def test_names_are_chosen_when_the_lists_are_there_whatever_there_was_before(self):
        """Debian 13 has libvolk-dev. Without lists a name with a plus is a pattern that finds
        installed packages; some lists are no lists of all names."""
        (self.world / "lists").unlink()
        update, install = self.names_asked_for("demo", MENTIONED="libvolk2-dev")
        self.assertEqual(update, ["update"])
        self.assertIn("g++", install)
        self.assertIn("libvolk-dev", install)
        self.assertNotIn("libvolk2-dev", install)

        (self.world / "installed").write_text("")
        (self.world / "unknown").write_text("libvolk-dev\nlibvolk2-dev\ngnuradio\n")
        update, install = self.names_asked_for("demo", MENTIONED="libvolk2-dev")
        self.assertEqual(update, ["update"])
        self.assertIn("libvolk-dev", install)

    def test_names_are_chosen_again_after_an_install_that_failed_because_lists_are_old(self):
        (self.world / "old").touch()
        before, update, after = self.names_asked_for("demo")
        self.assertEqual(([before[0], after[0]], update), (["install"] * 2, ["update"]))
        self.assertEqual(set(before), set(after))

    def test_a_release_without_a_package_says_which_and_installs_nothing(self):
        (self.world / "unknown").write_text("gnuradio-dev\n")
        done = self.run_it("demo", NO_NETWORK="1")
        self.assertEqual(
            (done.returncode, done.stderr.splitlines()[-1].partition(",")[0]),
            (1, "openwip: apt-get update failed"),
        )
        done = self.run_it("demo", MENTIONED="gnuradio-dev")
        self.assertEqual(
            (done.returncode, done.stderr),
            (
                1,
                (
                    "openwip: apt has no package gnuradio-dev; valid: a release that has it, with"
                    " all its components (Ubuntu: universe too)\n"
                ),
            ),
        )
        self.assertFalse(any(line.startswith("apt-get install") for line in self.asked))

    def test_what_reads_a_record_builds_its_messages_alone(self):
        (self.world / "run.h5").touch()
        packages = self.packages_of("report", "run.h5")
        self.assertLess({"python3-jinja2", "python3-h5py", "protobuf-compiler"}, packages)
        self.assertNotIn("gnuradio", packages)
        self.assertEqual(
            [line for line in self.asked if line.startswith(("cmake", "ninja"))],
            ["cmake", "ninja record"],
        )

    def test_setup_of_everything_is_the_whole_table(self):
        for program in ("sigmf/bin/sigmf_validate", "campaigns/bin/snakemake"):
            path = self.world / "build" / program
            path.parent.mkdir(parents=True)
            path.touch()
            path.chmod(0o755)
        every = self.everything()
        self.assertGreater(len(every), 40)
        self.assertEqual(self.packages_of("setup"), every)
        self.assertEqual(self.packages_of("setup"), set())  # nothing is missing any more

    def test_configures_again_only_when_packages_have_changed(self):
        self.packages_of("build", "demo")
        self.assertEqual(self.asked[-2:], ["cmake", "ninja demo"])
        self.run_it("build", "demo")
        self.assertEqual(self.asked, ["ninja demo"])
        self.run_it("build", "monitor")
        self.assertEqual(self.asked[1:], ["cmake", "ninja monitor"])

    def test_configures_again_for_a_part_that_the_last_configure_did_not_know(self):
        self.run_it("build", "demo", LEFT_OUT="capture")
        self.run_it("build", "capture")
        self.assertEqual(self.asked, ["cmake", "ninja capture"])

    def test_a_part_that_is_left_out_says_what_it_needs(self):
        done = self.run_it("build", "monitor", LEFT_OUT="monitor")
        self.assertEqual(
            (done.returncode, done.stderr),
            (2, "openwip: this is not part of the build: openwip monitor (needs libmissing-dev)\n"),
        )
        self.assertEqual(self.run_it("build", "demo", LEFT_OUT="monitor").returncode, 0)
        # An option that cannot be had does not keep the cell from running: the launcher says what
        # is missing.
        self.assertEqual(self.run_it("demo", "--monitor", LEFT_OUT="monitor").returncode, 0)
        self.assertEqual(self.asked[-2:], ["ninja demo", "python host/cli demo --monitor"])

    def test_a_tree_with_nothing_to_build_serves_whoever_may_not_write_in_it(self):
        self.packages_of("build", "demo")
        (self.world / "tools" / "ninja").write_text(
            '#!/bin/sh\ncase "$*" in *" -n "*) echo "ninja: no work to do." ;; *) exit 1 ;; esac\n'
        )
        build = self.world / "build"
        before = sorted((p.name, p.stat().st_mtime_ns) for p in build.iterdir())
        build.chmod(0o555)
        self.addCleanup(build.chmod, 0o755)
        self.assertEqual(self.run_it("demo").returncode, 0)
        self.assertEqual(self.asked, ["python host/cli demo"])
        self.assertEqual(sorted((p.name, p.stat().st_mtime_ns) for p in build.iterdir()), before)

    @unittest.skipIf(
        os.geteuid() != 0 or shutil.which("setpriv") is None,
        "needs root, which sudo gives, and setpriv",
    )
    def test_what_sudo_builds_in_a_users_tree_is_the_users_and_compiled_without_root(self):
        user = pwd.getpwnam("nobody")
        tree = self.world / "tree"
        (tree / "host").mkdir(parents=True)
        (tree / "host" / "cli").symlink_to(TOP / "host/cli")
        shutil.copy(OPENWIP, tree / "openwip")
        self.world.chmod(0o755)
        (self.world / "asked").chmod(0o666)
        for path in (tree, tree / "host"):
            os.chown(path, user.pw_uid, user.pw_gid)
        for name in ("cmake", "ninja"):
            tool = self.world / "tools" / name
            tool.write_text(
                tool.read_text().replace(
                    "#!/bin/sh\n",
                    f'#!/bin/sh\necho "{name} by $(id -u)" >>"$WORLD/asked"\n',
                )
            )
        build = tree / "build"
        (build / "of-an-earlier-root").mkdir(parents=True)
        environment = self.environment(
            SUDO_UID=str(user.pw_uid), SUDO_GID=str(user.pw_gid), OPENWIP_BUILD=str(build)
        )
        done = subprocess.run(
            [tree / "openwip", "demo"], capture_output=True, text=True, env=environment, timeout=300
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess({f"cmake by {user.pw_uid}", f"ninja by {user.pw_uid}"}, set(self.asked))
        self.assertEqual(
            [p.name for p in (build, *build.rglob("*")) if p.stat().st_uid != user.pw_uid], []
        )

        # The user goes on, without root; what is root's tree stays root's.
        done = subprocess.run(
            [
                "setpriv",
                "--reuid",
                str(user.pw_uid),
                "--regid",
                str(user.pw_gid),
                "--clear-groups",
                tree / "openwip",
                "demo",
            ],
            capture_output=True,
            text=True,
            env=environment,
            timeout=300,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        os.chown(tree, 0, 0)
        self.assertEqual(
            subprocess.run(
                [tree / "openwip", "build", "demo"],
                capture_output=True,
                text=True,
                env=environment,
                timeout=300,
            ).returncode,
            0,
        )
        self.assertIn("ninja by 0", self.asked)

    def test_virtual_time_is_refused_before_anything_is_fetched_where_its_kernel_cannot_run(self):
        uname = self.world / "tools" / "uname"
        uname.write_text("#!/bin/sh\necho Linux aarch64\n")
        uname.chmod(0o755)
        done = self.run_it("setup", "--virtual-time")
        self.assertEqual(
            (done.returncode, self.asked, done.stdout, done.stderr.count("\n")),
            (2, [], "", 1),
            done.stderr,
        )
        self.assertRegex(
            done.stderr,
            "x86-64 only, and this is Linux aarch64; valid here: --time real, or --time ns3",
        )

    def test_an_unknown_command_installs_nothing(self):
        for command in ("setup", "build"):
            done = self.run_it(command, "demo", "demos")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
            self.assertIn("demos", done.stderr)
            self.assertEqual(self.asked, [])

    def test_the_help_of_what_the_shell_does_itself_does_nothing_else(self):
        for command in ("setup", "build", "grc", "switch-table"):
            for flag in ("-h", "--help"):
                done = self.run_it(command, flag)
                self.assertEqual((done.returncode, self.asked), (0, []), done.stderr)
                self.assertTrue(done.stdout.startswith(f"usage: ./openwip {command} "), done.stdout)

    def test_every_command_of_the_help_is_known(self):
        lines = subprocess.run([OPENWIP, "help"], capture_output=True, text=True).stdout
        dispatch = OPENWIP.read_text().partition("\ncommand=${1:-help}")[2]
        commands = re.findall(r"^  ([a-z-]+) ", lines, re.M)
        self.assertGreater(len(commands), 25)
        for command in commands:
            self.assertRegex(dispatch, rf"(?m)^    (.* \| )?{command}( \| .*)?\)", command)

    def test_every_program_of_the_launcher_is_built_for_a_command(self):
        parts = re.findall(
            r"openwip_part\(\S+ TARGETS([^)]*?)(?: NEEDS|\))", (TOP / "CMakeLists.txt").read_text()
        )
        built = set(" ".join(parts).split())
        programs = set()
        for path in (TOP / "host/cli/openwip_cli").rglob("*.py"):
            for folder, name in re.findall(r'"((?:host|channels)/\w+)/([\w-]+)"', path.read_text()):
                if f"add_executable({name} " in (TOP / folder / "CMakeLists.txt").read_text():
                    programs.add(name)
        self.assertLess({"macd", "air", "wip_emulator", "openwip-monitor"}, programs)
        self.assertEqual(programs - built, set())

    def test_no_module_of_the_users_is_taken_for_one_of_ours(self):
        own = self.world / "own"
        own.mkdir()
        for name in ("yaml", "zmq", "signal", "runpy", "openwip_cli"):
            (own / f"{name}.py").write_text(f"raise SystemExit('{name} of the user')\n")
        environment = self.environment(
            OPENWIP_NO_BUILD="1", OPENWIP_PYTHON=sys.executable, OPENWIP_BUILD=BUILD
        )
        for more in ({}, {"PYTHONPATH": str(own)}, {"PYTHONHOME": str(own)}):
            with self.subTest(more):
                done = subprocess.run(
                    [OPENWIP, "keys", f"{self.world}/{len(more)}{'-'.join(more)}"],
                    cwd=own,
                    env=environment | more,
                    capture_output=True,
                    text=True,
                )
                self.assertEqual((done.returncode, done.stderr), (0, ""))
        # The same holds for programs that a command starts.
        module = places.Places(TOP, pathlib.Path(BUILD), sys.executable).module("dance")
        done = subprocess.run(
            module,
            cwd=own,
            env=environment | {"PYTHONPATH": f"{BUILD}/python"},
            capture_output=True,
            text=True,
        )
        self.assertEqual(
            (done.returncode, done.stderr),
            (2, "openwip: unknown command dance; valid: those that ./openwip help lists\n"),
        )

    def test_a_failed_build_shows_its_end_and_ends_with_one(self):
        done = self.run_it("build", "demo", NINJA_ENDS="1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("build failed, all of it is in", done.stderr)

    def on_a_terminal(self, *arguments, **more):
        mine, theirs = pty.openpty()
        process = subprocess.Popen(
            [OPENWIP, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=self.environment(**more),
        )
        os.close(theirs)
        text = b""
        try:
            while piece := os.read(mine, 4096):
                text += piece
        except OSError:  # the other end is closed
            pass
        os.close(mine)
        self.assertEqual(process.wait(300), 0, text)
        return text.decode().replace("\r\n", "\n")

    def test_on_a_terminal_one_line_moves_while_it_installs_and_compiles(self):
        wanted = (
            r"setup: fetching packages, 40 %, Retrieving file 2 of 5 \(",
            r"setup: installing packages, 12 %, libfirst",
            r"build: compiling, 1 of 40 steps",
            r"build: compiling, 10 of 40 steps, about .* left \(",
        )
        # A line that starves does not move as long as a step takes, so steps take longer then.
        for pace in ("5", "20", "60"):
            (self.world / "installed").write_text("")
            shutil.rmtree(self.world / "build", ignore_errors=True)
            text = self.on_a_terminal("build", "demo", PACE=pace)
            shown = [piece for piece in re.split(r"\r\033\[K", text) if "\n" not in piece and piece]
            missing = [w for w in wanted if not any(re.match(w, piece) for piece in shown)]
            if not missing:
                break
        self.assertEqual(missing, [], shown)
        self.assertTrue(
            text.endswith("\r\033[Kbuild: up to date in " + str(self.world / "build") + "\n"),
            text[-200:],
        )

    def test_without_a_terminal_it_is_a_line_now_and_then(self):
        self.packages_of("build", "demo")
        begin = time.monotonic()
        done = self.run_it("build", "demo", PACE="4", OPENWIP_LINE_EVERY_S="3")
        took = time.monotonic() - begin
        lines = [line for line in done.stdout.splitlines() if "steps" in line]
        self.assertGreaterEqual(len(lines), 2, done.stdout)
        self.assertLessEqual(len(lines), took / 3, done.stdout)
        self.assertNotIn("\r", done.stdout)


if __name__ == "__main__":
    unittest.main()
