# SPDX-License-Identifier: GPL-3.0-or-later
"""Views of a running cell or of a record: top, packets, telemetry, metrics, the page."""
