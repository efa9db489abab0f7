# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip iq: samples of a cell as SigMF recordings, and their way back through the receiver."""
