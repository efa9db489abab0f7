# SPDX-License-Identifier: GPL-3.0-or-later
"""The reference of the core's C++ API: pages of Doxygen, made from the headers that an installation
has for find_package(openwip), and a page of the site that leads to them."""

import pathlib
import re
import shutil
import subprocess

import doxygen_comments

EXTENSION = "mac/port/include/openwip/extension.h"
ROOMS = {
    "blocks/types": "Vocabulary: grid, frames, grants, quantities",
    "blocks/phy": "Transmitter and receiver",
    "mac/port": "Interfaces of links and of rules of one's own",
    "mac/wire": "Wired links",
    "mac/queue": "Queues and their disciplines",
    "mac/rlc": "UMTS RLC",
    "mac/journal": "Ways and delays of packets",
    "mac/link": "MAC of the OFDM link: scheduler, adaptation, ARQ",
    "mac/uplink": "MAC of an uplink by radio, of both ends",
    "mac/calendar": "Events in order of time",
    "mac/relay": "Relays: TCP-L, delay injection, Snoop",
    "mac/umts": "UMTS bearers",
    "mac/wlan": "802.11b",
    "mac/handover": "Handovers between networks",
    "channels/yaml": "Channel definitions as text",
    "channels/sample": "Channel models of samples",
    "channels/mix": "Mixing of several radios",
    "channels/bin": "Channel models of bins",
    "channels/packet": "Links and channels of packets",
    "channels/profiles": "Channel definitions",
    "channels/cell": "Emulated cells",
    "channels/cells": "WCDMA cells",
    "channels/fader": "Faders between radios",
}
SETTINGS = {
    "PROJECT_NAME": "OpenWIP",
    "PROJECT_BRIEF": '"core: receiver, MAC and channel models"',
    "RECURSIVE": "YES",
    "EXTRACT_ALL": "YES",
    "EXTRACT_STATIC": "YES",
    "EXTRACT_PRIVATE": "NO",
    "EXTRACT_ANON_NSPACES": "NO",
    "JAVADOC_AUTOBRIEF": "YES",
    "MARKDOWN_SUPPORT": "YES",
    "AUTOLINK_SUPPORT": "YES",
    "WARN_IF_UNDOCUMENTED": "NO",
    "WARN_IF_INCOMPLETE_DOC": "NO",
    "WARN_NO_PARAMDOC": "NO",
    "GENERATE_LATEX": "NO",
    "GENERATE_HTML": "YES",
    "GENERATE_TREEVIEW": "YES",
    "DISABLE_INDEX": "NO",
    "HTML_TIMESTAMP": "NO",
    "HAVE_DOT": "NO",
    "CLASS_GRAPH": "NO",
    "ENABLE_PREPROCESSING": "YES",
    "MACRO_EXPANSION": "YES",
    "EXPAND_ONLY_PREDEF": "YES",
    "PREDEFINED": "__attribute__(x)= __cplusplus=202002L WIP_API=",
    "SHOW_INCLUDE_FILES": "NO",
    "VERBATIM_HEADERS": "NO",
    "NUM_PROC_THREADS": "2",
    "QUIET": "YES",
    "WARNINGS": "YES",
}


def folders(top: pathlib.Path) -> list[str]:
    """The folders whose headers are installed."""
    text = (top / "cmake/core_headers.txt").read_text()
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def headers(top: pathlib.Path) -> list[tuple[str, pathlib.Path]]:
    """Each installed header: the path that an include directive has, and the file."""
    found = []
    for folder in folders(top):
        for path in sorted((top / folder).rglob("*.h")):
            if "include" not in path.relative_to(top / folder).parts:
                room = pathlib.Path(folder).name
                found.append((f"{room}/{path.relative_to(top / folder)}", path))
    return [*found, ("openwip/extension.h", top / EXTENSION)]


def first_sentence(header: str) -> str:
    """The first sentence of the comment at the head of a file."""
    lines = []
    for line in header.splitlines()[1:]:
        found = re.match(r"(?://|/\*| \*) ?(.*)$", line)
        if not found or not found[1].strip():
            break
        lines.append(found[1].strip())
    text = " ".join(lines)
    return re.split(r"(?<=[.])\s", text)[0].rstrip(":")


