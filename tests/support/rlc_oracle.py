# SPDX-License-Identifier: GPL-3.0-or-later
"""tshark as an independent oracle of the RLC: what it puts together from a capture of rlc_capture,
beside what our receivers did."""

import collections
import pathlib
import subprocess
from collections.abc import Iterable

from tshark_with_lua import TSHARK

SCRIPT = pathlib.Path(__file__).with_name("reassembled_sdus.lua")


def sdus_of_tshark(file: pathlib.Path) -> list[str]:
    """ "U-RNTI direction bearer octets" of each. Refused, in tshark's words, if it has no Lua."""
    output = subprocess.run(
        [
            *TSHARK,
            "-q",
            "-X",
            f"lua_script:{SCRIPT}",
            "-r",
            str(file),
            "--enable-heuristic",
            "rlc_udp",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if output.returncode != 0:
        raise RuntimeError(f"tshark: {output.stderr.strip()}")
    return output.stdout.splitlines()


# Counts of rlc_capture and of differences() that have to be 0.
WRONG = ("missing", "extra", "altered", "disordered", "repeated", "undelivered", "unfinished")


def wrong(counts: dict[str, int]) -> list[str]:
    """The errors in these counts, and the lack of SDUs."""
    return [f"{name}: {counts[name]}" for name in WRONG if counts.get(name)] + (
        [] if counts.get("sdus") else ["no SDUs"]
    )


def with_left_octets(line: str, marks: str) -> list[str]:
    """An SDU in the forms that tshark may have. With LIs of 15 bits an octet that is left alone in
    a PDU, behind an SDU's end or its last LI, is padding without an LI (9.2.2.8), which the
    receiver ignores. tshark 4.0 does not: it has it as the last octet of that SDU, or as the first
    of the next one. `marks`: the sender left such an octet behind this SDU (>) or before it (<)."""
    *channel, sdu = line.split(" ")
    before, behind = "00" * ("<" in marks), "00" * (">" in marks)
    return [
        " ".join([*channel, has])
        for has in {sdu + behind, before + sdu, before + sdu + behind} - {sdu}
    ]


def differences(ours: Iterable[str], theirs: Iterable[str]) -> tuple[list[str], list[str], int]:
    """Ours that tshark has not, its that are not ours, and how many of its have an octet more that
    was left alone."""
    marks: dict[str, str] = collections.defaultdict(str)
    mine, its, octets = collections.Counter[str](), collections.Counter(theirs), 0
    for line in ours:
        words = line.split(" ")
        mine[plain := " ".join(words[:4])] += 1
        marks[plain] += "".join(words[4:])
    missing, extra = mine - its, its - mine
    for line in list(missing.elements()):
        for has in with_left_octets(line, marks[line]):
            if extra[has] > 0:
                extra[has] -= 1
                missing[line] -= 1
                octets += 1
                break
    return list(missing.elements()), list(extra.elements()), octets
