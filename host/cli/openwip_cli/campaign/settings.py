# SPDX-License-Identifier: GPL-3.0-or-later
"""What an experiment can set, and what each setting is for. A setting is one of five:

  emulator   of the cell: a setting of ./openwip emulate, whose checks hold here too; by a short name or its own
  traffic    of the workload: which application
  tcp        of its TCP, over `tcp` of the defaults file
  spike      of a delay spike, told from the start of the traffic
  view       chooses within the result of a run and is not part of it: the flows of all sizes of
             experiment C1 are sent in one run, and each is a point of the figure

A run is identified by its emulator and traffic settings, so two experiments, or two views, that need
the same run share it."""
import dataclasses
import re
from typing import Any

from ..runs import ns3_tcp
from ..settings import emulator, table
from ..settings.kinds import Choice, Integer, Real, Text

EMULATOR, TRAFFIC, TCP, SPIKE, VIEW = "emulator", "traffic", "tcp", "spike", "view"
START_S = 1.0        # of the traffic, in the time of the channel
VIRTUAL = ("uploads", "downloads")      # applications that run in virtual time
OF_EMULATE = {s.key: s for s in emulator.SETTINGS}
OF_LINUX = OF_EMULATE["traffic.tcp_cc"].kind.valid.split("|")


class Named(Text):
    """Looked up in a part of the defaults file."""

    def __init__(self, part: str) -> None:
        self.valid = f"a name of `{part}`"


class SysctlValue:
    name, valid = "text", "a number, or numbers separated by spaces"

    def read(self, value: Any) -> int | str:
        if isinstance(value, bool) or not re.fullmatch(r"-?\d+( -?\d+)*", str(value)):
            raise ValueError
        return int(value) if re.fullmatch(r"-?\d+", str(value)) else value


@dataclasses.dataclass(frozen=True)
class Setting:
    role: str
    kind: Any
    words: str
    unit: str = ""
    key: str | None = None      # of ./openwip emulate; of `tcp`


def of_emulator(key: str, words: str) -> Setting:
    s = OF_EMULATE[key]
    return Setting(EMULATOR, s.kind, words, "" if s.unit in words else s.unit, key)


def of_tcp(key: str, low: int, high: int, words: str, unit: str = "") -> Setting:
    return Setting(TCP, Integer(low, high), words, unit, key)


class Settings(dict[str, Setting]):
    """And sysctl.NAME of net.ipv4, at both ends: sysctl.tcp_sack."""
    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or isinstance(name, str) and re.fullmatch(r"sysctl\.tcp_\w+", name) is not None

    def __missing__(self, name: str) -> Setting:
        return Setting(TCP, SysctlValue(), name, key=name)


SETTINGS = Settings({
    "channel": Setting(EMULATOR, Named("channels"), "channel"),
    "method": Setting(EMULATOR, Named("methods"), "method"),
    **{name: of_emulator(key, words) for name, (key, words) in table.experiments().items()},
    **{key: of_emulator(key, s.help) for key, s in OF_EMULATE.items()},
    "workload": Setting(TRAFFIC, Choice("tcp", "flows", "voip", "uploads", "downloads"), "application"),
    "sender": Setting(TRAFFIC, Named("senders"), "sender"),
    "congestion_control": Setting(TRAFFIC, Choice(*dict.fromkeys((*OF_LINUX, *ns3_tcp.SENDERS))), "congestion control"),
    "window_bytes": Setting(TRAFFIC, Integer(0, 2**24), "receiver window (0: tuned by the kernel)", "byte"),
    "sack": of_tcp("sysctl.tcp_sack", 0, 1, "SACK"),
    "timestamps": of_tcp("sysctl.tcp_timestamps", 0, 1, "timestamps"),
    "dsack": of_tcp("sysctl.tcp_dsack", 0, 1, "DSACK"),
    "frto": of_tcp("sysctl.tcp_frto", 0, 2, "F-RTO"),
    "rack": of_tcp("sysctl.tcp_recovery", 0, 7, "RACK"),
    "tail_loss_probe": of_tcp("sysctl.tcp_early_retrans", 0, 4, "tail loss probe"),
    "reordering": of_tcp("sysctl.tcp_max_reordering", 3, 300, "duplicate ACKs learnt, at most"),
    "initial_window": of_tcp("initial_window_segments", 1, 100, "initial window", "segments"),
    "rto_min_ms": of_tcp("rto_min_ms", 1, 60000, "least RTO", "ms"),
    "mtu": of_tcp("mtu", 256, 1500, "IP packet", "byte"),
    "qdisc": Setting(TRAFFIC, Choice("none", "fifo", "fq_codel", "codel", "cake"), "queue of the wired bottleneck"),
    "bottleneck_mbps": Setting(TRAFFIC, Real(0.05, 1000), "rate of the wired bottleneck", "Mbit/s"),
    "spike_at_s": Setting(SPIKE, Real(0, 3600), "delay spike at", "s"),
    "spike_s": Setting(SPIKE, Real(0.001, 3600), "delay spike of", "s"),
    "flow_kb": Setting(VIEW, Integer(1, 10**6), "flow size", "kB"),
})
