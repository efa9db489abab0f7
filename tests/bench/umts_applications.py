#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real applications over a bearer of UMTS in real time (docs/results/umts.md): ping, a page and a
file by curl from the base station's web server. JSON, for each bearer:

  ping_ms   of 84 octets, mean, least and most of ten, a second apart
  page_s    2 kB and then the picture of 9 kB on it, over one connection, from curl's start to the
            last byte; five times
  file_s    100 kB, the same, once
  verdict   of the run; beside it its pacing and the load

Every page and file takes at least the time of its octets at the rate of the bearer, and of two round
trips before the first of them. Exit code 1: one was faster, or a run is INVALID.

  sudo /usr/bin/python3 tests/bench/umts_applications.py [--bearer umts-32] [--pacing-limit-ms MS]
  [--out FILE]

from a built tree, two minutes for both."""

import argparse
import json
import os
import pathlib
import re
import statistics
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("OPENWIP_BUILD", TOP / "build"))
sys.path[:0] = [str(TOP / "host" / "cli"), str(BUILD / "python")]
os.environ |= {"OPENWIP_BUILD": str(BUILD), "OPENWIP_NO_BUILD": "1"}

from openwip_cli.cell.cell import ADDRESS
from openwip_cli.errors import CellDied, Stop
from openwip_cli.machine import places
from openwip_cli.measure import traffic
from openwip_cli.runs import emulate

BEARERS = {"umts-384": 384e3, "umts-32": 32e3}
FILES = {"page.html": 2000, "picture.jpg": 9000, "file.bin": 100_000}
PORT, PAGES, PINGS = 8080, 5, 10  # TCP port; repetitions


def output(cell, side, argv, seconds):
    program = traffic.Program(cell.namespace(side), argv)
    try:
        if not program.wait(cell.supervisor, seconds) or program.process.returncode != 0:
            raise traffic.TrafficFailed(
                f"{argv[0]}: {program.stderr.strip()[-200:] or f'not over after {seconds} s'}"
            )
        return program.stdout
    finally:
        program.kill()


def ping(cell):
    printed = output(
        cell, "base", ["ping", "-n", "-c", str(PINGS), "-W", "5", ADDRESS["terminal"]], 60
    )
    times = [float(t) for t in re.findall(r"time=([\d.]+) ms", printed)]
    if len(times) != PINGS:
        raise traffic.TrafficFailed(f"ping: {len(times)} of {PINGS} answers")
    return {"mean": round(statistics.fmean(times), 1), "least": min(times), "most": max(times)}


def fetch(cell, *names):
    """Seconds from curl's start to the last byte of the last of them."""
    urls = [
        part for n in names for part in ("-o", "/dev/null", f"http://{ADDRESS['base']}:{PORT}/{n}")
    ]
    printed = output(
        cell,
        "terminal",
        ["curl", "-s", "-S", "-f", "-w", "%{time_total} %{size_download} %{num_connects}\n", *urls],
        300,
    )
    lines = [[float(w) for w in line.split()] for line in printed.splitlines()]
    if [line[1] for line in lines] != [FILES[n] for n in names] or sum(
        line[2] for line in lines
    ) != 1:
        raise traffic.TrafficFailed(f"curl: {printed!r}")
    return round(sum(line[0] for line in lines), 3)


def workload(cell):
    with tempfile.TemporaryDirectory() as folder:
        for name, size in FILES.items():
            (pathlib.Path(folder) / name).write_bytes(os.urandom(size))
        os.chmod(folder, 0o755)
        server = traffic.started(
            traffic.Program(
                cell.namespace("base"),
                [
                    "/usr/bin/python3",
                    "-u",
                    "-m",
                    "http.server",
                    "--protocol",
                    "HTTP/1.1",
                    "--directory",
                    folder,
                    "--bind",
                    ADDRESS["base"],
                    str(PORT),
                ],
            ),
            cell.supervisor,
            traffic.listens(PORT),
            "http.server",
        )
        try:
            return {
                "ping_ms": ping(cell),
                "page_s": [fetch(cell, "page.html", "picture.jpg") for _ in range(PAGES)],
                "file_s": fetch(cell, "file.bin"),
            }
        finally:
            server.kill()


def below_the_floor(bearer, got):
    """Transfers that were sooner than their octets at the rate and two round trips of 150 ms."""
    floor = {"page_s": FILES["page.html"] + FILES["picture.jpg"], "file_s": FILES["file.bin"]}
    return [
        name
        for name, size in floor.items()
        if name in got
        and min(got[name] if isinstance(got[name], list) else [got[name]])
        < 8 * size / BEARERS[bearer] + 0.3
    ]


def run(bearer, given):
    settings = {"link.kind": "umts", "umts.profile": bearer, "seed": 1} | (
        {} if given.pacing_limit_ms is None else {"pacing_limit_ms": given.pacing_limit_ms}
    )
    load = round(os.getloadavg()[0], 1)
    try:
        r = emulate.run(
            settings, workload, places=places.default(), name=f"ua{os.getpid() % 10000}"
        )
    except CellDied as e:
        return {"bearer": bearer, "verdict": {"valid": False, "reasons": [str(e)]}, "load": load}
    return (
        {"bearer": bearer}
        | r["workload"]
        | {
            "below_the_floor": below_the_floor(bearer, r["workload"]),
            "verdict": r["verdict"],
            "pacing_us": r["realtime"]["pacing_us"],
            "load": load,
        }
    )


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--bearer", choices=BEARERS, help="one of them (default both)")
    p.add_argument("--pacing-limit-ms", type=int, help="as of emulate")
    p.add_argument("--out")
    given = p.parse_args()
    runs = []
    try:
        for bearer in [given.bearer] if given.bearer else BEARERS:
            runs.append(run(bearer, given))
    except Stop as e:
        print(f"umts_applications: {e}", file=sys.stderr)
        return e.code
    text = json.dumps({"pacing_limit_ms": given.pacing_limit_ms, "runs": runs}, indent=1)
    if given.out:
        pathlib.Path(given.out).write_text(text + "\n")
    print(text)
    return 0 if all(r["verdict"]["valid"] and not r.get("below_the_floor") for r in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
