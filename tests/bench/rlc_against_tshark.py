# SPDX-License-Identifier: GPL-3.0-or-later
"""Random worlds of the RLC through tshark: python3 rlc_against_tshark.py RLC_CAPTURE WORLDS [FIRST]. What tshark puts together has to be what
our receivers did, byte for byte. What a world is: tests/unit/mac/rlc_capture_main.cpp. A line of counts every 20,000 worlds, and one of
their sum; exit code 1: something differs,
or is not what was sent (altered), or did not end (unfinished). test_umts_tshark has the first of these worlds."""
import collections
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from rlc_witness import differences, sdus_of_tshark  # noqa: E402

BATCH, LINE = 1000, 20000


def judge(program: str, first: int, worlds: int, file: pathlib.Path) -> collections.Counter[str]:
    """Counts of one capture. What differs is printed."""
    said = subprocess.run([program, "worlds", str(first), str(worlds), str(file)], capture_output=True, text=True, check=True).stdout.splitlines()
    counts = collections.Counter({name: int(value) for name, value in (c.split("=") for c in said.pop().split())})
    missing, extra, octets = differences(said, sdus_of_tshark(file))
    for what, lines in (("missing", missing), ("extra", extra)):
        for line in lines[:20]:
            world, *rest = line.split(" ", 1)
            print(f"{what}: world {first + int(world) - 1}: {rest[0][:80]}", flush=True)
    return counts + collections.Counter({"worlds": worlds, "octets": octets, "missing": len(missing), "extra": len(extra)})


def main() -> int:
    if len(sys.argv) not in (3, 4) or not all(a.isdigit() for a in sys.argv[2:]):
        print(__doc__, file=sys.stderr)
        return 2
    program, worlds = sys.argv[1], int(sys.argv[2])
    first = int(sys.argv[3]) if len(sys.argv) == 4 else 1
    total, since = collections.Counter[str](), collections.Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for at in range(first, first + worlds, BATCH):
            since += judge(program, at, min(BATCH, first + worlds - at), pathlib.Path(folder) / "rlc.pcap")
            if since["worlds"] >= LINE or at + BATCH >= first + worlds:
                print(f"up to {at + BATCH - 1}: {dict(since)}", flush=True)
                total += since
                since.clear()
    print(f"worlds {first} to {first + worlds - 1}: {dict(total)}", flush=True)
    return 1 if total["missing"] + total["extra"] + total["altered"] + total["unfinished"] else 0


if __name__ == "__main__":
    sys.exit(main())
