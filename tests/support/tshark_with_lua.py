# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of a tshark that loads Lua scripts, also for root."""

import functools
import os
import shutil
import subprocess

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
# Wireshark 4.4's dissector of iPerf3 reports a bug of its own at some packets of every stream.
FAULTY = "iperf3"


@functools.cache
def _without_faulty():
    if shutil.which("tshark") is None:
        return []
    known = subprocess.run(["tshark", "-G", "protocols"], capture_output=True, text=True).stdout
    # Long name, short name, name of the filter; 4.4 adds more.
    names = {name for line in known.splitlines() for name in line.split("\t")[2:3]}
    return ["--disable-protocol", FAULTY] if FAULTY in names else []


TSHARK = [*(AS_NOBODY if os.geteuid() == 0 else []), "tshark", *_without_faulty()]
