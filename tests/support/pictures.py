# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures as numbers: 0xRRGGBB of every pixel, rows x columns."""

import numpy
from matplotlib import image


def load(path):
    rgb = numpy.round(image.imread(path)[:, :, :3] * 255).astype("u4")
    return rgb[:, :, 0] << 16 | rgb[:, :, 1] << 8 | rgb[:, :, 2]


def save(pixels, path):
    image.imsave(
        path, numpy.stack([pixels >> 16, pixels >> 8 & 255, pixels & 255], axis=2).astype("u1")
    )
