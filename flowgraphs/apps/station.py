# SPDX-License-Identifier: GPL-3.0-or-later
"""What base_station.py and terminal.py share: command line, radio, life and end of the flowgraph.

Exit codes: 0 asked to stop, 1 an error of the system that nobody expected, 2 bad command line or
radio that cannot be opened as asked, 3 something the flowgraph depends on (macd, the radio) died or
stopped. Each end is one line on stderr."""

import argparse
import contextlib
import ctypes
import fractions
import gc
import json
import math
import os
import pathlib
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import radio_buffers
import radio_time
from tree import SAMPLE_RATE, command_line, radios, reason, rights, table

if TYPE_CHECKING:
    from recording import Recording

# Before GNU Radio and UHD are loaded: no control port, no banners, no letters (O, U, L) on the
# console: events are counted and reported instead.
os.environ.setdefault("GR_CONF_CONTROLPORT_ON", "False")
os.environ.setdefault("GR_CONF_LOG_LOG_LEVEL", "warn")
os.environ.setdefault("UHD_LOG_CONSOLE_LEVEL", "warning")
os.environ.setdefault("UHD_LOG_FASTPATH_DISABLE", "1")

EXIT_BAD_INPUT, EXIT_DEPENDENCY = 2, 3
CONVERTER_BUFFER = 32768  # some slots: nobody waits for room
EARLY_SAMPLES = 64
TICK_S = 0.1  # of the watch over the flowgraph; nothing of the radio waits for it
STOP_LIMIT_S = 0.6  # then the process ends even if a thread hangs in a driver

# As host/runtime/realtime.h has it for the other processes of the slot path.
SLOT_PATH_PRIORITY = 10
# The transmitter has a higher priority than the others on its core: some radios hold samples for
# 1 ms only, while samples that are received wait for their turn.
TRANSMITTER_PRIORITY = SLOT_PATH_PRIORITY + 1
LONGEST_RUN_US = 300_000

PROGRAM = pathlib.Path(sys.argv[0]).stem


def say(text: str) -> None:
    print(f"{PROGRAM}: {text}", file=sys.stderr, flush=True)


def tell(**facts: float) -> None:
    """What the radio made of what was asked for: a line of JSON on standard output."""
    print(json.dumps(facts), flush=True)


def bad_input(text: str) -> NoReturn:
    say(text)
    sys.exit(EXIT_BAD_INPUT)


def run_program(main: Callable[[], None]) -> NoReturn:
    """The program: an error of the operating system that nobody expected ends it in one line, and
    threads of a driver that hang do not keep it."""
    from openwip_cli.machine import faults

    faults.threads_in_one_line(PROGRAM)
    code = faults.in_one_line(PROGRAM, main)
    if code is not None:
        os._exit(code)
    sys.exit(0)


class OneLineParser(argparse.ArgumentParser):
    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:
        given, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self.error(command_line.why_unknown(self, unknown))
        return given

    def error(self, message: str) -> NoReturn:
        bad_input(f"{message} (--help lists the options)")


def ranged(kind: Callable[[str], Any], low: float, high: float) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text} is outside {low} .. {high}")
        return value

    return parse


def setting(
    p: argparse.ArgumentParser,
    key: str,
    program: str = "demo",
    flag: str | None = None,
    default: Any = None,
) -> None:
    """An option that is a setting: all of it is in the table of settings
    (mac/schema/settings.yaml), as that program has it, but for a name and a default of its own."""
    s = table.setting(key, program)
    default = s.default if default is None else default

    def parse(text: str) -> Any:
        try:
            return s.kind.read(text)
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"'{text}' is not valid; valid: {s.kind.valid}"
            ) from None

    p.add_argument(
        flag or str(s.flag),
        type=parse,
        default=default,
        metavar="X",
        help=f"{s.help}; {s.kind.valid} (default {default})",
    )


def slot_time(text: str) -> tuple[int, int, float]:
    """Device time of the first sample, which has to be the start of a slot: (slot, full,
    fraction)."""
    from gnuradio import wip

    try:
        slot = wip.slot_of_time(text)
    except (ValueError, ZeroDivisionError) as e:
        raise argparse.ArgumentTypeError(str(e)) from None
    if slot < 0:
        raise argparse.ArgumentTypeError(f"{text} is before device time 0")
    return time_of_slot(slot)


