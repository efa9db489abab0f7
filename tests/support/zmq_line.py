# SPDX-License-Identifier: GPL-3.0-or-later
"""Either end of a line over ZeroMQ (blocks/peer/zmq_link.cpp), written from its head alone, so that
macd and the blocks are not tested against the code they use. A test gives a bound end one partner,
for whom a DEALER will do."""

import zmq


class ZmqLine:
    def __init__(self, context, endpoint, bind=False, linger=0):
        self.socket = context.socket(zmq.DEALER)
        self.socket.linger = linger
        self.came = None
        if bind:
            self.socket.bind(endpoint)
        else:
            self.socket.connect(endpoint)
            self.send_multipart([b"", b"knock"])

    def send(self, data, flags=0):
        self.socket.send(data, flags)

    def send_multipart(self, parts):
        """Sends what is no message of the line, or a line word."""
        self.socket.send_multipart(parts)

    def poll(self, milliseconds):
        """True if a message of one part has arrived; words about the line itself are not
        counted."""
        while self.came is None and self.socket.poll(milliseconds):
            parts = self.socket.recv_multipart()
            self.came = parts[0] if len(parts) == 1 else None
        return self.came is not None

    def recv(self):
        while not self.poll(None):
            pass
        data, self.came = self.came, None
        return data

    def close(self, linger=None):
        self.socket.close(linger)
