# SPDX-License-Identifier: GPL-3.0-or-later
"""File transfers of given sizes over TCP, one after the other, each on a connection of its own:

  flow_program.py send ADDRESS PORT KB:TIMES [KB:TIMES ...]      1 kB = 1000 bytes
  flow_program.py receive PORT FLOWS [WINDOW]                    bytes, which the receiver keeps; 0:
  the kernel's own

As in the text the sender opens the connection, sends, and closes; the session is over when the
receiver has the acknowledgement of its own FIN: SYN, SYN-ACK, ACK and data, FIN back, ACK: 2.5
round trips for one segment. The receiver knows that moment because close() with SO_LINGER waits for
it. Both programs run on one host, so times are of one clock (CLOCK_MONOTONIC): the start is the
sender's call of connect(), the end the receiver's."""

import json
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

LIMIT_S = 120  # of one flow; then it counts as failed
LINGER = struct.pack("ii", 1, 30)
# The fields of a flow that a sender in virtual time reports as well; the last ones of a flow that
# had any.
MORE = (
    "retransmits",
    "segments",
    "rtt_ms",
    "window",
    "window_most",
    "window_variance",
    "timeouts",
    "fast_retransmits",
    "undone",
    "first_retransmission_s",
)


def send(address: str, port: int, flows: list[tuple[int, ...]]) -> list[dict[str, int]]:
    block = bytes(65536)
    done = []
    for kb, times in flows:
        for _ in range(times):
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
                s.settimeout(LIMIT_S)
                began = time.monotonic_ns()
                s.connect((address, port))
                connected = time.monotonic_ns()
                left = kb * 1000
                while left:
                    left -= s.send(block[: min(left, len(block))])
                s.shutdown(socket.SHUT_WR)
                while s.recv(4096):
                    pass
                done.append({"kb": kb, "began_ns": began, "connected_ns": connected})
    return done


def keep_window(s: socket.socket, window: int) -> int:
    """Linux forgets the window of a route when a segment of more than 536 bytes comes. Returns the
    one that there is now."""
    now: int = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP)
    if window and now != window:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, window)
    return now


def receive(
    port: int, flows: int, window: int = 0, ready: Callable[[], object] = lambda: None
) -> list[dict[str, int]]:
    done = []
    with socket.create_server(("", port)) as listener:
        listener.settimeout(LIMIT_S)
        ready()
        for _ in range(flows):
            s, _ = listener.accept()
            with s:
                s.settimeout(LIMIT_S)
                got, last = 0, time.monotonic_ns()
                keep_window(s, window)
                while data := s.recv(1 << 18):
                    keep_window(s, window)
                    got, last = got + len(data), time.monotonic_ns()
                at_the_end = keep_window(s, 0)
                s.setblocking(True)
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER)
            # The socket is closed here, and with it the session at this end.
            done.append(
                {
                    "bytes": got,
                    "last_byte_ns": last,
                    "closed_ns": time.monotonic_ns(),
                    "window": at_the_end,
                }
            )
    return done


def summary(
    sent: Sequence[dict[str, Any]], received: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Per flow, in the order sent (they did not overlap): seconds since connect() was called."""
    flows = []
    for s, r in zip(sent, received):
        if r["bytes"] != s["kb"] * 1000:
            raise ValueError(f"a flow of {s['kb']} kB arrived with {r['bytes']} bytes")
        flows.append(
            {
                "kb": s["kb"],
                "connect_s": (s["connected_ns"] - s["began_ns"]) / 1e9,
                "last_byte_s": (r["last_byte_ns"] - s["began_ns"]) / 1e9,
                "session_s": (r["closed_ns"] - s["began_ns"]) / 1e9,
            }
            | {k: s[k] for k in MORE if k in s}
            | {k: r[k] for k in ("arrived_s",) if k in r}
        )
    return flows


def main() -> None:
    if sys.argv[1] == "send":
        wanted = [tuple(map(int, a.split(":"))) for a in sys.argv[4:]]
        print(json.dumps(send(sys.argv[2], int(sys.argv[3]), wanted)))
    else:
        print(
            json.dumps(
                receive(
                    int(sys.argv[2]),
                    int(sys.argv[3]),
                    int((sys.argv + ["0"])[4]),
                    lambda: print("ready", flush=True),
                )
            )
        )


if __name__ == "__main__":
    try:
        main()
    # such as nobody who listens: whoever started this has the last line as the cause
    except OSError as e:
        sys.exit(f"flow_program: {e.strerror or e}")