def time_of_slot(slot: int) -> tuple[int, int, float]:
    """(slot, full, fraction)"""
    from gnuradio import wip

    full, samples = divmod(slot * wip.SLOT_SAMPLES, wip.SAMPLE_RATE)
    return slot, full, samples / wip.SAMPLE_RATE


def parser(description: str) -> OneLineParser:
    p = OneLineParser(description=description, allow_abbrev=False)
    p.add_argument(
        "--args", required=True, help="UHD device address, e.g. type=vusrp,air=demo,node=base"
    )
    p.add_argument(
        "--endpoint", default="", help="address of macd's slot link, shm://PATH or a ZeroMQ address"
    )
    setting(p, "fader.frequency_hz", "fader", "--freq")
    p.add_argument("--antenna", default="", help="antenna port; empty: the device's default")
    p.add_argument(
        "--start-time",
        type=slot_time,
        default="0.1",
        help="device time of the first sample, s; a multiple of 1/1500 s",
    )
    p.add_argument(
        "--start-in",
        type=ranged(float, 0.05, 60),
        metavar="S",
        help="start so many seconds from now, instead of --start-time: when the radio is ready",
    )
    for what in ("clock", "time"):
        p.add_argument(
            f"--{what}-source",
            choices=table.column(f"nodes.*.{what}_source", "choices", ("fader",)),
            default="internal",
            help={
                "clock": "reference of the radio's oscillators (default internal)",
                "time": (
                    "edge of the second that the radio's time is set by (default internal: none)"
                ),
            }[what],
        )
    p.add_argument(
        "--reset-time",
        action="store_true",
        help="set the device's time to 0 first (hardware; never on a shared air)",
    )
    p.add_argument(
        "--timeout",
        type=ranged(float, 0.1, 60),
        default=2.0,
        help="macd counts as gone after this silence of its socket, s",
    )
    p.add_argument("--no-realtime", action="store_true", help="do not ask for real-time scheduling")
    p.add_argument(
        "--record-iq",
        metavar="FILE",
        default="",
        help="record the samples from the first one on: FILE.sigmf-data, FILE.sigmf-meta",
    )
    p.add_argument(
        "--record-iq-slots",
        type=ranged(int, 0, 2**40),
        default=0,
        help="so many slots; 0: until the end (61 MB/s)",
    )
    p.add_argument(
        "--record-iq-descriptors",
        metavar="N,...",
        default="",
        help="write to these descriptors instead, which have the files open",
    )
    p.add_argument(
        "--record-endpoint",
        metavar="ipc://PATH",
        default="",
        help="socket at which recordings are started and stopped",
    )
    p.add_argument(
        "--least-rights",
        action="store_true",
        help="give up all rights but priority and locked memory, before the radio is opened",
    )
    return p


def give_up_rights(options: argparse.Namespace) -> None:
    """Before there are threads, which would keep them, and after all that is read from the tree,
    which may be a user's alone."""
    if options.least_rights:
        from gnuradio import gr, uhd, wip  # noqa: F401

        import recording  # noqa: F401

        rights.hold_only(rights.RADIO)


def recording_of(
    block: Any, options: argparse.Namespace, role: str, receiver: dict[str, Any] | None = None
) -> "Recording":
    """Of the block's samples: running already with --record-iq, startable with
    --record-endpoint."""
    from recording import Control, Recording

    made = Recording(
        block,
        {
            "role": role,
            "hardware": f"USRP, {options.args}",
            "frequency_hz": options.freq,
            "receiver": receiver,
        },
    )
    try:
        if options.record_iq:
            made.start(
                options.record_iq,
                nof_slots=options.record_iq_slots or -1,
                from_start=True,
                descriptors=[int(n) for n in options.record_iq_descriptors.split(",") if n],
            )
        if options.record_endpoint:
            Control(options.record_endpoint.removeprefix("ipc://"), made).start()
    except (RuntimeError, OSError) as e:
        bad_input(f"--record-iq or --record-endpoint: {e}")
    return made


def follow_parent() -> None:
    """Under the launcher: end with it, whatever ended it."""
    if "OPENWIP_RUN" not in os.environ:
        return
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGTERM, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def reason_for_signal() -> tuple[str, int]:
    """(words, exit code) of the run's file `why`; without it somebody just asked."""
    run = os.environ.get("OPENWIP_RUN")
    why = reason.read(pathlib.Path(run)) if run else None
    if why is None:
        return "asked to stop", 0
    return why.words, EXIT_DEPENDENCY if why.cause in reason.LOST else 0


