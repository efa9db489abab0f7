# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of the Python API: Sphinx's autodoc of `import openwip`. The docstrings are plain text;
`restructured` gives them the form that autodoc reads."""

import pathlib
import re

MODULE = "openwip"
# Imports of the package that the site does without.
NOT_NEEDED = ["google", "h5py", "numpy", "openwip_schema", "pandas", "yaml", "zmq"]

ENTRY = re.compile(r"(\w+(?:, \w+)*) {2,}(\S.*)$")


def restructured(lines: list[str], parameters: bool) -> list[str]:
    """A docstring as reStructuredText: code in double backquotes, and lines `name   meaning`, which
    may be continued by indented ones, as the fields of a list of parameters or attributes."""
    out: list[str] = []
    entry = False
    for line in lines:
        line = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", line)
        found = ENTRY.match(line)
        if found:
            if not entry:
                out.append("")
            kind = "param" if parameters else "ivar"
            names = found[1].split(", ")
            out += [f":{kind} {name}: {found[2]}" for name in names]
            entry = True
        elif entry and line.startswith(" "):
            out.append("    " + line.strip())
        else:
            if entry and line:
                out.append("")
            entry = False
            out.append(line)
    return out


def process(app, what, name, of, options, lines) -> None:
    """The hook of autodoc."""
    if what == "module":
        # A line that is indented behind an empty one is an example.
        example = next((n for n, line in enumerate(lines) if line.startswith("    ")), None)
        if example is not None:
            lines[example:example] = [".. code-block:: python", ""]
        return
    lines[:] = restructured(list(lines), what in ("function", "method"))


def markdown(top: pathlib.Path) -> str:
    return "\n".join(
        [
            "# Python API",
            "",
            "The package `openwip`, from its docstrings.",
            "[OpenWIP from Python](python.md) has examples of each.",
            "",
            "```{eval-rst}",
            f".. automodule:: {MODULE}",
            "   :members:",
            "   :member-order: bysource",
            "   :exclude-members: OpenWipError",
            "",
            ".. py:exception:: openwip.OpenWipError",
            "",
            "   The error that the functions of the package raise. Its text is one line.",
            "```",
            "",
        ]
    )
