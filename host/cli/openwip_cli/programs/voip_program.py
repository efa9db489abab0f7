# SPDX-License-Identifier: GPL-3.0-or-later
"""A voice-like UDP stream with one-way delays, as a program for each end:

  voip_program.py send ADDRESS PORT PACKETS PER_SECOND PAYLOAD_BYTES
  voip_program.py receive PORT            until SIGTERM; then the JSON on standard output

Both ends run on one host, so CLOCK_MONOTONIC is common to them and a one-way delay is a difference,
without the clock drift that shows in the text's figure 6.41. The sender writes the time into the
packet just before it sends it. The time of arrival is the kernel's (SO_TIMESTAMPNS), not that of a
Python process which had to be woken first; the kernel gives CLOCK_REALTIME, so the difference of
the two clocks is read at every packet, to a microsecond. Packets keep to a grid of absolute times:
a late one does not shift those after it."""

import json
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

HEADER = struct.Struct("!4sIq")  # magic, number, CLOCK_MONOTONIC of sending in ns
MAGIC = b"voip"


def packet(number: int, now_ns: int, size: int) -> bytes:
    return HEADER.pack(MAGIC, number, now_ns).ljust(size, b"\x55")


def send(address: str, port: int, packets: int, per_second: int, size: int) -> dict[str, int]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect((address, port))
        began = time.monotonic_ns() + 10_000_000
        worst = failed = 0
        for number in range(packets):
            due = began + number * 1_000_000_000 // per_second
            while (left := due - time.monotonic_ns()) > 0:
                time.sleep(left / 1e9)
            now = time.monotonic_ns()
            worst = max(worst, now - due)
            try:
                s.send(packet(number, now, size))
            except OSError:
                failed += 1
    return {"sent": packets - failed, "not_sent": failed, "worst_lateness_us": worst // 1000}


def realtime_ahead_ns(
    monotonic: Callable[[], int] = time.monotonic_ns,
    realtime: Callable[[], int] = lambda: time.clock_gettime_ns(time.CLOCK_REALTIME),
) -> int:
    """CLOCK_REALTIME less CLOCK_MONOTONIC, ns. A process that loses the processor between two
    readings would put that time into the difference: of up to ten readings the one that took least
    counts, to half of what it took."""
    best = 1 << 62, 0  # how long it took, the difference
    for _ in range(10):
        before, real, after = monotonic(), realtime(), monotonic()
        if after - before < best[0]:
            best = after - before, real - (before + after) // 2
        if best[0] < 1000:
            break
    return best[1]


def arrival_ns(ancillary: list[tuple[int, int, bytes]]) -> int:
    """Arrival by the kernel's clock, as CLOCK_MONOTONIC; the process's own reading when there is
    none."""
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == 35:  # SCM_TIMESTAMPNS
            seconds, nanoseconds = struct.unpack("qq", data[:16])
            return seconds * 1_000_000_000 + nanoseconds - realtime_ahead_ns()
    return time.monotonic_ns()


def receive(port: int, ready: Callable[[], object] = lambda: None) -> dict[str, Any]:
    """[number, delay in us] in the order of arrival, and what was not ours."""
    ending = False

    def end(*_: object) -> None:
        raise InterruptedError

    arrived, foreign = [], 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
        s.bind(("", port))
        signal.signal(signal.SIGTERM, end)
        ready()
        while not ending:
            try:
                data, ancillary, _, _ = s.recvmsg(2048, 64)
                now = arrival_ns(ancillary)
                magic, number, sent = HEADER.unpack_from(data)
                if magic != MAGIC:
                    foreign += 1
                else:
                    arrived.append([number, (now - sent) // 1000])
            except struct.error:
                foreign += 1
            except InterruptedError:
                ending = True
    return {"arrived": arrived, "foreign": foreign}


def summary(sent: int, arrived: Iterable[Sequence[int]]) -> dict[str, Any]:
    """The statistics of a stream of `sent` packets: loss, reordering, duplicates, and the delays in
    us of the first copy of each, in the order of arrival."""
    seen, delays, reordered, highest = set(), [], 0, -1
    duplicates = 0
    for number, delay in arrived:
        if number in seen:
            duplicates += 1
            continue
        seen.add(number)
        delays.append(delay)
        reordered += number < highest
        highest = max(highest, number)
    return {
        "sent": sent,
        "received": len(seen),
        "loss": 1 - len(seen) / sent if sent else 0.0,
        "reordered": reordered,
        "duplicates": duplicates,
        "delays_us": delays,
    }


def main() -> None:
    if sys.argv[1] == "send":
        print(json.dumps(send(sys.argv[2], *map(int, sys.argv[3:7]))))
    else:
        print(json.dumps(receive(int(sys.argv[2]), lambda: print("ready", flush=True))))


if __name__ == "__main__":
    try:
        main()
    # such as nobody who listens: whoever started this has the last line as the cause
    except OSError as e:
        sys.exit(f"voip_program: {e.strerror or e}")
