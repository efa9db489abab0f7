# SPDX-License-Identifier: GPL-3.0-or-later
"""The connecting end of a shm:// line (blocks/peer/ring_link.cpp), written from its head alone: a
second implementation to test the first against, and a way to put garbage into the shared memory."""

import mmap
import os
import pathlib
import select
import socket
import struct
import time

MAGIC, VERSION = 0x474E495250495746, 1
SIZE = 1 << 20  # bytes of the data of one ring
WRITTEN, TAKEN, ASLEEP, DATA = 0, 64, 128, 192  # offsets in a ring
RING = DATA + SIZE
MESSAGE, SKIP, PING, PONG = range(4)


class RingLine:
    """`down` is what the binding end writes; it comes first in the memory."""

    def __init__(self, path, seconds=10):
        self.bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(seconds)
        self._connect(str(path), time.monotonic() + seconds)
        greeting = struct.pack("<QII", MAGIC, VERSION, 1)
        socket.send_fds(self.socket, [greeting], [self.bell])
        answer, fds, _, _ = socket.recv_fds(self.socket, 64, 2)
        if struct.unpack("<QII", answer) != (MAGIC, VERSION, 2) or len(fds) != 2:
            raise ConnectionError(f"{path}: {answer!r}, {len(fds)} descriptors")
        self.partner_bell, memory = fds
        self.memory = mmap.mmap(memory, 2 * RING)
        os.close(memory)
        # Whole words at once: `struct` would take them byte by byte.
        view = memoryview(self.memory)
        self.words = {"Q": view.cast("Q"), "I": view.cast("I")}
        view.release()
        self.at_down, self.at_up = 0, 0

    def _connect(self, path, deadline):
        while True:
            try:
                return self.socket.connect(path)
            except (FileNotFoundError, ConnectionRefusedError, BlockingIOError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def get(self, offset, kind="Q"):
        return self.words[kind][offset // struct.calcsize(kind)]

    def put(self, offset, value, kind="Q"):
        self.words[kind][offset // struct.calcsize(kind)] = value

    def send(self, data, kind=MESSAGE):
        """Waits for room; ConnectionError when the other end has gone."""
        need = 8 + (len(data) + 7) // 8 * 8
        start, left = self.at_up, SIZE - self.at_up % SIZE
        if need > left:
            start += left
        while start + need - self.get(RING + TAKEN) > SIZE:
            if self.gone():
                raise ConnectionError("the other end has gone")
            time.sleep(0.001)
        if start != self.at_up:
            struct.pack_into("<II", self.memory, RING + DATA + self.at_up % SIZE, 0, SKIP)
        place = RING + DATA + start % SIZE
        struct.pack_into("<II", self.memory, place, len(data), kind)
        self.memory[place + 8 : place + 8 + len(data)] = bytes(data)
        self.at_up = start + need
        self.put(RING + WRITTEN, self.at_up)
        self.ring()

    def ring(self):
        if self.get(RING + ASLEEP, "I"):
            self.put(RING + ASLEEP, 0, "I")
            os.eventfd_write(self.partner_bell, 1)

    def receive(self):
        """A message, or None when there is none now. Answers pings."""
        while self.get(WRITTEN) != self.at_down:
            place = self.at_down % SIZE
            size, kind = struct.unpack_from("<II", self.memory, DATA + place)
            data = bytes(self.memory[DATA + place + 8 : DATA + place + 8 + size])
            self.at_down += SIZE - place if kind == SKIP else 8 + (size + 7) // 8 * 8
            self.put(TAKEN, self.at_down)
            if kind == MESSAGE:
                return data
            if kind == PING:
                self.send(b"", PONG)
        return None

    def recv(self, seconds=10):
        """Waits for a message, at most so long (TimeoutError)."""
        deadline = time.monotonic() + seconds
        while (data := self.receive()) is None:
            if time.monotonic() > deadline:
                raise TimeoutError
            self.poll(50)
        return data

    def poll(self, milliseconds):
        """True when there is something to receive."""
        self.put(ASLEEP, 1, "I")
        if self.get(WRITTEN) == self.at_down:
            select.select([self.bell, self.socket], [], [], milliseconds / 1000)
        self.put(ASLEEP, 0, "I")
        try:
            os.eventfd_read(self.bell)
        except BlockingIOError:
            pass
        return self.get(WRITTEN) != self.at_down

    def gone(self):
        """The other end has closed the line."""
        ready, _, _ = select.select([self.socket], [], [], 0)
        return bool(ready) and not self.socket.recv(1, socket.MSG_DONTWAIT)

    def close(self, _linger=0):
        if self.socket.fileno() < 0:
            return
        self.socket.close()
        for view in self.words.values():
            view.release()
        self.memory.close()
        os.close(self.bell)
        os.close(self.partner_bell)


def path_of(endpoint):
    return pathlib.Path(endpoint.removeprefix("shm://"))
