# SPDX-License-Identifier: GPL-3.0-or-later
"""The attaching end of a medium's socket (channels/air/shared_air.h), written from that page alone:
a second implementation to test the first against, and a cheap radio: it has the memory and uses
nothing of it."""

import fcntl
import mmap
import os
import socket
import struct

MAGIC = 0x4F57495041495221
HEAD = struct.Struct("<QIIIId")
NODE = struct.Struct("<32sq")
SEALS = 0x1 | 0x2 | 0x4  # SEAL, SHRINK, GROW
F_GET_SEALS = 1034


class Attached:
    """A medium's memory; raises OSError when nobody listens at the path or nothing is handed
    over."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self.socket.settimeout(5)
            self.socket.connect(str(path))
            self.process, self.user, _ = struct.unpack(
                "3i", self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            )
            reported, descriptors, _, _ = socket.recv_fds(self.socket, 8192, 1)
            if len(descriptors) != 1:
                raise ConnectionResetError("no memory was handed over")
        except OSError:
            self.socket.close()
            raise
        magic, self.version, nodes, self.clock, _, self.speed = HEAD.unpack_from(reported)
        assert magic == MAGIC, hex(magic)
        self.nodes = [
            NODE.unpack_from(reported, HEAD.size + i * NODE.size)[0].rstrip(b"\0").decode()
            for i in range(nodes)
        ]
        self.status = os.fstat(descriptors[0])
        self.seals = fcntl.fcntl(descriptors[0], F_GET_SEALS)
        self.memory = mmap.mmap(descriptors[0], self.status.st_size)
        os.close(descriptors[0])

    def close(self):
        self.memory.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
