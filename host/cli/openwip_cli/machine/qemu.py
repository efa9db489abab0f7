# SPDX-License-Identifier: GPL-3.0-or-later
"""The attenuator's firmware in QEMU (machine `netduinoplus2`), its serial line a pseudo-terminal.

Time is counted instructions (-icount: 64 ns each, held back to the pace of the wall clock): a stall
of this machine is none inside, so that each tick of 1 ms comes when it is due. What the firmware
writes to registers goes to a trace."""

import os
import pathlib
import re
import select
import shutil
import subprocess
import time
import tty
from collections.abc import Callable, Sequence

from ..errors import BadInput, CellDied

START_S = 30


class Qemu:
    """Runs until `end`, or the end of a `with`. Settings are kept in `folder`, so a second one
    there begins with those of the first.
    `more`: arguments of QEMU."""

    def __init__(
        self,
        firmware: pathlib.Path | str,
        folder: pathlib.Path | str,
        trace: pathlib.Path | str | None = None,
        more: Sequence[str] = (),
    ) -> None:
        program = shutil.which("qemu-system-arm")
        if program is None:
            raise BadInput("qemu-system-arm is not installed: run ./openwip setup attenuator")
        if not pathlib.Path(firmware).is_file():
            raise BadInput(f"{firmware} is not built: run ./openwip build attenuator")
        command = [
            program,
            "-M",
            "netduinoplus2",
            "-nographic",
            "-monitor",
            "none",
            "-serial",
            "pty",
            "-kernel",
            str(firmware),
            "-semihosting-config",
            "enable=on,target=native",
            "-icount",
            "shift=6,align=on,sleep=on",
            *more,
        ]
        if trace is not None:
            command += ["-trace", "memory_region_ops_write", "-D", str(trace)]
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._line: int | None = None
        self._output = ""
        try:
            self.port = self._wait_for(r"/dev/pts/\d+")
            # The line is held open, since QEMU looks once a second whether a reader is there.
            self._line = os.open(self.port, os.O_RDWR | os.O_NOCTTY)
            tty.setraw(self._line)
            self._wait_for("listens\n")
        except BaseException:
            self.end()
            raise

    def _wait_for(self, pattern: str) -> str:
        """Waits until the output of QEMU and firmware matches the pattern; returns the match."""
        assert self.process.stdout is not None
        end = time.monotonic() + START_S
        while (found := re.search(pattern, self._output)) is None:
            there = select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))[
                0
            ]
            more = os.read(self.process.stdout.fileno(), 4096) if there else b""
            if not more:
                raise CellDied(
                    f"QEMU did not start{'' if there else f' within {START_S} s'}:"
                    f" {' '.join(self._output.split()) or 'it printed nothing'}"
                )
            self._output += more.decode("utf-8", "replace")
        return found[0]

    def settle(self, ticks: Callable[[], int]) -> None:
        """Waits until the firmware's clock runs at its normal pace: it falls behind while QEMU
        starts, and then catches up. `ticks`: returns the firmware's clock in ms."""
        for _ in range(100):
            begun, before = time.monotonic(), ticks()
            time.sleep(0.05)
            if ticks() - before < 1000 * (time.monotonic() - begun) + 5:
                return
        raise CellDied(
            "the firmware in QEMU runs faster than the wall clock and cannot be slowed down to it"
        )

    def end(self) -> None:
        if self._line is not None:
            os.close(self._line)
            self._line = None
        self.process.terminate()
        try:
            self.process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()

    def __enter__(self) -> "Qemu":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
