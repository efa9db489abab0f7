# SPDX-License-Identifier: GPL-3.0-or-later
"""tshark as a foreign witness of the RLC: it puts the same SDUs together from our PDUs, byte for byte. argv[1]: rlc_capture."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)


def reassembled(file: pathlib.Path, direction: str) -> list[str]:
    """SDUs of one direction, from tshark's dumps of what it put together, and its data where an SDU has a PDU for itself."""
    text = subprocess.run(["tshark", "-r", str(file), "--enable-heuristic", "rlc_udp", "-Y", f"ip.src == {direction}", "-x"],
                          capture_output=True, text=True, check=True).stdout
    found, hexes = [], None
    for line in text.splitlines():
        if not line:
            hexes = None
        elif line.endswith("bytes):"):
            hexes = [] if line.startswith("Reassembled RLC") else None
            if hexes is not None:
                found.append(hexes)
        elif hexes is not None and (m := re.match(r"[0-9a-f]{4}  ((?:[0-9a-f]{2} )+)", line)):
            hexes.append(m[1].replace(" ", ""))
    return ["".join(h) for h in found]


@unittest.skipUnless(shutil.which("tshark"), "no tshark here")
class Witness(unittest.TestCase):
    def check(self, mode: str, world: int, pdu_bytes: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "rlc.pcap"
            said = subprocess.run([PROGRAM, mode, str(world), str(pdu_bytes), str(file)], capture_output=True, text=True, check=True)
            ours = said.stdout.split()
            self.assertGreater(len(ours), 50)
            # With LIs of 15 bits one octet that is left alone is padding without an LI, which the receiver ignores (9.2.2.8).
            # tshark does not: it is the last octet of the SDU before it, or the first of the next one.
            theirs = [t if t in ours or pdu_bytes <= 125 else t[:-2] if t[:-2] in ours and t.endswith("00") else t[2:]
                      for t in reassembled(file, "10.42.0.1")]
            self.assertEqual(sorted(theirs), sorted(ours), f"{mode}, world {world}, PDUs of {pdu_bytes}")

    def test_acknowledged_with_losses(self) -> None:
        for world, pdu_bytes in ((1, 42), (2, 42), (1001, 127), (3, 200)):
            self.check("am", world, pdu_bytes)

    def test_unacknowledged(self) -> None:
        for world, pdu_bytes in ((1, 41), (2, 300)):
            self.check("um", world, pdu_bytes)


if __name__ == "__main__":
    unittest.main()
