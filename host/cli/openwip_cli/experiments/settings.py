# SPDX-License-Identifier: GPL-3.0-or-later
"""What an experiment can set, and what each setting is for. A setting is one of three:

  emulator   an option of ./openwip emulate (same name, dashes as underscores)
  traffic    of the workload: which application, and its TCP
  view       chooses within the result of a run and is not part of it: the flows of all sizes of
             experiment C1 are sent in one run, and each is a point of the figure

A run is identified by its emulator and traffic settings, so two experiments, or two views, that need
the same run share it."""
import dataclasses

from ..scenario import ON_OFF, Choice, Integer, Modulation, Real

EMULATOR, TRAFFIC, VIEW = "emulator", "traffic", "view"


class Names:
    """A channel: its name is looked up in `channels` of the defaults file."""
    valid = "a name of `channels`"

    def read(self, value):
        if not isinstance(value, str) or not value:
            raise ValueError
        return value


@dataclasses.dataclass(frozen=True)
class Setting:
    role: str
    kind: object
    unit: str
    words: str


SETTINGS = {
    "channel": Setting(EMULATOR, Names(), "", "channel"),
    "snr": Setting(EMULATOR, Real(-10, 60), "dB", "mean SNR"),
    "bins": Setting(EMULATOR, Integer(1, 25), "", "bins per slot"),
    "modulation": Setting(EMULATOR, Modulation(), "bit/symbol", "modulation"),
    "allocation": Setting(EMULATOR, Choice("static", "best"), "", "channel allocation"),
    "switch_table": Setting(EMULATOR, Choice("nmse_0", "nmse_0_1"), "", "switch table"),
    "prediction_nmse": Setting(EMULATOR, Real(0, 1), "", "prediction error (NMSE)"),
    "max_retransmissions": Setting(EMULATOR, Integer(0, 30), "", "maximum retransmissions of a frame"),
    "retransmission_delay_ms": Setting(EMULATOR, Real(2, 32), "ms", "link retransmission delay"),
    "combining": Setting(EMULATOR, ON_OFF, "", "chase combining"),
    "packing": Setting(EMULATOR, ON_OFF, "", "packing"),
    "order": Setting(EMULATOR, Choice("in_order", "as_completed"), "", "delivery of packets"),
    "deliver_corrupt": Setting(EMULATOR, ON_OFF, "", "delivery of corrupt packets"),
    "queue_packets": Setting(EMULATOR, Integer(1, 10000), "packets", "buffer size"),
    "uplink_kbps": Setting(EMULATOR, Integer(8, 100000), "kbit/s", "uplink capacity"),
    "wired_delay_ms": Setting(EMULATOR, Real(0, 1000), "ms", "wired delay, one way"),
    "wired_loss": Setting(EMULATOR, Real(0, 1), "", "loss in the wired network"),
    "symbol_noise": Setting(EMULATOR, ON_OFF, "", "noise of every symbol"),
    "workload": Setting(TRAFFIC, Choice("tcp", "flows", "voip"), "", "application"),
    "congestion_control": Setting(TRAFFIC, Choice("cubic", "reno", "bbr"), "", "congestion control"),
    "window_bytes": Setting(TRAFFIC, Integer(0, 2**24), "byte", "receiver window (0: tuned by the kernel)"),
    "flow_kb": Setting(VIEW, Integer(1, 10**6), "kB", "flow size"),
}
