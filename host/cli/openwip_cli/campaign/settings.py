# SPDX-License-Identifier: GPL-3.0-or-later
"""What an experiment can set, and what each setting is for. A setting is one of three:

  emulator   of the cell: a setting of ./openwip emulate, whose checks hold here too
  traffic    of the workload: which application, and its TCP
  view       chooses within the result of a run and is not part of it: the flows of all sizes of
             experiment C1 are sent in one run, and each is a point of the figure

A run is identified by its emulator and traffic settings, so two experiments, or two views, that need
the same run share it."""
import dataclasses
import re
from typing import Any

from ..settings import emulator, table
from ..settings.kinds import Choice, Integer, Real

EMULATOR, TRAFFIC, VIEW = "emulator", "traffic", "view"
OF_EMULATE = {s.key: s for s in emulator.SETTINGS}


class ChannelName:
    """Looked up in `channels` of the defaults file."""
    valid = "a name of `channels`"

    def read(self, value: Any) -> str:
        if not isinstance(value, str) or not value:
            raise ValueError
        return value


class SysctlValue:
    name, valid = "text", "a number, or numbers separated by spaces"

    def read(self, value: Any) -> int | str:
        if isinstance(value, bool) or not re.fullmatch(r"-?\d+( -?\d+)*", str(value)):
            raise ValueError
        return value


@dataclasses.dataclass(frozen=True)
class Setting:
    role: str
    kind: Any
    words: str
    unit: str = ""
    key: str | None = None      # of ./openwip emulate


def of_emulator(key: str, words: str) -> Setting:
    s = OF_EMULATE[key]
    return Setting(EMULATOR, s.kind, words, "" if s.unit in words else s.unit, key)


class Settings(dict[str, Setting]):
    """And sysctl.NAME of net.ipv4, at both ends: sysctl.tcp_sack."""
    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or isinstance(name, str) and re.fullmatch(r"sysctl\.tcp_\w+", name) is not None

    def __missing__(self, name: str) -> Setting:
        return Setting(TRAFFIC, SysctlValue(), name)


SETTINGS = Settings({
    "channel": Setting(EMULATOR, ChannelName(), "channel"),
    **{name: of_emulator(key, words) for name, (key, words) in table.experiments().items()},
    "workload": Setting(TRAFFIC, Choice("tcp", "flows", "voip"), "application"),
    "congestion_control": Setting(TRAFFIC, OF_EMULATE["traffic.tcp_cc"].kind, "congestion control"),
    "window_bytes": Setting(TRAFFIC, Integer(0, 2**24), "receiver window (0: tuned by the kernel)", "byte"),
    "rack": Setting(TRAFFIC, Choice("on", "off"), "RACK and tail loss probe"),
    "qdisc": Setting(TRAFFIC, Choice("none", "fifo", "fq_codel", "codel", "cake"), "queue of the wired bottleneck"),
    "bottleneck_mbps": Setting(TRAFFIC, Real(0.05, 1000), "rate of the wired bottleneck", "Mbit/s"),
    "flow_kb": Setting(VIEW, Integer(1, 10**6), "flow size", "kB"),
})
