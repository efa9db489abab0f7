#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How large the tree is, part by part: lines of code, words of pages (docs/develop.md). Prints them; --of COMMIT: of that one, by the same count."""
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[3]
PRODUCT = ("blocks/", "mac/", "channels/", "host/", "flowgraphs/", "firmware/", "cmake/", "openwip")
# Written by hand. Flowgraphs of GNU Radio Companion are its own files, and third_party is somebody else's.
CODE = {".h", ".hpp", ".cpp", ".cc", ".c", ".py", ".proto", ".lua", ".sh", ".cmake", ".yaml", ".yml", ".j2", ".in", ".patch"}
# Part -> what its files are called; the first that fits. What a file of the house says of a guest counts as the house.
PARTS = {
    "UMTS": r"mac/umts/|umts|U-[AB]\d|rlc_(model|world|capture)|host/split/|split_tcp",
    "WLAN": r"wlan|delay_injection|delay_rule|retry_control",
    "cabled, attenuator, firmware": r"^firmware/|host/cabled/|channels/fader/|cabled?_|/cabled|attenuator|fader_|/faders?\.|openwip_firmware|unit/firmware",
    "radios and devices": r"host/radio/|channels/vusrp/|vusrp|(?<!gnu)radio_?[a-z]*\.|radios|sampled_|rate_converter|resampler|uhd|usrp",
    "virtual time, ns-3, campaigns": r"host/(virtual|simulator|campaign)/|/campaign|/experiments?|ns3|virtual|simulator|path_run|calendar|qemu|Snakefile",
}
HOUSE = "house"


def part_of(name):
    return next((part for part, called in PARTS.items() if re.search(called, name)), HOUSE)


def tracked():
    """Of the tree, with what is about to be; None: this is no checkout."""
    listed = subprocess.run(["git", "-C", TOP, "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True)
    return None if listed.returncode else sorted({name for name in listed.stdout.split("\n") if name and (TOP / name).is_file()})


def is_code(name):
    path = pathlib.Path(name)
    return "third_party" not in path.parts and (path.suffix in CODE or path.name in ("CMakeLists.txt", "Snakefile") or (TOP / name).read_bytes()[:2] == b"#!")


def lines():
    """file -> lines, of product and tests"""
    return {name: (TOP / name).read_bytes().count(b"\n") for name in tracked() if name.startswith((*PRODUCT, "tests/", "CMake")) and is_code(name)}


def words():
    """page -> words"""
    return {name: len((TOP / name).read_text().split()) for name in tracked()
            if name == "README.md" or name.startswith("docs/") and name.endswith(".md")}


def sums():
    of = lines()
    return {"product": sum(n for name, n in of.items() if not name.startswith("tests/")),
            "host/cli": sum(n for name, n in of.items() if name.startswith("host/cli/")),
            "tests": sum(n for name, n in of.items() if name.startswith("tests/")),
            "words": sum(words().values())}


def parts():
    """part -> {product: lines, tests: lines, words: of its pages}"""
    of = {part: {"product": 0, "tests": 0, "words": 0} for part in (HOUSE, *PARTS)}
    for name, n in lines().items():
        of[part_of(name)]["tests" if name.startswith("tests/") else "product"] += n
    for name, n in words().items():
        of[part_of(name)]["words"] += n
    return of


def of_commit(commit):
    """Prints what a commit had: this program over its files."""
    here = pathlib.Path(__file__)
    with tempfile.TemporaryDirectory() as folder:
        tree = subprocess.run(["git", "-C", TOP, "archive", commit], check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=tree, check=True)
        subprocess.run(["git", "init", "-q", folder], check=True)
        program = pathlib.Path(folder) / here.relative_to(TOP)
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_bytes(here.read_bytes())
        subprocess.run([sys.executable, program], check=True)


def main():
    if sys.argv[1:2] == ["--of"]:
        return of_commit(sys.argv[2])
    print(f"{'':32}{'product':>9}{'tests':>9}{'words':>9}")
    for part, n in parts().items():
        print(f"{part:32}{n['product']:9,}{n['tests']:9,}{n['words']:9,}")
    total = sums()
    print(f"{'all':32}{total['product']:9,}{total['tests']:9,}{total['words']:9,}\n{'of this, host/cli':32}{total['host/cli']:9,}")
    print("longest files:", ", ".join(f"{name} {n}" for name, n in sorted(lines().items(), key=lambda one: -one[1])[:5]))
    print("longest pages:", ", ".join(f"{name} {n}" for name, n in sorted(words().items(), key=lambda one: -one[1])[:5]))


if __name__ == "__main__":
    main()
