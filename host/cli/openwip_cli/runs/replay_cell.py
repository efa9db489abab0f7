# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip demo --replay-iq FILE: a cell with a terminal and no base station. A recording takes
the place of the radio and of the medium; receiver, macd, telemetry and its readers are those of any
cell. Nothing is transmitted and nothing can be set; the verdict says `replay`, and there is no
goodput.

Terminal's macd writes the packets to its TUN as it would, but the interface has an address of
nobody (RFC 5737), so that no kernel answers packets of another time."""

import contextlib
import datetime
import json
import os
import pathlib
import tempfile
import time
from collections.abc import Callable
from typing import Any

from ..cell import cell as cells
from ..cell import configuration, processes
from ..cell.cell import Cell
from ..cell.process import Process
from ..cell.program_check import check_config
from ..cell.session import OBSERVER, START_TIMEOUT_S, Progress, owned_cell
from ..cell.supervisor import SupervisorClient
from ..errors import BadInput
from ..figures import checks, key_figures, link_counts, meaning, report
from ..figures.facts import Facts
from ..iq import command, recordings
from ..iq import replay as replays
from ..machine import outputs, own_files, rights, system
from ..machine.places import Places, versions
from ..measure.verdict_message import verdict_message
from ..messages import control
from ..messages.telemetry import Publisher
from ..shapes import MacStatus
from . import phases, run
from .options import Options
from .replay_radio import OVER

TUN_ADDRESS = "192.0.2.1/32"
VERDICT_EVERY_S = 1.0
SETTLED_S = 5.0  # seconds until macd has taken the last report
SILENCE_S = 60  # macd's limit for a silent flowgraph, which waits at the end of the recording
LAST_WORDS_S = 0.3  # seconds for telemetry on its way


def macd_tree(cell: Cell, recording: recordings.Recording) -> dict[str, Any]:
    """The configuration of the terminal. It takes the recorded cell's link, if the recording knows
    it."""
    link = dict(recording.whole.get("openwip:link", {}))
    receiver = recording.whole["openwip:receiver"]
    link.update(combining=receiver["combining"], tcp_l=False)  # no TCP runs over a replay
    endpoints = {
        "slot_link": cell.line("terminal.slot"),
        "uplink": cell.line("uplink"),
        "control": cell.endpoint("terminal.control"),
        "telemetry": cell.endpoint("terminal.telemetry"),
    }
    return {
        "role": "terminal",
        "name": cell.name,
        "replay": True,
        "link": link,
        "phy": {"predictor": receiver.get("predictor", "delay")},
        "tun": {"name": "wip0", "address": TUN_ADDRESS},
        "endpoints": endpoints,
        "user": system.account()[0],
        "peer_timeout_s": SILENCE_S,
    }


def start_ns(recording: recordings.Recording) -> int | None:
    """Wall clock of sample time 0 when it was recorded; None: not known."""
    for first in recording.captures[:1]:
        with contextlib.suppress(KeyError, ValueError):
            at = datetime.datetime.fromisoformat(
                first["core:datetime"].replace("Z", "+00:00")
            ).timestamp()
            return round(at * 1e9) - first["core:global_index"] * 10**9 // recordings.SAMPLE_RATE
    return None


def facts_of(recording: recordings.Recording) -> Facts:
    return Facts(replayed=pathlib.Path(recording.data_path).name)


class Replay(phases.Run):
    """The processes of the cell, and how far they are. `reports`: where the receiver's go."""

    terminal_at_the_end: MacStatus | None

    def __init__(
        self,
        cell: Cell,
        supervisor: SupervisorClient,
        recording: recordings.Recording,
        speed: float,
        places: Places,
        reports: str,
        progress: Callable[[str], None],
    ) -> None:
        super().__init__()
        self.reports, self.progress = reports, progress
        self.cell, self.supervisor, self.recording, self.speed = cell, supervisor, recording, speed
        self.places = places
        self.terminal = control.Control(cell.endpoint("terminal.control"))
        self.published_at = 0.0
        self.publisher: Publisher | None = None
        self.began = 0.0

    def status(self) -> MacStatus | None:
        with contextlib.suppress(control.NoAnswer):
            return self.terminal.status(0.5)
        return None

    def start(self) -> None:
        cell, run = self.cell, {"OPENWIP_RUN": str(self.cell.run)}
        path = configuration.write_config(cell, "terminal", macd_tree(cell, self.recording))
        before = os.umask(0o007)  # readable for the account's group
        self.publisher = Publisher(cell.endpoint("keeper.telemetry"), ["verdict"])
        os.umask(before)
        self.supervisor.start(
            Process(
                "terminal.macd",
                [self.places.program(processes.MACD), "--config", path],
                run,
                cell.namespace("terminal"),
            )
        )
        if not self.supervisor.wait_until(lambda: self.status() is not None, START_TIMEOUT_S):
            self.supervisor.blame("terminal.macd does not answer on its control socket")
        self.supervisor.start(
            Process(
                "observer",
                [
                    self.places.program(OBSERVER),
                    "--set",
                    f"stations=terminal={cell.namespace('terminal')}",
                    "--set",
                    f"slots={cell.endpoint('terminal.telemetry')}",
                    "--set",
                    "medium=",
                ],
                run,
                essential=False,
            )
        )
        self.supervisor.start(
            Process(
                "terminal.radio",
                self.places.module(
                    "replay-radio",
                    cell.name,
                    pathlib.Path(self.recording.base).absolute(),
                    repr(self.speed),
                    self.reports,
                ),
                run,
                capabilities=rights.to_load(rights.REPLAY, self.places.top, self.places.build),
                of_the_group=True,
            )
        )
        self.began = time.monotonic()

    def traffic(self) -> None:
        self.progress(
            f"playing {self.recording.data_path}, {replays.seconds(self.recording):.3f} s at speed"
            f" {self.speed:g}"
        )
        self.pace = self.wait()

    def drain(self) -> None:
        last = replays.last_slot(recordings.read_reports(self.reports))
        found = self.terminal_at_the_end = self.settle(last)
        if found is None or found.slot < last:
            self.progress(
                f"terminal.macd has not taken the last report within {SETTLED_S:g} s: what watches"
                " the cell lacks its end"
            )

    def facts(self) -> Facts:
        return facts_of(self.recording)

    def rows(self) -> dict[str, Any]:
        """The columns that compared() takes, once the cell has ended."""
        return {"pace": self.pace, "terminal": self.terminal_at_the_end}

    def say(self, slot: int = 0) -> None:
        """The verdict, once a second."""
        if (
            time.monotonic() - self.published_at < VERDICT_EVERY_S
            or self.publisher is None
            or not self.publisher.wanted("verdict")
        ):
            return
        self.published_at = time.monotonic()
        evaluated = checks.evaluate(facts_of(self.recording))
        self.publisher.publish(
            "verdict",
            slot,
            verdict=verdict_message(
                evaluated, "replay", seconds=(time.monotonic() - self.began) * self.speed
            ),
        )

    def wait(self) -> dict[str, Any]:
        """Waits until the recording is over; returns what the radio reports about it."""
        over, slot = self.cell.run / OVER, 0
        while not over.exists():
            self.supervisor.pause(0.1)
            if time.monotonic() - self.published_at > VERDICT_EVERY_S and (status := self.status()):
                slot = status.slot
            self.say(slot)
        return json.loads(over.read_text())

    def settle(self, last_slot: int) -> MacStatus | None:
        """The terminal's status when macd has taken the last report."""
        found = None

        def taken() -> bool:
            nonlocal found
            found = self.status() or found
            return found is not None and found.slot >= last_slot

        self.supervisor.wait_until(taken, SETTLED_S)
        self.supervisor.pause(LAST_WORDS_S)
        found = self.status() or found  # macd publishes what waits when its status is requested
        self.supervisor.pause(LAST_WORDS_S)
        return found


