# SPDX-License-Identifier: GPL-3.0-or-later
"""One scenario file on all three that can carry it, with TCP from the base station to the terminal:
medium and cables in a demo, radio as two stations (two network namespaces on this machine, software
USRPs, a medium that is nothing but the cable). The channel is the file's: made by the medium, by
the fader, by the base station's flowgraph. A line each on the screen, JSON with --out: verdict,
SNR, frames and how many failed, TCP.

  sudo /usr/bin/python3 tests/bench/three_carriers.py [--config FILE] [--seconds 8] [--out FILE]

from a built tree, on a machine that does nothing else: its clock does not wait. FILE needs
air.fade: transmitter and air.clock: realtime. Frames of a demo are those of the inner part of its
TCP test, of the stations all, a ping's too. Exit code 1: something is INVALID, or carried no
TCP."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("OPENWIP_BUILD", TOP / "build"))
sys.path[:0] = [str(TOP / "tests" / "system"), str(TOP / "host" / "cli"), str(BUILD / "python")]
os.environ |= {"OPENWIP_BUILD": str(BUILD), "OPENWIP_NO_BUILD": "1"}

from demo_support import openwip, system
from openwip_cli.errors import BadInput
from openwip_cli.runs import options
from two_computers import World

SCENARIO = (
    "{air: {over: radio, fade: transmitter, clock: realtime}, fader: {delay_samples: 65280},"
    " channel: {model: epa, speed_kmh: 3, snr_db: 18}, link: {bins: 12, transmit_lead_slots: 20,"
    " retransmission_delay_ms: 30}}\n"
)
DEMOS = {"medium": ("--air", "medium"), "cabled": ("--air", "cabled", "--fade", "way")}
QUIET_DB = 45  # SNR of the terminal's own noise, far below the file's
LOCKS_S, ANSWERS_S = 30, 15


def of_demo(way, config, seconds, folder):
    file = pathlib.Path(folder, f"{way}.json")
    openwip(
        "demo",
        "--config",
        str(config),
        *DEMOS[way],
        "--name",
        f"tc{os.getpid() % 10000}",
        "--duration",
        str(seconds),
        "--pings",
        "5",
        f"--json={file}",
        timeout=seconds * 10 + 120,
    )
    r = (
        json.loads(file.read_text())
        if file.exists()
        else {"verdict": {"valid": False, "reasons": ["no report"]}}
    )
    return figures(
        r["verdict"], r.get("link"), r.get("radio"), (r.get("tcp") or {}).get("goodput_bps")
    )


def figures(verdict, link, radio, tcp):
    link, radio = link or {}, radio or {}
    return {
        "valid": verdict["valid"],
        "reasons": verdict["reasons"],
        "snr_db": radio.get("mean_snr_db"),
        "frames": link.get("frames_sent"),
        "frame_error_rate": link.get("frame_error_rate"),
        "tcp_bps": tcp,
    }


def tcp_over(base, terminal, seconds, scenario):
    """bit/s; None: it did not come so far."""
    # The terminal's window is that of the sender, as in a demo.
    server = subprocess.Popen(
        [
            "ip",
            "netns",
            "exec",
            terminal.cell.namespace("terminal"),
            "iperf3",
            "-s",
            "-1",
            "--forceflush",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        while (line := server.stdout.readline()) and "listening" not in line:
            pass
        done = base.run(
            "iperf3",
            "-c",
            "10.42.0.2",
            "-t",
            str(seconds),
            "-C",
            scenario["traffic.tcp_cc"],
            "-w",
            f"{scenario['traffic.tcp_window_kb']}K",
            "-J",
            timeout=seconds + 60,
        )
        server.wait(10)
        return json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"]
    except (ValueError, KeyError, subprocess.TimeoutExpired):
        return None
    finally:
        server.terminate()
        server.communicate()


def of_stations(config, seconds, scenario):
    world = World(
        f"tc{os.getpid() % 10000}",
        base=("--config", str(config)),
        terminal=("--config", str(config)),
        snr=QUIET_DB,
        jitter=False,
    )
    try:
        terminal = world.station("terminal")
        terminal.wait_until_up()
        base = world.station("base")
        base.wait_until_up()
        tcp = None
        if system.wait_until(lambda: "locked" in terminal.output, LOCKS_S) and system.wait_until(
            lambda: base.hears("10.42.0.2"), ANSWERS_S
        ):
            tcp = tcp_over(base, terminal, seconds, scenario)
        reports = [
            s.ends()[1] or {"verdict": {"valid": False, "reasons": [f"{s.role}: no report"]}}
            for s in (base, terminal)
        ]
    finally:
        world.close()
    verdict = {
        "valid": all(r["verdict"]["valid"] for r in reports),
        "reasons": [w for r in reports for w in r["verdict"]["reasons"]],
    }
    return figures(verdict, reports[0].get("link"), reports[1].get("radio"), tcp)


def line(way, f):
    def text(value, scale, unit):
        return "-" if value is None else f"{value * scale:.1f} {unit}"

    return (
        f"{way:<7} {'VALID' if f['valid'] else 'INVALID':<8} SNR {text(f['snr_db'], 1, 'dB'):<9}"
        f" frames {f['frames'] or '-':<8} failed {text(f['frame_error_rate'], 100, '%'):<7} TCP"
        f" {text(f['tcp_bps'], 1e-6, 'Mbit/s')}" + "".join(f"\n        {w}" for w in f["reasons"])
    )


def wrong(found):
    return [
        f"{way}: {'no TCP' if f['valid'] else 'INVALID'}"
        for way, f in found.items()
        if not f["valid"] or not f["tcp_bps"]
    ]


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--config", metavar="FILE")
    p.add_argument("--seconds", type=int, default=8)
    p.add_argument("--out")
    given = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="openwip-three-") as folder:
        config = pathlib.Path(given.config or pathlib.Path(folder, "scenario.yaml"))
        if not given.config:
            config.write_text(SCENARIO)
        try:
            scenario = options.parse_demo(
                ["--config", str(config), *DEMOS["medium"], "--fade", "way"]
            ).scenario
        except BadInput as e:
            p.error(str(e))
        found = {}
        for way in (*DEMOS, "radio"):
            print(f"{way}: begins", file=sys.stderr, flush=True)
            found[way] = (
                of_demo(way, config, given.seconds, folder)
                if way in DEMOS
                else of_stations(config, given.seconds, scenario)
            )
        reported = {
            "config": config.read_text(),
            "seconds": given.seconds,
            "load": os.getloadavg()[0],
            "carriers": found,
            "wrong": wrong(found),
        }
    print("\n".join(line(way, f) for way, f in found.items()))
    if given.out:
        pathlib.Path(given.out).write_text(json.dumps(reported, indent=1) + "\n")
    return 1 if reported["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
