# SPDX-License-Identifier: GPL-3.0-or-later
"""A cell on this machine: names, run folder, processes, keeper, and who may reach it."""
