# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip lab: worksheets for students (docs/lab), each student with a seed of their own, and the
check of their answers against their own runs."""
