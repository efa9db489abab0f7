# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of a run. One table (SETTINGS for the demo, emulator.SETTINGS for the emulator) makes the
command line, the scenario file, the checks of both and the documentation: a setting cannot exist in one of
them only.

Precedence: defaults < scenario file (--config) < command line."""
import dataclasses
import math
import pathlib
from typing import Any, Protocol

from ..air import SLOTS_PER_SECOND
from ..errors import BadInput

NOMINAL_TRANSMIT_DBFS = -15.0   # blocks/types/db.h


class Integer:
    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high
        self.valid = f"{low}..{high}"

    def read(self, value: Any) -> Any:
        if isinstance(value, bool) or isinstance(value, float) and value != int(value):
            raise ValueError
        number = int(value)
        if not self.low <= number <= self.high:
            raise ValueError
        return number


class Real:
    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high
        self.valid = f"{low:g}..{high:g}"

    def read(self, value: Any) -> Any:
        if isinstance(value, bool):
            raise ValueError
        number = float(value)
        if not (math.isfinite(number) and self.low <= number <= self.high):
            raise ValueError
        return number


class Choice:
    def __init__(self, *names: Any) -> None:
        self.names = names
        self.valid = "|".join(names)

    def read(self, value: Any) -> str:
        if isinstance(value, bool):    # YAML reads on and off as true and false
            value = "on" if value else "off"
        if str(value) not in self.names:
            raise ValueError
        return str(value)


class Modulation:
    valid = "adaptive|1..8"

    def read(self, value: Any) -> Any:
        if value == "adaptive":
            return value
        return Integer(1, 8).read(value)


class Speed:
    low, high = 0.01, 100
    valid = f"auto|{low:g}..{high:g}"

    def read(self, value: Any) -> Any:
        return value if value == "auto" else Real(self.low, self.high).read(value)


class Shadowing:
    low, high = 0, 20
    valid = f"on|off|{low}..{high} dB"

    def read(self, value: Any) -> Any:
        if isinstance(value, bool) or value in ("on", "off"):
            return Choice("on", "off").read(value)
        return Real(self.low, self.high).read(value)


class Optional:
    def __init__(self, kind: Any, none: Any) -> None:
        self.kind, self.none = kind, none
        self.valid = f"{kind.valid} ({none} when not given)"

    def read(self, value: Any) -> Any:
        return None if value is None else self.kind.read(value)


class Kind(Protocol):
    """Of a value: reads what a file or an option holds (ValueError, TypeError: not valid), and says what is."""
    valid: str

    def read(self, value: Any) -> Any: ...


def read(where: str, kind: Kind, value: Any) -> Any:
    """BadInput says where it is, what it is, and what would be valid."""
    try:
        return kind.read(value)
    except (ValueError, TypeError, OverflowError):
        raise BadInput(f"{where} is {value!r}; valid: {kind.valid}") from None


@dataclasses.dataclass
class Setting:
    key: str       # in a scenario file
    flag: str | None      # on the command line; None: in a scenario file only
    kind: Any      # a Kind
    default: Any
    help: str


class Impairments:
    """A list of impairments of the terminal's receiver, in a scenario file only: each item a mapping
    of one name to a number or to fields. The medium checks the ranges (channels/air)."""
    NAMES = {
        "cfo_hz": None, "cfo": ("hz", "drift_hz_per_s"), "clock_ppm": None,
        "clock": ("ppm",),
        "timing_jump": ("samples", "start_s", "period_s", "start_delay_samples", "max_delay_samples"),
        "linewidth_hz": None, "phase_noise": ("linewidth_hz",),
        "dc_dbfs": None, "dc_offset": ("dbfs", "angle_deg"),
        "image_db": None, "iq_imbalance": ("image_rejection_db", "angle_deg"),
        "gain_step": ("db", "start_s", "period_s"),
        "adc_bits": None, "quantiser": ("bits", "full_scale_dbfs"),
        "gap": ("samples", "start_s", "period_s"),
        "tone": ("dbfs", "hz"), "interference": ("dbfs", "centre_hz", "bandwidth_hz"),
    }
    valid = "a list such as [{cfo_hz: 3000}, {clock_ppm: 5}] of " + ", ".join(NAMES)

    def read(self, value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise ValueError
        return [self._item(item) for item in value]

    def _item(self, item: Any) -> dict[Any, Any]:
        if not isinstance(item, dict) or len(item) != 1:
            raise ValueError
        (name, given), = item.items()
        if name not in self.NAMES:
            raise ValueError
        fields = self.NAMES[name]
        if fields is None:
            return {name: self._number(given)}
        if not isinstance(given, dict) or not set(given) <= set(fields):
            raise ValueError
        return {name: {field: self._number(v) for field, v in given.items()}}

    @staticmethod
    def _number(value: Any) -> Any:
        if isinstance(value, str):   # YAML 1.1 reads 1e6 as text
            value = float(value)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ValueError
        return value


ON_OFF = Choice("on", "off")
CHANNELS = Choice("awgn", "flat", "static", "jakes", "epa", "eva", "etu", "tdl-a", "tdl-b", "tdl-c",
                  "tdl-d", "tdl-e", "winner", "hst", "hst-tunnel", "two-user", "n-user",
                  "blackout")   # channels/profiles
MOVES_BY_ITSELF = ("hst", "hst-tunnel", "two-user", "n-user")   # takes no speed
USUAL_SPEED_KMH = 30.0
SETTINGS = [
    Setting("channel.model", "--channel", CHANNELS, "awgn",
            "noise only, flat Rayleigh fading, or multipath, and noise"),
    Setting("channel.snr_db", "--snr", Real(-10, 60), 16.0, "mean SNR per subcarrier, dB"),
    Setting("channel.speed_kmh", "--speed-kmh",
            Optional(Real(0, 500), f"{USUAL_SPEED_KMH:g}, or the channel's own"), None,
            "speed of the terminal (fading at 1.8 GHz), km/h"),
    Setting("channel.shadowing", "--shadowing", Shadowing(), "off",
            "slow fading: as the channel defines it, none, or a standard deviation in dB"),
    Setting("channel.user", "--user", Integer(0, 63), 0, "which user of two-user, n-user"),
    Setting("impairments", None, Impairments(), [],
            "of the terminal's receiver"),
    Setting("link.bins", "--bins", Integer(1, 25), 10, "bins of 200 kHz used in every slot"),
    Setting("link.modulation", "--modulation", Modulation(), "adaptive", "bits per symbol"),
    Setting("link.allocation", "--allocation", Choice("static", "best"), "best",
            "the same bins always, or those with the highest predicted SNR"),
    Setting("link.switch_table", "--switch-table", Choice("nmse_0", "nmse_0_1", "measured"), "nmse_0_1",
            "adaptive modulation computed for this prediction error; measured: for the one that the terminal reports"),
    Setting("link.max_retransmissions", "--max-retransmissions", Integer(0, 30), 30,
            "of one link frame"),
    Setting("link.retransmission_delay_ms", "--retransmission-delay-ms", Real(2, 32), 2.0,
            "from a slot to its retransmissions, ms (rounded up to slots)"),
    Setting("link.combining", "--combining", ON_OFF, "on", "chase combining of failed copies"),
    Setting("link.packing", "--packing", ON_OFF, "on",
            "fill the last frame of a packet with the next packet"),
    Setting("link.order", "--order", Choice("in_order", "as_completed"), "in_order",
            "delivery of packets to IP"),
    Setting("link.deliver_corrupt", "--deliver-corrupt", ON_OFF, "off",
            "deliver packets with bit errors instead of dropping them"),
    Setting("link.tcp_l", "--tcp-l", ON_OFF, "off",
            "the terminal's TCP takes damaged segments (needs --deliver-corrupt on)"),
    Setting("link.queue_packets", "--queue-packets", Integer(1, 10000), 54,
            "downlink queue, packets"),
    Setting("phy.predictor", "--predictor", Choice("last", "ar", "ls", "kalman", "delay"), "delay",
            "how the terminal predicts SNR: last value, AR per bin, least squares, Kalman, delay domain"),
    Setting("phy.gain_control", "--gain-control", ON_OFF, "off",
            "the terminal keeps the level at its converter by the gain of its radio"),
    Setting("uplink.kbps", "--uplink-kbps", Integer(8, 100000), 500,
            "capacity of the emulated uplink for IP, kbit/s"),
    Setting("uplink.delay_slots", "--uplink-delay-slots", Integer(0, 1500), 0,
            "more delay of the uplink, slots"),
    Setting("uplink.loss", "--uplink-loss", Real(0, 1), 0.0, "share of uplink IP packets lost"),
    Setting("uplink.feedback_loss", "--feedback-loss", Real(0, 1), 0.0,
            "share of slots whose feedback is lost"),
    Setting("uplink.queue_packets", "--uplink-queue-packets", Integer(1, 10000), 54,
            "uplink queue, packets"),
    Setting("traffic.duration_s", "--duration", Real(1, 86400), 10.0,
            "length of the TCP test, seconds of air time"),
    Setting("traffic.tcp_cc", "--tcp-cc", Choice("cubic", "reno", "bbr"), "cubic",
            "TCP congestion control"),
    Setting("traffic.tcp_window_kb", "--tcp-window-kb", Integer(4, 4096), 48,
            "TCP socket buffers, KiB (48: the queue of 54 packets cannot overflow)"),
    Setting("traffic.udp_mbps", "--udp-mbps", Optional(Real(0.01, 40), "0.6 of the TCP goodput"),
            None, "rate of the UDP stream, Mbit/s of payload"),
    Setting("traffic.pings", "--pings", Integer(5, 100000), 100, "pings over the idle link"),
    Setting("air.speed", "--speed", Speed(), "auto",
            "pace of the lockstep clock against the wall clock; auto: 1, or less where the machine cannot hold that"),
    Setting("air.pacing_limit_ms", "--pacing-limit-ms", Real(1, 1000), 10.0,
            "a slot released later than this counts as behind"),
    Setting("seed", "--seed", Integer(0, 2**31 - 1), 1, "seed of fading and noise"),
]


class Scenario:
    """Values of all settings by key: scenario["link.bins"]."""

    def __init__(self, values: Any = None, settings: Any = None) -> None:
        self.values = {s.key: s.default for s in settings or SETTINGS}
        self.values.update(values or {})

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def tree(self) -> Any:
        """Nested, as a scenario file has it."""
        root: dict[Any, Any] = {}
        for key, value in self.values.items():
            *path, leaf = key.split(".")
            node = root
            for name in path:
                node = node.setdefault(name, {})
            node[leaf] = value
        return root

    @property
    def speed(self) -> Any:
        """Of the air against the wall clock; only the demo can set it."""
        speed = self.values.get("air.speed", 1.0)
        return 1.0 if speed == "auto" else speed

    @property
    def retransmission_delay_slots(self) -> Any:
        return max(3, math.ceil(self["link.retransmission_delay_ms"] * SLOTS_PER_SECOND / 1000 - 1e-9))

    @property
    def speed_kmh(self) -> Any:
        """Of the terminal; None where the channel says itself how it moves."""
        model, speed = self["channel.model"], self["channel.speed_kmh"]
        if model in ("awgn", "static", *MOVES_BY_ITSELF) or (model == "winner" and speed is None):
            return None
        return USUAL_SPEED_KMH if speed is None else speed

    @property
    def noise_dbfs(self) -> Any:
        """Noise power over the whole 7.68 MHz for the mean SNR per subcarrier: the signal fills 500
        of 768 subcarriers, the noise all of them."""
        return NOMINAL_TRANSMIT_DBFS - self["channel.snr_db"] + 10 * math.log10(768 / 500)


def check(where: str, setting: Any, value: Any) -> Any:
    return read(where, setting.kind, value)


def check_together(scenario: Scenario) -> Any:
    model = scenario["channel.model"]
    if model in MOVES_BY_ITSELF and scenario["channel.speed_kmh"] is not None:
        raise BadInput(f"--speed-kmh is {scenario['channel.speed_kmh']:g} with --channel {model}; "
                       f"valid: none, that channel moves by itself")
    if model == "two-user" and scenario["channel.user"] > 1:
        raise BadInput(f"--user is {scenario['channel.user']} with --channel two-user; valid: 0..1")
    if scenario.values.get("link.tcp_l") == "on" and scenario["link.deliver_corrupt"] == "off":
        raise BadInput("--tcp-l is 'on' with --deliver-corrupt off, so no damaged segment arrives; valid: --deliver-corrupt on")
    return scenario


def read_yaml(kind: str, path: pathlib.Path | str) -> Any:
    import yaml
    try:
        return yaml.safe_load(pathlib.Path(path).read_text(encoding="utf-8"))
    except OSError as e:
        raise BadInput(f"{kind} {path}: {e.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as e:
        mark = getattr(e, "problem_mark", None)
        at = f" (line {mark.line + 1})" if mark else ""
        raise BadInput(f"{kind} {path} is not YAML{at}") from None


def read_file(path: pathlib.Path | str, settings: Any = None) -> Any:
    """Settings of a scenario file, by key."""
    by_key = {s.key: s for s in settings or SETTINGS}
    tree = read_yaml("scenario file", path)
    if tree is None:
        return {}
    values = {}

    def walk(node: Any, prefix: Any) -> None:
        if not isinstance(node, dict):
            groups = ", ".join(sorted({k.split(".")[0] for k in by_key}))
            at = f": {prefix[:-1]}" if prefix else ""
            raise BadInput(f"scenario file {path}{at}: settings are expected (groups: {groups})")
        for name, value in node.items():
            key = f"{prefix}{name}"
            if key in by_key:
                values[key] = check(f"scenario file {path}: {key}", by_key[key], value)
            elif any(k.startswith(f"{key}.") for k in by_key):
                walk(value, f"{key}.")
            else:
                known = ", ".join(k for k in by_key if k.startswith(prefix))
                raise BadInput(f"scenario file {path}: unknown key {key}; known: {known}")

    walk(tree, "")
    return values