def carried_out(replay: Replay) -> dict[str, Any]:
    played = phases.carry_out(replay)
    played["verdict"]["replay"] = True
    return played


def run_replay(options: Options, places: Places) -> int:
    progress = Progress()
    recording, live = command.to_replay(options.replay_iq or "")
    for flag, path in (
        ("--json", options.json),
        ("--record", options.record),
        ("--capture", options.capture),
    ):
        outputs.check_given(
            flag, path, recording.meta_path, recording.data_path, recording.slots_path
        )
    run.check(options, places, (processes.MACD, OBSERVER))
    try:
        check_config(
            places.program(processes.MACD),
            macd_tree(cells.Cell(options.name), recording),
            "--print-config",
        )
    except BadInput as e:
        raise BadInput(f"recording {recording.meta_path}: openwip:link: {e}") from None
    with (
        owned_cell(options.name, progress, base=False) as (cell, supervisor),
        tempfile.TemporaryFile(prefix="openwip-replay-") as reports,
    ):
        whole = recording.whole
        own_files.create(
            cell.run / "replay.json",
            json.dumps({"file": recording.base, "start_ns": start_ns(recording)}),
        )
        # An unnamed file, so that a kill leaves nothing behind.
        own = f"/proc/{os.getpid()}/fd/{reports.fileno()}"
        speed = options.scenario.speed
        replay = Replay(cell, supervisor, recording, speed, places, own, progress)
        result = run.in_cell(
            cell,
            supervisor,
            options,
            places,
            progress,
            lambda: carried_out(replay),
            run=(whole.get("openwip:scenario", {}), whole.get("openwip:seed")),
            over=lambda played: compared(recording, live, own, speed, played, places, progress),
        )
    return run.report(result, options, screen(recording, result), good=result["replay"]["same"])


