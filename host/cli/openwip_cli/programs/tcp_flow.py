# SPDX-License-Identifier: GPL-3.0-or-later
"""One TCP transfer as its receiving application sees it, with the time of every arrival.

  python -m openwip_cli.programs.tcp_flow receive ADDRESS PORT BUFFER    prints "listening", then JSON
  python -m openwip_cli.programs.tcp_flow send ADDRESS PORT SECONDS CC   sends as fast as it can for so long; JSON

Rates are from arrival to arrival: the bytes after the first arrival, by the time between the first and the last.
So neither the handshake nor the size of a packet against a slow link is in them."""
import json
import socket
import sys
import time

WARM_UP_S = 1.0     # of the steady part
TCP_MAXSEG = 2
TCP_CONGESTION = 13


def rate_of(arrivals: list[tuple[float, int]]) -> tuple[float, float]:
    """(bytes, seconds) from the first to the last of (time, bytes) pairs."""
    if len(arrivals) < 2:
        return 0, 0.0
    return sum(n for _, n in arrivals[1:]), arrivals[-1][0] - arrivals[0][0]


def receive(address: str, port: int, buffer: int) -> None:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        listener.bind((address, port))
        listener.listen(1)
        print("listening", flush=True)
        connection, _ = listener.accept()
    arrivals = []
    with connection:
        while data := connection.recv(1 << 16):
            arrivals.append((time.monotonic(), len(data)))
    whole = rate_of(arrivals)
    steady = rate_of([a for a in arrivals if a[0] >= arrivals[0][0] + WARM_UP_S]) if arrivals else (0, 0.0)
    print(json.dumps({"received": sum(n for _, n in arrivals),
                      "bytes": whole[0], "seconds": whole[1],
                      "steady_bytes": steady[0], "steady_seconds": steady[1]}))


def send(address: str, port: int, seconds: float, congestion_control: str) -> None:
    with socket.socket() as s:
        s.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, congestion_control.encode())
        s.connect((address, port))
        mss = s.getsockopt(socket.IPPROTO_TCP, TCP_MAXSEG)
        block, sent = bytes(1 << 16), 0
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            sent += s.send(block)
        s.shutdown(socket.SHUT_WR)
        s.recv(1)   # until the other end has read everything
    print(json.dumps({"sent": sent, "mss": mss}))


if __name__ == "__main__":
    what, where, port_text, number, *words = sys.argv[1:]
    if what == "receive":
        receive(where, int(port_text), int(number))
    else:
        send(where, int(port_text), float(number), *words)
