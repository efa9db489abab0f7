# SPDX-License-Identifier: GPL-3.0-or-later
"""The blocks of the documentation's pages: shell commands, files that a reader is told to save, and
everything else (output, pictures).

A block of commands is a fenced block without a language whose first line begins with a word of
COMMANDS. A comment `<!-- not run by the test: REASON -->` right before it says that it cannot be
run here; a block whose lines begin with a prompt (`base$`) is for another computer. A fenced block
behind a line "Save this as `NAME`" is the content of that file."""

import pathlib
import re
import shlex
from dataclasses import dataclass

TOP = pathlib.Path(__file__).resolve().parents[2]
COMMANDS = (
    "./openwip",
    "sudo",
    "for",
    "g++",
    "python3",
    "/usr/bin/python3",
    "MPLBACKEND=Agg",
    "tshark",
    "wireshark",
    "git",
    "g++",
    "sed",
)
NOT_RUN = re.compile(r"<!-- not run by the test: (.+) -->")
SAVE = re.compile(r"Save this as `([\w.]+)`")
PROMPT = re.compile(r"^\w+\$ +")


@dataclass(frozen=True)
class Block:
    page: pathlib.Path
    line: int
    text: str
    language: str = ""
    save_as: str = ""  # the file that it is the content of
    not_run: str = ""  # why it cannot be run here
    prompt: bool = False  # commands of several computers

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(TOP)}:{self.line}"

    @property
    def is_commands(self) -> bool:
        first = PROMPT.sub("", self.text.lstrip()).split(maxsplit=1)
        return not self.language and bool(first) and first[0] in COMMANDS


def pages(*folders: str) -> list[pathlib.Path]:
    return sorted(page for folder in folders for page in (TOP / folder).rglob("*.md"))


def blocks(page: pathlib.Path) -> list[Block]:
    """All fenced blocks of a page, in order. One in a list is indented."""
    found: list[Block] = []
    lines = page.read_text().splitlines()
    at, not_run, save_as = 0, "", ""
    while at < len(lines):
        line = lines[at]
        if m := NOT_RUN.search(line):
            not_run = m[1]
        elif m := SAVE.search(line):
            save_as = m[1]
        elif line.lstrip().startswith("```"):
            indent, language = len(line) - len(line.lstrip()), line.strip()[3:]
            begin = at + 1
            while lines[at := at + 1].strip() != "```":
                pass
            text = "\n".join(each[indent:] for each in lines[begin:at]) + "\n"
            prompt = any(PROMPT.match(each) for each in text.splitlines())
            found.append(Block(page, begin, text, language, save_as, not_run, prompt))
            not_run = save_as = ""
        elif line.strip():
            not_run = ""
        at += 1
    return found


def make_what_it_names(words: list[str], folder: pathlib.Path) -> None:
    """Makes, empty, the files and folders below `folder` that a command line names and that have to
    be there, as host/cli/command_lines.txt says (its lines `names`)."""
    sections: dict[str, dict[str, str]] = {}
    for line in (TOP / "host/cli/command_lines.txt").read_text().splitlines():
        columns = line.split("\t")
        if columns[0] == "command":
            kinds = sections[columns[1]] = {}
        elif columns[0] == "names":
            kinds[columns[1]] = columns[2]
    paths = (" ".join(words[:n]) for n in range(len(words), 0, -1))
    path = next((p for p in paths if p in sections), "")
    kinds, words = sections.get(path, {}), words[len(path.split()) :]
    of_arguments = [kind for name, kind in kinds.items() if not name.startswith("-")]
    for before, word in zip(["", *words], words, strict=False):
        option, equal, value = word.partition("=")
        if equal and option in kinds:
            make(folder / value, kinds[option])
        elif before in kinds:
            make(folder / word, kinds[before])
        elif not word.startswith("-"):
            for kind in of_arguments:
                make(folder / word, kind)


def make(path: pathlib.Path, kind: str) -> None:
    if kind == "code":
        found = re.fullmatch(r"(?:python|library):([^:]+)(?::.*)?", path.name)
        if not found:
            return
        path = path.with_name(found[1])
    (path if kind == "folder" else path.parent).mkdir(parents=True, exist_ok=True)
    if kind in ("file", "either", "code") and not path.exists():
        path.touch()


def command_lines(block: Block) -> list[list[str]]:
    """The words behind ./openwip of each such command of a block. Whatever the shell would make of
    a word ($x, $(...)) stays as it is."""
    found: list[list[str]] = []
    for line in block.text.replace("\\\n", " ").splitlines():
        if "./openwip" not in line:
            continue
        lexer = shlex.shlex(PROMPT.sub("", line), posix=True, punctuation_chars=";|&<>")
        lexer.whitespace_split, lexer.commenters = True, "#"
        command: list[str] | None = None
        for word in lexer:
            if word == "./openwip":
                found.append(command := [])
            elif word[0] in ";|&<>":
                command = None
            elif command is not None:
                command.append(word)
    return found
