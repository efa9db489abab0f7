# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of a run: names, ranges, the scenario file, the command line; what of them can
change in a running cell."""
