# SPDX-License-Identifier: GPL-3.0-or-later
"""The services of the operating system: processes and namespaces, rights, files that can be
trusted, cores, the cost of a slot. Knows no cell."""
