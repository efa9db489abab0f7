# SPDX-License-Identifier: GPL-3.0-or-later
"""python host/cli command-lines > host/cli/command_lines.txt: the options, the valid values and the
help of every command of ./openwip, as data. The file is kept in the tree, so that ./openwip answers
--help and refuses a mistyped option on a machine where nothing is installed
(host/cli/command_line.awk says what its columns are). A test makes it again and compares."""

import argparse
import importlib.util
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any

from .__main__ import COMMANDS, find
from .errors import BadInput
from .machine.places import Places
from .settings.command_line import (
    FILE,
    FOLDER,
    OUTPUT,
    SPLIT,
    Parser,
    help_of,
    is_behind_equal,
    name_of_value,
    named_by,
    takes,
    why_split,
)
from .settings.kinds import ChoiceOrFile, Optional

WINDOW = "host/gui/openwip-monitor"
# Commands of the launcher that are not for users: other processes of this package call them, or
# Wireshark.
INTERNAL = (
    "check",
    "command-lines",
    "supervise",
    "read-record",
    "read-arrays",
    "judge",
    "forward",
    "replay-radio",
    "cable-attenuator",
    "extcap",
)
# Commands that may also be called with a word that makes another command of them.
BESIDE = {
    "record": ("info", "blocks", "recover"),
    "capture": ("plot",),
    "fader": ("calibrate", "compare"),
    "bench": ("slot-path",),
}
NEEDED = {"station": ("base", "terminal")}
WITH_A_COMMAND = ("exec", "bench slot-path")  # behind "--" is what another program takes
# ctest's own options (3.22 to 3.31): names, the value that they take ("": none), and what they do.
# A value in brackets may be missing.
OF_CTEST = (
    ("-V --verbose", "", "print the output of all tests, too"),
    ("-VV --extra-verbose", "", "print the output and the command lines of all tests"),
    ("--debug", "", "print what ctest itself does"),
    ("--progress", "", "show the progress of the tests in one line"),
    ("--output-on-failure", "", "print the output of the tests that fail"),
    ("--stop-on-failure", "", "end after the first test that fails"),
    ("-F", "", "go on with an earlier run of the tests that was interrupted"),
    ("-Q --quiet", "", "print nothing"),
    ("-U --union", "", "with -I and -R: run the tests that either of them chooses"),
    ("--rerun-failed", "", "run only the tests that failed last time"),
    ("--schedule-random", "", "run the tests in random order"),
    ("--no-label-summary", "", "print no times for each label of tests at the end"),
    ("--no-subproject-summary", "", "print no times for each part of the project at the end"),
    ("--print-labels", "", "print the labels of the tests and run none"),
    ("--force-new-ctest-process", "", "run tests that are ctest in processes of their own"),
    ("-R --tests-regex", "REGEX", "run only tests whose name matches this regular expression"),
    ("-E --exclude-regex", "REGEX", "run no test whose name matches this regular expression"),
    ("-L --label-regex", "REGEX", "run only tests with a label that matches this expression"),
    ("-LE --label-exclude", "REGEX", "run no test with a label that matches this expression"),
    ("-FA --fixture-exclude-any", "REGEX", "run no set-up or clean-up of matching fixtures"),
    ("-FS --fixture-exclude-setup", "REGEX", "run no set-up of matching fixtures"),
    ("-FC --fixture-exclude-cleanup", "REGEX", "run no clean-up of matching fixtures"),
    (
        "-I --tests-information",
        "START,END,STRIDE,NUMBER,...",
        "run only the tests with the numbers START, START + STRIDE, ... up to END, and NUMBER, ...",
    ),
    ("-O --output-log", "FILE", "also write the output of ctest into this file"),
    ("--output-junit", "FILE", "write the results into this file, in JUnit format (XML)"),
    (
        "--repeat",
        "MODE:TIMES",
        "repeat each test up to TIMES times: until it fails (until-fail), until it passes (until-pass)"
        " or only after a timeout (after-timeout)",
    ),
    ("--repeat-until-fail", "TIMES", "run each test up to this number of times, until it fails"),
    ("--timeout", "SECONDS", "time after which a test that has no limit of its own is ended"),
    ("--stop-time", "TIME", "time of day at which all tests have to end"),
    ("--test-load", "LEVEL", "start no test while the load of this computer is above this level"),
    ("--max-width", "COLUMNS", "largest width of the names of tests in the output"),
    ("--test-output-size-passed", "BYTES", "most output that is kept of a test that passes"),
    ("--test-output-size-failed", "BYTES", "most output that is kept of a test that fails"),
    ("--test-output-truncation", "MODE", "part of a too long output to cut: tail, middle or head"),
    ("--tests-from-file", "FILE", "run only the tests whose names are in this file"),
    ("--exclude-from-file", "FILE", "run no test whose name is in this file"),
    ("--no-tests", "error|ignore", "what happens when no test is chosen"),
    ("-j --parallel", "[NUMBER]", "number of tests that run at the same time"),
    ("-N --show-only", "[FORMAT]", "list the tests and run none: human or json-v1"),
)
READ_BY_CTEST = ("--tests-from-file", "--exclude-from-file")
# What options of the window name on disk. A program says no more than that they take a value.
OF_WINDOW = {
    "--keys": FOLDER,
    "--key-file": FILE,
    "--replay": FILE,
    "--record": OUTPUT,
    "--words": OUTPUT,
}


