# SPDX-License-Identifier: GPL-3.0-or-later
"""The cost of the recorder: scripted publishers at the rates of a cell of 25 bins and 256-QAM with
full load, and the processor time of the recorder. Prints a line for each set of topics.

    PYTHONPATH=build/python:host/cli:tests/unit/cli python3 tests/bench/record_load.py [SECONDS]"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from openwip_schema import telemetry_pb2 as pb
from scripted_publisher import Publisher

from openwip_cli.machine import procfs
from openwip_cli.messages import link_frames
from openwip_cli.records import run_record

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import frame_batches

RECORDER = """
import os, pathlib, sys
from openwip_cli.cell import cell as cells
from openwip_cli.machine.places import Places
from openwip_cli.records import record
cells.RUN_ROOT = pathlib.Path(sys.argv[1])
cell = cells.Cell("x")
reader = record.reader_of(cell, sys.argv[3].split(","))
os._exit(record.record(cell, sys.argv[2], reader, None, Places(pathlib.Path("/"), pathlib.Path("/"), "true"), True))
"""
RNG = random.Random(1)
SLOTS_PER_SECOND = 1500
PACKETS_PER_SLOT = 2  # 31.5 Mbit/s of packets of 1500 bytes are 1.75
STEP = 15  # slots that are published at once, 10 ms


def snr():
    return [RNG.gauss(30, 5) for _ in range(25)]


# A number of each, made before the clock runs: random, so that they compress as badly as they may.
SLOT = [
    pb.SlotSample(
        snr_db=snr(),
        predicted_snr_db=snr(),
        bits_per_symbol=bytes([8] * 25),
        outcome=bytes([1] * 25),
        locked=True,
        retransmissions=bytes(25),
        user=bytes(25),
        queued_packets=50,
    )
    for _ in range(200)
]
RECEIVER = [
    pb.ReceiverSample(
        points=RNG.randbytes(25 * 108 * 2),
        symbols_of_bin=bytes([108] * 25),
        bits_per_symbol=bytes([8] * 25),
        channel=[RNG.gauss(0, 1) for _ in range(1000)],
        noise_dbfs=snr(),
        spectrum_dbfs=[RNG.gauss(-60, 5) for _ in range(768)],
        state={"mode": "locked"},
    )
    for _ in range(20)
]
PACKETS = [
    pb.PacketBatch(
        packet=[
            pb.PacketRecord(
                number=i,
                bytes=1500,
                protocol=6,
                arrived_ns=RNG.randrange(10**12),
                left_ns=10**12,
                queue_ns=RNG.randrange(10**8),
                scheduling_ns=RNG.randrange(10**6),
                air_ns=1333333,
                frames=14,
                retransmissions=[0] * 14,
            )
            for i in range(PACKETS_PER_SLOT * STEP)
        ]
    )
]
FRAMES = [pb.FrameBatch() for _ in range(5)]
for batch in FRAMES:
    for n in range(STEP):
        frame_batches.append(
            batch,
            [
                link_frames.LinkFrame(
                    slot=n,
                    bin=b,
                    bits_per_symbol=8,
                    sn=RNG.randrange(1 << 16),
                    snr_db=RNG.gauss(30, 5),
                    payload=RNG.randbytes(105),
                    payload_bits=840,
                    packet=(7,),
                )
                for b in range(25)
            ],
            bytes(30),
        )
IP = [
    pb.IpBatch(
        packet=[pb.IpRecord(data=RNG.randbytes(1500)) for _ in range(PACKETS_PER_SLOT * STEP)]
    )
    for _ in range(5)
]
SMALL = {
    "tcp": pb.TcpSample(
        flow=[
            pb.TcpFlow(
                station="base", local="10.42.0.1:5201", remote="10.42.0.2:40000", rtt_ms=15.0
            )
        ]
        * 2
    ),
    "cpu": pb.CpuSample(process=[pb.ProcessCpu(name=f"p{i}", cores=0.1) for i in range(10)]),
    "verdict": pb.Verdict(valid=True),
}


def publish(base, terminal, topics, slot, every):
    """The messages of a cell in STEP slots."""
    for s in range(slot, slot + STEP):
        if "slot" in topics and s % every == 0:
            for end in (base, terminal):
                end.send("slot", slot=s, slot_sample=SLOT[s % len(SLOT)])
    for topic, batches in (("frames", FRAMES), ("ip", IP)):
        if topic in topics:
            for end in (base, terminal):
                end.send(
                    topic, slot=slot + STEP - 1, **{topic: batches[slot // STEP % len(batches)]}
                )
    if "packet" in topics:
        base.send("packet", slot=slot, packets=PACKETS[0])
    if slot % 150 == 0:
        for end in (base, terminal):
            end.send("status", slot=slot, mac={"slot": slot, "effective_yaml": "a: 1\n" * 100})
        if "receiver" in topics:
            terminal.send("receiver", slot=slot, receiver=RECEIVER[slot // 150 % len(RECEIVER)])
        for topic, content in SMALL.items():
            base.send(topic, slot=slot, **{topic: content})


def measure(name, topics, every, seconds):
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder, "x")
        run.mkdir()
        path = pathlib.Path(folder, "run.h5")
        base, terminal = (
            Publisher(f"ipc://{run}/{n}.telemetry", 2000) for n in ("base", "terminal")
        )
        recorder = subprocess.Popen(
            [sys.executable, "-c", RECORDER, folder, path, ",".join(topics)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for end in (base, terminal):
            for topic in topics:
                end.await_subscribers(topic)
        before, began, slot = procfs.cpu_seconds(recorder.pid), time.monotonic(), 0
        while slot < seconds * SLOTS_PER_SECOND:
            publish(base, terminal, topics, slot, every)
            slot += STEP
            time.sleep(max(0, began + slot / SLOTS_PER_SECOND - time.monotonic()))
        wall = time.monotonic() - began
        published = sum(base.sequence.values()) + sum(terminal.sequence.values())
        recorder.stdin.close()
        recorder.stdin = None
        out = recorder.stdout.read()
        _, _, usage = os.wait4(recorder.pid, 0)
        recorder.returncode = 0
        used, memory = usage.ru_utime + usage.ru_stime - before, usage.ru_maxrss / 1024
        result = json.loads(out.splitlines()[-1])
        base.close()
        terminal.close()
        with run_record.RunRecord(path) as r:
            messages = sum(r.table(*t).attributes["received"] for t in r.tables())
        print(
            f"{name:<42} {used / (slot / SLOTS_PER_SECOND):6.1%} of a core per second of the run"
            f" ({wall:.1f} s wall for {slot / SLOTS_PER_SECOND:.0f}), {messages} of {published}"
            f" messages, {result['lost']} lost, {memory:.0f} MB resident at most,"
            f" {os.path.getsize(path) / (slot / SLOTS_PER_SECOND) / 1e6:.2f} MB/s"
        )


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20
    usual = ["status", "slot", "receiver", "packet", "tcp", "cpu", "verdict"]
    measure("all but frames and ip, as published", usual, 15, seconds)
    measure("the same, every slot", usual, 1, seconds)
    measure("all, frames and ip too, every 15th slot", [*usual, "frames", "ip"], 15, seconds)


if __name__ == "__main__":
    main()
