# SPDX-License-Identifier: GPL-3.0-or-later
"""python -I -B host/cli COMMAND ...: as python -m openwip_cli, but with no module of the folder
where it is called (a yaml.py, a signal.py), and with nothing of the caller's environment. A Ctrl-C
ends it at any moment without a traceback: until the command itself runs there is nothing to clean
up. ./openwip has it wait (env --block-signal) until the handler is there."""

import os
import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

import runpy

runpy.run_module("openwip_cli", run_name="__main__", alter_sys=True)
