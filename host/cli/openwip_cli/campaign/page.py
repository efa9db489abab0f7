# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/experiment-settings.md, made from what an experiment and ns-3's TCP can be set."""
from collections.abc import Iterable

from ..runs import ns3_tcp
from ..settings.kinds import with_unit
from .settings import EMULATOR, SETTINGS

HEAD = """# Settings of experiments and of ns-3's TCP

Made by `./openwip experiment --describe > docs/experiment-settings.md`. In an experiment's file ([experiments.md](experiments.md)) stand, beside these, the settings of
the emulator ([settings.md](settings.md)) by their keys or by a short name.
"""


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return "".join("|" + "|".join(row) + "|\n" for row in (head, ("---",) * len(head), *rows))


def cell(text: str) -> str:
    return text.replace("|", ", ")


def markdown() -> str:
    short = [(f"`{name}`", f"`{s.key}`") for name, s in SETTINGS.items() if s.role == EMULATOR and s.key and s.key != name]
    own = [(f"`{name}`", cell(with_unit(s.kind, s.unit)), s.role, f"`{s.key}`".replace("`None`", ""), s.words)
           for name, s in SETTINGS.items() if s.role != EMULATOR or s.key is None]
    ns3 = [(f"`{name}`", cell(with_unit(s.kind, s.unit)), s.words, ", ".join(f"`{a}`" for a in s.attributes)) for name, s in ns3_tcp.TCP.items()]
    return (HEAD + "\n## Of experiments alone\n\n" + table(("name", "valid", "of", "key", "meaning"), own)
            + "\nAnd `sysctl.tcp_NAME`: whole numbers. Those of TCP are names of `--tcp`, too, with `congestion_control` and `window_bytes`.\n"
            + "\n## Short names of the emulator's\n\n" + table(("name", "setting"), short)
            + "\n## Of `--tcp` with `--time ns3`\n\nBeside `sender` and any attribute of ns-3 ([ns3.md](ns3.md)):\n\n"
            + table(("name", "valid", "meaning", "of ns-3"), ns3))
