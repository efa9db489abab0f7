# SPDX-License-Identifier: GPL-3.0-or-later
"""Precompiled headers (cmake/openwip_compile.cmake) would hide a missing #include: every file that
uses a name of one of those headers includes it, itself or through a header of this tree."""

import functools
import pathlib
import re
import unittest

TOP = pathlib.Path(__file__).resolve().parents[3]
ROOTS = [
    TOP / d
    for d in (
        "blocks",
        "mac",
        "channels",
        "host",
        "firmware",
        "blocks/lib",
        "blocks/include",
        "tests/support",
        "tests/sim",
    )
]
FOLDERS = ("blocks", "mac", "channels", "host", "firmware", "tests")

# Header -> names that come from nowhere else. Names that many headers bring along (std::move,
# std::min) are left out.
NAMES = {
    "algorithm": (
        r"std::(?:ranges::)?(?:sort|stable_sort|nth_element|find|find_if|find_if_not|any_of|all_of|none_of|fill|fill_n|"
        r"copy|copy_n|copy_if|count_if|transform|reverse|rotate|max_element|min_element|minmax_element|clamp|"
        r"lower_bound|upper_bound|is_sorted|remove_if|generate|shuffle)\("
    ),
    "array": r"std::array<",
    "cmath": (
        r"std::(?:sqrt|cos|sin|tan|atan2?|exp2?|log|log10|log2|log1p|expm1|pow|floor|ceil|round|lround|llround|hypot|isfinite|"
        r"isnan|fmod|remainder|erfc?|ldexp|frexp)\("
    ),
    "complex": r"std::complex<|std::polar\(",
    "cstdint": r"std::u?int(?:_least|_fast)?(?:8|16|32|64)_t",
    "cstring": r"std::(?:memcpy|memset|memcmp|memmove|strlen|strcmp|strerror)\(",
    "functional": r"std::function<|std::ref\(|std::hash<",
    "limits": r"std::numeric_limits<",
    "map": r"std::(?:multi)?map<",
    "memory": r"std::(?:unique_ptr|shared_ptr|weak_ptr|make_unique|make_shared)<",
    "numbers": r"std::numbers::",
    "optional": r"std::optional<|std::nullopt",
    "span": r"std::span[<(]",
    "stdexcept": (
        r"std::(?:runtime_error|invalid_argument|logic_error|out_of_range|domain_error|length_error)\b"
    ),
    "string": r"std::(?:string\b|to_string\(|stoi\(|stod\()",
    "string_view": r"std::string_view\b",
    "utility": r"std::(?:exchange|pair<|make_pair|as_const|index_sequence)",
    "vector": r"std::vector<",
    "gtest/gtest.h": r"^TEST(?:_[FP])?\(",
    "CLI/CLI.hpp": r"\bCLI::(?!App\b)|\.add_(?:option|flag)\(",
    "zmq.hpp": r"\bzmq::(?!dummy)",
    "spdlog/spdlog.h": r"\bspdlog::(?:info|warn|error|debug)\(",
    "gnuradio/io_signature.h": r"\bio_signature::make",
}
# A header of a library that brings another along, by its own documentation or because it is about
# nothing else.
BRINGS = {
    "string": {"string_view"},
    "zmq.hpp": {"string"},
    "map": {"utility"},
    "gtest/gtest.h": {"cstdint", "limits", "memory", "stdexcept", "string", "utility", "vector"},
}
INCLUDE = re.compile(r'^\s*#include\s+([<"])([^>"]+)[>"]', re.M)


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", "", text, flags=re.S)


@functools.cache
def included(path):
    """Headers of libraries that a file includes, itself and through headers of this tree."""
    found = set()
    for _bracket, name in INCLUDE.findall(path.read_text()):
        own = next(
            (c for c in [path.parent / name] + [r / name for r in ROOTS] if c.is_file()), None
        )
        if own is not None:
            found |= included(own.resolve())
        else:
            found |= {name} | BRINGS.get(name, set())
    return found


def sources():
    for folder in FOLDERS:
        for path in sorted((TOP / folder).rglob("*")):
            if path.suffix in (".h", ".cpp", ".cc") and path.is_file():
                yield path


class Includes(unittest.TestCase):
    def test_every_precompiled_header_has_its_names_here(self):
        text = (TOP / "cmake/openwip_compile.cmake").read_text()
        headers = set(re.findall(r"<([\w/.]+)>", text))
        self.assertGreater(len(headers), 20)
        self.assertEqual(
            sorted(
                h
                for h in headers
                if not h.startswith("schema/")
                and h not in NAMES
                and h not in ("gnuradio/sync_block.h", "pmt/pmt.h")
            ),
            [],
        )

    def test_what_is_used_is_included(self):
        wrong, seen = [], 0
        for path in sources():
            text = without_comments(path.read_text())
            has = included(path.resolve())
            for header, names in NAMES.items():
                used = re.search(names, text, re.M)
                if used:
                    seen += 1
                    if header not in has:
                        wrong.append(
                            f"{path.relative_to(TOP)} uses {used.group().strip('(<')} without"
                            f" <{header}>"
                        )
        self.assertGreater(seen, 1000)
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
