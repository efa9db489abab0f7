# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip capture of real cells: an emulated one (file, extcap through tshark, the cell's end), a
demo, and what it refuses. A ping is followed from TUN to TUN."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "unit" / "capture"))
import capture_support as cs

from demo_support import GENTLE, environment, left_of, openwip, wait_until
from openwip_cli.cell import cell as cells
from openwip_cli.machine.places import Places
from openwip_cli.measure import traffic
from openwip_cli.runs import emulate

PLACES = Places(cs.TOP, cs.BUILD, sys.executable)
PRIVILEGED = os.geteuid() == 0 and os.path.exists("/dev/net/tun")
NAME, DEMO = "captest1", "captest2"
PINGS = 12


def start(*arguments):
    return subprocess.Popen(
        [cs.TOP / "openwip", "capture", "--name", NAME, *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def ping(cell, count):
    """Pings from the terminal, so that the answers go over the link."""
    program = traffic.Program(
        cell.namespace("terminal"),
        ["ping", "-n", "-c", str(count), "-i", "0.05", cell.address["base"]],
    )
    program.wait(cell.supervisor, 60)
    text = program.stdout
    program.kill()
    return text


class Follow(unittest.TestCase):
    def follow(self, file, at_least):
        """Every echo that came in at the base station's TUN: its frames, and the terminal's TUN."""
        replies = cs.fields(
            file,
            [
                "frame.number",
                "icmp.seq",
                "wip.ip.frame",
                "wip.ip.received_in",
                "wip.ip.tun_out",
                "wip.ip.delay_ms",
            ],
            "frame.interface_name == base.ip and icmp and frame.p2p_dir == 0",
        )
        followed = 0
        for row in replies:
            if not row["wip.ip.tun_out"]:
                continue  # the capture ended meanwhile
            number = row["frame.number"][0]
            way = (
                cs.fields(
                    file,
                    ["frame.interface_name", "frame.number", "icmp.seq", "wip.outcome"],
                    f"frame.number == {number} or wip.ip.tun_in == {number}",
                )
                if followed < 3
                else None
            )
            followed += 1
            self.assertGreater(float(row["wip.ip.delay_ms"][0]), 0)
            if way is None:
                continue
            places = [w["frame.interface_name"][0] for w in way]
            self.assertEqual(places[0], "base.ip")
            self.assertEqual(places[-1], "terminal.ip")
            sent = [
                w["frame.number"][0] for w in way if w["frame.interface_name"] == ["base.frames"]
            ]
            self.assertEqual(sent, row["wip.ip.frame"])
            complete = next(w for w in way if w["frame.number"] == row["wip.ip.received_in"])
            self.assertEqual(
                (complete["frame.interface_name"], complete["wip.outcome"]),
                (["terminal.frames"], ["1"]),
            )
            self.assertIn(row["icmp.seq"][0], complete["icmp.seq"])
        self.assertGreaterEqual(followed, at_least)

    def check_file(self, file):
        """No drops, strict order, and the IP packets in the frames are right to the last bit."""
        text = cs.tool("capinfos", file)
        self.assertIn("Strict time order:   True", text)
        wrong = (
            "frame.drop_count or wip.altered or wip.version or _ws.lua.error or ip.checksum.status"
            " == 0 or icmp.checksum.status == 0"
        )
        self.assertEqual(cs.tshark(file, "-Y", wrong, "-o", "ip.check_checksum:TRUE"), "")
        return text


@cs.with_tools
@unittest.skipUnless(PRIVILEGED, "needs root and /dev/net/tun")
class EmulatedCell(Follow):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.file, cls.until_the_end, cls.live = (
            pathlib.Path(cls.folder.name, n) for n in ("a", "b", "c")
        )
        extcap = pathlib.Path(cls.folder.name, "extcap")
        extcap.mkdir()
        (extcap / "openwip-extcap").symlink_to(cs.TOP / "host/capture/openwip-extcap")
        cls.output = {}

        def workload(cell):
            whole = start("-o", cls.until_the_end)
            capture = start("-o", cls.file)
            cls.interfaces = subprocess.run(
                cs.with_extcap(extcap, ["tshark", "-D"]),
                capture_output=True,
                text=True,
                env=environment(),
                timeout=60,
            ).stdout
            tshark = subprocess.Popen(
                cs.with_extcap(
                    extcap,
                    ["tshark", "-n", "-i", f"openwip-{NAME}", "-w", str(cls.live), "-c", "40"],
                ),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment(),
            )
            # tshark asks for the options of every cell of this machine first.
            wait_until(
                lambda: all(
                    f.exists() and f.stat().st_size for f in (cls.file, cls.until_the_end, cls.live)
                ),
                100,
            )
            cls.pings = ping(cell, PINGS)
            cls.more = ping(cell, 40) if tshark.poll() is None else ""
            cls.output["tshark"] = tshark.communicate(timeout=60)[1]
            cls.tshark_code = tshark.returncode
            capture.send_signal(signal.SIGINT)
            cls.code, cls.output["capture"] = cs.ended(capture)
            cls.whole = whole
            return {}

        emulate.run({"pacing_limit_ms": 1000, "link.bins": 25}, workload, name=NAME, places=PLACES)
        cls.whole_code, cls.output["whole"] = cs.ended(cls.whole)

    def test_a_signal_ends_it_and_pings_can_be_followed(self):
        self.assertEqual(self.code, 0, self.output)
        self.assertIn(" 0 lost in telemetry", self.output["capture"])
        text = self.check_file(self.file)
        self.assertIn(f"cell '{NAME}'", text)
        self.assertIn("prediction_nmse", text)  # the configuration
        self.follow(self.file, PINGS // 2)

    def test_the_cells_end_ends_it(self):
        self.assertEqual(self.whole_code, 0, self.output)
        self.assertIn("the cell has ended", self.output["whole"])
        self.check_file(self.until_the_end)

    def test_wireshark_shows_the_cell_as_an_interface_and_captures_from_it(self):
        self.assertIn(f"openwip-{NAME} (OpenWIP cell '{NAME}')", self.interfaces)
        self.assertEqual(self.tshark_code, 0, self.output)
        names = {
            r["frame.interface_name"][0] for r in cs.fields(self.live, ["frame.interface_name"])
        }
        self.assertLessEqual({"base.ip", "base.frames", "terminal.frames", "terminal.ip"}, names)
        self.assertTrue(cs.fields(self.live, ["wip.slot"], "wip.place == 1 and icmp"))

    def test_nothing_of_the_cell_is_left(self):
        self.assertEqual(left_of(cells.Cell(NAME)), [])


@cs.with_tools
@unittest.skipUnless(PRIVILEGED, "needs root and /dev/net/tun")
class Demo(Follow):
    def test_a_demo_is_captured_from_its_first_slot_with_its_verdict(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "demo.pcapng")
            done = openwip(
                "demo",
                "--name",
                DEMO,
                *GENTLE,
                "--duration",
                "1",
                "--pings",
                "10",
                "--bins",
                "1",
                "--capture",
                str(file),
            )
            self.assertIn(done.returncode, (0, 1), done.stderr)
            verdict = done.stdout.splitlines()[0]
            text = self.check_file(file)
            self.assertIn(f"Capture comment:     {verdict}", text)
            self.assertIn("snr_db", text)
            self.assertRegex(
                done.stderr,
                r"capture: \d+ packets to .*, 0 lost in telemetry.* \(the run has ended\)",
            )
            rows = cs.fields(file, ["wip.slot"], "wip.place == 0")
            self.assertGreater(len(rows), 500)
            self.follow(file, 10)
        self.assertEqual(left_of(cells.Cell(DEMO)), [])


class Refusals(unittest.TestCase):
    def assert_refused(self, word, *arguments):
        done = openwip(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertIn(word, done.stderr)

    def test_bad_arguments_are_named(self):
        self.assert_refused("--duration", "capture", "--duration", "0")
        self.assert_refused("--count", "capture", "--count", "many")
        self.assert_refused("--only", "capture", "--only", "tcp")
        self.assert_refused("--snap", "capture", "--snap", "10")
        self.assert_refused("--name", "capture", "--name", "No/Name")
        self.assert_refused("/nowhere", "capture", "-o", "/nowhere/x.pcapng")
        self.assert_refused("is a directory", "capture", "-o", "/tmp")
        self.assert_refused("--uninstall", "capture", "--install-wireshark", "--uninstall")
        self.assert_refused("--capture", "emulate", "--generator", "--capture", "/tmp/x.pcapng")

    def test_no_cell_is_said_and_no_file_is_made(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assert_refused(
                "no cell is up", "capture", "--name", "captestnone", "-o", f"{folder}/x.pcapng"
            )
            self.assertEqual(os.listdir(folder), [])

    def test_extcap_refuses_what_is_no_cell(self):
        self.assert_refused(
            "--extcap-interface", "extcap", "--extcap-dlts", "--extcap-interface", "eth0"
        )
        self.assert_refused("--fifo", "extcap", "--capture", "--extcap-interface", "openwip-demo")
        self.assert_refused("valid:", "extcap")

    def test_extcap_tells_its_link_type_and_options(self):
        done = openwip("extcap", "--extcap-dlts", "--extcap-interface", "openwip-demo")
        self.assertIn("dlt {number=252}", done.stdout)
        done = openwip("extcap", "--extcap-config", "--extcap-interface", "openwip-demo")
        self.assertIn("{call=--name}", done.stdout)
        self.assertIn("{default=demo}", done.stdout)


if __name__ == "__main__":
    unittest.main()
