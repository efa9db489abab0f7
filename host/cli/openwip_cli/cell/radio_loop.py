# SPDX-License-Identifier: GPL-3.0-or-later
"""The findings of the program that opens radios (host/radio), and what follows from a radio and its
computer for a cell: the lead and the retransmission delay, called the loop.

A lead has two halves (docs/explanation/free-running.md): one for macd, one for modulation and
transport. Each has to survive a stall of the machine, which shows in the reception: what one slot
in 10,000 takes longer than half of them. In the second half a slot is made, which takes up to a
slot, and its burst has to leave so long before its time that one in 10,000 is late. Beside the lead
a delay holds the slot itself, its reception (the latency that one slot in 10,000 exceeds, and up to
a slot of work) and one slot for the way back. Feedback that comes over a slower network than that
needs so many slots more. A fader loses what leaves it too late, and one piece is too many: its
delay is of the longest reception seen, if the retransmission delay is then not too long."""

import json
import math
import os
import re
import subprocess
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ..air import SAMPLE_RATE, SLOT_SAMPLES, SLOTS_PER_SECOND
from ..errors import Stop, of_program
from ..machine import rights, system
from ..machine.places import Places
from ..settings import table

PROGRAM = "host/radio/wip_radio"
SLOT_US = 1e6 / SLOTS_PER_SECOND
PIECE = table.setting("fader.piece_samples", "fader").default
FIND_S = 30.0  # seconds that looking for devices may take
BETWEEN_SLOTS = 3  # 2 ms that feedback may be on its way between two computers


def environment(places: Places) -> dict[str, str]:
    """UHD's own lines would stand between ours; what it refuses comes as an error."""
    return {
        "UHD_MODULE_PATH": str(places.build / "uhd_modules"),
        **os.environ,
        "UHD_LOG_CONSOLE_LEVEL": "error",
        "UHD_LOG_FASTPATH_DISABLE": "1",
    }


def ask(
    places: Places,
    command: str,
    radio: str,
    options: list[str],
    environ: Mapping[str, str] | None = None,
    limit_s: float | None = None,
) -> dict[str, Any]:
    """The facts it found; BadInput: the radio is not there, or refuses a setting. It has the rights
    of a station's radio, and ends with this process, whatever ends that: it may be transmitting."""
    parent = os.getpid()

    def begin() -> None:
        system.die_with_parent(parent)
        rights.limit(rights.RADIO_PROGRAM)

    try:
        done = subprocess.run(
            [places.program(PROGRAM), command, f"--args={radio}", *options],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=dict(environ or environment(places)),
            preexec_fn=begin,
            timeout=limit_s,
        )
    except subprocess.TimeoutExpired:
        raise Stop(
            f"the radio did not answer within {limit_s:g} s (--radio"
            f" {radio or 'not given: the first that is found'})"
        ) from None
    if done.returncode != 0:
        raise of_program(
            "radio",
            done.returncode,
            done.stderr,
            f" (--radio {radio or 'not given: the first that is found'})",
        )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def devices(listed: str) -> list[dict[str, str]]:
    """The device arguments of each radio in the output of uhd_find_devices."""
    return [
        {k: v.strip() for k, v in re.findall(r"^ +(\w+): ?(.*)$", block, re.M) if v.strip()}
        for block in re.split(r"-- UHD Device \d+", listed)[1:]
    ]


def find(radio: str, places: Places) -> list[dict[str, str]]:
    """The devices that UHD finds with these arguments; none where it cannot look."""
    command = ["uhd_find_devices", *(["--args", radio] if radio else [])]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=environment(places),
            timeout=FIND_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return devices(done.stdout)


class Loop(NamedTuple):
    lead: int  # slots
    delay: int

    @property
    def delay_ms(self) -> float:
        """Rounded down: the setting is rounded up to slots."""
        return math.floor(self.delay * SLOT_US / 10) / 100

    @property
    def flags(self) -> str:
        return f"--transmit-lead-slots {self.lead} --retransmission-delay-ms {self.delay_ms:g}"

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "link.transmit_lead_slots": self.lead,
            "link.retransmission_delay_ms": self.delay_ms,
        }

    def not_valid(self, more: Mapping[str, Any] = MappingProxyType({})) -> str:
        """Why the loop cannot be used: one of its settings, or of `more`, would be out of range;
        "": it can."""
        for key, value in (self.settings | dict(more)).items():
            setting = table.setting(key, "demo")
            try:
                setting.kind.read(value)
            except ValueError:
                return f"longer than a loop can be ({setting.flag}: {setting.kind.valid})"
        return ""


def follows(burst_us: float, median_us: float, rare_us: float) -> Loop:
    """The loop that follows from the lead of a burst and from the latency that half of the slots
    exceed (`median_us`) and that only the share that may be late exceeds (`rare_us`)."""
    half = 1 + math.ceil((burst_us + max(0.0, rare_us - median_us)) / SLOT_US)
    reception = 1 + math.ceil(max(0.0, rare_us) / SLOT_US)
    return Loop(2 * half, 2 * half + 1 + reception + 1)


LONGEST = "longest_us"
# the second is the share that a verdict allows
RARE = ("one_in_ten_thousand_us", "one_in_thousand_us")


def of_found(found: dict[str, Any], rare: str = RARE[0]) -> Loop:
    """The values of a radio that both sends and receives."""
    r = found["receive"]
    return follows(found["transmit"]["lead_us"], r["median_us"], r[rare])


def of_cell(
    base: dict[str, Any], terminal: dict[str, Any], more_slots: int, rare: str = RARE[0]
) -> Loop:
    """The values of the way from the base station's radio to the terminal's; `more_slots` between
    and after them."""
    sent, received = of_found(base, rare), of_found(terminal, rare)
    return Loop(sent.lead, sent.lead + received.delay - received.lead + more_slots)


def fader_samples(receives: dict[str, Any], sends: dict[str, Any], share: str) -> int:
    """The delay of a fader between two radios, samples: two pieces and the times that both radios
    and the computer take, rounded up to whole slots, by which the retransmission delay grows
    anyway. `share`: how many of the received slots are in hand by then, LONGEST or one of RARE."""
    radios_us = float(receives["receive"][share]) + float(sends["transmit"]["lead_us"])
    return math.ceil((2 * PIECE + radios_us * SAMPLE_RATE * 1e-6) / SLOT_SAMPLES) * SLOT_SAMPLES
