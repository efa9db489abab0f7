# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip experiment: the experiments of the literature on the emulator
(docs/how-to/experiments.md)."""
