# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/settings.md, made from the table of settings."""
from . import table
from .kinds import with_unit

HEAD = """# Settings

Made from `mac/schema/settings.yaml` by `./openwip get --describe --markdown > docs/settings.md`: every setting of every program.

**Who.** Processes read a YAML file (`--config FILE`), then `--set key=value`; `--print-config` prints what holds, `--describe-config` the keys. Commands
(demo, emulate, tcp-l) take the option, or the key in a scenario file (`--config FILE`), and hand their settings to their processes. An error is one line
with file and line or flag, key, value and what would be valid, exit code 2. `*` and `[]` stand for each name of a mapping and each entry of a list;
`RUN/` is `$OPENWIP_RUN`.

**Live.** Who takes it while a cell runs (`./openwip set`, [controls.md](controls.md)); `./openwip get --describe` says of the others why not.
A key without program is of a running cell only.
"""
COLUMNS = ("key", "option", "default", "valid", "who", "live", "meaning")


def per_program(programs, text):
    """What holds for the first program, then what is another for others: "10; emulate: 30"."""
    found = {}
    for program in programs:
        found.setdefault(text(program), []).append(program)
    first, *others = found.items()
    return "; ".join([first[0], *(f"{', '.join(whose)}: {what}" for what, whose in others)])


def valid(key, of):
    type_, kind, unit = table.column(key, "type", of), table.kind_of(key, of), table.column(key, "unit", of)
    if type_ == "text":
        return table.column(key, "check", of).replace("_", " ") or "text"
    if type_ == "impairments":
        return "a list"
    return with_unit(getattr(kind, "kind", kind), unit).replace("|", ", ")


def default(key, of):
    if table.column(key, "required", of):
        return "(required)"
    return table.column(key, "shown", of) or table.column(key, "default", of) or table.column(key, "none", of)


def row(key):
    everybody = table.programs(key)
    programs = [p for p in everybody if not p.endswith("-live")]
    views = {p: table.views(p.removesuffix("-live"), p.endswith("-live")) for p in everybody}
    cells = [p for p in everybody if p in table.CELLS] or everybody

    def each(column, whose=programs or everybody):
        return per_program(whose, lambda p: column(key, views[p]))
    live = per_program(cells, lambda p: table.column(key, "live", views[p]) or "-")
    return (f"`{key}`", f"`{table.column(key, 'flag', ())}`".replace("``", ""), each(default), each(valid),
            ", ".join(programs), "" if live == "-" else live, each(lambda k, of: table.column(k, "help", of)))


def markdown():
    groups = {}
    for key in table.entries():
        groups.setdefault(key.partition(".")[0] if "." in key else "", []).append(key)
    for name in [n for n, keys in groups.items() if n and len(keys) == 1]:
        groups.setdefault("", []).extend(groups.pop(name))
    parts = [HEAD]
    for name, keys in sorted(groups.items(), key=lambda group: group[0] == ""):
        parts.append(f"\n## {name or 'others'}\n\n| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|\n")
        parts += ["| " + " | ".join(row(key)) + " |\n" for key in keys]
    return "".join(parts)
