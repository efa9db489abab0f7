# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a command. An error is one line: option, value, what would be valid."""

import argparse
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from ..errors import BadInput, not_valid, shown
from .kinds import (
    CODE,
    Choice,
    ChoiceOrFile,
    Extension,
    Kind,
    NumberOrWord,
    Numbers,
    Text,
    TextOrFile,
    number_of,
    with_unit,
)
from .table import Setting

HELP_WIDTH, HELP_COLUMN = 110, 26  # characters
LONGEST_CHOICE = 24  # characters of choices that are written out as the name of a value
# Options that drove the transmitter in one command and the receiver in the next, and the names that
# took their place.
SPLIT = {"--gain": {"--transmit-gain": "of the transmitter", "--receive-gain": "of the receiver"}}


def why_split(p: argparse.ArgumentParser, old: str) -> str:
    """Why a command refuses an option that has been split, and which of the new ones it has; "": it
    has none of them."""
    new = SPLIT.get(old, {})
    has = [name for name in new if name in p._option_string_actions]
    return (
        f"{old} is not an option; it is now"
        f" {', or '.join(f'{name}, {whose}' for name, whose in new.items())}; valid here:"
        f" {', '.join(has)}"
        if has
        else ""
    )


def why_unknown(p: argparse.ArgumentParser, words: Sequence[str]) -> str:
    """Why a command refuses the words that it has no argument or option for."""
    split = (why_split(p, word.partition("=")[0]) for word in words)
    return next(filter(None, split), f"unrecognized arguments: {' '.join(words)}")


def takes(action: argparse.Action) -> tuple[int, int | None]:
    """The least and the greatest number of words that an argument or an option takes; None: there
    is no greatest one."""
    if isinstance(action.nargs, int):
        return action.nargs, action.nargs
    return {None: (1, 1), "?": (0, 1), "+": (1, None)}.get(action.nargs, (0, None))


def name_of_value(action: argparse.Action) -> str:
    """The placeholder of a value in a help text."""
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return "|".join(map(str, action.choices))
    if not action.option_strings:
        return action.dest
    return action.option_strings[-1].rpartition("-")[2].upper()


def placeholder(flag: str, kind: Kind, unit: str = "") -> str:
    """The name of the value of an option in its help: the choices where they are few, the unit of
    a number, a file; else the last word of the option."""
    kind = getattr(kind, "kind", kind)
    if isinstance(kind, ChoiceOrFile):
        return "NAME|FILE"
    if isinstance(kind, TextOrFile):
        return "FILE"
    if isinstance(kind, Extension):
        return "built_in|CODE"
    if isinstance(kind, Choice) and len(kind.valid) <= LONGEST_CHOICE:
        return kind.valid
    if not hasattr(number_of(kind), "low"):
        return flag.rpartition("-")[2].upper()
    number = unit.upper().replace("%", "PERCENT") or "NUMBER"
    if isinstance(kind, Numbers):
        return f"{number},..."
    return "|".join((*kind.words, number)) if isinstance(kind, NumberOrWord) else number


def help_of_setting(text: str, kind: Kind, unit: str, default: str) -> str:
    """The help of a setting: the text, the valid values unless any text is, and the default."""
    valid = with_unit(kind, unit).removeprefix(Text.valid).strip()
    between = "" if not valid else " " if valid.startswith("(") else "; "
    return f"{text}{between}{valid}" + f" (default {default})" * bool(default)


def with_options(text: str, flags: Mapping[str, str]) -> str:
    """A text about settings, as the help of a command has it: "KEY = VALUE" becomes "OPTION VALUE"
    where the command has an option for the key. `flags`: key -> option."""
    return re.sub(
        r"\b([a-z_]\w*(?:\.\w+)+)( = (?=\w))?",
        lambda m: flags[m[1]] + " " * bool(m[2]) if m[1] in flags else m[0],
        text,
    )


def is_behind_equal(action: argparse.Action) -> bool:
    """The value of the option stands behind "=", or there is none: --json, --json=FILE."""
    return getattr(action, "behind_equal", False)


def value_in_usage(action: argparse.Action) -> str:
    if is_behind_equal(action):
        return f"[={name_of_value(action)}]"
    name, (least, most) = name_of_value(action), takes(action)
    shown = " ".join([name] * max(1, least)) + " ..." * (most is None)
    return f"[{shown}]" if least == 0 else shown


def usage_of(p: argparse.ArgumentParser) -> str:
    if p.usage:
        return p.usage
    options = [a for a in p._actions if a.option_strings and a.help != argparse.SUPPRESS]
    required = [f"{a.option_strings[0]} {value_in_usage(a)}" for a in options if a.required]
    return " ".join(
        [
            p.prog,
            *["[OPTIONS]"] * (len(options) > len(required)),
            *required,
            *(value_in_usage(a) for a in p._actions if not a.option_strings),
        ]
    )


