# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of settings as C++, which the build makes of it (host/settings_code.py):

  settings/configuration.h     a struct for each group of settings and for each process, the enums of
                               their choices, and the keys by name
  settings/configuration.cpp   from checked texts to these structs
  settings/rows.cpp            the rows of each process and the rules between its settings, and the
                               rows of the monitor's controls

A group that several processes have is one struct with the settings that all of them have; what one
of them has beside that is in a struct of its own, which is based on it. So a function that two
processes use takes the first, and a setting that a process does not have does not compile."""

import dataclasses
import json
from collections.abc import Iterable
from typing import Any

from . import monitor, rules, table
from .kinds import SWITCHES, Integer, NumberOrWord, Numbers, number_of

PROCESSES = ("macd", "emulator", "medium", "fader", "tcpl", "observer", "split")
# Groups of which a process takes changes alone; its file does not have them.
CHANGES = {"medium": ("channel",)}
HEAD = """// SPDX-License-Identifier: GPL-3.0-or-later
// Made of mac/schema/settings.yaml by the build (host/cli/openwip_cli/settings/code.py).
"""
# The keywords of C++, which a word of the table may be as well.
KEYWORDS = set(
    "and auto bool break case catch char class const continue default delete do double else enum"
    " explicit export extern false float for friend goto if inline int long mutable namespace new"
    " not operator or private protected public register return short signed static struct switch"
    " template this throw true try typedef union unsigned using virtual void volatile while xor".split()
)
INT_MAX = 2**31 - 1


def identifier(text: str) -> str:
    """link.order -> link_order; static -> static_; tdl-a -> tdl_a."""
    name = "".join(c if c.isalnum() else "_" for c in text)
    return f"{name}_" if name in KEYWORDS else f"_{name}" if name[0].isdigit() else name


def text(value: str) -> str:
    """A literal of C++."""
    return json.dumps(value, ensure_ascii=False)


def number(value: float) -> str:
    """A literal of type double."""
    return repr(value) if value != int(value) else f"{int(value)}.0"


@dataclasses.dataclass(frozen=True)
class Enum:
    name: str
    words: tuple[str, ...]

    def declared(self) -> str:
        return (
            f"enum class {self.name} : std::uint8_t"
            f" {{ {', '.join(map(identifier, self.words))} }};\n"
            f"template <>\ninline constexpr std::array<std::string_view, {len(self.words)}>"
            f" words_of<{self.name}>{{{', '.join(map(text, self.words))}}};\n"
        )


@dataclasses.dataclass(frozen=True)
class Member:
    """A setting in a struct. `read`: its value, of settings `s` and the path `{}`."""

    name: str
    type: str
    read: str
    key: str
    enum: Enum | None = None
    default: str = dataclasses.field(default="", compare=False)


def column_default(key: str, views: table.Views) -> str:
    return str(table.column(key, "default", views))


def initial(type_: str, default: str, enum: Enum | None) -> str:
    """The initial value of a member in C++, to be written between braces; "": the type's own."""
    if type_ == "bool":
        return "true" if SWITCHES.get(default) == "on" else ""
    if enum and default in enum.words:
        word = f"{enum.name}::{identifier(default)}"
        return word if type_ == enum.name else f"{{}}, {word}"
    if type_ == "std::string":
        return text(default) if default else ""
    if type_.startswith("std::vector"):
        return default.replace(",", ", ") if type_ != "std::vector<impairment>" else ""
    return default if is_number(default.removeprefix("-")) else ""


def without_entry(key: str) -> str:
    return key.replace("[]", "").replace(".*", "")


def is_number(word: str) -> bool:
    return word.replace(".", "", 1).isdigit()


def integer_type(low: float, high: float) -> str:
    if -INT_MAX <= low and high <= INT_MAX:
        return "int"
    return "std::uint64_t" if low >= 0 else "std::int64_t"


