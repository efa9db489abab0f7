# SPDX-License-Identifier: GPL-3.0-or-later
"""Random worlds of the RLC through tshark: python3 rlc_against_tshark.py RLC_CAPTURE WORLDS
[FIRST]. What tshark puts together has to be what our receivers did, byte for byte, and that what
was given. What a world is: tests/unit/mac/rlc_capture_main.cpp. A line of counts every 20,000
worlds, and one of their sum. Exit code 1: something differs, is not what was given or in another
order, did not end, or there was no SDU; 2: refused arguments. test_umts_tshark has the first of
these worlds."""

import collections
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from rlc_oracle import differences, sdus_of_tshark, wrong

BATCH, LINE = 1000, 20000  # worlds of one capture; worlds between two lines of output


def evaluate(program: str, first: int, worlds: int, file: pathlib.Path) -> collections.Counter[str]:
    """Counts of one capture. What differs is printed."""
    done = subprocess.run(
        [program, "worlds", str(first), str(worlds), str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        print(
            f"{program}: worlds from {first}: exit code {done.returncode}:"
            f" {done.stderr.strip()[-200:]}",
            flush=True,
        )
        return collections.Counter({"worlds": worlds, "unfinished": worlds})
    output = done.stdout.splitlines()
    counts = collections.Counter(
        {name: int(value) for name, value in (c.split("=") for c in output.pop().split())}
    )
    missing, extra, octets = differences(output, sdus_of_tshark(file))
    for what, lines in (("missing", missing), ("extra", extra)):
        for line in lines[:20]:
            world, *rest = line.split(" ", 1)
            print(f"{what}: world {first + int(world) - 1}: {rest[0][:80]}", flush=True)
    return counts + collections.Counter(
        {"worlds": worlds, "octets": octets, "missing": len(missing), "extra": len(extra)}
    )


def main() -> int:
    if len(sys.argv) not in (3, 4) or not all(a.isdigit() for a in sys.argv[2:]):
        print(__doc__, file=sys.stderr)
        return 2
    program, worlds = sys.argv[1], int(sys.argv[2])
    for ok, what in (
        (
            os.access(program, os.X_OK) and not os.path.isdir(program),
            f"RLC_CAPTURE is {program}; valid: that program of a build",
        ),
        (worlds > 0, f"WORLDS is {worlds}; valid: 1 or more"),
        (shutil.which("tshark"), "tshark is not there"),
    ):
        if not ok:
            print(what, file=sys.stderr)
            return 2
    first = int(sys.argv[3]) if len(sys.argv) == 4 else 1
    total, since = collections.Counter[str](), collections.Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for at in range(first, first + worlds, BATCH):
            since += evaluate(
                program, at, min(BATCH, first + worlds - at), pathlib.Path(folder) / "rlc.pcap"
            )
            if since["worlds"] >= LINE or at + BATCH >= first + worlds:
                print(f"up to {at + BATCH - 1}: {dict(since)}", flush=True)
                total += since
                since.clear()
    print(f"worlds {first} to {first + worlds - 1}: {dict(total)}", flush=True)
    for what in (found := wrong(total)):
        print(f"wrong: {what}", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
