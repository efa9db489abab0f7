# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher of OpenWIP: starts a cell on this machine, watches it, measures it, ends it."""
