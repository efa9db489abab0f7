# SPDX-License-Identifier: GPL-3.0-or-later
"""The cost of a capture of a full cell: 25 bins at 256-QAM, sent and received, at the pace of the
air. This is not a test: run it by hand, PYTHONPATH and OPENWIP_BUILD as ctest sets them.

    measure_capture.py SECONDS"""

import os
import pathlib
import sys
import tempfile
import time

import capture_support as cs
from openwip_schema import telemetry_pb2 as pb

from openwip_cli.messages import link_frames

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import frame_batches

BATCH = 15  # slots
TEMPLATES = 20  # messages, used again and again: what is measured is the capture


def message(sent):
    batch = pb.FrameBatch()
    for _ in range(BATCH):
        frame_batches.append(
            batch,
            [
                link_frames.LinkFrame(
                    slot=0,
                    bin=b,
                    bits_per_symbol=8,
                    sn=b,
                    outcome=0 if sent else 1,
                    snr_db=30,
                    payload=os.urandom(105),
                    payload_bits=840,
                )
                for b in range(25)
            ],
            bytes(30),
        )
    return pb.Telemetry(version=pb.VERSION_CURRENT, frames=batch)


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(seconds):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "full.pcapng")
        process = cs.start(folder, "-o", file)
        publishers = cs.Publishers(folder)
        publishers.wait_for_reader()
        ready = [
            {station: message(station == "base") for station in publishers.sockets}
            for _ in range(TEMPLATES)
        ]
        before, began, latest_s = cpu_seconds(process.pid), time.monotonic(), 0.0
        for n in range(round(1500 * seconds / BATCH)):
            slot = n * BATCH
            for station, m in ready[n % TEMPLATES].items():
                m.sequence, m.slot, m.frames.frames_before = n + 1, slot + BATCH - 1, n * BATCH * 25
                for i, s in enumerate(m.frames.slot):
                    s.air = slot + i
                publishers.publish(station, "frames", m)
            wait = began + slot / 1500 - time.monotonic()
            latest_s = max(latest_s, -wait)
            if wait > 0:
                time.sleep(wait)
        took = time.monotonic() - began
        time.sleep(0.5)
        spent = cpu_seconds(process.pid) - before
        publishers.close()
        _, output = cs.ended(process)
        print(output.strip())
        print(
            f"{spent / took:.3f} cores over {took:.1f} s; {os.path.getsize(file) / took / 1e6:.1f}"
            f" MB/s; the publisher was {1000 * latest_s:.0f} ms behind at worst"
        )


if __name__ == "__main__":
    main(float(sys.argv[1]))
