# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/reference/settings.md, made from the table of settings."""

from collections.abc import Callable, Iterable

from . import table
from .kinds import Extension, with_unit

HEAD = """# Settings

Made from `mac/schema/settings.yaml` by `./openwip get --describe --markdown > docs/reference/settings.md`.

- **Readers**: a process reads a YAML file (`--config FILE`), then the options `--set key=value`; `--print-config` prints the result.
  A command takes a setting as an option, or as a key of a scenario file (`--config FILE`), and passes it to its processes.
  In the tables *mac* means macd and emulator; *cell* means these, demo and emulate; *emulation* means emulator and emulate; *nobody* means that only a running cell has the setting.
  In keys, `*` stands for each name of a mapping, `[]` for each entry of a list, and `RUN/` for `$OPENWIP_RUN`.
- **YAML**: files of settings, channels and experiments are read by the core schema of YAML 1.2.
  A number is decimal without leading zeros (`10`, `-0.5`, `1e6`); `on`, `true` and `yes` switch a setting on, `off`, `false` and `no` switch it off.
  A scalar that YAML 1.1 takes for another number (`010`, `1_000`, `1:30`) and one that is not decimal (`0x1F`) are refused with their line and
  what to write; in quotes they are texts.
  What is not finite (`.inf`, `.nan`) is no number of any setting.
  Tags, a second document and a key that stands twice are refused, too; `<<` merges mappings.
  `--set` and the options take the same numbers.
- **Live**: who takes it while a cell runs ([controls](../how-to/controls.md)); `./openwip get --describe` says of the others why not.
"""
OF_OTHER_PAGE = ("experiment", "ns3")  # docs/reference/experiment-settings.md
COLUMNS = ("key", "option", "default", "valid", "who", "live", "meaning")


def table_of(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    head = tuple(head)
    return "".join("|" + "|".join(row) + "|\n" for row in (head, ("---",) * len(head), *rows))


def per_program(programs: list[str], text: Callable[[str], str]) -> str:
    """The text for the first program, then the different ones of other programs, such as
    "10; emulate: 30"."""
    found: dict[str, list[str]] = {}
    for program in programs:
        found.setdefault(text(program), []).append(program)
    first, *others = found.items()
    return "; ".join([first[0], *(f"{', '.join(whose)}: {what}" for what, whose in others)])


def valid(key: str, views: table.Views) -> str:
    type_, kind, unit = (
        table.column(key, "type", views),
        table.kind_of(key, views),
        table.column(key, "unit", views),
    )
    if type_ == "text":
        check = table.column(key, "check", views).replace("_", " ")
        return Extension.valid if check == "extension" else check or "text"
    if type_ == "impairments":
        return "a list"
    zero = table.column(key, "zero", views)
    return with_unit(getattr(kind, "kind", kind), unit).replace("|", ", ") + (
        f" (0: {zero})" if zero else ""
    )


def default(key: str, views: table.Views) -> str:
    if table.column(key, "required", views):
        return "(required)"
    return (
        table.column(key, "shown", views)
        or table.column(key, "default", views)
        or table.column(key, "none", views)
    )


def who(programs: list[str]) -> str:
    return next(
        (name for name, those in table.tree()["programs"].items() if those == programs),
        ", ".join(programs) or "nobody",
    )


def row(key: str) -> tuple[str, ...]:
    # A program whose name ends in -live stands for changes while it runs.
    everybody = table.programs(key)
    programs = [p for p in everybody if not p.endswith("-live")]
    views = {p: table.views(p.removesuffix("-live"), p.endswith("-live")) for p in everybody}
    cells = [p for p in everybody if p in table.CELLS] or everybody

    def each(column: Callable[[str, table.Views], str]) -> str:
        return per_program(programs or everybody, lambda p: column(key, views[p]))

    live = per_program(cells, lambda p: table.column(key, "live", views[p]) or "-")
    return (
        f"`{key}`",
        f"`{table.column(key, 'flag', ())}`".replace("``", ""),
        each(default),
        each(valid),
        who(programs),
        "" if live == "-" else live,
        each(lambda k, view: table.column(k, "help", view)),
    )


def markdown() -> str:
    groups: dict[str, list[str]] = {}
    for key in (k for k in table.entries() if table.programs(k)[0] not in OF_OTHER_PAGE):
        groups.setdefault(key.partition(".")[0] if "." in key else "", []).append(key)
    for name in [n for n, keys in groups.items() if n and len(keys) == 1]:
        groups.setdefault("", []).extend(groups.pop(name))
    parts = [HEAD]
    for name, keys in sorted(groups.items(), key=lambda group: group[0] == ""):
        parts.append(f"\n## {name or 'others'}\n\n" + table_of(COLUMNS, map(row, keys)))
    return "".join(parts)