def doxygen_version() -> str:
    """Empty: Doxygen is not installed."""
    if not shutil.which("doxygen"):
        return ""
    done = subprocess.run(["doxygen", "--version"], capture_output=True, text=True, check=True)
    return done.stdout.split()[0]


def make(top: pathlib.Path, folder: pathlib.Path, version: str) -> list[str]:
    """Writes the pages of Doxygen into folder/extra/cpp, and returns its warnings."""
    shutil.rmtree(folder, ignore_errors=True)
    source = folder / "headers"
    for include, path in headers(top):
        copy = source / include
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(doxygen_comments.converted(path.read_text()))
    settings = SETTINGS | {
        "PROJECT_NUMBER": version,
        "INPUT": str(source),
        "STRIP_FROM_PATH": str(source),
        "STRIP_FROM_INC_PATH": str(source),
        "OUTPUT_DIRECTORY": str(folder / "extra"),
        "HTML_OUTPUT": "cpp",
        "FULL_PATH_NAMES": "YES",
        "GENERATE_TAGFILE": str(folder / "tags.xml"),
    }
    (folder / "extra").mkdir()
    (folder / "Doxyfile").write_text("".join(f"{k} = {v}\n" for k, v in settings.items()))
    done = subprocess.run(
        ["doxygen", folder / "Doxyfile"], stderr=subprocess.PIPE, text=True, check=True
    )
    return done.stderr.splitlines()


def pages_of_headers(folder: pathlib.Path) -> dict[str, str]:
    """The page of each header, as Doxygen's file of tags has it: include path -> file of HTML."""
    tags = (folder / "tags.xml").read_text()
    found = {}
    for entry in re.findall(r'<compound kind="file">(.*?)</compound>', tags, re.S):
        name = re.search(r"<name>(.*?)</name>", entry)
        path = re.search(r"<path>(.*?)</path>", entry)
        file = re.search(r"<filename>(.*?)</filename>", entry)
        if name and file:
            html = file[1] if file[1].endswith(".html") else file[1] + ".html"
            whole = (path[1] if path else "") + name[1]
            found[whole.removeprefix(f"{folder / 'headers'}/")] = html
    return found


def markdown(top: pathlib.Path, pages: dict[str, str]) -> str:
    """The page of the site; `pages` is empty where there is no Doxygen."""
    page = [
        "# C++ API of the core",
        "",
        "The core is the receiver, the MAC and the channel models, without GNU Radio, UHD and Qt.",
        "An installation has these headers under `include/openwip`, and the CMake target"
        " `openwip::core`.",
        "How another project uses them:"
        " [installing](../how-to/installing.md#the-core-in-another-project).",
        "A rule of one's own in a shared library needs `openwip/extension.h` alone:"
        " [extend](../how-to/extend.md).",
        "",
    ]
    if pages:
        page += [
            "Each header has a page, made by Doxygen from its comments when this site is built;"
            " it lists classes, functions and constants.",
            'The whole: <a href="../cpp/annotated.html">all classes</a>,'
            ' <a href="../cpp/files.html">all headers</a>,'
            ' <a href="../cpp/globals.html">all functions and constants</a>.',
        ]
    else:
        page += [
            "**This site was built where Doxygen is not installed**, so the pages of the single"
            " headers are missing.",
            "On Debian and Ubuntu: `apt-get install doxygen`, then `docs/site` again.",
        ]
    room = None
    for include, path in headers(top):
        own = str(path.relative_to(top))
        folder = next((f for f in ROOMS if own.startswith(f + "/")), own)
        title = "For libraries of a user's own" if own == EXTENSION else ROOMS[folder]
        if title != room:
            room = title
            page += ["", f"## {title}", "", "| header | content |", "|---|---|"]
        says = re.sub(r"([|<*\\_])", r"\\\1", first_sentence(path.read_text()))
        name = f"`{include}`"
        if include in pages:
            name = f'<a href="../cpp/{pages[include]}"><code>{include}</code></a>'
        page.append(f"| {name} | {says} |")
    return "\n".join([*page, ""])