def open_radio(
    make: Callable[[], Any],
    settings: Iterable[Callable[[Any], None]],
    options: argparse.Namespace,
    priority: int,
) -> Any:
    """A UHD block of gr-uhd, set up, with its clock and time as they have to be; ends the program
    in one line when the device refuses, or what it needs does not come. From then on
    options.start_time is the start, and
    options.defaults are those of the device."""
    from gnuradio import uhd

    options.early_s = 0
    try:
        options.defaults = radios.defaults_for(options.args, find_devices)
        options.args = radio_buffers.with_defaults(options.args, options.defaults)
        with started_with_priority(not options.no_realtime, priority):
            radio = make()
        for setting in settings:
            setting(radio)
        radio_time.prepare(radio, options.clock_source, options.time_source, uhd.time_spec)
        set_start(radio, options)
    except RuntimeError as e:
        bad_input("radio: " + " ".join(str(e).split()))
    return radio


def find_devices(arguments: str) -> list[dict[str, str]]:
    from gnuradio import uhd

    return [
        radios.device_arguments(found.to_string()) for found in uhd.find(uhd.device_addr(arguments))
    ]


def exact(time_spec: Any) -> fractions.Fraction:
    return time_spec.get_full_secs() + fractions.Fraction(time_spec.get_frac_secs())


def set_start(radio: Any, options: argparse.Namespace) -> Any:
    """Of the radio's stream, from now where it is --start-in, so it may be called again while
    nothing streams. Returns it."""
    from gnuradio import uhd, wip

    if options.start_in is not None:
        options.start_time = time_of_slot(
            radio_time.first_slot(exact(radio.get_time_now()), fractions.Fraction(options.start_in))
        )
    start = (
        fractions.Fraction(options.start_time[0] * wip.SLOT_SAMPLES, SAMPLE_RATE) - options.early_s
    )
    full = math.floor(start)
    at = uhd.time_spec(full, float(start - full))
    radio.set_start_time(at)
    return at


CARRIER_DBFS = -15.0  # nominal_transmit_level (blocks/types/db.h): what all bins in use come to


def transmit_power(radio: Any, dbm: float) -> None:
    """By UHD's power calibration, whose reference is the power of full scale."""
    if not radio.has_power_reference(0):
        bad_input(
            "--tx-power: the radio has no power calibration (uhd_power_cal.py makes one); valid:"
            " --transmit-gain"
        )
    powers = radio.get_power_range(0)
    lowest, highest = powers.start() + CARRIER_DBFS, powers.stop() + CARRIER_DBFS
    if not lowest <= dbm <= highest:
        bad_input(f"--tx-power: {dbm:g}; valid is {lowest:g} to {highest:g} dBm with this radio")
    radio.set_power_reference(dbm - CARRIER_DBFS, 0)
    tell(carrier_dbm=radio.get_power_reference(0) + CARRIER_DBFS, gain_db=radio.get_gain(0))


def radio_rate(radio: Any) -> tuple[int, int]:
    """Sets it: (clock, divider) of the rate, the cell's if the radio has it. Otherwise the lowest
    above that its clock gives divided by an even number, for the sake of its half-band filters."""
    clock = round(radio.get_clock_rate())
    divider = clock // SAMPLE_RATE
    if abs(radio.get_samp_rate() - SAMPLE_RATE) < 1:
        return SAMPLE_RATE, 1
    divider -= divider % 2 if divider > 1 else 0
    if divider < 1:
        bad_input(f"radio: its clock is {clock} Hz; needed is {SAMPLE_RATE} Hz or more")
    radio.set_samp_rate(clock / divider)
    rate = radio.get_samp_rate()
    if abs(rate - clock / divider) > 1:
        bad_input(
            f"radio: sample rate is {rate:.0f}; needed is {SAMPLE_RATE}, or {clock}/{divider} of"
            " its clock"
        )
    return clock, divider


