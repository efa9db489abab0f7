# SPDX-License-Identifier: GPL-3.0-or-later
"""Configurations as text, for processes and reports."""
from typing import Any

import yaml

from .errors import BadInput


def to_yaml(tree: Any) -> str:
    """In the order that it has. By libyaml where PyYAML has it: ten times faster, and it is read back as the same tree (lines may be broken
    elsewhere); a campaign writes as many as it has runs."""
    for key, text in texts(tree):
        if not encodes(text):
            raise BadInput(f"{key} is {text!r}; valid: text in UTF-8")
    return str(yaml.dump(tree, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False))


def texts(tree: Any, key: str = "") -> list[tuple[str, str]]:
    """Every text of it, with its key."""
    if isinstance(tree, str):
        return [(key, tree)]
    inside = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, (list, tuple)) else ()
    return [found for name, value in inside for found in texts(value, f"{key}.{name}" if key else str(name))]


def encodes(text: str) -> bool:
    """A file name that is not UTF-8 has what cannot be written."""
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)
