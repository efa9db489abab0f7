# SPDX-License-Identifier: GPL-3.0-or-later
"""The proxy of split TCP between two hosts in namespaces of their own, joined by cables through the
namespace that it runs in."""

import contextlib
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile

import yaml

from demo_support import environment, wait_until
from openwip_cli.cell import cell as cells
from openwip_cli.machine import system
from openwip_cli.machine.places import Places
from openwip_cli.messages import control
from openwip_cli.runs import split_tcp
from openwip_cli.settings import emulator

BUILD = pathlib.Path(environment()["OPENWIP_BUILD"])
PLACES = Places(pathlib.Path(__file__).resolve().parents[2], BUILD, sys.executable)
BUILT = (BUILD / split_tcp.PROGRAM).exists()
SERVER, TERMINAL = cells.ADDRESS["base"], cells.ADDRESS["terminal"]
LISTED, UNLISTED = 5001, 6001  # TCP ports that the proxy splits, and that it does not
BUFFER = 64 << 10  # bytes
NOTHING_TO_LINGER_FOR = struct.pack("ii", 1, 0)


class World:
    """Server, controller and terminal with cables of the kernel's in the place of both links."""

    def __init__(self, name, **settings):
        self.cell = cells.Cell(name, controller=True)
        self.scenario = emulator.scenario_of(
            {"link.kind": "umts", "split_tcp.ports": str(LISTED)} | settings
        )
        self.proxy = None
        self.folder = tempfile.TemporaryDirectory()

    def __enter__(self):
        namespaces = {s: self.cell.namespace(s) for s in ("base", "controller", "terminal")}
        for name in namespaces.values():
            system.make_namespace(name, self.cell.mark)
        split_tcp.SplitCell(self.cell, None, self.scenario).prepare()
        for station, interface, address, other in (
            ("base", "wired0", SERVER, TERMINAL),
            ("terminal", "wip0", TERMINAL, SERVER),
        ):
            system.ip(
                "link",
                "add",
                "wip0",
                "netns",
                namespaces[station],
                "type",
                "veth",
                "peer",
                "name",
                interface,
                "netns",
                namespaces["controller"],
            )
            system.ip("-n", namespaces[station], "address", "add", f"{address}/30", "dev", "wip0")
            macs = [
                json.loads(system.ip("-n", n, "-j", "link", "show", i))[0]["address"]
                for n, i in ((namespaces[station], "wip0"), (namespaces["controller"], interface))
            ]
            for n, i in ((namespaces[station], "wip0"), (namespaces["controller"], interface)):
                system.ip("-n", n, "link", "set", i, "up")
            system.ip(
                "-n", namespaces["controller"], "route", "add", f"{address}/32", "dev", interface
            )
            system.ip(
                "-n",
                namespaces["controller"],
                "neigh",
                "add",
                address,
                "lladdr",
                macs[0],
                "dev",
                interface,
            )
            system.ip(
                "-n", namespaces[station], "neigh", "add", other, "lladdr", macs[1], "dev", "wip0"
            )
        self.start()
        return self

    def __exit__(self, *_):
        if self.proxy is not None:
            self.proxy.kill()
            self.proxy.wait()
            self.proxy.stderr.close()
            self.proxy = None
        for name in self.cell.namespaces:
            system.delete_namespace(name)
        self.folder.cleanup()

    def start(self):
        os.chmod(self.folder.name, 0o755)
        tree = split_tcp.proxy_config(self.cell, self.scenario) | {
            "control": f"ipc://{self.folder.name}/control"
        }
        file = pathlib.Path(self.folder.name, "split.yaml")
        file.write_text(yaml.safe_dump(tree))
        self.proxy = subprocess.Popen(
            [
                "ip",
                "netns",
                "exec",
                self.cell.namespace("controller"),
                BUILD / split_tcp.PROGRAM,
                "--config",
                file,
            ],
            stderr=subprocess.PIPE,
            text=True,
        )
        self.control = control.Control(tree["control"])
        if not wait_until(self.is_up, 10):
            raise AssertionError(
                f"the proxy did not start: {self.proxy.stderr.read() if self.proxy.poll() else ''}"
            )

    def is_up(self):
        with contextlib.suppress(control.NoAnswer):
            return self.control.status(0.2) is not None

    def socket(self, station, kind=socket.SOCK_STREAM):
        s = system.in_namespace(
            self.cell.namespace(station), lambda: socket.socket(socket.AF_INET, kind)
        )
        s.settimeout(10)
        return s

    def listener(self, port=LISTED, station="terminal"):
        s = self.socket(station)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((TERMINAL if station == "terminal" else SERVER, port))
        s.listen()
        return s

    def connected(self, port=LISTED, opener="base"):
        """(who opened the connection, the other end)."""
        other, address = ("terminal", TERMINAL) if opener == "base" else ("base", SERVER)
        with self.listener(port, other) as listener:
            client = self.socket(opener)
            client.connect((address, port))
            server, self.seen = listener.accept()
        server.settimeout(10)
        return client, server

    def counts(self):
        return split_tcp.report_of(self.control.status())

    def wait_for(self, **wanted):
        def counts_reached():
            c = self.counts()["connections"]
            return all(c[name] == n for name, n in wanted.items())

        if not wait_until(counts_reached, 10):
            raise AssertionError(f"{wanted} expected: {self.counts()}")

    def rule_counts(self):
        return split_tcp.SplitCell(self.cell, None, self.scenario).rule_counts()


def read_all(s):
    text = bytearray()
    while data := s.recv(65536):
        text += data
    return bytes(text)
