# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of the blocks for GNU Radio: parameters and ports from blocks/grc/*.block.yml, what they
mean from the text `doc` of the block's header, which is the block's help in Python as well."""

import pathlib
import re
from typing import Any, NamedTuple

import yaml

DOC = re.compile(r'doc =\s*R"\((.*?)\)";', re.S)
ERRORS = "ValueError, in C++ invalid_argument, names parameter, value and range."
TYPES = {"real": "float", "int_vector": "list of int", "real_vector": "list of float"}


class Help(NamedTuple):
    """The help of a block."""

    text: list[str]  # lines of the description
    parameters: dict[str, str]


class Block(NamedTuple):
    """A block as GNU Radio Companion has it, with its help."""

    name: str
    tree: dict[str, Any]
    help: Help


def read_help(header: str, parameters: list[str]) -> Help:
    """The help in a header: running text, and `name  meaning` for each parameter."""
    found = DOC.search(header)
    text: list[str] = []
    meanings: dict[str, str] = {}
    current: list[str] = []
    for line in (found[1] if found else "").splitlines():
        words = re.match(r"(\w+(?:, \w+)*) +(\S.*)$", line)
        names = words[1].split(", ") if words else []
        if words and names and all(n in parameters for n in names):
            current = names
            meanings |= dict.fromkeys(names, words[2])
        elif current and line.startswith(" "):
            for name in current:
                meanings[name] += " " + line.strip()
        else:
            current = []
            text.append(line)
    while text and text[-1] in ("", ERRORS):
        text.pop()
    return Help(text, meanings)


def read_all(top: pathlib.Path) -> list[Block]:
    """Reads all blocks, sorted by category and label."""
    blocks = []
    for path in sorted((top / "blocks/grc").glob("*.block.yml")):
        name = path.name.removeprefix("wip_").removesuffix(".block.yml")
        tree = yaml.safe_load(path.read_text())
        ids = [p["id"] for p in tree["parameters"]] if tree.get("parameters") else []
        header = top / f"blocks/include/gnuradio/wip/{name}.h"
        blocks.append(Block(name, tree, read_help(header.read_text(), ids)))
    return sorted(blocks, key=lambda b: (b.tree["category"], b.tree["label"]))


def cell(text: str) -> str:
    return re.sub(r"([|<*\\])", r"\\\1", text)


def values_of(parameter: dict[str, Any]) -> str:
    """The choices of a parameter, with the words of the window where they differ."""
    labels = parameter.get("option_labels", [])
    words = []
    for n, option in enumerate(parameter.get("options", [])):
        label = labels[n] if n < len(labels) else ""
        words.append(f"`{option}`" + (f" ({label})" if label and label != option else ""))
    return ", ".join(words)


def port(one: dict[str, Any]) -> str:
    """A port in one line."""
    name = one.get("label") or one.get("id", "")
    if one["domain"] == "message":
        return f"`{one.get('id', name)}`: messages"
    length = f", vectors of {one['vlen']}" if "vlen" in one else ""
    count = f", {one['multiplicity']} of them" if "multiplicity" in one else ""
    return f"`{name}`: stream of {one.get('dtype', 'samples')}{length}{count}"


def of_block(block: Block) -> list[str]:
    tree = block.tree
    lines = [f"### {tree['label']}", "", f"`wip.{block.name}`, in Companion `{tree['id']}`.", ""]
    lines += ["```", *block.help.text, "```", ""]
    if tree.get("parameters"):
        lines += ["| parameter | in the window | type | default | meaning |"]
        lines += ["|---|---|---|---|---|"]
        for p in tree["parameters"]:
            choices = values_of(p)
            meaning = cell(block.help.parameters.get(p["id"], ""))
            lines.append(
                f"| `{p['id']}` | {cell(p['label'])} | {TYPES.get(p['dtype'], p['dtype'])}"
                f" | `{p.get('default', '') or ' '}` | {meaning}"
                f"{'; values: ' if choices and meaning else ''}{choices} |"
            )
        lines.append("")
    for title, ports in (("Inputs", tree.get("inputs")), ("Outputs", tree.get("outputs"))):
        if ports:
            lines += [f"{title}:", "", *(f"- {port(p)}" for p in ports), ""]
    return lines


def markdown(top: pathlib.Path) -> str:
    page = [
        "# Blocks for GNU Radio",
        "",
        "Every block of gr-wip: its purpose, its parameters and its ports.",
        "The page is made when this site is built, from `blocks/grc/*.block.yml` and from the help"
        " of the blocks, which Python shows with `help(wip.slot_receiver)`.",
        "A parameter outside its range raises ValueError (in C++ `std::invalid_argument`), which"
        " names the parameter, the value and the range.",
        "How the blocks work together, with example flowgraphs: [GNU Radio](gnuradio.md).",
        "",
    ]
    category = ""
    for block in read_all(top):
        if block.tree["category"] != category:
            category = block.tree["category"]
            page += [f"## {category.rpartition('/')[2]}", ""]
        page += of_block(block)
    return "\n".join(page)
