# SPDX-License-Identifier: GPL-3.0-or-later
"""The messages of the processes of a cell: telemetry (PUB), control (REP), link frames."""
