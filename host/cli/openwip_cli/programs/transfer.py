# SPDX-License-Identifier: GPL-3.0-or-later
"""A transfer over one TCP connection, run inside a namespace; a receiver listens, prints "ready",
and at the end one line of JSON:

  python transfer.py receive ADDRESS PORT BYTES SEED
  python transfer.py send ADDRESS PORT BYTES SEED CC WINDOW_KB
  python transfer.py receive-all ADDRESS PORT BUFFER
  python transfer.py send-for ADDRESS PORT SECONDS CC     as fast as it can, for so long

Of known bytes the receiver compares every one with what was sent. Its clock runs from the accepted
connection to the last byte. The rate of a transfer for a time is from arrival to arrival: the bytes
after the first arrival, by the time between the first and the last. So neither the handshake nor
the size of a packet against a slow link is in it. It needs nothing but Python."""

import json
import random
import socket
import sys
import time

WARM_UP_S = 1.0  # of the steady part
TCP_CONGESTION = 13  # linux/tcp.h


def accepted(address: str, port: int, buffer: int = 0) -> socket.socket:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if buffer:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        listener.bind((address, port))
        listener.listen(1)
        print("ready", flush=True)
        return listener.accept()[0]


def connected(address: str, port: int, congestion_control: str, buffer: int = 0) -> socket.socket:
    s = socket.socket()
    s.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, congestion_control.encode())
    if buffer:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
    s.connect((address, port))
    return s


# --- known bytes ---


def payload(size: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(size)


def wrong_bits(got: bytearray, sent: bytes) -> int:
    return sum((a ^ b).bit_count() for a, b in zip(got, sent) if a != b)


def receive(address: str, port: int, size: int, seed: int) -> None:
    sent, got, error = payload(size, seed), bytearray(), None
    connection = accepted(address, port)
    began = last = time.monotonic()
    try:
        while len(got) < size and (data := connection.recv(65536)):
            last = time.monotonic()
            got += data
        connection.send(b"!")  # so that the sender ends after the receiver
    except OSError as e:
        error = e.strerror
    print(
        json.dumps(
            {
                "bytes": len(got),
                "seconds": last - began,
                "error": error,
                "bytes_wrong": sum(a != b for a, b in zip(got, sent)),
                "bits_wrong": wrong_bits(got, sent),
            }
        ),
        flush=True,
    )


def send(
    address: str, port: int, size: int, seed: int, congestion_control: str, window_kb: int
) -> None:
    s = connected(address, port, congestion_control, window_kb * 1024)
    s.sendall(payload(size, seed))
    s.shutdown(socket.SHUT_WR)
    s.recv(1)
    info = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    print(
        json.dumps(
            {
                "retransmits": int.from_bytes(info[100:104], sys.byteorder),
                "congestion_control": (
                    s.getsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, 16).split(b"\0")[0].decode()
                ),
                "mss": s.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG),
            }
        ),
        flush=True,
    )


# --- for a time ---


def rate_of(arrivals: list[tuple[float, int]]) -> tuple[float, float]:
    """(bytes, seconds) from the first to the last of (time, bytes) pairs."""
    return (
        (sum(n for _, n in arrivals[1:]), arrivals[-1][0] - arrivals[0][0])
        if arrivals
        else (0, 0.0)
    )


def receive_all(address: str, port: int, buffer: int) -> None:
    arrivals = []
    with accepted(address, port, buffer) as connection:
        while data := connection.recv(1 << 16):
            arrivals.append((time.monotonic(), len(data)))
    whole = rate_of(arrivals)
    steady = (
        rate_of([a for a in arrivals if a[0] >= arrivals[0][0] + WARM_UP_S])
        if arrivals
        else (0, 0.0)
    )
    print(
        json.dumps(
            {
                "received": sum(n for _, n in arrivals),
                "bytes": whole[0],
                "seconds": whole[1],
                "steady_bytes": steady[0],
                "steady_seconds": steady[1],
            }
        )
    )


def send_for(address: str, port: int, seconds: float, congestion_control: str) -> None:
    block, sent = bytes(1 << 16), 0
    with connected(address, port, congestion_control) as s:
        mss = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            sent += s.send(block)
        s.shutdown(socket.SHUT_WR)
        s.recv(1)  # until the other end has read everything
    print(json.dumps({"sent": sent, "mss": mss}))


def main() -> None:
    what, where, port_text, *words = sys.argv[1:]
    if what == "receive":
        receive(where, int(port_text), *map(int, words))
    elif what == "send":
        send(where, int(port_text), int(words[0]), int(words[1]), words[2], int(words[3]))
    elif what == "receive-all":
        receive_all(where, int(port_text), int(words[0]))
    else:
        send_for(where, int(port_text), float(words[0]), words[1])


if __name__ == "__main__":
    try:
        main()
    # such as nobody who listens: whoever started this has the last line as the cause
    except OSError as e:
        sys.exit(f"transfer: {e.strerror or e}")
