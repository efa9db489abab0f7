# SPDX-License-Identifier: GPL-3.0-or-later
"""The site of the documentation, made by Sphinx with MyST and Furo: docs/site builds it from a copy
of this folder. The pages are plain Markdown, which is readable without it, and notebooks; the tables of contents
are made here from the links of the index pages, and the reference of the commands from
host/cli/command_lines.txt."""

import os
import pathlib
import posixpath
import re

project = "OpenWIP"
copyright = "the authors of OpenWIP, GPL-3.0-or-later"
extensions = ["myst_nb"]  # MyST, and notebooks with the outputs that they hold
nb_execution_mode = "off"
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
root_doc = "index"
exclude_patterns = ["figures"]
myst_enable_extensions = ["tasklist"]
myst_heading_anchors = 4
nitpicky = True
highlight_language = "none"
html_theme = "furo"
html_title = "OpenWIP"
html_static_path = []
html_copy_source = False
html_show_sphinx = False
man_pages = [("reference/commands", "openwip", "testbed for IP over a wireless downlink", [], 1)]

COMMANDS = "reference/commands"

LINK = re.compile(r"\]\(([^)#\s]+)\.(?:md|ipynb)(?:#[^)\s]*)?\)")


def write_commands(app):
    """Write the page of all commands: what each says with --help."""
    top = pathlib.Path(os.environ["OPENWIP_TOP"])
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
        "[Settings](settings.md) has what the options of a cell mean in a file.",
    ]
    for command, lines in sorted(helps.items()):
        if lines:
            page += ["", f"## openwip {command}", "", "```", *lines, "```"]
    pathlib.Path(app.srcdir, COMMANDS + ".md").write_text("\n".join(page) + "\n")


def add_contents(app, name, source):
    """Append a hidden table of contents to an index page: the pages that it links to, in the order
    of their first links. An index of a folder has those of its folder, the first page all the
    other indexes."""
    if posixpath.basename(name) != "index":
        return
    folder = posixpath.dirname(name)
    pages = []
    if folder == posixpath.dirname(COMMANDS):
        pages.append(COMMANDS)
        source[0] += "\n[Commands](commands.md): what each command says with `--help`.\n"
    for target in LINK.findall(source[0]):
        page = posixpath.normpath(posixpath.join(folder, target))
        own = posixpath.basename(page) == "index" if not folder else True
        if own and posixpath.dirname(page).startswith(folder) and page != name:
            if page not in pages:
                pages.append(page)
    lines = "\n".join("/" + page for page in pages)
    source[0] += f"\n\n```{{toctree}}\n:hidden:\n\n{lines}\n```\n"


def setup(app):
    app.connect("builder-inited", write_commands)
    app.connect("source-read", add_contents)
    return {"parallel_read_safe": True}
