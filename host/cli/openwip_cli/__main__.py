# SPDX-License-Identifier: GPL-3.0-or-later
"""python -m openwip_cli COMMAND ...; ./openwip sets the environment and calls it."""

import contextlib
import errno
import importlib
import io
import os
import signal
import sys
import traceback
from typing import Any

from .errors import (
    BAD_INPUT,
    INTERRUPTED,
    INVALID,
    NOT_WRITTEN,
    BadInput,
    Stop,
    catch,
    describe_fault,
    describe_os_error,
)
from .machine import faults
from .machine import places as whereabouts

# command -> module, and its function (arguments, places) -> exit code, where that is not `main`.
# Only the module of the command is imported: before anything is built there are no messages, and a
# view needs no plots.
COMMANDS = {
    "check": "check",
    "demo": "runs.demo",
    "emulate": "runs.emulate_command",
    "experiment": "campaign.command",
    "campaign": "campaign.command:campaign",
    "experiment-run": "campaign.one_run",
    "station": "runs.station",
    "tcp-l": "runs.tcpl",
    "validate": "runs.validate",
    "lab": "lab.command",
    "ratings": "ratings.command",
    "top": "views.top",
    "telemetry": "views.telemetry_lines",
    "packets": "views.packets",
    "metrics": "views.metrics",
    "record": "records.record",
    "report": "views.run_report.page",
    "capture": "capture.capture",
    "extcap": "capture.extcap",
    "iq": "iq.command",
    "channel": "channel.command",
    "keys": "cell.remote:keys_main",
    "set": "commands.settings_command:set_main",
    "get": "commands.settings_command:get_main",
    "bridge": "commands.bridge",
    "attenuator": "commands.attenuator",
    "doctor": "commands.doctor",
    "radio": "commands.radio",
    "down": "commands.commands:down",
    "status": "commands.commands:status",
    "exec": "commands.commands:execute",
    "bench": "commands.commands:bench",
    "switch-table": "commands.commands:switch_table",
    "fader": "commands.fader",
    "curves": "commands.commands:curves",
    # Started by others of this package.
    "command-lines": "command_lines",
    "supervise": "runs.supervise",
    "read-record": "records.contents_process",
    "read-arrays": "channel.arrays_process",
    "judge": "measure.verdict_monitor",
    "forward": "cell.remote",
    "replay-radio": "runs.replay_radio",
    "cable-attenuator": "runs.cable_attenuator",
}

# The command was given a file or folder that this user may not use, or that does not fit. Any other
# OSError is the machine's.
GIVEN = (
    errno.EACCES,
    errno.EPERM,
    errno.ENOENT,
    errno.EISDIR,
    errno.ENOTDIR,
    errno.ENAMETOOLONG,
    errno.ELOOP,
)


def find(command: str) -> Any:
    if command not in COMMANDS:
        raise BadInput(f"unknown command {command}; valid: those that ./openwip help lists")
    return load(COMMANDS[command])


def load(place: str) -> Any:
    """The function at MODULE[:FUNCTION] of this package."""
    module, _, function = place.partition(":")
    try:
        return getattr(importlib.import_module(f".{module}", __package__), function or "main")
    except ImportError as e:
        if e.name == "openwip_schema":
            whereabouts.default().check_built("python/openwip_schema/control_pb2.py")
        raise


def main() -> int:
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # names that are not UTF-8
        faults.threads_in_one_line("openwip")
        catch((signal.SIGTERM, signal.SIGHUP))  # so that programs and temporary files are removed
        command, *arguments = sys.argv[1:] or [""]
        function = find(command)
        # host/cli/__main__.py ends at once what has not begun
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return int(function(arguments, whereabouts.default()) or 0)
    except Stop as e:
        print(f"openwip: {e}", file=sys.stderr)
        for name, words in getattr(e, "last_words", ()):
            print(f"  {name}: {words}", file=sys.stderr)
        return e.code
    except OSError as e:
        return of_os_error(e)
    except SystemExit as e:  # --help
        return int(e.code or 0)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as e:
        if os.environ.get("OPENWIP_TRACEBACK"):
            traceback.print_exc()
        print(f"openwip: {describe_fault(e)}", file=sys.stderr)
        return INVALID


def of_os_error(e: OSError) -> int:
    """Prints an unexpected error of the operating system in one line and returns the exit code.
    With OPENWIP_TRACEBACK in the environment a developer sees where it came from."""
    if os.environ.get("OPENWIP_TRACEBACK"):
        traceback.print_exc()
    if isinstance(e, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return INVALID
    if isinstance(e, FileNotFoundError) and e.filename is None:  # raised by os.getcwd()
        print(
            "openwip: the current folder was removed; valid: absolute paths, or another folder",
            file=sys.stderr,
        )
        return BAD_INPUT
    if e.filename is None and e.errno is not None and e.errno == output_fails():
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        print(
            f"openwip: standard output: cannot be written: {describe_os_error(e)}", file=sys.stderr
        )
        return NOT_WRITTEN
    print(f"openwip: this machine cannot: {describe_os_error(e)}", file=sys.stderr)
    return BAD_INPUT if e.errno in GIVEN else INVALID


def output_fails() -> int | None:
    """The errno with which standard output refuses; what it refused is still in its buffer."""
    try:
        sys.stdout.flush()
        os.write(1, b"")  # where it has no buffer
    except OSError as e:
        return e.errno
    except ValueError:  # it is closed
        pass
    return None


def end(status: int) -> None:
    """Ends the process: a socket that a signal left open must not keep it, and an output that cannot
    be written must not cause a traceback."""
    try:
        sys.stdout.flush()
    except OSError as e:
        status = of_os_error(e)
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    try:
        whereabouts.own_environment()
        end(main())
    except KeyboardInterrupt:  # Ctrl-C between the end of the command and that of the process
        os._exit(INTERRUPTED)