def member(key: str, process: str) -> Member:
    views = table.views(process)
    type_, check = table.column(key, "type", views), table.column(key, "check", views)
    kind: Any = table.kind_of(key, views)
    name = identifier(without_entry(key).partition(".")[2] or key)

    def made(type_: str, read: str, enum: Enum | None = None) -> Member:
        return Member(
            name, type_, read, key, enum, initial(type_, column_default(key, views), enum)
        )

    def enum_of(words: Iterable[str], what: str) -> Enum:
        general = table.column(key, "choices", ()) or table.column(key, "words", ())
        own = "" if tuple(general) == tuple(words) else f"{process}_"
        like = table.entries()[key].get("like", key)
        like_choices = table.column(like, what + "s", ())
        whose = like if what == "choice" and tuple(like_choices) == tuple(words) else key
        return Enum(f"{own}{name_of(whose)}_{what}", tuple(words))

    if type_ == "boolean":
        return made("bool", "s.flag({})")
    if type_ == "impairments":
        return made("std::vector<impairment>", "s.items({})")
    if type_ == "text" or check == "extension":
        return made("std::string", "s.text({})")
    if type_ == "choice":
        words = [word for word in kind.words if not is_number(word)]
        if not words:
            return made("double", "s.real({})")
        if len(words) == 1 and len(kind.words) > 1:
            return made("std::optional<int>", "optional_number<int>(s, {})")
        enum = enum_of(kind.words, "choice")
        return made(enum.name, f"choice<{enum.name}>(s.text({{}}))", enum)
    plain = number_of(kind)
    cpp = integer_type(plain.low, plain.high) if isinstance(plain, Integer) else "double"
    if isinstance(kind, Numbers):
        return made(f"std::vector<{cpp}>", f"list_of<{cpp}>(s, {{}})")
    if isinstance(kind, NumberOrWord):
        if len(kind.words) == 1:
            return made(f"std::optional<{cpp}>", f"optional_number<{cpp}>(s, {{}})")
        enum = enum_of(kind.words, "word")
        return made(
            f"number_or_word<{enum.name}>", f"number_or_word_of<{enum.name}>(s, {{}})", enum
        )
    read = "s.real({})" if cpp == "double" else f"static_cast<{cpp}>(s.integer({{}}))"
    return made(cpp, read)


def general_default(m: Member) -> str:
    """The initial value of a setting that several processes have, each with a default of its
    own."""
    return initial(m.type, column_default(m.key, ()), m.enum)


@dataclasses.dataclass
class Struct:
    name: str
    members: list[Member]
    base: str = ""
    entries: str = ""  # names or list: one entry of a mapping, of a list

    def declared(self, optional: bool = False) -> str:
        head = f"struct {self.name}" + (f" : {self.base}" if self.base else "") + " {\n"
        body = [
            f"    std::optional<{m.type}> {m.name};\n"
            if optional
            else f"    {m.type} {m.name}{{{m.default}}};\n"
            for m in self.members
        ]
        if self.entries and not self.base:
            body.insert(0, "    std::string at;  // its place in the file, before name::...\n")
            if self.entries == "names":
                body.insert(0, "    std::string name;\n")
        return head + "".join(body) + "};\n"

    def reader(self) -> str:
        """void read(const settings& s, ..., STRUCT& into)"""
        at = "const std::string& at, " if self.entries else ""
        lines = [f"void read(const settings& s, {at}{self.name}& into) {{\n"]
        if self.base:
            lines.append(
                f"    read(s, {'at, ' if self.entries else ''}static_cast<{self.base}&>(into));\n"
            )
        for m in self.members:
            path = f"at + name::{name_of(m.key)}" if self.entries else f"name::{name_of(m.key)}"
            lines.append(f"    into.{m.name} = {m.read.format(path)};\n")
        return "".join(lines) + "}\n"


def name_of(key: str) -> str:
    """The constant with its text."""
    return identifier(without_entry(key))


def group_of(key: str) -> str:
    """link.bins -> link; nodes.*.radio -> nodes.*; seed -> none."""
    head, dot, rest = key.partition(".")
    return "" if not dot else f"{head}.*" if rest.startswith("*.") else head