def chain(
    top: Any, radio: Any, first: Any, last: Any, options: argparse.Namespace, receive: bool
) -> Any:
    """Connects first to last, one of which is the radio, through a converter where the radio has
    another rate than the cell. Returns it, or None."""
    from gnuradio import wip

    clock, divider = radio_rate(radio)
    if (clock, divider) == (SAMPLE_RATE, 1):
        top.connect(first, last)
        return None
    if receive:  # some samples earlier, so that the first of the cell's can be made
        options.early_s = fractions.Fraction(EARLY_SAMPLES * divider, clock)
        set_start(radio, options)
        converter = wip.rate_converter(
            clock, divider, SAMPLE_RATE, 1, first=options.start_time[0] * wip.SLOT_SAMPLES
        )
    else:
        converter = wip.rate_converter(SAMPLE_RATE, 1, clock, divider)
    converter.set_min_output_buffer(CONVERTER_BUFFER)
    say(
        f"the radio runs at {clock / divider / 1e6:.6f} MS/s, converted"
        f" {'to' if receive else 'from'} 7.68"
    )
    top.connect(first, converter, last)
    return converter


def set_gain(radio: Any, flag: str, gain: float) -> None:
    """UHD takes the nearest gain that the radio has, without a word."""
    gains = radio.get_gain_range(0)
    if not gains.start() <= gain <= gains.stop():
        bad_input(
            f"{flag} is {gain:g}; valid with this radio: {gains.start():g}..{gains.stop():g} dB"
        )
    radio.set_gain(gain, 0)


def settings(
    options: argparse.Namespace, flag: str, gain: float
) -> Iterator[Callable[[Any], None]]:
    from gnuradio import uhd

    yield lambda r: r.set_samp_rate(SAMPLE_RATE)
    yield lambda r: r.set_center_freq(options.freq)
    yield lambda r: set_gain(r, flag, gain)
    if options.antenna:
        yield lambda r: r.set_antenna(options.antenna)
    if options.reset_time:
        yield lambda r: r.set_time_now(uhd.time_spec(0.0))


def tell_time(radio: Any, block: Any) -> Callable[[], None]:
    """A function: reads the radio's clock for the block. Called ten times a second by Watch, and
    before it starts."""

    def tell() -> None:
        now = radio.get_time_now()
        block.set_radio_time(now.get_full_secs(), now.get_frac_secs(), time.monotonic_ns())

    return tell


class Watch:
    """Runs a top block until it, the radio, macd or a signal ends it. Owns all it is given: at the
    end the radio has to be let go of in order, so nobody else may hold it."""

    def __init__(
        self,
        top: Any,
        block: Any,
        radio: Any,
        recording: "Recording",
        tick: Callable[[], None] = lambda: None,
        real_time: bool = True,
        before: Callable[[Callable[[], bool]], None] = lambda over: None,
        priority: int = SLOT_PATH_PRIORITY,
    ) -> None:
        # Until _stop() lets go of them.
        self.before: Any = before  # the start, with its priority
        self.tick: Any = tick
        self.recording: Any = recording
        self.top, self.block, self.radio = top, block, radio
        self.real_time, self.priority = real_time, priority
        self.finished = threading.Event()
        self.signalled: tuple[str, int] | None = None
        # A software USRP says when its medium is gone; its streams may only fall silent.
        self.sensor = (
            "air_connected" if "air_connected" in radio.get_mboard_sensor_names() else None
        )
        if self.sensor:
            quiet()

    def run(self) -> NoReturn:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        follow_parent()
        with realtime(self.real_time, self.priority):
            self.before(lambda: self.signalled is not None)
            self.top.start()
        print("ready", flush=True)
        threading.Thread(target=self._wait, daemon=True).start()
        text, code = self._watch()
        say(text)
        self._stop()
        sys.stdout.flush()
        os._exit(code)  # a driver's thread that hangs must not keep the process

    def _on_signal(self, _number: int, _frame: Any) -> None:
        if self.signalled is None:
            self.signalled = reason_for_signal()

    def _wait(self) -> None:
        self.top.wait()
        self.finished.set()

    def _watch(self) -> tuple[str, int]:
        while True:
            over = self.finished.wait(TICK_S)
            if self.signalled:
                return self.signalled
            if self.block.end_reason():
                return self.block.end_reason(), EXIT_DEPENDENCY
            if over:
                return "the radio stopped streaming", EXIT_DEPENDENCY
            trouble = self._radio_trouble()
            if trouble:
                return f"radio: {trouble}", EXIT_DEPENDENCY
            self.tick()

    def _radio_trouble(self) -> str | None:
        try:
            if self.sensor and not self.radio.get_mboard_sensor(self.sensor).to_bool():
                return "the medium is gone"
            self.radio.get_time_now()
        except RuntimeError as e:
            return " ".join(str(e).split())
        return None

    def _stop(self) -> None:
        def stop() -> None:
            self.top.stop()
            self.finished.wait()
            self.recording.stop_if_running()
            self.recording = None
            self.top.disconnect_all()
            self.top = self.tick = self.before = None
            gc.collect()
            # The device is let go of here; its event thread ends with it, and until then it may
            # post an event to the block.
            self.radio = None
            gc.collect()
            self.block = None

        thread = threading.Thread(target=stop, daemon=True)
        thread.start()
        thread.join(STOP_LIMIT_S)


