# SPDX-License-Identifier: GPL-3.0-or-later
"""Random worlds of the acknowledged RLC through tshark, as long as one likes: python3 rlc_against_tshark.py RLC_CAPTURE SECONDS [FIRST].
What tshark puts together has to be what our receiver did, byte for byte (as tests/unit/mac/test_umts_tshark.py, which has a
few of these worlds).

With LIs of 15 bits an octet that is left alone in a PDU, behind an SDU's end or its last LI, is padding without an LI (9.2.2.8),
which the receiver ignores. tshark 4.0 does not: it has it as the last octet of that SDU, or as the first of the next one."""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile
import time

PDU_BYTES = (42, 30, 83, 126, 127, 200, 400)
WORLDS = 40    # in one capture, each with its own U-RNTI and address


def without_left_octets(sdu: str, ours: collections.Counter[str]) -> str:
    """tshark's as it is, or less a zero octet at an end, if that is one of ours."""
    variants = [sdu, *([sdu[:-2]] if sdu.endswith("00") else []), *([sdu[2:]] if sdu.startswith("00") else []),
                *([sdu[2:-2]] if sdu.startswith("00") and sdu.endswith("00") else [])]
    return next((v for v in variants if v in ours), sdu)


def theirs(file: pathlib.Path) -> list[str]:
    text = subprocess.run(["tshark", "-r", str(file), "--enable-heuristic", "rlc_udp", "-Y", "ip.src == 10.42.0.1", "-x"],
                          capture_output=True, text=True, check=True).stdout
    found, hexes = [], None
    for line in text.splitlines():
        if line.endswith("bytes):"):
            hexes = [] if line.startswith("Reassembled RLC") else None
            if hexes is not None:
                found.append(hexes)
        elif not line:
            hexes = None
        elif hexes is not None and (m := re.match(r"[0-9a-f]{4}  ((?:[0-9a-f]{2} )+)", line)):
            hexes.append(m[1].replace(" ", ""))
    return ["".join(h) for h in found]


def main() -> int:
    program, seconds = sys.argv[1], float(sys.argv[2])
    world, total = int(sys.argv[3]) if len(sys.argv) > 3 else 1000, collections.Counter[str]()
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "rlc.pcap"
        while time.monotonic() < end:
            pdu_bytes = PDU_BYTES[(world // WORLDS) % len(PDU_BYTES)]
            said = subprocess.run([program, "am", str(world), str(pdu_bytes), str(file), str(WORLDS)],
                                  capture_output=True, text=True, check=True).stdout.split()
            ours = collections.Counter(said)
            got = collections.Counter(without_left_octets(t, ours) if pdu_bytes > 125 else t for t in theirs(file))
            short = {"missing": sum((ours - got).values()), "extra": sum((got - ours).values())}
            total.update(short | {"worlds": WORLDS, "sdus": len(said), "bytes": file.stat().st_size})
            if any(short.values()):
                print(f"worlds {world} to {world + WORLDS - 1}, PDUs of {pdu_bytes}: {short}", flush=True)
            world += WORLDS
    print(dict(total), flush=True)
    return 1 if total["missing"] + total["extra"] else 0


if __name__ == "__main__":
    sys.exit(main())