class Code:
    def __init__(self) -> None:
        self.enums: dict[str, Enum] = {}
        self.structs: list[Struct] = []
        self.struct_of: dict[tuple[str, str], Struct] = {}  # struct by process and group
        self.changes: dict[str, Struct] = {}
        keys = {p: table.keys_of(p) for p in PROCESSES}
        self.groups = {p: list(dict.fromkeys(map(group_of, keys[p]))) for p in PROCESSES}
        for group in dict.fromkeys(g for p in PROCESSES for g in self.groups[p] if g):
            self._group(
                group,
                {
                    p: [member(k, p) for k in keys[p] if group_of(k) == group]
                    for p in PROCESSES
                    if group in self.groups[p] and group not in CHANGES.get(p, ())
                },
            )
        for process, groups in CHANGES.items():
            for group in groups:
                members = [member(k, process) for k in keys[process] if group_of(k) == group]
                self._enums(members)
                self.changes[group] = Struct(f"{process}_{group}_change", members)
        self.own = {p: [member(k, p) for k in keys[p] if not group_of(k)] for p in PROCESSES}
        for members in self.own.values():
            self._enums(members)

    def _enums(self, members: list[Member]) -> None:
        for m in members:
            if m.enum and self.enums.setdefault(m.enum.name, m.enum) != m.enum:
                raise ValueError(f"{m.key}: two enums are called {m.enum.name}")

    def _group(self, group: str, members: dict[str, list[Member]]) -> None:
        for these in members.values():
            self._enums(these)
        related: list[list[str]] = []  # processes that have settings in common
        for process, these in members.items():
            with_it = [r for r in related if any(m in members[p] for p in r for m in these)]
            related = [r for r in related if r not in with_it]
            related.append([p for r in with_it for p in r] + [process])
        most = max(map(len, related), default=0)
        for processes in related:
            alone = len(related) > 1 and len(processes) < max(2, most)
            self._struct(group, {p: members[p] for p in processes}, alone)

    def _struct(self, group: str, members: dict[str, list[Member]], alone: bool) -> None:
        """`alone`: other processes have settings of this group, and none of these."""
        entries = "names" if group.endswith(".*") else "list" if group.endswith("[]") else ""
        name = f"{identifier(group.rstrip('.*[]'))}_{'entry' if entries else 'settings'}"
        if alone:
            name = f"{next(iter(members))}_{name}"
        first = next(iter(members.values()))
        common = [m for m in first if all(m in these for these in members.values())]
        if len(members) > 1:
            common = [dataclasses.replace(m, default=general_default(m)) for m in common]
        if common:
            shared = Struct(name, common, entries=entries)
            self.structs.append(shared)
        for process, these in members.items():
            rest = [m for m in these if m not in common]
            if rest:
                own = Struct(f"{process}_{name}", rest, name if common else "", entries)
                self.structs.append(own)
            self.struct_of[process, group] = own if rest else shared

    def configuration(self, process: str) -> str:
        lines = [f"struct {process}_configuration {{\n"]
        for m in self.own[process]:
            lines.append(f"    {m.type} {m.name}{{{m.default}}};\n")
        for group in self._of_file(process):
            struct, name = self.struct_of[process, group], identifier(group.rstrip(".*[]"))
            type_ = f"std::vector<{struct.name}>" if struct.entries else struct.name
            lines.append(f"    {type_} {name};\n")
        return "".join(lines) + "};\n"

    def _of_file(self, process: str) -> list[str]:
        return [g for g in self.groups[process] if g and (process, g) in self.struct_of]

    def header(self) -> str:
        keys = dict.fromkeys(k for p in PROCESSES for k in table.keys_of(p))
        names = "".join(
            f"inline constexpr const char* {name_of(k)} = {text(key_text(k))};\n" for k in keys
        )
        parts = [
            HEAD,
            "#pragma once\n\n#include <array>\n#include <cstdint>\n#include <optional>\n"
            '#include <string>\n#include <string_view>\n#include <vector>\n\n#include "config/typed.h"\n\n'
            "namespace wip::config {\n\n",
            "// The keys, for messages about them. That of an entry stands behind the entry's place.\n"
            f"namespace name {{\n{names}}}  // namespace name\n\n",
            "".join(e.declared() for e in self.enums.values()),
            "\n",
            "\n".join(s.declared() for s in self.structs),
            "\n",
            "\n".join(s.declared(optional=True) for s in self.changes.values()),
            "\n",
            "\n".join(self.configuration(p) for p in PROCESSES),
            "\n// Reads settings that are complete (settings::finish()).\n",
            "".join(f"{p}_configuration read_{p}(const settings& s);\n" for p in PROCESSES),
            "// Reads those that are given below `at`, which is empty or ends in a dot.\n",
            "".join(
                f"{s.name} read_{s.name}(const settings& s, const std::string& at);\n"
                for s in self.changes.values()
            ),
            "\n}  // namespace wip::config\n",
        ]
        return "".join(parts)

    def source(self) -> str:
        parts = [
            HEAD,
            '#include "settings/configuration.h"\n\n#include "config/setting_rules.h"\n\n'
            "namespace wip::config {\nnamespace {\n\n",
            "\n".join(s.reader() for s in self.structs),
            "\n}  // namespace\n",
        ]
        for p in PROCESSES:
            parts.append(
                f"\n{p}_configuration read_{p}(const settings& s) {{\n"
                f"    check_rules(s, rules_of(process::{p}));\n"
                + f"    check_sums(s, sums_of(process::{p}));\n" * bool(rules.sums_of(p))
                + f"    {p}_configuration c;\n"
            )
            for m in self.own[p]:
                parts.append(f"    c.{m.name} = {m.read.format(f'name::{name_of(m.key)}')};\n")
            for group in self._of_file(p):
                struct, plain = self.struct_of[p, group], group.rstrip(".*[]")
                name = identifier(plain)
                parts.append(
                    f"    for (const auto& at : s.entries({text(plain)})) {{\n"
                    f"        auto& e = c.{name}.emplace_back();\n"
                    "        e.at = at;\n"
                    + f"        e.name = at.substr({len(plain) + 1});\n"
                    * (struct.entries == "names")
                    + "        read(s, at, e);\n    }\n"
                    if struct.entries
                    else f"    read(s, c.{name});\n"
                )
            parts.append("    return c;\n}\n")
        for struct in self.changes.values():
            parts.append(
                f"\n{struct.name} read_{struct.name}(const settings& s, const std::string& at) {{\n"
                f"    {struct.name} c;\n"
            )
            for m in struct.members:
                path = f"at + name::{name_of(m.key)}"
                parts.append(f"    if (s.given({path})) c.{m.name} = {m.read.format(path)};\n")
            parts.append("    return c;\n}\n")
        return "".join(parts) + "\n}  // namespace wip::config\n"


