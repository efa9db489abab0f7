# SPDX-License-Identifier: GPL-3.0-or-later
"""Traffic in the cell, how the machine held while it ran, and the verdict so far."""
