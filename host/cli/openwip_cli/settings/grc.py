# SPDX-License-Identifier: GPL-3.0-or-later
"""The lists of channels and predictors in the blocks of GNU Radio Companion (blocks/grc), by the
table of settings. They are kept in the tree, because Companion reads them before anything is built;
tests/unit/structure/test_once.py holds them to the table."""

import re
import textwrap

from . import table

SETTINGS = {"channel": "channel.model", "predictor": "phy.predictor"}  # parameter of a block -> key
WIDTH = 115  # characters of a line


def choices(parameter: str) -> list[str]:
    return list(table.column(SETTINGS[parameter], "choices", table.views("medium")))


def options(parameter: str, block: str, labels: dict[str, str]) -> tuple[list[str], list[str]]:
    """The choices of a list, and their labels. A predictor's list begins with its default; a block
    can have words of its own before the channels."""
    known = choices(parameter)
    before = re.search(r"options: \[([^]]*)\]", block)
    own = [w for w in re.split(r",\s*", before[1]) if w not in known] if before else []
    if parameter == "predictor":
        default = table.column(SETTINGS[parameter], "default", ())
        known = [default, *(word for word in known if word != default)]
        own = []
    offered = [*own[:1], *known] if parameter == "channel" else known
    return offered, [labels.get(word, word) for word in offered]


def with_lists(block: str) -> str:
    """The text of a block with the present lists."""
    for parameter in SETTINGS:
        found = re.search(rf"-   id: {parameter}\n(?:    .*\n)+", block)
        if not found or "options: [" not in found[0]:
            continue
        labels = {}
        if old := re.search(r"    option_labels: \[([^]]*)\]\n", found[0]):
            words = re.search(r"options: \[([^]]*)\]", found[0])
            assert words
            labels = dict(zip(re.split(r",\s*", words[1]), re.split(r",\s*", old[1])))
        offered, shown = options(parameter, found[0], labels)
        lists = wrapped("options", offered)
        entry = re.sub(r"    options: \[[^]]*\]\n", lambda _: lists, found[0])
        entry = re.sub(
            r"    option_labels: \[[^]]*\]\n", lambda _: wrapped("option_labels", shown), entry
        )
        block = block.replace(found[0], entry)
        valid = ", ".join(f"'{word}'" for word in offered)
        block = re.sub(
            rf"\({parameter} in \([^)]*\)", lambda _: f"({parameter} in ({valid})", block
        )
        if parameter == "predictor":
            names = f"{', '.join(offered[:-1])} or {offered[-1]}"
            block = re.sub(r"'Predictor: [^']*'", f"'Predictor: {names}'", block)
    return block


def wrapped(name: str, words: list[str]) -> str:
    head = f"    {name}: ["
    return (
        textwrap.fill(
            f"{', '.join(words)}]",
            WIDTH,
            initial_indent=head,
            subsequent_indent=" " * len(head),
            break_on_hyphens=False,
        )
        + "\n"
    )
