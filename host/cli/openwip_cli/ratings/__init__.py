# SPDX-License-Identifier: GPL-3.0-or-later
"""Rating studies with people: sessions, pages, log, export and analysis (docs/how-to/ratings.md)."""
