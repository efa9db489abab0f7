# SPDX-License-Identifier: GPL-3.0-or-later
"""A scheduler and an adaptation rule of one's own, exactly as the how-to page has them: proportional
fair in Python and in C++ gives the result of the built-in method in virtual time; what is wrong is
named; in a cell in real time the code runs as the account and its cost is in the report."""

import json
import os
import pathlib
import pwd
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

from demo_support import TOP, built, environment, openwip
from own_code_support import FIRST_TERMINAL, make_library

sys.path.insert(0, str(TOP / "tests/support"))
import documented
from openwip_cli.machine import system

PAGES = (TOP / "docs/how-to/extend.md", TOP / "docs/how-to/own-predictor.md")
BUILD = pathlib.Path(environment()["OPENWIP_BUILD"])
HEADERS = TOP / "mac/port/include"
KERNEL = BUILD / "virtual-time/linux"
THREE = ("--terminals", "3", "--users-db", "8,14,20", "--channel", "jakes", "--seed", "7")
# These rows are of the wall clock, which is another one in every run.
OF_THE_CLOCK = ("own_code", "realtime", "config", "effective", "seconds", "versions")
WRONG = """
    import os
    class Wrong:
        def __init__(self, cell):
            self.slots = 0
        def share_bins(self, slot):
            self.slots += 1
            if self.slots == 500:
                slot.give(0, 25)
            if slot.users[0].wants:
                slot.give(0, 3)
    class Who:
        def __init__(self, cell):
            raise ValueError(f"user {os.getuid()}, capabilities {self.held()}")
        def held(self):
            return next(line.split()[1] for line in open("/proc/self/status") if line[:7] == "CapEff:")
    class Blind:
        def __init__(self, horizon):
            self.slots = 0
        def update(self, gains, gain_error):
            self.slots += 1
            return None if self.slots < 800 else 1 / 0
"""


def without_clock(report):
    return {key: value for key, value in report.items() if key not in OF_THE_CLOCK}


