# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands about cells that are up, settings, benchmarks."""