class Found(BaseException):
    """Carries a parser out of the command that has just made it, before it parses anything."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        super().__init__()
        self.parser = parser


class Commands(BaseException):
    """Carries the subcommands out of a command that has nothing else."""

    def __init__(
        self,
        usage: str,
        commands: dict[str, Callable[..., Any]],
        arguments: list[str],
        more: tuple[Any, ...],
    ) -> None:
        super().__init__()
        self.usage, self.commands, self.arguments, self.more = usage, commands, arguments, more


def of_call(function: Callable[..., Any], *arguments: Any) -> Found | Commands:
    """The result of the command for these arguments: a parser, or a choice of subcommands."""

    def found(parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        raise Found(parser)

    def commands(
        _name: str, usage: str, names: dict[str, Any], words: list[str], *more: Any
    ) -> None:
        raise Commands(usage, names, words, more)

    module = sys.modules[function.__module__]
    parse, choose = argparse.ArgumentParser.parse_known_args, getattr(module, "run_command", None)
    setattr(argparse.ArgumentParser, "parse_known_args", found)
    if choose is not None:
        setattr(module, "run_command", commands)
    try:
        function(*arguments)
    except (Found, Commands) as e:
        return e
    finally:
        setattr(argparse.ArgumentParser, "parse_known_args", parse)
        if choose is not None:
            setattr(module, "run_command", choose)
    raise BadInput(
        f"the function of {function.__module__} ends without reading a command line; valid: one that"
        " calls a parser (argparse)"
    )


def parser_of(
    function: Callable[..., Any], words: list[str], *more: Any
) -> argparse.ArgumentParser:
    found = of_call(function, words, *more)
    assert isinstance(found, Found)
    return found.parser


# --- the lines of the table ---


def row(*columns: object) -> str:
    return "\t".join(map(str, columns)).rstrip("\t")


def head(path: str, bare: str = "itself", inside: Iterable[str] = ()) -> str:
    return row("command", path, bare, " ".join(inside))


def values_of(action: argparse.Action) -> tuple[object, ...]:
    """The columns TYPE LOW HIGH CHOICES ENDINGS VALID of an option; empty ones: any value is left
    to the command."""
    kind: Any = getattr(action, "kind", None)
    kind = kind.kind if isinstance(kind, Optional) else kind
    words = tuple(map(str, action.choices or ())) or tuple(getattr(kind, "words", ()))
    words += tuple(getattr(kind, "earlier", ()))
    number = getattr(kind, "number", kind)
    if getattr(kind, "name", "") == "text" or not (words or hasattr(number, "low")):
        return ("",) * 6
    limits = (
        (number.name, repr(number.low), repr(number.high))
        if hasattr(number, "low")
        else ("", "", "")
    )
    endings = kind.endings if isinstance(kind, ChoiceOrFile) else ()
    return (
        *limits,
        "|".join(words),
        "|".join(endings),
        kind.valid if kind is not None else "|".join(words),
    )


def of_parser(
    path: str, p: argparse.ArgumentParser, bare: str = "itself", inside: Iterable[str] = ()
) -> list[str]:
    lines = [head(path, bare, inside)]
    positionals = [
        a
        for a in p._actions
        if not a.option_strings and not isinstance(a, argparse._SubParsersAction)
    ]
    least, most = sum(takes(a)[0] for a in positionals), [takes(a)[1] for a in positionals]
    names = [name_of_value(a) for a in positionals for _ in range(max(1, takes(a)[0]))]
    lines.append(
        row(
            "words",
            least,
            "any" if None in most else sum(n or 0 for n in most),
            "|".join(n.replace("|", " or ") for n in names),
            "rest" if path in WITH_A_COMMAND else "",
        )
    )
    lines += [
        row("word", n, "|".join(map(str, a.choices)))
        for n, a in enumerate(positionals, 1)
        if a.choices and None not in most
    ]
    for action in p._actions:
        if action.option_strings:
            low, high = takes(action)
            if is_behind_equal(action) and not getattr(p, "behind_equal", {})["--json"]:
                high = "="  # type: ignore[assignment]
            required = "required" if action.required else ""
            lines.append(
                row(
                    "option",
                    " ".join(action.option_strings),
                    low,
                    "any" if high is None else high,
                    required,
                    *values_of(action),
                )
            )
    for action in p._actions:
        if (named := named_by(action)) is not None:
            number = positionals.index(action) + 1 if action in positionals else 0
            argument = (
                action.option_strings[-1] if not number else "any" if None in most else number
            )
            columns = (named.kind, "|".join(named.added), "|".join(named.only), named.not_before)
            lines.append(row("names", argument, *columns))
    lines += [row("earlier", *names) for names in getattr(p, "earlier", {}).items()]
    lines += [row("split", old, why) for old in SPLIT if (why := why_split(p, old))]
    return lines + of_help(help_of(p))


def of_help(text: str) -> list[str]:
    return [row("help", line.replace("\t", "    ")) for line in text.rstrip("\n").split("\n")]


# --- the commands ---


def of_command(path: str, function: Callable[..., Any], places: Places) -> list[str]:
    name, *words = path.split()
    found = of_call(function, words, places)
    if isinstance(found, Commands):
        lines = [
            head(path, "needed", found.commands),
            *of_help(found.usage),
        ]
        for one, its in found.commands.items():
            lines += of_parser(f"{path} {one}", parser_of(its, [], *found.more))
        return lines
    choice = next(
        (a for a in found.parser._actions if isinstance(a, argparse._SubParsersAction)), None
    )
    if choice is not None:
        lines = of_parser(path, found.parser, "needed", choice.choices)
        return lines + [
            line for one, p in choice.choices.items() for line in of_parser(f"{path} {one}", p)
        ]
    subcommands = BESIDE.get(path, ())
    return of_parser(path, found.parser, "itself", subcommands) + [
        line
        for one in subcommands
        for line in of_parser(f"{path} {one}", parser_of(function, [one], places))
    ]


def of_stations(places: Places) -> list[str]:
    parsers = {role: parser_of(find("station"), [role], places) for role in NEEDED["station"]}
    usage = (
        f"usage: ./openwip station {'|'.join(parsers)} [OPTIONS]\n\nRuns one side of a cell, the"
        " base station or the terminal, with a radio of this computer; ./openwip"
        " station base --help says more.\n"
    )
    return [head("station", "needed", parsers), *of_help(usage)] + [
        line for role, p in parsers.items() for line in of_parser(f"station {role}", p)
    ]


def of_curves(places: Places) -> list[str]:
    """A program of the tests, beside which its modules lie."""
    folder = places.top / "tests" / "curves"
    sys.path.insert(0, str(folder))
    spec = importlib.util.spec_from_file_location("curves", folder / "curves.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["curves"] = module
    spec.loader.exec_module(module)
    found = of_call(module.main, [])
    assert isinstance(found, Found)
    return of_parser("curves", found.parser)


def of_program(path: str, program: pathlib.Path | str) -> list[str]:
    """A C++ program says itself which options it has (host/config/command_line.h)."""
    lines = subprocess.run(
        [program, "--command-line"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    p = Parser(path, lines[0])
    for line in lines[1:]:
        names, value, least, most, text = line.split("\t")
        more: dict[str, Any] = (
            {"action": "store_true"}
            if most == "0"
            else {"metavar": value}
            | ({"nargs": "+"} if most == "any" else {"nargs": "?"} if least == "0" else {})
        )
        p.add_argument(
            *names.split(" "), names=OF_WINDOW.get(names), help=text.replace("%", "%%"), **more
        )
    return of_parser(path, p)


def of_shell() -> list[str]:
    """The commands that ./openwip does itself."""
    setup = Parser(
        "setup",
        "Installs the Debian packages that these commands of ./openwip need, or all of them need;"
        " first it prints which ones and why.",
    )
    setup.add_argument(
        "command",
        nargs="*",
        metavar="COMMAND",
        help=(
            "command of ./openwip whose needs are to be met (default: all commands, and the tests)"
        ),
    )
    setup.add_argument(
        "--virtual-time",
        action="store_true",
        help=(
            "build the Linux kernel that emulate and experiment run with --time virtual, and"
            " install nothing else"
            " (docs/explanation/virtual-time.md)"
        ),
    )
    setup.add_argument(
        "--ns3",
        action="store_true",
        help=(
            "install the simulator ns-3, which emulate and experiment use with --time ns3, and"
            " nothing else (docs/explanation/ns3.md)"
        ),
    )
    setup.add_argument(
        "--notebooks",
        action="store_true",
        help="install Jupyter for the notebooks, and nothing else (docs/notebooks/index.md)",
    )
    setup.add_argument(
        "--campaigns",
        action="store_true",
        help=(
            "install Snakemake, which starts the runs of an experiment on other machines by SLURM"
            " or Kubernetes, and nothing else"
            " (docs/how-to/campaigns.md)"
        ),
    )
    build = Parser(
        "build",
        "Installs the Debian packages that are missing and compiles what has changed, for these"
        " commands of ./openwip or for all.",
    )
    build.add_argument(
        "command",
        nargs="*",
        metavar="COMMAND",
        help=(
            "command of ./openwip whose needs are to be met (default: all commands, and the tests)"
        ),
    )
    grc = Parser("grc", "Opens GNU Radio Companion with the blocks of OpenWIP.")
    grc.add_argument(
        "flowgraph",
        nargs="*",
        metavar="FLOWGRAPH",
        help=(
            "flowgraph to open: a .grc file, or the name of an example in the folder flowgraphs/grc"
        ),
    )
    table = Parser(
        "switch-table",
        "Computes and prints the switch table: the SNR thresholds between the modulations of"
        " adaptive modulation.",
    )
    table.add_argument(
        "--header",
        names=OUTPUT,
        metavar="FILE",
        help=(
            "write the table of SNR thresholds into this file, as a C++ header, instead of"
            " printing it"
        ),
    )
    test = Parser(
        "test",
        "Installs and builds what the tests of OpenWIP need and runs them by ctest of CMake, whose"
        " options these are.",
    )
    for option, value, text in OF_CTEST:
        names = FILE if option in READ_BY_CTEST else None
        takes_value: dict[str, Any] = {"metavar": value} if value else {"action": "store_true"}
        if value.startswith("["):
            takes_value = {"metavar": value.strip("[]"), "nargs": "?"}
        test.add_argument(*option.split(), help=text, names=names, **takes_value)
    version = Parser(
        "version", "Prints the version and the git commit of OpenWIP, as ./openwip --version does."
    )
    return [
        line
        for p in (setup, build, grc, table, test, version)
        for line in of_parser(p.prog.split()[1], p)
    ]


def sections(places: Places) -> list[str]:
    """The lines of the whole table but for the window, which may not be part of a build."""
    lines = of_shell()
    for name in COMMANDS:
        if name in INTERNAL or name == "switch-table":
            continue
        lines += (
            of_curves(places)
            if name == "curves"
            else of_stations(places)
            if name == "station"
            else of_command(name, find(name), places)
        )
    return lines


def main(arguments: list[str], places: Places) -> int:
    Parser(
        "command-lines", "The table of all command lines, for host/cli/command_lines.txt."
    ).parse_args(arguments)
    os.environ["COLUMNS"] = "80"
    print("# SPDX-License-Identifier: GPL-3.0-or-later")
    print(
        "# Made by `python3 host/cli command-lines` (host/cli/openwip_cli/command_lines.py says"
        " how); command_line.awk reads it."
    )
    print("\n".join([*sections(places), *of_program("monitor", places.program(WINDOW))]))
    return 0
