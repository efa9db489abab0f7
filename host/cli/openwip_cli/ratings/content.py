# SPDX-License-Identifier: GPL-3.0-or-later
"""The web pages and the video of a session: made by formulas, the same bytes at every call.

Page A: 2000 bytes of text and a picture of 9000. Page B: 166,000 bytes of text and script and 54
pictures of together 204,000. The video: 90 segments of one second, each in two encodings of 350
and 100 kbit/s; player.js plays them. Each page reports its times to /log, which the door answers
itself (door.py)."""

import functools
import html
import pathlib
import random
import struct

from . import pictures
from .cases import PAGE_A, PAGE_B, VIDEO

HTML, SCRIPT, PNG, SEGMENT = (
    "text/html; charset=utf-8",
    "text/javascript",
    "image/png",
    "video/x-openwip",
)
FOLDER = pathlib.Path(__file__).parent

A_TEXT, A_PICTURE = 2000, 9000  # bytes of a page's text and of a picture
B_TEXT, B_SCRIPT, B_PICTURES, B_PICTURE_BYTES = 146_000, 20_000, 54, 204_000
VIDEO_S = 90
# encoding -> bytes of a segment, pictures in it, width, height
ENCODINGS = {350: (43_750, 12, 320, 180), 100: (12_500, 4, 160, 90)}
SYLLABLES = "ba de fo ga hi jo ka le mi no pa ri so tu va we zi chu sta ple kro".split()

# The times that the browser itself has of a page: the skeleton (text and places of the pictures)
# stands at the end of parsing; the total includes all pictures.
REPORT = (
    "<script>addEventListener('load',()=>setTimeout(()=>{let t="
    "performance.getEntriesByType('navigation')[0];navigator.sendBeacon('/log',JSON.stringify("
    "{initial_s:t.domContentLoadedEventEnd/1e3,total_s:t.loadEventEnd/1e3}))},0))</script>"
)
SKELETON = (
    "<script>addEventListener('DOMContentLoaded',()=>navigator.sendBeacon('/log',"
    "JSON.stringify({initial_s:performance.now()/1e3})))</script>"
)


def text_of(source: random.Random, words: int) -> str:
    """A sentence of words that mean nothing."""
    made = [
        "".join(SYLLABLES[int(source.random() * len(SYLLABLES))] for _ in range(2 + word % 3))
        for word in range(words)
    ]
    return " ".join(made).capitalize() + "."


def filled(head: str, tail: str, size: int, paragraphs: list[str], source: random.Random) -> bytes:
    """A page of exactly `size` bytes: sentences go into the paragraphs in turn."""
    left = size - len(head) - len(tail) - sum(len(p) + len("<p></p>\n") for p in paragraphs)
    share = left // len(paragraphs)
    lines = []
    for number, inside in enumerate(paragraphs):
        room = share if number < len(paragraphs) - 1 else left - share * (len(paragraphs) - 1)
        words = ""
        while len(words) < room:
            words += text_of(source, 9) + " "
        lines.append(f"<p>{inside}{html.escape(words[:room])}</p>\n")
    page = (head + "".join(lines) + tail).encode()
    assert len(page) == size
    return page


def image(name: str, width: int, data: bytes) -> str:
    _, height = struct.unpack(">II", data[16:24])
    return f'<img src="{name}" width="{width}" height="{height}" alt="">'


HEAD = '<!DOCTYPE html><meta charset="utf-8"><title>{title}</title><link rel="icon" href="data:,">'


@functools.cache
def page_a() -> dict[str, tuple[str, bytes]]:
    picture = pictures.still(A_PICTURE, 1, 240)
    head = (
        HEAD.format(title="Search")
        + "<style>body{font:15px sans-serif;text-align:center;margin:3em 8em}</style>"
        + SKELETON
        + REPORT
        + image("a.png", 240, picture)
        + '<p><input size="40"> <button>Search</button></p>\n'
    )
    page = filled(head, "", A_TEXT, [""] * 2, random.Random(1))
    return {"page-a.html": (HTML, page), "a.png": (PNG, picture)}


def sizes_of_pictures() -> list[int]:
    """54 sizes between some 1.9 and 5.7 kB that come to 204,000 bytes."""
    shares = [1 + n * 17 % B_PICTURES / 26.5 for n in range(B_PICTURES)]
    sizes = [int(B_PICTURE_BYTES * share / sum(shares)) for share in shares]
    return [*sizes[:-1], B_PICTURE_BYTES - sum(sizes[:-1])]


@functools.cache
def page_b() -> dict[str, tuple[str, bytes]]:
    stills = [pictures.still(size, n, 120) for n, size in enumerate(sizes_of_pictures())]
    head = (
        HEAD.format(title="Catalogue")
        + "<style>body{font:13px sans-serif;margin:1em}p{display:inline-block;width:30%;"
        "vertical-align:top;height:14em;overflow:hidden;margin:1%}img{display:block}</style>"
        + SKELETON
        + REPORT
        + "<h1>Catalogue</h1>\n"
    )
    tail = '<script async src="b.js"></script>\n'
    shown = [image(f"b{n}.png", 120, data) for n, data in enumerate(stills)]
    page = filled(head, tail, B_TEXT, shown, random.Random(2))
    source = random.Random(3)
    script = "var catalogue = [\n"
    while len(script) < B_SCRIPT - 200:
        script += f'  "{text_of(source, 8)}",\n'
    script = script + '"' + "x" * (B_SCRIPT - len(script) - 4) + '"];'
    return {
        "page-b.html": (HTML, page),
        "b.js": (SCRIPT, script.encode()),
        **{f"b{n}.png": (PNG, data) for n, data in enumerate(stills)},
    }


@functools.lru_cache(maxsize=VIDEO_S * len(ENCODINGS))
def segment(kbps: int, second: int) -> bytes:
    """A second of the video: the number of pictures, the size of each (32 bits, most significant
    byte first), the pictures, and nothing up to the exact size."""
    size, count, width, height = ENCODINGS[kbps]
    each = (size - 4 * (1 + count)) // count
    shown = [pictures.frame(second + n / count, width, height, each) for n in range(count)]
    return struct.pack(f">{1 + count}I", count, *map(len, shown)).ljust(4 * (1 + count)) + b"".join(
        shown
    ).ljust(size - 4 * (1 + count), b"\0")


def make_video() -> None:
    """Makes all segments of the video, so that no run waits for the making."""
    for kbps in ENCODINGS:
        for second in range(VIDEO_S):
            segment(kbps, second)


def video_page() -> dict[str, tuple[str, bytes]]:
    return {
        "video.html": (HTML, (FOLDER / "player.html").read_bytes()),
        "player.js": (SCRIPT, (FOLDER / "player.js").read_bytes()),
    }


def find(path: str) -> tuple[str, bytes] | None:
    """(type, content) at a path of the content server; None: there is nothing."""
    name = path.lstrip("/").partition("?")[0]
    for files in (page_a(), page_b(), video_page()):
        if name in files:
            return files[name]
    kind, _, rest = name.partition("/")
    if kind == "segment":
        kbps, _, second = rest.partition("/")
        if kbps.isdecimal() and second.isdecimal():
            if int(kbps) in ENCODINGS and int(second) < VIDEO_S:
                return SEGMENT, segment(int(kbps), int(second))
    return None


FIRST = {PAGE_A: "page-a.html", PAGE_B: "page-b.html", VIDEO: "video.html"}
