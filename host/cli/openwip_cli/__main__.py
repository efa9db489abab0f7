# SPDX-License-Identifier: GPL-3.0-or-later
"""python -m openwip_cli COMMAND ...; ./openwip sets the environment and calls it."""
import os
import pathlib
import sys

from .errors import BAD_INPUT, BadInput


def main():
    command, *arguments = sys.argv[1:] or [""]
    top = pathlib.Path(os.environ.get("OPENWIP_TOP", pathlib.Path(__file__).resolve().parents[3]))
    build = pathlib.Path(os.environ.get("OPENWIP_BUILD", top / "build"))
    python = os.environ.get("OPENWIP_PYTHON", sys.executable)
    try:
        if command == "check":      # before anything is installed or built
            from .cell import session
            from .machine import system
            from .settings import emulator, scenario
            which, *rest = arguments
            if which == "experiment":
                from .campaign import command as experiment
                experiment.parse(rest, top, build)
                return 0
            options = (emulator.parse if which == "emulate" else scenario.parse_demo)(rest)
            session.check_output(options.json)
            if not getattr(options, "generator", False):
                system.require_root()
            return 0
        if command == "demo":
            from .runs import demo
            from .settings import scenario
            options = scenario.parse_demo(arguments)
            if options.replay_iq:
                from .runs import replay_cell
                return replay_cell.main(options, top, build, python)
            return demo.main(options, top, build, python)
        if command == "emulate":
            from .runs import emulate
            from .settings import emulator
            return emulate.main(emulator.parse(arguments), top, build, python)
        if command == "experiment":
            from .campaign import command as experiment
            return experiment.main(arguments, top, build)
        if command == "top":
            from .views import top
            return top.main(arguments)
        if command == "judge":      # started by demo and emulate
            from .measure import judge
            return judge.main(arguments)
        if command == "replay-radio":      # a process of demo --replay-iq
            from .runs import replay_radio
            return replay_radio.main(arguments)
        if command == "tcp-l":
            from .runs import tcpl
            return tcpl.main(arguments, top, build, python)
        if command == "tcp-l-worker":
            from .runs import tcpl
            return tcpl.worker(arguments)
        if command == "record":
            from .records import record
            return record.main(arguments, top, build, python)
        if command == "telemetry":
            from .views import telemetry_lines
            return telemetry_lines.main(arguments)
        if command == "report":
            from .views.run_report import page
            return page.main(arguments)
        if command == "packets":
            from .views import packets
            return packets.main(arguments)
        if command == "metrics":
            from .views import metrics
            return metrics.main(arguments)
        if command in ("set", "get"):
            from .commands import settings_command
            return settings_command.main(command, arguments)
        if command == "keys":
            from .cell import remote
            return remote.keys_main(arguments)
        if command == "forward":    # a process of a cell (--listen)
            from .cell import remote
            return remote.main(arguments)
        if command == "validate":
            from .runs import validate
            return validate.main(arguments, top, build, python)
        if command == "capture":
            from .capture import capture
            return capture.main(arguments, top, build)
        if command == "extcap":
            from .capture import extcap
            return extcap.main(arguments)
        from .commands import commands
        return commands.run(command, arguments, top, build)
    except BadInput as e:
        print(f"openwip: {e}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except SystemExit as e:     # --help
        return e.code or 0
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)   # a socket that a signal left open must not keep the process
