# SPDX-License-Identifier: GPL-3.0-or-later
"""The register writes of the attenuator's firmware in QEMU (openwip_cli.machine.qemu), from the
trace: SPI words, latches, switch, trigger output, step numbers with their time."""

import pathlib
import re
from collections.abc import Iterator
from typing import NamedTuple

NS_PER_INSTRUCTION = 64  # -icount shift=6
WATCHDOG_KEY = "0x40003000"
SPI_DATA, GPIO_B, GPIO_C, ITM_STEP, ITM_TIME = (
    "0x4001300c",
    "0x40020418",
    "0x40020818",
    "0xe0000004",
    "0xe0000008",
)


class Latch(NamedTuple):
    """A word that a chip took: its latch was raised after the word on SPI."""

    chip: int
    word: int


class Pins(NamedTuple):
    """Pins of port B that went up and down at once (firmware/board/pins.h): 0 and 1 are the switch,
    9 is the trigger output."""

    up: int
    down: int


class Step(NamedTuple):
    """The trace of a step: when its tick began (us), and the words that the chips got in it."""

    number: int
    time_us: int
    latches: list[Latch]


def writes(trace: pathlib.Path | str) -> Iterator[tuple[str, int]]:
    """(address, value) of each write to a register."""
    pattern = re.compile(r"addr (0x[0-9a-f]+) value (0x[0-9a-f]+)")
    with open(trace, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            # The last one may not be whole yet.
            if line.endswith("\n") and (found := pattern.search(line)):
                yield found[1], int(found[2], 16)


def outputs(trace: pathlib.Path | str) -> Iterator[Latch | Pins | tuple[str, int]]:
    """The outputs in their order: words that chips took, switch and trigger output, and ("step",
    n), ("time", us)."""
    shifted = None
    for address, value in writes(trace):
        if address == SPI_DATA:
            shifted = value
        elif address == GPIO_C and 0 < value < 0x10000 and shifted is not None:
            yield Latch(value.bit_length() - 1, shifted)
            shifted = None
        elif address == GPIO_B:
            yield Pins(value & 0xFFFF, value >> 16)
        elif address == ITM_STEP:
            yield "step", value
        elif address == ITM_TIME:
            yield "time", value


def steps(trace: pathlib.Path | str) -> list[Step]:
    found: list[Step] = []
    number = None
    for what in outputs(trace):
        if isinstance(what, Latch):
            if found and len(found[-1].latches) < 8:
                found[-1].latches.append(what)
        elif isinstance(what, Pins):
            continue
        elif what[0] == "step":
            number = what[1]
        elif number is not None:
            found.append(Step(number, what[1], []))
    return found
