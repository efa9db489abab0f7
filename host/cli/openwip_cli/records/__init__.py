# SPDX-License-Identifier: GPL-3.0-or-later
"""Run records: telemetry in HDF5, written while a cell runs, and read."""