@unittest.skipUnless((BUILD / "host/emulator/wip_emulator").exists(), "the emulator is not built")
@unittest.skipUnless(
    (BUILD / "host/extension/openwip-python.so").exists(), "rules in Python are not built"
)
class OwnCode(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.folder.chmod(0o755)  # the account reads in it
        cls.texts = {
            b.save_as: b.text for page in PAGES for b in documented.blocks(page) if b.save_as
        }
        for name, text in cls.texts.items():
            (cls.folder / name).write_text(text)
            if name.endswith(".cpp"):
                make_library(cls.folder / name, HEADERS)
        (cls.folder / "wrong.py").write_text(textwrap.dedent(WRONG))
        (cls.folder / "first.py").write_text(FIRST_TERMINAL)

    def report(self):
        return json.loads((self.folder / "report.json").read_text())

    def value(self, kind, name):
        return f"{kind}:{self.folder / name}"

    def emulate(self, *options, virtual=("--generator",), seconds="3"):
        done = openwip(
            "emulate",
            *virtual,
            "--duration",
            seconds,
            f"--json={self.folder / 'report.json'}",
            *options,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.report()

    def refused(self, *options, code=2):
        done = openwip("emulate", "--generator", "--duration", "1", *options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stderr

    def python_and_library_are_built_in(self, virtual):
        built_in = self.emulate(*THREE, "--scheduling", "proportional_fair", virtual=virtual)
        other = self.emulate(*THREE, "--scheduling", "round_robin", virtual=virtual)
        self.assertNotEqual(without_clock(other), without_clock(built_in))
        self.assertEqual(built_in["own_code"], [])
        for value in (
            self.value("python", "fair.py:ProportionalFair"),
            self.value("library", "fair.so"),
        ):
            own = self.emulate(*THREE, "--scheduler", value, virtual=virtual)
            self.assertEqual(without_clock(own), without_clock(built_in), value)
            (cost,) = own["own_code"]
            self.assertEqual((cost["setting"], cost["value"]), ("link.scheduler", value))
            self.assertGreaterEqual(cost["calls"], own["realtime"]["slots"])
            self.assertGreater(cost["max_us"], 0)
            self.assertGreaterEqual(cost["max_us"], cost["median_us"])

    def test_proportional_fair_of_the_page_is_the_built_in_one_exactly(self):
        self.assertLessEqual(len(self.texts["fair.py"].split("\n\n\n")[-1].split("\n")), 22)
        code = [line for line in self.texts["fair.py"].splitlines() if line.strip()]
        self.assertLessEqual(len(code), 20)
        self.python_and_library_are_built_in(("--generator",))

    @unittest.skipUnless(KERNEL.exists(), "no Linux kernel for virtual time")
    def test_it_is_with_the_tcp_of_a_linux_kernel_too(self):
        self.python_and_library_are_built_in(("--time", "virtual"))

    def test_the_outer_loop_of_the_page_keeps_the_share_of_frames_that_fail(self):
        options = ("--channel", "jakes", "--prediction-nmse", "0.3", "--seed", "5")
        built_in = self.emulate(*options, seconds="10")
        own = self.emulate(
            *options, "--adaptation", self.value("python", "outer.py:OuterLoop"), seconds="10"
        )

        def first_failures(report):
            """Share of frames that needed a retransmission."""
            counts = report["link"]["retransmission_histogram"]
            return sum(counts[1:]) / sum(counts)

        self.assertLess(abs(first_failures(own) - 0.1), 0.025, own["link"])
        self.assertGreater(abs(first_failures(built_in) - 0.1), 0.05)

    def test_a_rule_in_a_library_chooses_the_modulation(self):
        built_in = self.emulate("--channel", "awgn", "--snr", "20")
        own = self.emulate(
            "--channel", "awgn", "--snr", "20", "--adaptation", self.value("library", "careful.so")
        )

        def most(report):
            counts = report["link"]["modulation_histogram"]
            return counts.index(max(counts))

        self.assertEqual(most(own), most(built_in) - 1)

    def test_what_is_wrong_is_named_and_the_exit_code_is_2(self):
        at = self.folder / "wrong.py"
        for options, words in (
            (
                ("--scheduler", self.value("python", "wrong.py:Wrong")),
                f"slot 499: {at}:9: in share_bins: ValueError: bin is 25; valid: 0..24",
            ),
            (
                ("--scheduler", self.value("python", "wrong.py:Right")),
                f"{at} has no class Right; valid: Wrong, Who, Blind",
            ),
            (
                ("--scheduler", "python:no.py:A"),
                "the file of --scheduler is 'no.py', which does not exist; valid: a file",
            ),
            (
                ("--scheduler", self.value("library", "careful.so")),
                "has not all functions of a scheduler; valid: a library with scheduler_make",
            ),
            (
                ("--adaptation", self.value("python", "fair.py:ProportionalFair")),
                "class ProportionalFair has no method choose_modulation()",
            ),
            (
                ("--scheduler", "best"),
                "--scheduler is 'best'; valid: built_in, python:FILE:CLASS or"
                " library:FILE[:ARGUMENT]",
            ),
            (
                (
                    *("--scheduler", self.value("library", "fair.so")),
                    *("--scheduling", "max_rate", "--terminals", "2"),
                ),
                "assigns the bins; valid: as_allocation, or --scheduler built_in",
            ),
            (
                ("--scheduler", self.value("library", "fair.so"), "--allocation", "static"),
                "assigns the bins; valid: best, or --scheduler built_in",
            ),
            (
                ("--adaptation", self.value("library", "careful.so"), "--modulation", "3"),
                "chooses the modulation; valid: adaptive, or --adaptation built_in",
            ),
        ):
            with self.subTest(options=options):
                reported = self.refused(*options)
                self.assertIn(words, " ".join(reported.split()))
                self.assertNotIn("Traceback", reported)

    def nmse(self, method):
        done = openwip(
            *("channel", "render", "jakes", "-o", self.folder / "trace.h5", "--duration", "10"),
            *("--speed-kmh", "30", "--predictor", "--method", method),
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return re.search(r"NMSE ([0-9.]+)", done.stdout)[1]

    def test_the_predictor_of_the_page_is_the_same_in_both_languages_and_better_than_none(self):
        line = self.nmse(self.value("python", "line.py:Line"))
        self.assertEqual(line, self.nmse(self.value("library", "line.so")))
        self.assertLess(float(line), 0.25 * float(self.nmse("last")))
        self.assertGreater(float(line), 2 * float(self.nmse("delay")))

    def test_a_cell_in_virtual_time_uses_what_a_predictor_says(self):
        options = ("--channel", "jakes", "--speed-kmh", "30", "--prediction-nmse", "predictor")

        def failed(method):
            return self.emulate(*options, "--predictor", method)["link"]["frame_error_rate"]

        line = failed(self.value("python", "line.py:Line"))
        self.assertEqual(line, failed(self.value("library", "line.so")))
        self.assertLess(line, failed("last"))
        self.assertIn(
            "--predictor is 'last', but the predicted SNR is made with the error that"
            " --prediction-nmse says; valid: with --prediction-nmse predictor",
            self.refused("--predictor", "last"),
        )

    def test_a_predictor_that_fails_is_named(self):
        for name, words in (
            ("wrong.py:Blind", "wrong.py:22: in update: ZeroDivisionError: division by zero"),
            ("line.py:Curve", "line.py has no class Curve; valid: Line"),
        ):
            done = openwip(
                *("channel", "render", "jakes", "-o", self.folder / "trace.h5", "--duration", "1"),
                *("--predictor", "--method", self.value("python", name)),
            )
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(words, done.stderr)
            self.assertFalse((self.folder / "trace.h5").exists())

    def test_another_kind_of_link_has_no_rule_of_ones_own(self):
        done = openwip(
            "check", "emulate", "--link", "umts", "--scheduler", self.value("library", "fair.so")
        )
        program = subprocess.run(
            [
                BUILD / "host/emulator/wip_emulator",
                *("--check", "--set", "link.kind=umts"),
                *("--set", f"link.scheduler={self.value('library', 'fair.so')}"),
                *("--set", "terminal.namespace=x"),
            ],
            capture_output=True,
            text=True,
        )
        self.assertIn(done.returncode, (0, 2), done.stderr)
        self.assertEqual(program.returncode, 2)
        self.assertIn(
            "with link.kind = umts, a link that has no rule of your own; valid: built_in",
            program.stderr,
        )

    @unittest.skipIf(os.geteuid() != 0, "root starts no foreign code")
    def test_root_loads_no_code_of_somebody_else_and_runs_it_as_the_account(self):
        who = self.folder / "who.py"
        who.write_text((self.folder / "wrong.py").read_text())
        account = system.account()[0]
        name = f"python:{who}:Who"
        emulator = [BUILD / "host/emulator/wip_emulator", "--check"]

        def check(*more):
            done = subprocess.run(
                [
                    *emulator,
                    *("--set", f"link.scheduler={name}", "--set", "terminal.namespace=x"),
                    *more,
                ],
                capture_output=True,
                text=True,
                env={k: v for k, v in os.environ.items() if k != "SUDO_UID"},
            )
            self.assertEqual(done.returncode, 2, done.stderr)
            return done.stderr

        uid = pwd.getpwnam(account).pw_uid
        self.assertIn(
            f"ValueError: user {uid}, capabilities 0000000000000000",
            check("--set", f"user={account}"),
        )
        os.chown(who, 12345, 12345)
        self.assertIn(f"{who} is owned by user 12345; valid in a process of root's", check())
        os.chown(who, 0, 0)
        who.chmod(0o666)
        self.assertIn(f"{who} may be changed by other users; valid in a process of root's", check())
        who.chmod(0o600)
        self.assertIn("PermissionError", check("--set", f"user={account}"))
        self.folder.chmod(0o700)
        self.addCleanup(self.folder.chmod, 0o755)
        self.assertIn(
            f"{who}: Permission denied; valid: a file that user {account} can read, in folders that"
            " let that user pass (chmod o+x)",
            check("--set", f"user={account}"),
        )

    def cell(self, command, *options):
        return openwip(
            command,
            *("--name", f"own{os.getpid() % 100000}", "--duration", "2"),
            *("--pacing-limit-ms", "1000", f"--json={self.folder / 'report.json'}", *options),
            timeout=180,
        )

    @unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
    def test_a_cell_in_real_time_says_what_the_code_cost(self):
        idle = self.value("python", "first.py:First")
        done = self.cell("emulate", "--scheduler", idle)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        report = self.report()
        self.assertEqual(report["verdict"]["reasons"], [])
        (cost,) = report["own_code"]
        self.assertEqual((cost["setting"], cost["value"]), ("link.scheduler", idle))
        self.assertGreater(cost["calls"], 3000)
        self.assertGreater(report["tcp"]["goodput_bps"], 1e5)

    @unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
    def test_a_cell_in_real_time_ends_with_the_place_of_an_exception(self):
        done = self.cell("emulate", "--scheduler", self.value("python", "wrong.py:Wrong"))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("wrong.py:9: in share_bins: ValueError: bin is 25; valid: 0..24", done.stderr)

    @unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
    @unittest.skipUnless(built() and (BUILD / "uhd_modules").exists(), "no radios in this build")
    def test_a_cell_with_radios_takes_them_at_the_base_station(self):
        rule = self.value("python", "outer.py:OuterLoop")
        done = self.cell(
            "demo",
            *("--speed", "0.5", "--pings", "5", "--adaptation", rule),
            *("--scheduler", self.value("library", "fair.so")),
            *("--predictor", self.value("python", "line.py:Line")),
        )
        self.assertIn(done.returncode, (0, 1), done.stderr)
        report = self.report()
        self.assertEqual(report["verdict"]["reasons"], [])
        self.assertEqual(
            [r["setting"] for r in report["own_code"]],
            ["link.scheduler", "link.adaptation", "phy.predictor"],
        )
        for cost in report["own_code"]:
            self.assertGreater(cost["calls"], 3000)
        for option, name, words in (
            ("--adaptation", "outer.py:Nobody", "outer.py has no class Nobody; valid: OuterLoop"),
            ("--predictor", "line.py:Curve", "line.py has no class Curve; valid: Line"),
        ):
            done = self.cell("demo", option, self.value("python", name))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)
        line = self.value("python", "line.py:Line")
        done = self.cell("demo", "--predictor", line, "--record-iq", self.folder / "iq")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("with a predictor of your own; valid: with a built-in predictor", done.stderr)

    @unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
    @unittest.skipUnless(built() and (BUILD / "uhd_modules").exists(), "no radios in this build")
    def test_a_cell_with_radios_ends_when_its_predictor_fails(self):
        done = self.cell("demo", "--predictor", self.value("python", "wrong.py:Blind"))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("wrong.py:22: in update: ZeroDivisionError: division by zero", done.stderr)


if __name__ == "__main__":
    unittest.main()
