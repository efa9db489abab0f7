# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs from the start of a cell to the verdict: demo, emulate, replay, tcp-l, validate."""
