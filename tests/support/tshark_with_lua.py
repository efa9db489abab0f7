# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of a tshark that loads Lua scripts, whoever runs the tests."""
import os

# Wireshark 4.4 loads no Lua script for root, and says nothing. In a user namespace of its own the same process is nobody, and still
# reads root's files.
TSHARK = [*(["unshare", "--user", "--map-user=65534", "--map-group=65534"] if os.geteuid() == 0 else []), "tshark"]
