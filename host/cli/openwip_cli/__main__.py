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
            from . import emulate, scenario, session, system
            which, *rest = arguments
            if which == "experiment":
                from .experiments import command as experiment
                experiment.parse(rest, top, build)
                return 0
            options = (emulate.parse if which == "emulate" else scenario.parse_demo)(rest)
            session.check_output(options.json)
            if not getattr(options, "generator", False):
                system.require_root()
            return 0
        if command == "demo":
            from . import demo, scenario
            options = scenario.parse_demo(arguments)
            if options.replay_iq:
                from .iq import replay_cell
                return replay_cell.main(options, top, build, python)
            return demo.main(options, top, build, python)
        if command == "emulate":
            from . import emulate
            return emulate.main(emulate.parse(arguments), top, build, python)
        if command == "experiment":
            from .experiments import command as experiment
            return experiment.main(arguments, top, build)
        if command == "top":
            from . import top
            return top.main(arguments)
        if command == "judge":      # started by demo and emulate
            from . import judge
            return judge.main(arguments)
        if command == "replay-radio":      # a process of demo --replay-iq
            from .iq import replay_radio
            return replay_radio.main(arguments)
        if command == "tcp-l":
            from . import tcpl
            return tcpl.main(arguments, top, build, python)
        if command == "tcp-l-worker":
            from . import tcpl
            return tcpl.worker(arguments)
        if command == "record":
            from . import record
            return record.main(arguments, top, build, python)
        if command == "telemetry":
            from . import telemetry_lines
            return telemetry_lines.main(arguments)
        if command == "report":
            from .run_report import page
            return page.main(arguments)
        if command == "packets":
            from . import packets
            return packets.main(arguments)
        if command == "metrics":
            from . import metrics
            return metrics.main(arguments)
        if command in ("set", "get"):
            from . import settings_command
            return settings_command.main(command, arguments)
        if command == "keys":
            from . import remote
            return remote.keys_main(arguments)
        if command == "forward":    # a process of a cell (--listen)
            from . import remote
            return remote.main(arguments)
        if command == "validate":
            from . import validate
            return validate.main(arguments, top, build, python)
        if command == "capture":
            from . import capture
            return capture.main(arguments, top, build)
        if command == "extcap":
            from . import extcap
            return extcap.main(arguments)
        from . import commands
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
