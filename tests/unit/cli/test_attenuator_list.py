# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip attenuator list, and the port that the other subcommands take: boards are serial ports
(pty) under names as udev gives them."""

import contextlib
import io
import json
import os
import pathlib
import tempfile
import threading
import tty
import unittest
from unittest import mock

from openwip_schema import attenuator_pb2 as pb

from openwip_cli.commands import attenuator
from openwip_cli.errors import BadInput
from openwip_cli.machine import places
from openwip_cli.messages import attenuator as link

STLINK = "usb-STMicroelectronics_STM32_STLink_0672FF-if02"
NAME = "OpenWIP,attenuator,002A00453538510734323532,1.0"


class Board:
    """A board at the other end of a pty, which records what it receives. It answers frames, and
    *IDN? with `name`; None: it answers nothing."""

    def __init__(self, path, name):
        self.near, far = os.openpty()
        tty.setraw(far)
        self.far, self.name, self.asked = far, name, bytearray()
        path.symlink_to(os.ttyname(far))
        self.line = link.Line.__new__(link.Line)
        self.line.lines, self.line.messages = link.collections.deque(), link.collections.deque()
        self.line._text, self.line._frame, self.line._inside = bytearray(), bytearray(), False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        with contextlib.suppress(OSError):
            while data := os.read(self.near, 4096):
                self.asked += data
                for byte in data if self.name else b"":
                    self.line._take(byte)
                while self.line.lines:
                    if self.line.lines.popleft() == "*IDN?":
                        os.write(self.near, self.name.encode() + b"\n")
                while self.line.messages:
                    asked = pb.Request.FromString(self.line.messages.popleft())
                    os.write(
                        self.near,
                        link.frame(pb.Reply(id=asked.id, status=pb.Status()).SerializeToString()),
                    )

    def close(self):
        os.close(self.far)  # the thread reads the end
        self.thread.join(5)
        os.close(self.near)


class List(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name, "by-id")
        self.folder.mkdir()
        patched = mock.patch.object(
            attenuator, "PORTS", (f"{self.folder}/*", f"{folder.name}/ttyACM*")
        )
        patched.start()
        self.addCleanup(patched.stop)

    def board(self, name, says):
        one = Board(self.folder / name, says)
        self.addCleanup(one.close)
        return one

    def listed(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(attenuator.main(["list"], places.default()), 0)
        return out.getvalue().splitlines()

    def test_a_nucleo_board_is_asked_and_says_its_name_and_another_port_is_left_alone(self):
        self.board(STLINK, NAME)
        other = self.board("usb-FTDI_TTL232R-if00", NAME)
        # the same, by its other name
        (self.folder.parent / "ttyACM0").symlink_to((self.folder / STLINK).resolve())
        self.assertEqual(
            self.listed(),
            [
                f"{self.folder}/usb-FTDI_TTL232R-if00: not asked (no Nucleo board by its name)",
                f"{self.folder}/{STLINK}: {NAME}",
            ],
        )
        self.assertEqual(other.asked, b"")

    def test_a_board_with_another_program_and_one_that_says_nothing_are_named(self):
        for says in ("ACME,thing,1,2", None):
            board = self.board(STLINK, says)
            self.assertEqual(
                self.listed(),
                [
                    f"{self.folder}/{STLINK}: no OpenWIP attenuator answers the query *IDN? at"
                    " this serial port; valid: a port of ./openwip attenuator list"
                ],
            )
            self.assertIn(b"*IDN?\n", board.asked)
            (self.folder / STLINK).unlink()
        self.assertEqual(
            self.listed(),
            ["no serial ports; ./openwip attenuator qemu runs the firmware without hardware"],
        )

    def test_without_a_port_the_only_board_is_meant(self):
        with self.assertRaisesRegex(BadInput, "--port is not given and no boards are found"):
            attenuator.the_port(None)
        self.board(STLINK, NAME)
        self.assertEqual(attenuator.the_port(None), f"{self.folder}/{STLINK}")
        self.board(STLINK + "2", NAME)
        with self.assertRaisesRegex(BadInput, "and 2 boards are found"):
            attenuator.the_port(None)
        self.assertEqual(attenuator.the_port("/dev/x"), "/dev/x")


class Sweep(unittest.TestCase):
    def test_what_is_no_step_of_the_chips_is_refused(self):
        self.assertEqual(list(attenuator.sweep_table(1, 2, 0.25)), [4, 5, 6, 7, 8])
        self.assertEqual(list(attenuator.sweep_table(2, 0, 1)), [8, 4, 0])
        for given in (("--step", "0.3"), ("--from", "0.1"), ("--to", "31.8")):
            with (
                self.subTest(given),
                self.assertRaisesRegex(
                    BadInput, f"^{given[0]} is {given[1]}; valid: multiples of 0.25 dB$"
                ),
            ):
                attenuator.main(["sweep", "--port", "/dev/null", *given], places.default())


class Played(unittest.TestCase):
    def test_ticks_that_were_missed_before_are_not_of_this_playback(self):
        for since, code in ((0, 0), (2, 1)):
            device = mock.Mock()
            device.status.return_value = pb.Status(missed_ticks=7)
            device.play.return_value = pb.Status(
                state=pb.ENDED, received=3, played=3, missed_ticks=7 + since
            )
            device.errors.return_value = []
            with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
                given = mock.Mock(period=1, external=False, json=os.path.join(folder, "x.json"))
                self.assertEqual(attenuator.played(device, [1], bytes(3), given), code)
                self.assertEqual(
                    json.loads(pathlib.Path(given.json).read_text())["missed_ticks"], since
                )


if __name__ == "__main__":
    unittest.main()