class Begins:
    """Of a source on a clock that does not wait: the start is set as late as can be, since making
    the flowgraph takes as long as a busy machine has it take, and a command that comes after its
    time starts nothing. If it was too late even so (nothing came for LIMIT_S after the start):
    again. What is received says its own time; who has to know the start before is told:
    moved(slot)."""

    # of it the flowgraph starts: before the receive timeout, whose sleep overflows the radio
    AHEAD_S = 0.25
    AGAIN_S = 0.5
    # the receive timeout, and the 250 ms that GNU Radio lets a source sleep that had nothing, are
    # in it
    LIMIT_S = 1.0

    def __init__(
        self,
        radio: Any,
        options: argparse.Namespace,
        came: Callable[[], bool],
        moved: Callable[[int], None],
    ) -> None:
        # came(): a sample has
        self.radio, self.options, self.came, self.moved = radio, options, came, moved
        self.start: fractions.Fraction | None = None

    def before(self, over: Callable[[], bool]) -> None:
        """over(): nobody wants it any more."""
        if self.options.start_in is not None:
            self.start = exact(self._set())
            while (
                not over()
                and (left := float(self.start - exact(self.radio.get_time_now())) - self.AHEAD_S)
                > 0
            ):
                time.sleep(min(left, TICK_S))

    def _set(self) -> Any:
        at = set_start(self.radio, self.options)
        self.moved(self.options.start_time[0])
        return at

    def tick(self) -> None:
        if self.start is None:
            return
        if self.came():
            self.start = None
        elif exact(self.radio.get_time_now()) > self.start + self.LIMIT_S:
            from gnuradio import uhd

            command = uhd.stream_cmd_t(uhd.stream_mode_t.STREAM_MODE_START_CONTINUOUS)
            command.stream_now = False
            self.options.start_in = max(self.options.start_in, self.AGAIN_S)
            command.time_spec = self._set()
            self.radio.issue_stream_cmd(command)
            self.start = exact(command.time_spec)
            say("nothing came from the radio after its start; it is started again")


def quiet() -> None:
    """No lines of GNU Radio's own about threads that end because the medium did: Watch says it."""
    from gnuradio import gr

    if hasattr(gr.logging(), "set_default_level"):  # not in 3.10.1 (Ubuntu 22.04)
        gr.logging().set_default_level(gr.log_levels.off)


@contextlib.contextmanager
def started_with_priority(wanted: bool, priority: int) -> Iterator[None]:
    """The threads that begin meanwhile have real-time priority at the end, if the system grants
    it: those of a radio's driver. One of them brings the transmit events, and as long as an
    underflow waits for a core nothing that follows it is on the air. This thread has none, since
    opening a radio may take seconds of computing."""
    before = set(os.listdir("/proc/self/task"))
    yield
    for thread in set(os.listdir("/proc/self/task")) - before if wanted else ():
        with contextlib.suppress(OSError):
            os.sched_setscheduler(int(thread), os.SCHED_FIFO, os.sched_param(priority))


@contextlib.contextmanager
def realtime(wanted: bool, priority: int) -> Iterator[None]:
    """The threads that begin meanwhile have real-time priority, if the system grants it; this one
    has not, before or after. One that runs for 0.3 s without a pause takes it from all of them. And
    the process locks its memory."""

    def give_back(*_: Any) -> None:
        for thread in os.listdir("/proc/self/task"):
            with contextlib.suppress(OSError):
                os.sched_setscheduler(int(thread), os.SCHED_OTHER, os.sched_param(0))

    if wanted:
        with contextlib.suppress(OSError):
            rights.lock_memory()
    try:
        if wanted:
            signal.signal(signal.SIGXCPU, give_back)
            _, most = resource.getrlimit(resource.RLIMIT_RTTIME)
            unlimited = most == resource.RLIM_INFINITY
            resource.setrlimit(
                resource.RLIMIT_RTTIME,
                (LONGEST_RUN_US if unlimited else min(most, LONGEST_RUN_US), most),
            )
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError:
        pass
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
