# SPDX-License-Identifier: GPL-3.0-or-later
"""C++ headers as Doxygen reads them. The comments of this project are ordinary ones: at the head of
a file, on the lines before a declaration, or behind it. Here they become comments of Doxygen;
those within functions stay as they are."""

import re

LINE = re.compile(r"^(\s*)//(?:\s?)(.*)$")
SCOPE = re.compile(r'\b(namespace|class|struct|union|enum)\b|extern\s*"C"')


def escaped(text: str) -> str:
    """Text without the commands, tags and links of Doxygen, but for code between backquotes."""
    parts = re.split(r"(`[^`]*`)", text)
    for n in range(0, len(parts), 2):
        parts[n] = re.sub(r"([\\@<>#%$&|~])", r"\\\1", parts[n])
    return "".join(parts)


def block(lines: list[str], indent: str = "", first: str = "") -> list[str]:
    """The lines as a comment of Doxygen. Those that are indented keep their form, as a table has
    it."""
    out: list[str] = [first] if first else []
    kept = False
    for line in lines:
        wide = line.startswith("  ")
        if wide and not kept:
            out.append("\\verbatim")
        elif kept and not wide and line.strip():
            out.append("\\endverbatim")
        kept = wide or (kept and not line.strip())
        out.append(line if kept else escaped(line))
    if kept:
        out.append("\\endverbatim")
    out = [line.replace("*/", "* /").replace("/*", "/ *") for line in out]
    return [
        f"{indent}/*! {out[0]}",
        *(f"{indent}{line}".rstrip() for line in out[1:]),
        f"{indent}*/",
    ]


class Scopes:
    """Which kinds of blocks are open: `documented` is false within functions and initialisers."""

    def __init__(self) -> None:
        self._open: list[bool] = []
        self._statement = ""

    @property
    def documented(self) -> bool:
        return all(self._open)

    @property
    def inside_statement(self) -> bool:
        return bool(self._statement.strip())

    def feed(self, code: str) -> None:
        """Takes in a line of code without its comment."""
        if code.lstrip().startswith("#"):
            return
        code = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])+\'', '""', code)
        for character in code + "\n":
            if character == "{":
                text = re.sub(r"template\s*<[^{}]*?>(?=\s*(?:class|struct))", "", self._statement)
                own = SCOPE.search(text) or re.search(r'extern\s*""', text)
                self._open.append(bool(own) and ("(" not in text or "alignas" in text))
                self._statement = ""
            elif character == "}":
                if self._open:
                    self._open.pop()
                self._statement = ""
            elif character == ";":
                self._statement = ""
            else:
                self._statement += character
        if re.search(r"\b(public|protected|private):\s*$", self._statement):
            self._statement = ""


def without_comment(line: str) -> tuple[str, str | None]:
    """A line of code, and the text of the comment behind it."""
    quoted = False
    for n, character in enumerate(line):
        if character == '"' and line[n - 1 : n] != "\\":
            quoted = not quoted
        if not quoted and line.startswith("//", n):
            return line[:n], line[n + 2 :].strip()
    return line, None


def c_comments(text: str) -> str:
    """The block comments of a C header."""
    out = []
    for n, line in enumerate(text.splitlines()):
        if n and line.lstrip().startswith("/* ") and "---" not in line:
            first = "\\file\n" if "A scheduler" in line and n < 3 else ""
            line = line.replace("/* ", "/** " + first, 1)
        elif re.search(r"\S\s*/\* ", line):
            line = line.replace("/* ", "/**< ", 1)
        out.append(line)
    return "\n".join(out) + "\n"


def converted(text: str) -> str:
    """A header with comments for Doxygen."""
    lines = text.splitlines()
    if any(line.lstrip().startswith("/* ") for line in lines):
        return c_comments(text)
    out, scopes = [""], Scopes()
    n = 1  # the first line is the licence
    head: list[str] = []
    while n < len(lines) and (found := LINE.match(lines[n])):
        head.append(found[2])
        n += 1
    out += block(head, first="\\file")
    column = -1  # column of the comment behind the previous line, if that is a declaration
    while n < len(lines):
        found = LINE.match(lines[n])
        if not found:
            code, behind = without_comment(lines[n])
            before = scopes.documented
            scopes.feed(code)
            whole = before and scopes.documented and not code.rstrip().endswith("{")
            column = -1
            if behind is not None and whole and code.strip() and not code.startswith("#"):
                column = len(code)
                out.append(f"{code}///< {escaped(behind)}")
            else:
                out.append(lines[n])
            n += 1
            continue
        if column >= 0 and len(found[1]) >= column:
            out.append(f"{found[1]}///< {escaped(found[2])}")
            n += 1
            continue
        comment = []
        while n < len(lines) and (found := LINE.match(lines[n])):
            comment.append(found[2])
            indent = found[1]
            n += 1
        follows = n < len(lines) and lines[n].strip() not in ("", "}", "};")
        if follows and scopes.documented and not scopes.inside_statement:
            out += block(comment, indent)
        else:
            out += [f"{indent}// {line}".rstrip() for line in comment]
        column = -1
    return "\n".join(out) + "\n"
