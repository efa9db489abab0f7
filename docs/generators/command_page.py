# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of the commands: what each says with --help, from the table that ./openwip answers
--help from, and that the man pages and the completion of bash are made from."""

import pathlib


def markdown(top: pathlib.Path) -> str:
    helps: dict[str, list[str]] = {}
    command = ""
    for line in (top / "host/cli/command_lines.txt").read_text().splitlines():
        kind, _, rest = line.partition("\t")
        if kind == "command":
            command = rest.split("\t")[0]
            helps[command] = []
        elif kind == "help":
            helps[command].append(rest)
    page = [
        "# Commands",
        "",
        "What each command says with `--help`: its arguments, its options, their defaults.",
        "An installation has the same as man pages, such as `man openwip-demo`; page, man pages and"
        " `--help` are made from one table, `host/cli/command_lines.txt`.",
        "[Settings](settings.md) has what the options of a cell mean in a file.",
    ]
    for command, lines in sorted(helps.items()):
        if lines:
            page += ["", f"## openwip {command}", "", "```", *lines, "```"]
    return "\n".join(page) + "\n"
