#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of Lundsten's simulator for his tables 3, 7, 8, 14 and 15 (docs/results/umts.md):
ns-2
itself, with the link that his appendix B describes (ns2_radio_link.cc) and his window, path and
errors. JSON: per rate and packet the time without and with 10 % of the blocks lost, the increase in
percent, timeouts, halvings and packets dropped, a mean over the seeds.

  /usr/bin/python3 tests/bench/lundsten_in_ns2.py --source ns-2.35 in_order=1 packets=12 [--seeds 3]

ns-2's program `ns` (2.35) is in PATH, --source is its source tree, of which the headers are used;
Tcl's, otcl's and tclcl's headers are installed. NAME=VALUE: those of lundsten_in_ns2.tcl. There is
no budget."""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# kbit/s, octets, segments
CASES = (
    (384, 576, 25),
    (384, 1500, 14),
    (128, 576, 11),
    (128, 1500, 7),
    (64, 576, 9),
    (64, 1500, 6),
)
HEADERS = (
    "",
    "common",
    "queue",
    "tools",
    "lib",
    "link",
    "tcp",
    "trace",
    "apps",
    "mac",
    "mobile",
    "classifier",
    "routing",
)
# The definitions that ns-2's configure would write, as far as its headers ask.
CONFIGURED = (
    "\n".join(
        f"#define {name}"
        for name in (
            "HAVE_INT64 1",
            "SIZEOF_LONG 8",
            "STRTOI64 strtoll",
            'STRTOI64_FMTSTR "%lld"',
            "HAVE_STL 1",
            "HAVE_UNISTD_H 1",
            "HAVE_ARPA_INET_H 1",
            "HAVE_NETINET_IN_H 1",
            "HAVE_STRING_H 1",
            "HAVE_SNPRINTF 1",
        )
    )
    + "\n"
)
# The definitions of its Makefile on which the members of a class depend.
DEFINED = (
    "TCP_DELAY_BIND_ALL",
    "NO_TK",
    "NS_DIFFUSION",
    "SMAC_NO_SYNC",
    "CPP_NAMESPACE=std",
    "USE_SINGLE_ADDRESS_SPACE",
    "rng_test",
    "STDC_HEADERS=1",
    "HAVE_LIBTCLCL",
    "USE_INTERP_RESULT",
)


def build(source, folder):
    (folder / "autoconf.h").write_text(CONFIGURED)
    library = folder / "radio_link.so"
    subprocess.run(
        [
            "g++",
            "-O2",
            "-shared",
            "-fPIC",
            "-w",
            "-fpermissive",
            "-std=gnu++17",
            "-include",
            "sys/types.h",
            *(f"-D{name}" for name in DEFINED),
            f"-I{folder}",
            *(f"-I{source / name}" for name in HEADERS),
            "-I/usr/include/tclcl",
            "-I/usr/include/tcl8.6",
            HERE / "ns2_radio_link.cc",
            "-o",
            library,
        ],
        check=True,
    )
    return library


def download(library, settings):
    """s, timeouts, halvings, packets sent again, packets dropped"""
    words = [str(word) for pair in settings.items() for word in pair]
    done = subprocess.run(
        ["ns", HERE / "lundsten_in_ns2.tcl", library, *words],
        check=True,
        capture_output=True,
        text=True,
    )
    return [float(word) for word in done.stdout.split()]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument(
        "--cases", type=int, default=3, help="so many of the text's six, 384/576 first"
    )
    parser.add_argument("settings", nargs="*", metavar="NAME=VALUE")
    asked = parser.parse_args()
    if not (asked.source / "queue" / "queue.h").is_file():
        parser.error(f"--source {asked.source}: no queue/queue.h in it; valid: ns-2's source tree")
    if wrong := [pair for pair in asked.settings if "=" not in pair]:
        parser.error(f"{wrong[0]}: valid: NAME=VALUE")
    given = dict(pair.split("=", 1) for pair in asked.settings)
    with tempfile.TemporaryDirectory() as folder:
        library = build(asked.source.resolve(), pathlib.Path(folder))
        for kbps, packet, window in CASES[: asked.cases]:
            of = {"kbps": kbps, "packet": packet, "window": window} | given
            clean = download(library, of | {"errors": 0})
            runs = [download(library, of | {"seed": seed}) for seed in range(1, asked.seeds + 1)]
            print(
                json.dumps(
                    {
                        "case": f"{kbps}/{packet}",
                        "clean_s": round(clean[0], 1),
                        "clean_dropped": clean[4],
                        "increases": [round(100 * (run[0] / clean[0] - 1), 1) for run in runs],
                        **{
                            name: round(statistics.mean(run[i] for run in runs), 2)
                            for i, name in enumerate(
                                ("s", "timeouts", "halvings", "again", "dropped")
                            )
                        },
                    }
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
