# SPDX-License-Identifier: GPL-3.0-or-later
"""Split TCP that needs more memory than there is is refused before a kernel of virtual time is
started. The proxy's own limits: tests/unit/host/test_split_proxy.cpp."""

import unittest

from openwip_cli.errors import BadInput
from openwip_cli.measure import flows
from openwip_cli.runs import split_tcp

FLOWS = [flows.flow("transfer", 0, 1, start_s=1, bytes=20000, congestion_control="cubic")]


class GuestMemory(unittest.TestCase):
    def line(self, connections, buffer_kb, memory_mb=128):
        return split_tcp.guest_proxy(
            {
                "split_tcp.ports": "all",
                "terminals": 1,
                "split_tcp.keepalive_s": 120,
                "split_tcp.connections": connections,
                "split_tcp.buffer_kb": buffer_kb,
            },
            FLOWS,
            flows.PORT,
            memory_mb,
        )

    def test_half_of_the_guests_memory_is_the_most_that_connections_hold(self):
        self.assertEqual(
            self.line(256, 128),
            {
                "listens": 2,
                "connects": 3,
                "command": f"/split {flows.PORT} {128 << 10} 256 120 3".split(),
            },
        )
        for connections, buffer_kb, memory_mb, valid in (
            (256, 129, 128, 128),
            (1024, 64, 128, 32),
            (256, 128, 64, 64),
        ):
            with self.assertRaisesRegex(
                BadInput,
                f"^--split-tcp-buffer-kb is {buffer_kb} .*half of the {memory_mb} MiB of the"
                " virtual machine's kernel;"
                " valid with that: "
                rf"4\.\.{valid}$",
            ):
                self.line(connections, buffer_kb, memory_mb)


if __name__ == "__main__":
    unittest.main()
