# SPDX-License-Identifier: GPL-3.0-or-later
"""command_pages.py VERSION FOLDER: a man page for every command (man1/openwip-COMMAND.1) and the
completion of bash (openwip.bash), made from what ./openwip answers --help from: the table
command_lines.txt and the list usage.txt beside this file."""

import pathlib
import re
import sys
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent


class Section(NamedTuple):
    """The table's entry of one command: its name, perhaps with that of a subcommand."""

    path: str
    subcommands: list[str]
    options: list[tuple[list[str], list[str]]]  # names, and values to choose from
    help: list[str]


def sections(table: str) -> list[Section]:
    """The commands of the table, in its order (command_line.awk says what the columns are)."""
    found: list[Section] = []
    for line in table.splitlines():
        kind, *columns = line.split("\t")
        if kind == "command":
            columns += [""] * (3 - len(columns))
            found.append(Section(columns[0], columns[2].split(), [], []))
        elif kind == "option":
            columns += [""] * (8 - len(columns))
            choices = [c for c in columns[7].split("|") if c]
            found[-1].options.append((columns[0].split(), choices))
        elif kind == "help":
            found[-1].help.append(columns[0] if columns else "")
    return found


def roff(text: str) -> str:
    """Text as a man page has it: no character of it is an instruction, and a line may end after
    each of several choices."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("|", "|\\:")
    return "\\&" + text if text[:1] in (".", "'") else text


def heading(name: str, version: str) -> str:
    return f'.TH {roff(name.upper())} 1 "" "OpenWIP {version}" "OpenWIP"'


def paragraphs(lines: list[str]) -> list[str]:
    """The lines of a --help: a title on a line of its own is a heading, options and what they do
    are a list, the rest is running text."""
    out: list[str] = []
    for line in lines:
        entry = re.match(r" {2}(\S.*?)(?: {2,}(\S.*))?$", line)
        if not line:
            out.append(".PP")
        elif re.fullmatch(r"[a-z][a-z ,()-]*:", line):
            out.append(f'.SH "{roff(line[:-1].upper())}"')
        elif entry and not line.startswith("   "):
            out += [".TP", f"\\fB{roff(entry[1])}\\fR"]
            out += [roff(entry[2])] if entry[2] else []
        else:
            out.append(roff(line.strip()))
    return out


def page(section: Section, version: str, commands: list[str]) -> str:
    """The man page of a command."""
    name = "openwip-" + section.path.replace(" ", "-")
    ends = section.help.index("") if "" in section.help else len(section.help)
    usage = " ".join(line.strip() for line in section.help[:ends]).removeprefix("usage: ")
    text = section.help[ends + 1 :]
    until = text.index("") if "" in text else len(text)
    about = " ".join(line.strip() for line in text[:until])
    short = re.split(r"(?<=[a-z)])[.;:] ", about or section.path)[0].rstrip(".")
    beside = [c for c in commands if c.startswith(section.path + " ")]
    also = ["openwip(1)", *(f"openwip-{c.replace(' ', '-')}(1)" for c in beside)]
    return "\n".join(
        [
            heading(name, version),
            ".SH NAME",
            f"{roff(name)} \\- {roff(short)}",
            ".SH SYNOPSIS",
            roff(usage.replace("./openwip", "openwip")),
            ".SH DESCRIPTION",
            *paragraphs([line.replace("./openwip", "openwip") for line in text]),
            '.SH "SEE ALSO"',
            ", ".join(map(roff, also)),
            "",
        ]
    )


def overview(usage: str, version: str, commands: list[str]) -> str:
    """openwip(1): the list of commands."""
    text = usage.replace("./openwip", "openwip").splitlines()
    return "\n".join(
        [
            heading("openwip", version),
            ".SH NAME",
            "openwip \\- testbed for IP over a wireless downlink with software or real radios",
            ".SH SYNOPSIS",
            roff(text[0].removeprefix("usage: ")),
            ".SH COMMANDS",
            *paragraphs(text[1:]),
            '.SH "SEE ALSO"',
            ", ".join(roff(f"openwip-{c.replace(' ', '-')}(1)") for c in commands),
            "",
        ]
    )


def completion(found: list[Section]) -> str:
    """The completion of bash: commands, subcommands, options and values; files elsewhere."""

    def case(pattern: str, words: list[str]) -> str:
        return f"        '{pattern}') words='{' '.join(words)}' ;;"

    options = [
        case(s.path, s.subcommands + [n for names, _ in s.options for n in names]) for s in found
    ]
    values = [
        case(f"{s.path} {name}", choices)
        for s in found
        for names, choices in s.options
        for name in names
        if choices
    ]
    first = sorted({s.path.split()[0] for s in found} | {"help"})
    inside = sorted(s.path for s in found if " " in s.path)
    return "\n".join(
        [
            "# bash completion of openwip",
            "# Made by host/cli/command_pages.py from host/cli/command_lines.txt.",
            "_openwip() {",
            "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}",
            "    local command=${COMP_WORDS[1]:-} words=",
            '    if [ "$COMP_CWORD" -gt 2 ]; then case "$command ${COMP_WORDS[2]}" in',
            f'        {"|".join(repr(p) for p in inside)}) command="$command ${{COMP_WORDS[2]}}" ;;',
            "    esac; fi",
            '    if [ "$COMP_CWORD" -eq 1 ]; then',
            f"        words='{' '.join(first)} --help --version'",
            '    else case "$command $before" in',
            *values,
            '    *) case "$command" in',
            *options,
            "    esac ;; esac; fi",
            '    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")',
            "}",
            "complete -o default -F _openwip openwip ./openwip",
            "",
        ]
    )


def main(version: str, folder: str) -> None:
    found = sections((HERE / "command_lines.txt").read_text())
    usage = (HERE / "usage.txt").read_text()
    commands = [s.path for s in found]
    manual = pathlib.Path(folder, "man1")
    manual.mkdir(parents=True, exist_ok=True)
    for old in manual.glob("*.1"):
        old.unlink()
    for section in found:
        name = section.path.replace(" ", "-")
        (manual / f"openwip-{name}.1").write_text(page(section, version, commands))
    (manual / "openwip.1").write_text(overview(usage, version, commands))
    pathlib.Path(folder, "openwip.bash").write_text(completion(found))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: command_pages.py VERSION FOLDER")
    main(*sys.argv[1:])
