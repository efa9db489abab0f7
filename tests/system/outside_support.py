# SPDX-License-Identifier: GPL-3.0-or-later
"""A computer that is a namespace, with a server, and computers at two cables, for tests of what is
outside of a cell; and captures there."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time

from demo_support import wait_until
from openwip_cli.machine import system

ETH_P_ALL = 3  # of linux/if_ether.h
PACKET_OUTGOING = 4  # of linux/if_packet.h


OPENED = []  # sockets of the test that runs


def close_all():
    while OPENED:
        OPENED.pop().close()


class Tap:
    """A capture at an interface: what the kernel sent there, and what came out of it."""

    def __init__(self, namespace, interface="wip0"):
        def opened():
            s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
            s.bind((interface, ETH_P_ALL))
            s.settimeout(0.2)
            return s

        self.socket = system.in_namespace(namespace, opened)
        OPENED.append(self.socket)

    def packets(self, quiet_s=1.0):
        """(went in, came out), until it has been quiet for so long."""
        went, came = [], []
        last = time.monotonic()
        while time.monotonic() - last < quiet_s:
            with contextlib.suppress(TimeoutError):
                data, address = self.socket.recvfrom(65536)
                (went if address[2] == PACKET_OUTGOING else came).append(data)
                last = time.monotonic()
        return went, came


def openwip(*arguments, inside=None, timeout=120):
    enter = ["nsenter", f"--net=/run/netns/{inside}"] if inside else []
    done = subprocess.run(
        [*enter, sys.executable, "-m", "openwip_cli", *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    return done.returncode, done.stdout, done.stderr


def sh(*argv, inside=None, check=True):
    enter = ["nsenter", f"--net=/run/netns/{inside}"] if inside else []
    done = subprocess.run([*enter, *argv], capture_output=True, text=True, timeout=60)
    if check and done.returncode:
        raise AssertionError(f"{' '.join(argv)}: {done.stderr}")
    return done.stdout


HOST, NET, LAN, LAN2 = "owt-host", "owt-net", "owt-lan", "owt-lan2"
CELL = "outtest"
SHORT = (
    *("emulate", "--name", CELL, "--duration", "1", "--channel", "static", "--snr", "30"),
    *("--pacing-limit-ms", "1000", "--bins", "25"),
)


class Computer:
    """A test case's interfaces: eth0 leads to a server, lan0 and lan1 to computers."""

    def setUp(self):
        self.addCleanup(close_all)
        self.remove()
        for name in (HOST, NET, LAN, LAN2):
            sh("ip", "netns", "add", name)
            sh("ip", "-n", name, "link", "set", "lo", "up")
        for near, far, there in (
            ("eth0", "eth0", NET),
            ("lan0", "eth0", LAN),
            ("lan1", "eth0", LAN2),
        ):
            sh(
                *("ip", "-n", HOST, "link", "add", near, "type", "veth"),
                *("peer", "name", far, "netns", there),
            )
            sh("ip", "-n", HOST, "link", "set", near, "up")
            sh("ip", "-n", there, "link", "set", far, "up")
        sh("ip", "-n", HOST, "address", "add", "192.0.2.2/24", "dev", "eth0")
        sh("ip", "-n", HOST, "address", "add", "198.51.100.1/24", "dev", "lan0")
        sh("ip", "-n", HOST, "route", "add", "default", "via", "192.0.2.1")
        sh("ip", "-n", NET, "address", "add", "192.0.2.1/24", "dev", "eth0")
        self.before = self.state()
        self.addCleanup(self.remove)

    def remove(self):
        if system.namespace_exists(HOST):
            openwip("down", "--name", CELL, inside=HOST)
        for name in (HOST, NET, LAN, LAN2):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def state(self):
        """All that a cell could leave behind on its computer."""
        links = json.loads(sh("ip", "-j", "address", "show", inside=HOST))
        return {
            "rules": sh("nft", "list", "ruleset", inside=HOST),
            "links": {
                i["ifname"]: sorted(a["local"] for a in i["addr_info"] if a["scope"] == "global")
                for i in links
            },
            "routes": sorted(sh("ip", "route", "show", inside=HOST).splitlines()),
            "policy": sh("ip", "rule", "show", inside=HOST),
            "sysctls": {
                path: sh(
                    "cat", path, inside=HOST, check=False
                )  # returns "" for an interface that has been moved
                for name in ("all", "default", "eth0", "lan0", "lan1")
                for path in (
                    f"/proc/sys/net/ipv4/conf/{name}/forwarding",
                    f"/proc/sys/net/ipv4/conf/{name}/rp_filter",
                    f"/proc/sys/net/ipv6/conf/{name}/forwarding",
                    f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6",
                )
            },
        }

    def expect_nothing_left(self):
        self.assertTrue(
            wait_until(lambda: self.state() == self.before, 20), (self.before, self.state())
        )
        left = [n for n in os.listdir("/run/netns") if n.startswith(f"owip-{CELL}-")]
        self.assertEqual(left, [])

    def up(self, *options):
        code, out, err = openwip(*SHORT, "--keep", *options, inside=HOST)
        self.assertIn(code, (0, 1), out + err)  # the pace of a busy computer is not the question
        return err

    def down(self):
        code, out, err = openwip("down", "--name", CELL, inside=HOST)
        self.assertEqual(code, 0, out + err)
        self.expect_nothing_left()

    def ping(self, namespace, address):
        return sh(
            *("ip", "netns", "exec", namespace, "ping", "-n", "-c", "2", "-W", "5", address),
            check=False,
        )
