# SPDX-License-Identifier: GPL-3.0-or-later
"""What the processes of a cell say and can be asked: telemetry (PUB), control (REP), link
frames."""
