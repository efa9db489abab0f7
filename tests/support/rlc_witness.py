# SPDX-License-Identifier: GPL-3.0-or-later
"""tshark as a foreign witness of the RLC: what it puts together from a capture of rlc_capture, beside what our receivers did."""
import collections
import pathlib
import subprocess
from collections.abc import Iterable

SCRIPT = pathlib.Path(__file__).with_name("reassembled_sdus.lua")


def sdus_of_tshark(file: pathlib.Path) -> list[str]:
    """"U-RNTI direction bearer octets" of each. Refused, in tshark's words, if it has no Lua."""
    said = subprocess.run(["tshark", "-q", "-X", f"lua_script:{SCRIPT}", "-r", str(file), "--enable-heuristic", "rlc_udp"],
                          capture_output=True, text=True, check=False)
    if said.returncode != 0:
        raise RuntimeError(f"tshark: {said.stderr.strip()}")
    return said.stdout.splitlines()


def without_left_octets(line: str, ours: collections.Counter[str]) -> str:
    """With LIs of 15 bits (bearers of even numbers) an octet that is left alone in a PDU, behind an SDU's end or its last LI, is padding
    without an LI (9.2.2.8), which the receiver ignores. tshark 4.0 does not: it has it as the last octet of that SDU, or as the
    first of the next one. So: the line as it is, or less a zero octet at an end, if that is one of ours."""
    *channel, sdu = line.split(" ")
    if int(channel[2]) % 2:
        return line
    start = " ".join(channel) + " "
    shorter = [*([sdu[:-2]] if sdu.endswith("00") else []), *([sdu[2:]] if sdu.startswith("00") else []),
               *([sdu[2:-2]] if sdu.startswith("00") and sdu.endswith("00") else [])]
    return next((start + s for s in shorter if start + s in ours), line)


def differences(ours: Iterable[str], theirs: Iterable[str]) -> tuple[list[str], list[str], int]:
    """Ours that tshark has not, its that are not ours, and how many of its have an octet more that was left alone."""
    mine, its = collections.Counter(ours), collections.Counter(theirs)
    missing, extra = mine - its, its - mine
    trimmed = collections.Counter(without_left_octets(line, missing) for line in extra.elements())
    octets = sum((missing & trimmed).values())
    return list((missing - trimmed).elements()), list((trimmed - missing).elements()), octets