def help_of(p: argparse.ArgumentParser) -> str:
    """The help text of a parser, of which every version of Python and every width of a terminal
    makes the same: a copy of it is kept in host/cli/command_lines.txt, for machines on which
    nothing is installed yet."""
    lines = [f"usage: {usage_of(p)}"]
    if p.description:
        described = (
            p.description
            if p.formatter_class is argparse.RawDescriptionHelpFormatter
            else textwrap.fill(p.description, HELP_WIDTH)
        )
        lines += ["", *described.strip().splitlines()]
    for group in p._action_groups:
        shown = [a for a in group._group_actions if a.help != argparse.SUPPRESS]
        if not shown:
            continue
        lines += [
            "",
            {"positional arguments": "arguments", "optional arguments": "options"}.get(
                str(group.title), str(group.title)
            )
            + ":",
        ]
        for action in shown:
            if isinstance(action, argparse._SubParsersAction):
                for one in action._choices_actions:
                    lines += entry(one.dest, one.help or "")
                continue
            value = (
                "" if action.option_strings and takes(action) == (0, 0) else value_in_usage(action)
            )
            space = "" if is_behind_equal(action) else " "
            name = (
                f"{', '.join(action.option_strings)}{space}{value}".strip()
                if action.option_strings
                else name_of_value(action)
            )
            text = (action.help or "") % (vars(action) | {"prog": p.prog})
            lines += entry(name, with_options(text, getattr(p, "flags", {})))
    return "\n".join(lines) + "\n"


def entry(name: str, text: str) -> list[str]:
    """An option and what it does, in two columns. A list of choices that is longer than a line is
    broken behind a "|" and never within a choice."""
    width = HELP_WIDTH - HELP_COLUMN
    words = (w if len(w) <= width else w.replace("|", "|\0 ") for w in text.split())
    wrapped = [
        line.replace("|\0 ", "|").replace("|\0", "|")
        for line in textwrap.wrap(" ".join(words), width, break_on_hyphens=False)
    ]
    first, indent = f"  {name}", " " * HELP_COLUMN
    if not wrapped:
        return [first]
    if len(first) > HELP_COLUMN - 2:
        return [first, *(indent + line for line in wrapped)]
    return [first.ljust(HELP_COLUMN) + wrapped[0], *(indent + line for line in wrapped[1:])]


class Named(NamedTuple):
    """What an argument names on disk that has to be there before the command begins. It stands in
    host/cli/command_lines.txt, by which ./openwip refuses a value that names nothing before
    anything is installed or built. Whether it can be used, its reader says."""

    # "file", "folder", "either"; "around": the folder in which a file is to be made; "code": the
    # file in python:FILE:CLASS or library:FILE:ARGUMENT
    kind: str
    added: tuple[str, ...] = ()  # endings that the command adds: a file with one of them is enough
    only: tuple[str, ...] = ()  # endings of values that name a file, if others are names of ours
    not_before: str = ""  # how values begin that name no file, such as an address


FILE, FOLDER, EITHER, OUTPUT = Named("file"), Named("folder"), Named("either"), Named("around")
RECORDING = Named("file", (".sigmf-meta", ".sigmf-data"))  # of IQ samples


def marked(action: argparse.Action, names: Named | None) -> argparse.Action:
    """The argument, of which is now known what its values name on disk. Groups of a parser have no
    `names` of their own."""
    setattr(action, "names", names)
    return action


def named_by(action: argparse.Action) -> Named | None:
    """What the argument was declared to name, or what values of its kind can name."""
    kind = getattr(action, "kind", None)
    kind = getattr(kind, "kind", kind)
    if isinstance(kind, CODE):
        return Named("code")
    if isinstance(kind, (ChoiceOrFile, TextOrFile)):
        return Named("file", only=kind.endings)
    return getattr(action, "names", None)


