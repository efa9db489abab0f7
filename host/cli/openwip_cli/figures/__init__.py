# SPDX-License-Identifier: GPL-3.0-or-later
"""The meaning of the metrics: capacity, sums, verdict, and the words for them. Functions of
messages: no clock, no socket."""