def compared(
    recording: recordings.Recording,
    live: list[bytes],
    reports: str,
    speed: float,
    played: dict[str, Any],
    places: Places,
    progress: Callable[[str], None],
) -> dict[str, Any]:
    progress("comparing its decisions with those of the live receiver")
    result = report_of(
        recording, live, recordings.read_reports(reports), played["pace"], speed, played["terminal"]
    )
    return result | {
        "verdict": played["verdict"],
        "versions": versions(places),
        "seed": recording.whole.get("openwip:seed"),
        "config": recording.whole.get("openwip:scenario", {}),
    }


def report_of(
    recording: recordings.Recording,
    live: list[bytes],
    replayed: list[bytes],
    pace: dict[str, Any],
    speed: float,
    terminal: MacStatus | None,
) -> dict[str, Any]:
    compared = replays.compare(recording, live, replayed)
    compared["reports_lost"] = pace["reports_lost"]
    air = replays.seconds(recording)
    result = {
        "replay": compared | {"file": recording.base},
        "realtime": {
            "speed": speed,
            "factor": air / speed / pace["seconds"] if pace["seconds"] else 0.0,
            "slots": pace["slots"],
            "slots_behind": pace["behind"],
        },
    }
    if terminal is not None:
        d = terminal.downlink
        counts = link_counts.counts_of(
            terminal.radio, "cell", "locks", "lock_losses", "mean_snr_db", "evm_percent", "cfo_hz"
        )
        result["radio"] = {"state": terminal.radio.mode} | counts
        result["packets"] = {
            "downlink": {"delivered": d.delivered.packets, "dropped": meaning.drops(d)}
        }
    if "openwip:verdict" in recording.whole:
        result["recorded_verdict"] = recording.whole["openwip:verdict"]
    return result


def screen(recording: recordings.Recording, result: dict[str, Any]) -> str:
    rt, lines = result["realtime"], report.verdict_lines(result["verdict"])
    if "recorded_verdict" in result:
        v = result["recorded_verdict"]
        lines.append(
            "  recorded     in a run that was "
            + ("VALID" if v["valid"] else "INVALID: " + "; ".join(v["reasons"]))
        )
    if "radio" in result:
        r = result["radio"]
        lines.append(
            f"  radio        {r['state']}, cell {r['cell']},"
            f" {key_figures.listed(key_figures.of_radio(r))}, lock lost {r['lock_losses']} times"
        )
    if "packets" in result:
        lines.append(
            f"  packets      {result['packets']['downlink']['delivered']} put together from the"
            " recorded frames"
        )
    lines.append(
        f"  real time    factor {rt['factor']:.4f} at speed {rt['speed']:g}; {rt['slots_behind']}"
        f" of {rt['slots']} slots more than 10 ms behind"
    )
    lines += ["  " + line for line in command.screen(recording, result["replay"]).splitlines()]
    return "\n".join(lines)
