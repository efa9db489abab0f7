# SPDX-License-Identifier: GPL-3.0-or-later
"""A medium of root's starts, two radios of root's attach, and the user nobody stands beside it and
does what that user can, all the time (rogue_user.py): no memory, file or socket of it is taken,
read or replaced, and no start fails.

Each start is the medium and the two that attach, without the rest of a cell. OPENWIP_TEST_STARTS
sets how many there are."""

import os
import pathlib
import subprocess
import sys
import time
import unittest

from uhd_support import AIR, Medium, media

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

from air_door import SEALS, Attached
from openwip_cli.machine import system

STARTS = int(os.environ.get("OPENWIP_TEST_STARTS", "50"))
NODES = "{base: {}, terminal: {}}"


def attach(medium, within=10):
    """Attaches as a radio does: again and again until the medium is there."""
    deadline = time.monotonic() + within
    while True:
        try:
            return Attached(medium.meeting_place())
        except OSError:
            if medium.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"the medium is not there: {medium.text()}") from None
            time.sleep(0.001)


@unittest.skipIf(os.geteuid() != 0, "a medium of root's needs root")
class RogueMedium(unittest.TestCase):
    def attacker(self, name, folder):
        process = subprocess.Popen(
            [sys.executable, HERE / "rogue_user.py", name, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "begins\n")
        return process

    def start_once(self, name, user):
        with Medium(f"clock: lockstep{user}", NODES, name=name) as medium:
            radios = [attach(medium), attach(medium)]
            for radio in radios:
                self.assertEqual((radio.process, radio.user), (medium.process.pid, 0))
                self.assertEqual(
                    (radio.nodes, radio.seals & SEALS, radio.status.st_uid),
                    (["base", "terminal"], SEALS, 0),
                )
            self.assertEqual(len({radio.status.st_ino for radio in radios}), 1)
            maps = pathlib.Path(f"/proc/{medium.process.pid}/maps").read_text()
            self.assertIn(f"memfd:openwip-air-{name}", maps)
            self.assertNotIn("/dev/shm/", maps)
            for radio in radios:
                radio.close()
            text = medium.text()
            self.assertEqual(medium.stop(), 0, text)

    def stand_beside(self, starts, user):
        name = f"rogue{os.getpid()}"
        folder = f"/run/openwip-rogue-{os.getpid()}"  # stands for the run folder of a cell
        os.mkdir(folder, 0o700)
        self.addCleanup(os.rmdir, folder)
        self.addCleanup(media.remove, name)
        # the attacker's own
        self.addCleanup(pathlib.Path(f"/dev/shm/openwip-air-{name}").unlink, missing_ok=True)
        attacker = self.attacker(name, folder)
        for _ in range(starts):
            self.start_once(name, user)
        printed = attacker.communicate("", timeout=20)[0].splitlines()
        self.assertRegex(printed[-1], r"^tried [1-9]\d* times$")
        self.assertEqual(printed[:-1], [])

    def test_nobody_gets_hold_of_nothing_of_a_medium_that_stays_root(self):
        self.stand_beside(STARTS, "")

    def test_nor_of_one_that_becomes_the_account(self):
        name, *_ = system.account()
        if name == "nobody":
            self.skipTest("the account of the cells has not been made (./openwip setup)")
        self.stand_beside(max(STARTS // 5, 5), f", user: {name}")


class Meeting(unittest.TestCase):
    """Tests of the files at which a medium and its radios meet, and of their end."""

    def test_a_killed_medium_is_seen_by_its_end_and_its_place_is_taken_over(self):
        with Medium("clock: lockstep", NODES) as killed:
            radio = attach(killed)
            self.addCleanup(radio.close)
            killed.process.kill()
            self.assertEqual(radio.socket.recv(1), b"")
            killed.process.wait()
            self.assertEqual(
                media.left(killed.name), [media.socket_of(killed.name), media.lock_of(killed.name)]
            )
            with Medium("clock: lockstep", NODES, name=killed.name) as again:
                attach(again).close()
                self.assertIn("removed what a killed medium", again.text())
                self.assertEqual(media.left(again.name), [])  # a process holds the name
                media.remove(again.name)
                self.assertTrue(again.meeting_place().exists())

    def test_what_a_killed_medium_left_is_removed_by_name(self):
        with Medium("clock: lockstep", NODES) as killed:
            attach(killed).close()
            killed.process.kill()
            killed.process.wait()
            media.remove(killed.name)
            self.assertEqual(media.left(killed.name), [])

    def test_a_second_medium_of_the_name_is_refused_in_one_line(self):
        with Medium("clock: lockstep", NODES) as first:
            attach(first).close()
            second = subprocess.run(
                [AIR, "--config", first.file], capture_output=True, text=True, timeout=20
            )
            self.assertEqual((second.returncode, second.stderr.count("\n")), (1, 1), second.stderr)
            self.assertIn(f"is running already (process {first.process.pid})", second.stderr)
            attach(first).close()

    def test_a_medium_goes_when_it_is_told_whatever_its_memory_holds(self):
        with Medium("clock: lockstep, speed: 0, stations_may_die: true", NODES) as medium:
            with attach(medium) as radio:
                for pattern in (b"\xff", b"\x00", b"\x7f"):
                    radio.memory[:] = pattern * len(radio.memory)
                    time.sleep(0.2)
                    self.assertIsNone(medium.process.poll(), medium.text())
                began = time.monotonic()
                self.assertEqual(medium.stop(), 0)
                self.assertLess(time.monotonic() - began, 2)


if __name__ == "__main__":
    unittest.main()