class Parser(argparse.ArgumentParser):
    """The parser of ./openwip COMMAND. `cell`: it is about one cell, of this name unless --name
    gives another."""

    def __init__(
        self, command: str, description: str | None = None, cell: str | None = None, **more: Any
    ) -> None:
        self.earlier: dict[str, str] = {}  # earlier name of an option -> its name
        self.flags: dict[
            str, str
        ] = {}  # key of a setting -> its option, by which the help calls it
        # options whose value stands behind "=" -> an earlier release took it as the next word
        self.behind_equal: dict[str, bool] = {}
        super().__init__(
            prog=f"./openwip {command}", allow_abbrev=False, description=description, **more
        )
        if cell:
            self.add_argument(
                "--name",
                type=check_cell_name,
                default=cell,
                help=f"name of the cell, by which commands find it (default {cell})",
            )

    def add_argument(
        self, *flags: str, was: str = "", names: Named | None = None, **more: Any
    ) -> argparse.Action:
        """`was`: the name of the option in an earlier release, which is taken for one release more
        and says so. It stays the name of the value. `names`: what a value names on disk."""
        if was:
            more.setdefault("dest", was.lstrip("-").replace("-", "_"))
            self.earlier[was] = flags[-1]
        return marked(super().add_argument(*flags, **more), names)

    def json(self, what: str, was_a_word: bool = False) -> None:
        """--json[=FILE], which means the same in every command. `was_a_word`: an earlier release
        took --json FILE."""
        action = self.add_argument(
            "--json",
            names=OUTPUT,
            nargs="?",
            const="-",
            metavar="FILE",
            type=read_json_file,
            help=f"{what} as JSON on standard output, and nothing else there; with FILE: into that"
            " file, beside the text on the screen",
        )
        setattr(action, "behind_equal", True)
        self.behind_equal["--json"] = was_a_word

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        words = list(args or ())
        ends = words.index("--") if "--" in words else len(words)
        return super().parse_known_args(
            [*self.with_equal(map(self.name_of_today, words[:ends])), *words[ends:]], namespace
        )

    def with_equal(self, words: Iterable[str]) -> Iterator[str]:
        """The words, with a value after "=" for options that an earlier release took with a
        separate word: those are accepted, with a warning."""
        left = list(words)
        while left:
            word = left.pop(0)
            if word not in self.behind_equal:
                yield word
                continue
            if self.behind_equal[word] and left and (left[0] == "-" or left[0][:1] != "-"):
                value = left.pop(0)
                print(
                    f"openwip: {word} {value} is {word}={value} now; the next release takes"
                    f" {word} alone for standard output",
                    file=sys.stderr,
                )
                yield f"{word}={value}"
            else:
                yield f"{word}=-"

    def name_of_today(self, word: str) -> str:
        """The word, with the name that an option of an earlier release has now."""
        name, equal, value = word.partition("=")
        if name not in self.earlier:
            return word
        print(
            f"openwip: {name} is called {self.earlier[name]} now; the next release does not take"
            f" {name}",
            file=sys.stderr,
        )
        return f"{self.earlier[name]}{equal}{value}"

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:
        given, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self.error(why_unknown(self, unknown))
        return given

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{message} (see {self.prog} --help)")

    def format_help(self) -> str:
        return help_of(self)

    def named_options(self, given: argparse.Namespace) -> list[str]:
        """The options with another value than their default, in the order of the help."""
        return [
            (a.option_strings or [a.dest])[-1]
            for a in self._actions
            if getattr(given, a.dest, a.default) not in (a.default, [])
        ]

    def value(self, flag: str, kind: Kind, **more: Any) -> None:
        """An option of a kind of settings/kinds.py."""
        add_value(self, flag, kind, **more)

    def setting(self, s: Setting, **more: Any) -> None:
        """Adds the option of a setting of the table. `more`: default, kind and help where they
        differ from the table's."""
        kind, default, text = (
            more.pop("kind", s.kind),
            more.pop("default", s.default),
            more.pop("help", s.help),
        )
        self.flags[s.key] = str(s.flag)
        default_text = f"{default:.10g}" if isinstance(default, float) else str(default)
        self.value(
            str(s.flag),
            kind,
            metavar=placeholder(str(s.flag), kind, s.unit),
            default=default,
            help=help_of_setting(
                text, kind, s.unit, "" if default is None else default_text
            ).replace("%", "%%"),
            **more,
        )


def remember_kind(action: argparse.Action, kind: Kind) -> None:
    """Notes which values are valid, for host/cli/command_lines.txt, by which they are checked
    before anything is installed."""
    setattr(action, "kind", kind)


def add_value(group: Any, flag: str, kind: Kind, **more: Any) -> None:
    """Adds an option of a kind of settings/kinds.py to a parser or to a group of one."""
    remember_kind(group.add_argument(flag, type=lambda text: read(flag, kind, text), **more), kind)


def run_command(
    name: str, usage: str, commands: dict[str, Callable[..., int]], arguments: list[str], *more: Any
) -> int:
    """One of several of a name; the exit code. BadInput: there is no such one, or none is given."""
    if not arguments:
        raise BadInput(f"{name} is without a command; valid: {', '.join(commands)}")
    command, *rest = arguments
    if command in ("-h", "--help", "help"):
        print(usage)
        return 0
    if command not in commands:
        raise not_valid(f"command of {name}", repr(command), ", ".join(commands))
    return commands[command](rest, *more)


def read_json_file(text: str) -> str:
    if not text:
        raise BadInput("--json= names no file; valid: --json, or --json=FILE")
    return text


def check_cell_name(name: str) -> str:
    if not (1 <= len(name) <= 12 and name.isascii() and name.isalnum() and name == name.lower()):
        raise not_valid("--name", repr(name), "1..12 lower-case letters and digits")
    return name


def read(where: str, kind: Kind, value: Any) -> Any:
    """BadInput says where it is, what it is, and what would be valid."""
    try:
        return kind.read(value)
    except (ValueError, TypeError, OverflowError):
        raise not_valid(where, shown(repr(value)), kind.valid) from None
