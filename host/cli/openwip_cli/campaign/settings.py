# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of an experiment, and the purpose of each. A setting is one of five:

  emulator   of the cell: a setting of ./openwip emulate, whose checks hold here too; by a short
             name or its own
  traffic    of the workload: which application
  tcp        of its TCP, over `tcp` of the defaults file
  spike      of a delay spike, in times from the start of the traffic
  view       chooses within the result of a run and is not part of it: the flows of all sizes of
             experiment C1 are sent in one run, and each is a point of the figure

A run is identified by its emulator and traffic settings, so two experiments, or two views, that
need the same run share it."""

import dataclasses
import re
from collections.abc import Iterable
from typing import Any

from ..errors import BadInput, not_valid
from ..runs import ns3_tcp
from ..settings import emulator, page, table
from ..settings.command_line import read
from ..settings.kinds import Text, with_unit

EMULATOR, TRAFFIC, TCP, VIEW = "emulator", "traffic", "tcp", "view"
ATTEMPTS = 3  # attempts at a run in real time whose verdict is invalid or whose cell died
START_S = 1.0  # start of the traffic, in seconds of air time
VIRTUAL = ("uploads", "downloads")  # applications that run in virtual time
FLOWS = ("bulk", "telnet", "http")  # kinds of flows that these can be
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
    key: str | None = None  # key of ./openwip emulate, or of `tcp`


def of_emulator(key: str, words: str) -> Setting:
    s = OF_EMULATE[key]
    return Setting(EMULATOR, s.kind, words, "" if s.unit in words else s.unit, key)


def short(help_text: str) -> str:
    """The first part of a help text, for the axis of a figure."""
    return re.split(r"[;:(,]", help_text)[0].strip()


def of_experiment(key: str) -> Setting:
    role, part, words, unit, own_key = (
        table.column(key, name, ()) for name in ("role", "part", "help", "unit", "own_key")
    )
    return Setting(
        role, Named(part) if part else table.kind_of(key, ()), words, unit, own_key or None
    )


class Settings(dict[str, Setting]):
    """The settings by their names, and sysctl.NAME of net.ipv4 (such as sysctl.tcp_sack), which is
    set at both ends."""

    def __contains__(self, name: object) -> bool:
        return (
            super().__contains__(name)
            or isinstance(name, str)
            and re.fullmatch(r"sysctl\.tcp_\w+", name) is not None
        )

    def __missing__(self, name: str) -> Setting:
        return Setting(TCP, SysctlValue(), name, key=name)


SETTINGS = Settings(
    {
        **{name: of_experiment(key) for name, key in table.names_of("experiment").items()},
        **{name: of_emulator(key, words) for name, (key, words) in table.experiments().items()},
        **{key: of_emulator(key, short(s.help)) for key, s in OF_EMULATE.items()},
    }
)


# --- what a command line sets over the files in all runs: --set KEY=VALUE, --realisations N ---

# Settings of the emulator that other parts of a file determine.
ELSEWHERE = {
    "seed": "--realisations",
    "link.kind": "an experiment of that link",
    "terminals": "a grid with users",
}


@dataclasses.dataclass(frozen=True)
class Over:
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    realisations: int | None = None

    @property
    def named(self) -> dict[str, Any]:
        """Settings that replace those of the files, as the plan of a folder of results has it."""
        return self.settings | ({"realisations": self.realisations} if self.realisations else {})


def key_of(name: str) -> str:
    """The same for two names of one setting: order, link.order."""
    return str(SETTINGS[name].key or name)


def read_over(words: Iterable[str], realisations: int | None) -> Over:
    given: dict[str, Any] = {}
    for word in words:
        name, equal, value = word.partition("=")
        if not name or not equal:
            raise not_valid("--set", repr(word), "KEY=VALUE, such as umts.status_prohibit_ms=20")
        if (
            name not in SETTINGS
            or SETTINGS[name].role != EMULATOR
            or SETTINGS[name].key is None
            or name.startswith("traffic.")
        ):
            raise BadInput(
                f"--set {word}: the emulator has no setting {name}; valid: a key of"
                " docs/reference/settings.md, such as umts.status_prohibit_ms (settings of TCP are"
                " given by --tcp)"
            )
        if key_of(name) in ELSEWHERE:
            raise BadInput(
                f"--set {word}: an experiment's {key_of(name)} cannot be replaced by --set;"
                f" valid: {ELSEWHERE[key_of(name)]}"
            )
        if key_of(name) in map(key_of, given):
            raise BadInput(f"--set {word}: {key_of(name)} is given twice; valid: once")
        given[name] = read(f"--set {name}", SETTINGS[name].kind, value)
    return Over(given, realisations)


# --- docs/reference/experiment-settings.md ---

HEAD = """# Settings of experiments and of ns-3's TCP

Made by `./openwip experiment --describe > docs/reference/experiment-settings.md`. In an experiment's file ([experiments](../how-to/experiments.md)) stand, beside these, the settings of
the emulator ([settings](settings.md)) by their keys or by a short name.
"""


def cell(text: str) -> str:
    return text.replace("|", ", ")


def markdown() -> str:
    short = [
        (f"`{name}`", f"`{s.key}`", cell(OF_EMULATE[s.key].help))
        for name, s in SETTINGS.items()
        if s.role == EMULATOR and s.key and s.key != name
    ]
    own = [
        (
            f"`{name}`",
            cell(with_unit(s.kind, s.unit)),
            s.role,
            f"`{s.key}`".replace("`None`", ""),
            s.words,
        )
        for name, s in SETTINGS.items()
        if s.role != EMULATOR or s.key is None
    ]
    ns3 = [
        (
            f"`{name}`",
            cell(with_unit(s.kind, s.unit)),
            s.help,
            ", ".join(f"`{a}`" for a in ns3_tcp.attributes(s)),
        )
        for name, s in ns3_tcp.TCP.items()
    ]
    return (
        HEAD
        + "\n## Settings of experiments alone\n\n"
        + page.table_of(("name", "valid", "of", "key", "meaning"), own)
        + "\nAnd `sysctl.tcp_NAME`: whole numbers. Those of TCP are names of `--tcp`, too, with"
        " `congestion_control` and `window_bytes`.\n"
        + "\n## Short names of settings of the emulator\n\n"
        + page.table_of(("name", "setting", "meaning"), short)
        + "\n## Settings of `--tcp` with `--time ns3`\n\nBeside `sender` and any attribute of ns-3"
        " ([ns-3](../explanation/ns3.md)):\n\n"
        + page.table_of(("name", "valid", "meaning", "of ns-3"), ns3)
    )
