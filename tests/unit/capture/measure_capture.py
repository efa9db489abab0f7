# SPDX-License-Identifier: GPL-3.0-or-later
"""What a capture of a full cell costs: 25 bins at 256-QAM, sent and received, at the pace of the air. Not a
test: run it by hand, PYTHONPATH and OPENWIP_BUILD as ctest sets them.

    measure_capture.py SECONDS"""
import os
import sys
import tempfile
import time

import capture_support as cs
from openwip_schema import telemetry_pb2 as pb

TEMPLATES = 300     # slots of payload, used again and again: what is measured is the capture


def batch(slot, sent):
    frames = pb.FrameBatch(air=slot, grant=bytes(30))
    for b in range(25):
        frames.frame.add(bin=b, bits_per_symbol=8, sn=(slot * 25 + b) & 0xffff, whole=True, last=True,
                         outcome=0 if sent else 1, snr_db=30, payload=os.urandom(105), payload_bits=840)
    return frames


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(seconds):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "full.pcapng")
        process = cs.start(folder, "-o", file)
        publishers = cs.Publishers(folder)
        publishers.wait_for_reader()
        ready = [{station: batch(slot, station == "base") for station in publishers.sockets}
                 for slot in range(TEMPLATES)]
        bodies = [{station: pb.Telemetry(version=1, frames=b).SerializeToString() for station, b in both.items()}
                  for both in ready]
        before, began, behind = cpu_seconds(process.pid), time.monotonic(), 0.0
        for slot in range(round(1500 * seconds)):
            # Protobuf takes the last of a field: the numbers of this slot before the ready content.
            head = pb.Telemetry(sequence=slot + 1, slot=slot).SerializeToString()
            for station, socket in publishers.sockets.items():
                socket.send_multipart([b"frames", head + bodies[slot % TEMPLATES][station]])
            wait = began + slot / 1500 - time.monotonic()
            behind = max(behind, -wait)
            if wait > 0:
                time.sleep(wait)
        took = time.monotonic() - began
        time.sleep(0.5)
        spent = cpu_seconds(process.pid) - before
        publishers.close()
        _, said = cs.ended(process)
        print(said.strip())
        print(f"{spent / took:.3f} cores over {took:.1f} s; {os.path.getsize(file) / took / 1e6:.1f} MB/s; "
              f"the publisher was {1000 * behind:.0f} ms behind at worst")


if __name__ == "__main__":
    main(float(sys.argv[1]))
