# SPDX-License-Identifier: GPL-3.0-or-later
"""A transfer of known bytes over one TCP connection, run inside a namespace:

  python transfer.py receive ADDRESS PORT BYTES SEED      listens; prints "ready", then one line of JSON
  python transfer.py send ADDRESS PORT BYTES SEED CC WINDOW_KB

The receiver compares every byte with what was sent. Its clock runs from the accepted connection to the
last byte. It needs nothing but Python."""
import json
import random
import socket
import sys
import time


TCP_CONGESTION = 13      # linux/tcp.h


def payload(size: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(size)


def wrong_bits(got: bytearray, sent: bytes) -> int:
    return sum((a ^ b).bit_count() for a, b in zip(got, sent) if a != b)


def receive(address: str, port: int, size: int, seed: int) -> None:
    sent = payload(size, seed)
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    listener.listen(1)
    print("ready", flush=True)
    connection, _ = listener.accept()
    began = last = time.monotonic()
    got = bytearray()
    error = None
    try:
        while len(got) < size and (data := connection.recv(65536)):
            last = time.monotonic()
            got += data
        connection.send(b"!")   # so that the sender ends after the receiver
    except OSError as e:
        error = e.strerror
    print(json.dumps({
        "bytes": len(got), "seconds": last - began, "error": error,
        "bytes_wrong": sum(a != b for a, b in zip(got, sent)), "bits_wrong": wrong_bits(got, sent)}), flush=True)


def send(address: str, port: int, size: int, seed: int, congestion_control: str, window_kb: int) -> None:
    data = payload(size, seed)
    s = socket.socket()
    s.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, congestion_control.encode())
    if window_kb:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, window_kb * 1024)
    s.connect((address, port))
    s.sendall(data)
    s.shutdown(socket.SHUT_WR)
    s.recv(1)
    info = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    print(json.dumps({"retransmits": int.from_bytes(info[100:104], sys.byteorder),
                      "congestion_control": s.getsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, 16)
                      .split(b"\0")[0].decode(),
                      "mss": s.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)}), flush=True)


if __name__ == "__main__":
    what, where, *numbers = sys.argv[1:]
    if what == "receive":
        receive(where, *map(int, numbers[:3]))
    else:
        size, seed, port = (int(numbers[i]) for i in (1, 2, 0))
        send(where, port, size, seed, numbers[3], int(numbers[4]))
