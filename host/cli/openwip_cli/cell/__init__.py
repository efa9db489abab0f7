# SPDX-License-Identifier: GPL-3.0-or-later
"""A cell on this machine: names, run folder, processes, supervisor, and who may reach it."""
