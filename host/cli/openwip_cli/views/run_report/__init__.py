# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip report: a run record as one page (docs/how-to/run-record.md)."""
