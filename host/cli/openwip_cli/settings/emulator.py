# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of the emulator: those of the demo that it has too, with the defaults of tables 5.8 and A.1, and its own."""
import dataclasses
from typing import Any

from ..errors import BadInput
from . import scenario as scenarios
from .scenario import ON_OFF, Integer, Optional, Real, Scenario, Setting

NAME = "emulate"


class Text:
    """Checked by the emulator, which knows what there is."""

    def __init__(self, valid: Any) -> None:
        self.valid = valid

    def read(self, value: Any) -> Any:
        if not isinstance(value, str) or not value:
            raise ValueError
        return value


class BinList:
    valid = "up to 25 SNRs of -60..80 dB, separated by commas"

    def read(self, value: Any) -> list[Any]:
        if isinstance(value, str):
            value = value.split(",") if value.strip() else []
        if not isinstance(value, (list, tuple)) or len(value) > 25:
            raise ValueError
        return [Real(-60, 80).read(v) for v in value]


class Shadowing:
    valid = "as_defined|" + scenarios.Shadowing.valid

    def read(self, value: Any) -> Any:
        return value if value == "as_defined" else scenarios.Shadowing().read(value)


class Nmse:
    valid = "0..0.5|predictor|trace"

    def read(self, value: Any) -> Any:
        if value in ("predictor", "trace"):
            return value
        return Real(0, 0.5).read(value)


def like_demo(key: str, default: Any) -> Any:
    """The demo's setting with the default of tables 5.8 and A.1."""
    setting = next(s for s in scenarios.SETTINGS if s.key == key)
    return dataclasses.replace(setting, default=default)


SETTINGS = [
    Setting("channel.model", "--channel", Text("a channel definition, or a trace file (.h5)"), "jakes",
            "static: the same SNR always; others fade"),
    Setting("channel.snr_db", "--snr", Real(-60, 80), 16.0, "mean SNR of a bin, dB; a trace has its own"),
    Setting("channel.bins_db", "--bins-db", BinList(), [],
            "--channel static: SNR of bin 0, 1, ...; the others have --snr"),
    like_demo("channel.speed_kmh", None),
    Setting("channel.shadowing", "--shadowing", Shadowing(), "as_defined",
            "slow fading: as the channel defines it, or a standard deviation in dB"),
    Setting("channel.prediction_nmse", "--prediction-nmse", Nmse(), 0.1,
            "error of the predicted SNR; predictor: what the receiver's own would say; trace: as recorded"),
    Setting("channel.symbol_noise", "--symbol-noise", ON_OFF, "on",
            "noise on every symbol; off: the same distribution, computed"),
    Setting("channel.error_free", "--error-free", ON_OFF, "off", "every frame arrives"),
    Setting("channel.eight_points", "--eight-points", scenarios.Choice("star", "cross", "rectangle"), "star",
            "the set of 3 bits/symbol; the switch tables are those of the star"),
    Setting("link.profile", "--profile", scenarios.Choice("wipemu", "radio"), "wipemu",
            "error detection: ideal, or the CRC of the radio"),
    like_demo("link.bins", 10), like_demo("link.modulation", "adaptive"),
    like_demo("link.allocation", "best"), like_demo("link.switch_table", "nmse_0_1"),
    like_demo("link.max_retransmissions", 30), like_demo("link.retransmission_delay_ms", 2.0),
    like_demo("link.combining", "on"), like_demo("link.packing", "off"),
    like_demo("link.order", "as_completed"), like_demo("link.deliver_corrupt", "on"), like_demo("link.tcp_l", "off"),
    like_demo("link.queue_packets", 54),
    Setting("terminals", "--terminals", Integer(1, 25), 1, "number of terminals"),
    Setting("scheduling.method", "--scheduling", scenarios.Choice(
        "as_allocation", "static", "best", "round_robin", "max_rate", "proportional_fair"), "as_allocation",
            "several terminals: who gets which bin"),
    Setting("channel.users_db", "--users-db", BinList(), [],
            "several terminals: mean SNR of the first, the second, ...; the others have --snr"),
    like_demo("uplink.kbps", 500), like_demo("uplink.delay_slots", 0), like_demo("uplink.loss", 0.0),
    like_demo("uplink.feedback_loss", 0.0), like_demo("uplink.queue_packets", 54),
    Setting("wired.delay_ms", "--wired-delay-ms", Real(0, 60000), 10.0, "wired network, each way, ms"),
    Setting("wired.loss", "--wired-loss", Real(0, 1), 0.0,
            "share of packets lost from the server to the base station"),
    Setting("wired.rate_kbps", "--wired-rate-kbps", Real(0, 1e7), 0.0,
            "rate from the server to the base station, kbit/s, 0 = no limit"),
    Setting("wired.queue_packets", "--wired-queue-packets", Integer(1, 100000), 100,
            "queue in front of the limited rate, each way"),
    Setting("wired.uplink_delay_ms", "--wired-uplink-delay-ms", Optional(Real(0, 60000), "--wired-delay-ms"),
            None, "from the base station to the server, ms"),
    Setting("wired.uplink_loss", "--wired-uplink-loss", Real(0, 1), 0.0,
            "share of packets lost from the base station to the server"),
    Setting("wired.uplink_rate_kbps", "--wired-uplink-rate-kbps", Real(0, 1e7), 0.0,
            "rate from the base station to the server, kbit/s, 0 = no limit"),
    like_demo("traffic.duration_s", 30.0), like_demo("traffic.tcp_cc", "cubic"),
    like_demo("traffic.tcp_window_kb", 48),
    Setting("pacing_limit_ms", "--pacing-limit-ms", Real(0.01, 1000), 2.0,
            "a slot released later than this counts as behind"),
    dataclasses.replace(like_demo("seed", 1), help="seed of channel, noise and losses"),
]


def scenario_of(values: Any) -> Any:
    """A checked scenario of {key: value}."""
    by_key = {s.key: s for s in SETTINGS}
    unknown = [k for k in values if k not in by_key]
    if unknown:
        raise BadInput(f"unknown setting {unknown[0]}; known: {', '.join(by_key)}")
    return Scenario({k: scenarios.check(k, by_key[k], v) for k, v in values.items()}, SETTINGS)