def key_text(key: str) -> str:
    """The part of an entry's key after the entry's name: nodes.*.radio -> .radio."""
    for mark in (".*.", "[]."):
        if mark in key:
            return "." + key.partition(mark)[2]
    return key


# --- the rows ---


def kind_name(key: str, views: table.Views) -> str:
    type_ = table.column(key, "type", views)
    if table.column(key, "words", views):
        return "number_or_word"
    return {"integers": "numbers", "reals": "numbers", "impairments": "tree"}.get(type_, type_)


def joined(words: Iterable[str]) -> str:
    return text("|".join(words))


def process_row(key: str, process: str) -> str:
    views = table.views(process)

    def column(name: str) -> Any:
        return table.column(key, name, views)

    type_ = column("type")
    low, _, high = column("range").partition("..")
    columns = [
        f".path = {text(key)}",
        f".type = kind::{kind_name(key, views)}",
        f".fallback = {text(column('default'))}",
        f".doc = {text(column('help'))}",
    ]
    for name in ("unit", "zero", "check", "shown", "live"):
        if column(name):
            columns.append(f".{name} = {text(column(name))}")
    if low:
        columns.append(f".lowest = {number(float(low))}, .highest = {number(float(high))}")
    if column("least") and float(low) == 0:
        columns.append(f".least = {number(float(column('least')))}")
    for name in ("choices", "words"):
        if column(name):
            columns.append(f".{name} = {joined(column(name))}")
    if column("most"):
        columns.append(f".most = {column('most')}")
    if type_ in ("integer", "integers"):
        columns.append(".whole = true")
    if column("required"):
        columns.append(".required = true")
    if column("fixed") and column("fixed") == table.tree()["reasons"].get("format"):
        columns.append(".format = true")
    return f"    {{{', '.join(columns)}}},\n"


