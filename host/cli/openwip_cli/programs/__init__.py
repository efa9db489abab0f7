# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that run inside a namespace as its applications. Each needs nothing but Python and
imports nothing of this tree."""
