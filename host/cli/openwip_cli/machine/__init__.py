# SPDX-License-Identifier: GPL-3.0-or-later
"""What the operating system gives: processes and namespaces, rights, files that can be believed,
cores, what a slot costs. Knows no cell."""
