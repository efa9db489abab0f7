#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How large the tree is: lines of code, words of pages (docs/develop.md). Prints them."""
import pathlib
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[3]
PRODUCT = ("blocks/", "mac/", "channels/", "host/", "flowgraphs/", "firmware/", "cmake/", "openwip")
# Written by hand. Flowgraphs of GNU Radio Companion are its own files, and third_party is somebody else's.
CODE = {".h", ".hpp", ".cpp", ".cc", ".c", ".py", ".proto", ".lua", ".sh", ".cmake", ".yaml", ".yml", ".j2", ".in"}


def tracked():
    """Of the tree, with what is about to be; None: this is no checkout."""
    listed = subprocess.run(["git", "-C", TOP, "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True)
    return None if listed.returncode else sorted({name for name in listed.stdout.split("\n") if name and (TOP / name).is_file()})


def is_code(name):
    path = pathlib.Path(name)
    return "third_party" not in path.parts and (path.suffix in CODE or path.name in ("CMakeLists.txt", "Snakefile") or (TOP / name).read_bytes()[:2] == b"#!")


def lines():
    """file -> lines, of product and tests"""
    return {name: (TOP / name).read_bytes().count(b"\n") for name in tracked() if name.startswith((*PRODUCT, "tests/", "CMake")) and is_code(name)}


def words():
    """page -> words"""
    return {name: len((TOP / name).read_text().split()) for name in tracked()
            if name == "README.md" or name.startswith("docs/") and name.endswith(".md")}


def sums():
    of = lines()
    return {"product": sum(n for name, n in of.items() if not name.startswith("tests/")),
            "host/cli": sum(n for name, n in of.items() if name.startswith("host/cli/")),
            "tests": sum(n for name, n in of.items() if name.startswith("tests/")),
            "words": sum(words().values())}


if __name__ == "__main__":
    for what, many in sums().items():
        print(f"{what:10}{many:8,}")
    print("longest files:", ", ".join(f"{name} {n}" for name, n in sorted(lines().items(), key=lambda one: -one[1])[:5]))
    print("longest pages:", ", ".join(f"{name} {n}" for name, n in sorted(words().items(), key=lambda one: -one[1])[:5]))
