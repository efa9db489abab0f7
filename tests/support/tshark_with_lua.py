# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of a tshark that loads Lua scripts, whoever runs the tests."""

import os

# Wireshark 4.4 loads no Lua script for root, and says nothing. As nobody it does; the right to read
# root's files stays. (A user namespace would do it too, but is refused in a chroot and in most
# containers.)
AS_NOBODY = [
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "--inh-caps=+dac_override",
    "--ambient-caps=+dac_override",
]
TSHARK = [*(AS_NOBODY if os.geteuid() == 0 else []), "tshark"]
