# SPDX-License-Identifier: GPL-3.0-or-later
"""Verbs of the tests of settings in a running cell: packets for the downlink, counters over a
change."""

import subprocess

from demo_support import cells, wait_until
from openwip_cli.commands import settings_command

SENDER = """
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    for _ in range(4):
        s.sendto(bytes(1400), ("10.42.0.2", 9))
    time.sleep(0.004)
"""


class Downlink:
    """More packets for the terminal than the link carries, as long as the block runs."""

    def __init__(self, cell):
        self.command = [
            "ip",
            "netns",
            "exec",
            cell.namespace("base"),
            "/usr/bin/python3",
            "-c",
            SENDER,
        ]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def settings_of(name):
    cell = cells.Cell(name)
    return settings_command.RunningSettings(name, cell.endpoint)


class Interval:
    """Differences of the link's counters, from when it is made."""

    def __init__(self, settings):
        self.settings = settings
        settings.read()
        self.base, self.terminal = (settings.status[s] for s in ("base", "terminal"))

    def _now(self):
        self.settings.read()
        return self.settings.status["base"], self.settings.status["terminal"]

    def sent(self):
        """Frames sent, by bits per symbol."""
        now = self._now()[0].base.modulation_histogram
        before = self.base.base.modulation_histogram
        return [n - m for n, m in zip(now, before)]

    def frames(self, name):
        return getattr(self._now()[0].base, name) - getattr(self.base.base, name)

    def bins_used(self):
        now = self._now()[0].base
        return (now.frames_sent - self.base.base.frames_sent) / max(
            1, now.slots_planned - self.base.base.slots_planned
        )

    def terminal_count(self, name):
        return getattr(self._now()[1].terminal, name) - getattr(self.terminal.terminal, name)


def dropped(settings, reason):
    """Packets of the downlink at the base station."""
    settings.read()
    return sum(
        d.count.packets for d in settings.status["base"].downlink.dropped if d.reason == reason
    )


def happens(condition, within=20):
    """condition() within so many seconds of the wall clock: a busy machine is slow, not wrong."""
    return wait_until(condition, within)


def change(test, settings, **values):
    """Sets, and checks that it is read back. Keys with __ for the dot."""
    wanted = {k.replace("__", "."): str(v) for k, v in values.items()}
    for key in wanted:
        wanted[key] = settings.rows[key].check(wanted[key])
    slots = settings.set(wanted)
    test.assertEqual(settings.read_back(wanted, 10), {}, wanted)
    return slots
