# SPDX-License-Identifier: GPL-3.0-or-later
"""PNG pictures of our own, made of formulas: the same pixels, and the same number of bytes, on every
machine."""

import functools
import math
import struct
import zlib
from collections.abc import Callable, Sequence

import numpy as np

Colour = tuple[int, int, int]
SIGNATURE = b"\x89PNG\r\n\x1a\n"
OVERHEAD = 12  # bytes of a chunk besides its content
PADDING = b"paDd"  # type of a private chunk, which readers of PNG ignore


def chunk(kind: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
    )


def stored(data: bytes) -> bytes:
    """A zlib stream without compression, so that its bytes do not depend on the release of zlib."""
    longest = 65535
    parts = [data[at : at + longest] for at in range(0, len(data), longest)] or [b""]
    blocks = b"".join(
        struct.pack("<BHH", part is parts[-1], len(part), len(part) ^ 0xFFFF) + part
        for part in parts
    )
    return b"\x78\x01" + blocks + struct.pack(">I", zlib.adler32(data))


def packed(pixels: np.ndarray) -> bytes:
    """Rows of 4 bits a pixel, each behind the number of its filter; pixels: height x width (even),
    0..15."""
    rows = (pixels[:, 0::2] << 4 | pixels[:, 1::2]).astype(np.uint8)
    return np.hstack([np.zeros((len(rows), 1), np.uint8), rows]).tobytes()


def picture(
    pixels: np.ndarray, palette: Sequence[Colour], compress: Callable[[bytes], bytes], size: int
) -> bytes:
    """A picture of exactly `size` bytes, not interlaced. ValueError: it does not fit into them."""
    height, width = pixels.shape
    head = (
        SIGNATURE
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 4, 3, 0, 0, 0))
        + chunk(b"PLTE", b"".join(bytes(c) for c in palette))
    )
    tail = chunk(b"IDAT", compress(packed(pixels))) + chunk(b"IEND", b"")
    left = size - len(head) - len(tail)
    if left != 0 and left < OVERHEAD:
        raise ValueError(f"a picture of {width} x {height} pixels does not fit into {size} bytes")
    return head + (chunk(PADDING, bytes(left - OVERHEAD)) if left else b"") + tail


def palette_of(hue: float) -> list[Colour]:
    """16 colours around a hue (0..1), from dark to light."""
    colours = []
    for n in range(16):
        turn = 2 * math.pi * (hue + n / 60)
        light = 40 + 190 * n / 15
        red, green, blue = (light + 25 * math.cos(turn - 2 * math.pi * k / 3) for k in range(3))
        colours.append((int(red), int(green), int(blue)))
    return colours


def still(size: int, seed: int, width: int) -> bytes:
    """A picture of exactly `size` bytes that appears row by row as it arrives, because all its rows
    take the same number of bytes."""
    fixed = (
        len(SIGNATURE) + 4 * OVERHEAD + 13 + 48 + 2 + 4 + 5 + OVERHEAD
    )  # chunks, header, palette, zlib, and room for the padding
    height = (size - fixed) // (1 + width // 2)
    y, x = np.mgrid[0:height, 0:width]
    waves = (
        np.sin(x / (7 + seed % 5) + seed)
        + np.cos(y / (5 + seed % 7) - seed)
        + np.sin((x + y) / (11 + seed % 3))
    )
    pixels = np.clip(np.rint((waves + 3) * 15 / 6), 0, 15).astype(np.uint8)
    return picture(pixels, palette_of(seed * 0.17), stored, size)


SKY, HILL, FIELD, BALL, LINE = 0, 4, 8, 12, 15
SCENE: list[Colour] = [
    *((110 + 12 * n, 170 + 10 * n, 240) for n in range(4)),
    *((70 + 6 * n, 110 + 8 * n, 90) for n in range(4)),
    *((90 + 10 * n, 150 + 12 * n, 60) for n in range(4)),
    (200, 40, 30),
    (235, 90, 60),
    (250, 220, 120),
    (255, 255, 255),
]


@functools.cache
def grid(width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates 0..1 of the columns and of the rows."""
    return (
        np.arange(width, dtype=np.float32)[None, :] / width,
        np.arange(height, dtype=np.float32)[:, None] / height,
    )


def scene(seconds: float, width: int, height: int) -> np.ndarray:
    """A landscape that moves past a bouncing ball, without cuts: pixels 0..15."""
    u, v = grid(width, height)
    far = 0.55 + 0.09 * np.sin(9 * (u + 0.03 * seconds)) + 0.03 * np.sin(23 * (u + 0.03 * seconds))
    near = 0.74 + 0.05 * np.sin(6 * (u + 0.12 * seconds))
    sky = np.broadcast_to(SKY + np.clip(v * 5, 0, 3), (height, width))
    pixels = np.where(v > far, HILL + np.clip((v - far) * 14, 0, 3), sky).astype(np.uint8)
    furrows = ((((u - 0.5) / (v + 0.3) + 0.12 * seconds) * 18).astype(np.int32) & 1).astype(
        np.uint8
    )
    pixels = np.where(v > near, FIELD + furrows + 2 * (v > 0.87).astype(np.uint8), pixels)
    ball_x = 0.5 + 0.38 * math.sin(0.7 * seconds)
    ball_y = 0.80 - 0.45 * abs(math.sin(2.2 * seconds))
    wide = width / height
    pixels[((u - ball_x) * wide) ** 2 + (v - ball_y) ** 2 < 0.09**2] = BALL
    pixels[((u - ball_x + 0.02) * wide) ** 2 + (v - ball_y + 0.03) ** 2 < 0.03**2] = BALL + 2
    pixels[(v > 0.965) & (u < (seconds % 90) / 90)] = LINE
    return pixels.astype(np.uint8)


def frame(seconds: float, width: int, height: int, size: int) -> bytes:
    """A picture of the video, of exactly `size` bytes."""
    return picture(scene(seconds, width, height), SCENE, lambda d: zlib.compress(d, 6), size)
