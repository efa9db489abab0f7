# SPDX-License-Identifier: GPL-3.0-or-later
"""What an experiment can set, and what each setting is for. A setting is one of three:

  emulator   of the cell: a setting of ./openwip emulate, whose checks hold here too
  traffic    of the workload: which application, and its TCP
  view       chooses within the result of a run and is not part of it: the flows of all sizes of
             experiment C1 are sent in one run, and each is a point of the figure

A run is identified by its emulator and traffic settings, so two experiments, or two views, that need
the same run share it."""
import dataclasses
from typing import Any

from ..settings import emulator
from ..settings.scenario import Choice, Integer

EMULATOR, TRAFFIC, VIEW = "emulator", "traffic", "view"
KINDS = {s.key: s.kind for s in emulator.SETTINGS}


class ChannelName:
    """Looked up in `channels` of the defaults file."""
    valid = "a name of `channels`"

    def read(self, value: Any) -> Any:
        if not isinstance(value, str) or not value:
            raise ValueError
        return value


@dataclasses.dataclass(frozen=True)
class Setting:
    role: str
    kind: Any
    words: str
    unit: str = ""
    key: str | None = None      # of ./openwip emulate


def of_emulator(key: str, words: Any, unit: str = "") -> "Setting":
    return Setting(EMULATOR, KINDS[key], words, unit, key)


SETTINGS = {
    "channel": Setting(EMULATOR, ChannelName(), "channel"),
    "snr": of_emulator("channel.snr_db", "mean SNR", "dB"),
    "shadowing": of_emulator("channel.shadowing", "deviation of the shadowing", "dB"),
    "prediction_nmse": of_emulator("channel.prediction_nmse", "prediction error (NMSE)"),
    "symbol_noise": of_emulator("channel.symbol_noise", "noise of every symbol"),
    "bins": of_emulator("link.bins", "bins per slot"),
    "modulation": of_emulator("link.modulation", "modulation"),
    "allocation": of_emulator("link.allocation", "channel allocation"),
    "switch_table": of_emulator("link.switch_table", "switch table"),
    "max_retransmissions": of_emulator("link.max_retransmissions", "maximum retransmissions of a frame"),
    "retransmission_delay_ms": of_emulator("link.retransmission_delay_ms", "link retransmission delay", "ms"),
    "combining": of_emulator("link.combining", "chase combining"),
    "packing": of_emulator("link.packing", "packing"),
    "order": of_emulator("link.order", "delivery of packets"),
    "deliver_corrupt": of_emulator("link.deliver_corrupt", "delivery of corrupt packets"),
    "queue_packets": of_emulator("link.queue_packets", "buffer size", "packets"),
    "uplink_kbps": of_emulator("uplink.kbps", "uplink capacity", "kbit/s"),
    "wired_delay_ms": of_emulator("wired.delay_ms", "wired delay, one way", "ms"),
    "wired_loss": of_emulator("wired.loss", "loss in the wired network"),
    "workload": Setting(TRAFFIC, Choice("tcp", "flows", "voip"), "application"),
    "congestion_control": Setting(TRAFFIC, KINDS["traffic.tcp_cc"], "congestion control"),
    "window_bytes": Setting(TRAFFIC, Integer(0, 2**24), "receiver window (0: tuned by the kernel)", "byte"),
    "flow_kb": Setting(VIEW, Integer(1, 10**6), "flow size", "kB"),
}
