# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees as text and from text: configurations in YAML, reports in JSON. YAML by libyaml where there
is it: seven to ten times faster."""

import json
import os
import pathlib
from typing import Any

try:
    import yaml

    from . import core_schema
except ImportError:  # a reader of run records needs no YAML (docs/how-to/run-record.md)
    yaml = None

from .errors import not_valid
from .errors import shown as shortened

LONGEST, LONGEST_TABLE = 1 << 20, 1 << 26  # characters
MOST_VALUES = 1_000_000  # values of a tree, each repetition by an alias counted
DEEPEST = 100  # lists in lists; with thousands libyaml ends the process, and Python its stack
# exceptions of code that reads another tree than it expects
OTHER_TREE = (ValueError, LookupError, TypeError, AttributeError)


def to_yaml(tree: Any) -> str:
    """YAML of a tree, with its keys in their order."""
    for key, text in texts(tree):
        # Such characters come from a file name that is not UTF-8.
        if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
            raise not_valid(key, repr(text), "text in UTF-8")
    return str(yaml.dump(tree, Dumper=core_schema.Dumper, sort_keys=False))


def shown(text: str) -> str:
    """Text of a command line or a file name, which need not be UTF-8."""
    return os.fsencode(text).decode(errors="backslashreplace")


def of_file(path: pathlib.Path | str, longest: int = LONGEST) -> str:
    """OSError, UnicodeDecodeError; ValueError: it is longer than a configuration, a table of
    numbers are, or has no end (/dev/zero)."""
    with open(path, encoding="utf-8") as f:
        text = f.read(longest + 1)
    if len(text) > longest:
        raise ValueError(f"has more than {longest >> 20} MiB")
    return text


class NotYaml(ValueError):
    def __init__(self, why: str, line: int | None) -> None:
        super().__init__(why)
        self.line = line


def of_yaml(text: str) -> Any:
    """The tree of a text by the core schema of YAML 1.2. Raises NotYaml if the text is not YAML, is
    deeper than DEEPEST, has a tag, a key twice, or a scalar whose meaning is not certain
    (core_schema.py)."""
    depth = 0
    try:
        for event in yaml.parse(text, core_schema.Loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(
                event, yaml.CollectionEndEvent
            )
            if depth > DEEPEST:
                raise NotYaml(
                    f"has lists nested more than {DEEPEST} deep", event.start_mark.line + 1
                )
            if getattr(event, "tag", None) not in (None, "!"):
                raise NotYaml(
                    f"is not YAML as it is read here: it has the tag {shortened(event.tag)}; valid:"
                    " no tag",
                    event.start_mark.line + 1,
                )
        made = core_schema.Loader(text)
        root = made.get_single_node()
        check_nodes(root)
        refuse_expanding(root)
        return None if root is None else made.construct_document(root)
    except yaml.YAMLError as e:
        mark = getattr(e, "problem_mark", None)
        raise NotYaml("is not YAML", mark.line + 1 if mark else None) from None


def check_nodes(root: Any) -> None:
    """Raises NotYaml for a scalar whose meaning is not certain, and for a key that a mapping has
    twice, of which YAML would take the last value."""
    left, seen = [("", root)], set()
    for prefix, node in left:
        if id(node) in seen:  # an alias leads to a node that was seen already
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            left += [(prefix, item) for item in node.value]
        if isinstance(node, yaml.ScalarNode):
            check_scalar(f"{prefix.removesuffix('.')} = " if prefix else "", node)
        names = set()
        for name, value in node.value if isinstance(node, yaml.MappingNode) else ():
            if not isinstance(name, yaml.ScalarNode):
                raise NotYaml(
                    "has a list or mapping as a key; valid: a name", name.start_mark.line + 1
                )
            check_scalar(prefix, name)
            if name.tag == f"{core_schema.TAG}null":
                raise NotYaml("has an empty key; valid: a name", name.start_mark.line + 1)
            if name.value in names:
                raise NotYaml(
                    f"has {shortened(prefix + name.value)} twice; valid: once",
                    name.start_mark.line + 1,
                )
            names.add(str(name.value))
            left.append((f"{prefix}{name.value}.", value))


def check_scalar(place: str, node: Any) -> None:
    """NotYaml: a plain one whose meaning is not certain."""
    if not node.style and (why := core_schema.refusal(node.value)):
        raise NotYaml(f"has {shortened(place + node.value)}: it {why}", node.start_mark.line + 1)


def refuse_expanding(root: Any) -> None:
    """Aliases in aliases make of a few lines more values than memory has, and one that is inside
    itself has no end."""
    sizes: dict[int, int] = {}  # number of values of a node and all below it; 0: not known yet

    def size(node: Any) -> int:
        if (known := sizes.get(id(node))) is not None:
            if known == 0:
                raise NotYaml(
                    "has an alias inside of the value for which it stands", node.start_mark.line + 1
                )
            return known
        sizes[id(node)] = 0
        inside = (
            node.value
            if isinstance(node, yaml.SequenceNode)
            else [v for _, v in node.value]
            if isinstance(node, yaml.MappingNode)
            else ()
        )
        sizes[id(node)] = 1 + sum(size(part) for part in inside)
        if sizes[id(node)] > MOST_VALUES:
            raise NotYaml(
                f"has more than {MOST_VALUES} values, by its aliases", node.start_mark.line + 1
            )
        return sizes[id(node)]

    if root is not None:
        size(root)


def of_json(text: str) -> Any:
    """The value of a JSON text. Raises ValueError if it is no JSON, or nested deeper than Python's
    stack allows."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("lists or objects in it are nested too deeply to be read") from None


def texts(tree: Any, key: str = "") -> list[tuple[str, str]]:
    """Every text of it, with its key."""
    if isinstance(tree, str):
        return [(key, tree)]
    inside = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, (list, tuple))
        else ()
    )
    return [
        found
        for name, value in inside
        for found in texts(value, f"{key}.{name}" if key else str(name))
    ]