def rule_row(r: rules.Rule) -> str:
    def values(texts: rules.Values) -> str:
        return "nullptr" if texts is None else joined(texts)

    columns = (
        text(r.of),
        *map(values, (r.is_, r.is_not)),
        text(r.needs),
        *map(values, (r.to_be, r.not_to_be)),
        text(r.why),
        joined(r.valid),
    )
    return f"    {{{', '.join(columns)}}},\n"


def sum_row(r: rules.Sum) -> str:
    return f"    {{{text(r.of)}, {joined(r.at_least)}, {r.plus}, {text(r.why)}}},\n"


def control_row(r: monitor.Row) -> str:
    words = ", ".join(map(text, r.choices))
    return (
        f"        {{{text(r.group)}, {text(r.label)}, {text(r.station)}, {text(r.key)},"
        f" control_row::kind::{r.kind}, {{{words}}}, {number(r.low)}, {number(r.high)},"
        f" {text(r.unit)}, {text(r.help)}}},\n"
    )


def function(result: str, name: str, values: dict[str, str]) -> str:
    """RESULT NAME(process of): one value for each process."""
    cases = "".join(
        f"        case process::{p}:\n            return {value};\n" for p, value in values.items()
    )
    return f"\n{result} {name}(process of) {{\n    switch (of) {{\n{cases}    }}\n    return {{}};\n}}\n"


def rows() -> str:
    rules_of = {p: rules.rules_of(p) for p in PROCESSES}
    sums_of = {p: rules.sums_of(p) for p in PROCESSES}
    parts = [
        HEAD,
        '#include "config/setting_rules.h"\n#include "config/settings_table.h"\n\n'
        "namespace wip::config {\nnamespace {\n",
    ]
    for p in PROCESSES:
        body = "".join(process_row(key, p) for key in table.keys_of(p))
        parts.append(f"\nconstexpr setting_row {p}_rows[] = {{\n{body}}};\n")
    for p, found in rules_of.items():
        if found:
            body = "".join(map(rule_row, found))
            parts.append(f"\nconstexpr setting_rule {p}_rules[] = {{\n{body}}};\n")
    for p, sums in sums_of.items():
        if sums:
            body = "".join(map(sum_row, sums))
            parts.append(f"\nconstexpr setting_sum {p}_sums[] = {{\n{body}}};\n")
    parts.append("\n}  // namespace\n")
    row_type, rule_type = "std::span<const setting_row>", "std::span<const setting_rule>"
    sum_type = "std::span<const setting_sum>"
    parts.append(function(row_type, "rows_of", {p: f"{p}_rows" for p in PROCESSES}))
    parts.append(
        function(
            rule_type,
            "rules_of",
            {p: f"{rule_type}({p}_rules)" if found else "{}" for p, found in rules_of.items()},
        )
    )
    parts.append(
        function(
            sum_type,
            "sums_of",
            {p: f"{sum_type}({p}_sums)" if found else "{}" for p, found in sums_of.items()},
        )
    )
    controls = "".join(map(control_row, monitor.rows()))
    parts.append(
        "\nconst std::vector<control_row>& controls() {\n"
        f"    static const std::vector<control_row> rows{{\n{controls}    }};\n    return rows;\n}}\n"
    )
    kinds = "".join(
        f"        {{{text(name)}, {text(what.get('short', ''))},"
        f" {{{', '.join(map(text, what['fields']))}}}}},\n"
        for name, what in table.tree()["impairments"].items()
    )
    parts.append(
        "\nconst std::vector<impairment_kind>& impairments() {\n"
        f"    static const std::vector<impairment_kind> kinds{{\n{kinds}    }};\n    return kinds;\n}}\n"
    )
    return "".join(parts) + "\n}  // namespace wip::config\n"


def files() -> dict[str, str]:
    """{name below the folder of generated headers: what is in it}."""
    code = Code()
    return {
        "settings/configuration.h": code.header(),
        "settings/configuration.cpp": code.source(),
        "settings/rows.cpp": rows(),
    }
