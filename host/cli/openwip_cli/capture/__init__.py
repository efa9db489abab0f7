# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip capture and extcap: IP and link frames for Wireshark."""
