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

from ..settings import emulator, table
from ..settings.kinds import Text

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


def of_experiment(key: str) -> Setting:
    role, part, words, unit, own_key = (table.column(key, name, ()) for name in ("role", "part", "help", "unit", "own_key"))
    return Setting(role, Named(part) if part else table.kind_of(key, ()), words, unit, own_key or None)


class Settings(dict[str, Setting]):
    """And sysctl.NAME of net.ipv4, at both ends: sysctl.tcp_sack."""
    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or isinstance(name, str) and re.fullmatch(r"sysctl\.tcp_\w+", name) is not None

    def __missing__(self, name: str) -> Setting:
        return Setting(TCP, SysctlValue(), name, key=name)


SETTINGS = Settings({
    **{name: of_experiment(key) for name, key in table.names_of("experiment").items()},
    **{name: of_emulator(key, words) for name, (key, words) in table.experiments().items()},
    **{key: of_emulator(key, s.help) for key, s in OF_EMULATE.items()},
})
