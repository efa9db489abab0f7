# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of the tree, for the tests of its structure."""

import pathlib
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[3]
# Suffixes of files that are written by hand; GNU Radio Companion writes flowgraphs, and third_party
# is somebody else's.
CODE = {
    ".h",
    ".hpp",
    ".cpp",
    ".cc",
    ".c",
    ".py",
    ".proto",
    ".lua",
    ".sh",
    ".cmake",
    ".yaml",
    ".yml",
    ".j2",
    ".in",
    ".patch",
}


def tracked():
    """Names of the files that git tracks or would add; None where this is no checkout."""
    listed = subprocess.run(
        ["git", "-C", TOP, "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
    )
    return (
        None
        if listed.returncode
        else sorted({name for name in listed.stdout.split("\n") if name and (TOP / name).is_file()})
    )


def is_code(name):
    path = pathlib.Path(name)
    return "third_party" not in path.parts and (
        path.suffix in CODE
        or path.name in ("CMakeLists.txt", "Snakefile")
        or (TOP / name).read_bytes()[:2] == b"#!"
    )


def code():
    """Names of the files of code."""
    return [name for name in tracked() if is_code(name)]
