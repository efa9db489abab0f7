#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same runs of virtual time and ns-3 on other kinds of processor and under another kernel:
guests of QEMU with Debian's own kernel, which have this machine's files read-only
(docs/results/virtual-time.md). The SHA-256 of the packet captures are compared. As root; packages:
qemu-system-x86 (on 64-bit ARM: qemu-system-arm) busybox-static cpio; the kernel is fetched (apt-get
download) and nothing of it installed.

    OPENWIP_BUILD=BUILD other_processors.py OUT [--machines tcg:max,tcg:Nehalem] [--runs cubic,ns3]
    [--seconds 60] OPENWIP_BUILD=BUILD other_processors.py OUT --machines none --runs all --expect
    docs/results/virtual-time.md

The second one runs here alone, without root, and compares with what a page has: lines with the
`NAME` of a run and its SHA-256. A machine is ACCELERATOR:PROCESSOR of QEMU (kvm or tcg); tcg
computes every instruction in software and takes minutes a run. The build must be one that these
processors can run: -DOPENWIP_MARCH=portable. A run that is there in OUT/MACHINE.json is not made
again, unless seconds, options or programs (by their SHA-256, in the file) are others. Guests have
the architecture of this machine; on 64-bit ARM (never run there) there is no virtual time, and the
runs are those of ns-3.

Expected, written before the first run: each run has the same SHA-256 on this machine, on all of
them and in the page; if not, the exit code is 1; 2: it cannot begin; 3: a guest brought no
result."""

import argparse
import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time
from typing import Any, NamedTuple, NoReturn

TOP = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ("host/emulator/wip_emulator", "host/simulator/wip_ns3")  # programs of the build
# Files that their runs need besides them.
OF_VIRTUAL_TIME = ("virtual-time/linux", "host/virtual/wip_guest")
MACHINE = re.compile(r"(kvm|tcg):[\w.+=-]+(,[\w.+=-]+)*")
HASHES = re.compile(r"`([\w-]+)`.*\b([0-9a-f]{64})\b")  # name and SHA-256 in a page
MODULES = (
    "virtio_ring",
    "virtio",
    "virtio_pci_modern_dev",
    "virtio_pci_legacy_dev",
    "virtio_pci",
    "netfs",
    "fscache",
    "9pnet",
    "9pnet_virtio",
    "9p",
)
# 60 s of bulk CUBIC, 10 bins of jakes, window 48 KiB: the run of docs/results/virtual-time.md;
# then runs with other computations, the last one with the predictions of the built-in predictor
# instead of drawn ones.
RUNS = {
    "cubic": ["--time", "virtual", "--symbol-noise", "off"],
    "ns3": ["--time", "ns3", "--symbol-noise", "off"],
    "symbols": ["--time", "virtual"],
    "ns3-symbols": ["--time", "ns3"],
    "tdl": ["--time", "ns3", "--channel", "tdl-c"],
    "umts": ["--time", "ns3", "--link", "umts"],
    "wlan": ["--time", "ns3", "--link", "wlan"],
    "predictor": ["--time", "ns3", "--symbol-noise", "off", "--prediction-nmse", "predictor"],
}


class Architecture(NamedTuple):
    """The names that QEMU and Debian have for the parts of a guest that has this machine's
    programs."""

    qemu: str
    machine: str
    console: str
    kernel: str  # Debian's package
    processors: str  # default of --machines
    virtual_time: bool  # whether User Mode Linux exists for this processor


ARCHITECTURES = {
    "x86_64": Architecture(
        "qemu-system-x86_64", "q35", "ttyS0", "linux-image-amd64", "tcg:max,tcg:Nehalem", True
    ),
    "aarch64": Architecture(
        "qemu-system-aarch64",
        "virt",
        "ttyAMA0",
        "linux-image-arm64",
        "tcg:max,tcg:cortex-a72",
        False,
    ),
}
INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /host
/bin/busybox mount -t proc proc /proc
for m in {modules}; do [ ! -f /$m.ko ] || /bin/busybox insmod /$m.ko; done
/bin/busybox mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=262144 host /host
for f in "proc proc" "sysfs sys" "devtmpfs dev" "tmpfs dev/shm" "tmpfs run"; do
  set -- $f; /bin/busybox mkdir -p /host/$2; /bin/busybox mount -t $1 $1 /host/$2
done
/bin/busybox mount -t 9p -o trans=virtio,version=9p2000.L,cache=none,msize=262144 out /host/mnt
/bin/busybox ip link set lo up
/bin/busybox chroot /host /usr/bin/env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/run TMPDIR=/dev/shm \\
    OPENWIP_BUILD={build} /usr/bin/python3 {script} /mnt --inside {runs} --seconds {seconds} >/dev/{console} 2>&1
/bin/busybox poweroff -f
"""


def processor() -> dict[str, Any]:
    text = pathlib.Path("/proc/cpuinfo").read_text()
    output = dict(
        (w.strip() for w in line.split(":", 1))
        for line in text.split("\n\n")[0].splitlines()
        if ":" in line
    )
    flags = (output.get("flags") or output.get("Features", "")).split()  # x86-64, 64-bit ARM
    name = (
        output.get("model name")
        or f"implementer {output.get('CPU implementer')}, part {output.get('CPU part')}"
    )
    return {
        "processor": name,
        "kernel": platform.release(),
        "flags": [
            f
            for f in (
                "sse4_2",
                "avx",
                "fma",
                "avx2",
                "avx512f",
                "amx_tile",
                "asimd",
                "asimddp",
                "sve",
                "sve2",
            )
            if f in flags
        ],
    }


def measure(out: pathlib.Path, runs: list[str], seconds: float) -> dict[str, Any]:
    """Measures on this machine."""
    build = pathlib.Path(os.environ["OPENWIP_BUILD"])
    found = processor() | {"runs": {}}
    scratch = pathlib.Path("/dev/shm")
    capture, report = scratch / f"{os.getpid()}.pcap", scratch / f"{os.getpid()}.json"
    for name in runs:
        began = time.monotonic()
        done = subprocess.run(
            [
                "/usr/bin/python3",
                "-m",
                "openwip_cli",
                "emulate",
                "--duration",
                f"{seconds:g}",
                "--tcp-window-kb",
                "48",
                *RUNS[name],
                "--capture",
                str(capture),
                f"--json={report}",
            ],
            capture_output=True,
            text=True,
            env=os.environ
            | {
                "PYTHONPATH": f"{TOP}/host/cli:{build}/python",
                "OPENWIP_TOP": str(TOP),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
        )
        if done.returncode:
            found["runs"][name] = {"failed": (done.stderr or done.stdout).strip()[-500:]}
        else:
            output = json.loads(report.read_text())
            found["runs"][name] = {
                "sha256": sha256(capture),
                "capture_bytes": capture.stat().st_size,
                "goodput_bps": output["tcp"]["goodput_bps"],
                "factor": output["realtime"]["factor"],
            }
        found["runs"][name] |= {"options": RUNS[name], "wall_s": round(time.monotonic() - began, 1)}
        print(name, found["runs"][name], flush=True)
        for file in (capture, report):
            file.unlink(missing_ok=True)
    (out / "found.json").write_text(json.dumps(found))
    return found


def sha256(file: pathlib.Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def stop(why: str, code: int) -> NoReturn:
    print(f"other_processors.py: {why}", file=sys.stderr)
    raise SystemExit(code)


def this_architecture() -> Architecture:
    if platform.machine() not in ARCHITECTURES:
        stop(f"this machine is {platform.machine()}; valid: {', '.join(ARCHITECTURES)}", 2)
    return ARCHITECTURES[platform.machine()]


def is_virtual(run: str) -> bool:
    """Whether the TCP of a run is that of User Mode Linux."""
    return "virtual" in RUNS[run]


def debians_kernel(folder: pathlib.Path, newest: str) -> pathlib.Path:
    """Unpacked in the folder; `newest`: the package that depends on the newest kernel."""
    unpacked = folder / "kernel"
    if not unpacked.exists():
        output = subprocess.run(
            ["apt-cache", "depends", newest], capture_output=True, text=True, check=True
        ).stdout
        package = next(w for w in output.split() if w.startswith("linux-image-") and w != newest)
        subprocess.run(
            ["apt-get", "download", package], cwd=folder, check=True, capture_output=True
        )
        subprocess.run(
            [
                "dpkg-deb",
                "-x",
                str(next(folder.glob(f"{package}*.deb"))),
                str(folder / "kernel.part"),
            ],
            check=True,
        )
        (folder / "kernel.part").rename(unpacked)
    return unpacked


def initramfs(
    folder: pathlib.Path, kernel: pathlib.Path, console: str, runs: list[str], seconds: float
) -> pathlib.Path:
    root = folder / "initramfs"
    shutil.rmtree(root, ignore_errors=True)
    (root / "bin").mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin")
    for module in MODULES:
        for file in kernel.glob(f"lib/modules/*/kernel/**/{module}.ko"):
            shutil.copy(file, root)
    (root / "init").write_text(
        INIT.format(
            modules=" ".join(MODULES),
            console=console,
            build=os.environ["OPENWIP_BUILD"],
            script=pathlib.Path(__file__).resolve(),
            runs="--runs " + ",".join(runs),
            seconds=seconds,
        )
    )
    (root / "init").chmod(0o755)
    names = "\n".join(str(f.relative_to(root)) for f in [root, *root.rglob("*")])
    image = folder / "initramfs.cpio"
    image.write_bytes(
        subprocess.run(
            ["cpio", "-o", "-H", "newc", "--quiet"],
            cwd=root,
            input=names.encode(),
            capture_output=True,
            check=True,
        ).stdout
    )
    return image


def in_guest(
    machine: str, folder: pathlib.Path, runs: list[str], seconds: float, limit_s: float
) -> dict[str, Any]:
    accelerator, _, model = machine.partition(":")
    of = this_architecture()
    kernel, out = debians_kernel(folder, of.kernel), folder / machine.replace(":", "-")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    share = "local,security_model=none,multidevs=remap"
    try:
        done = subprocess.run(
            [
                of.qemu,
                "-machine",
                f"{of.machine},accel={accelerator}",
                "-cpu",
                model,
                "-m",
                "2G",
                "-smp",
                "1",
                "-display",
                "none",
                "-no-reboot",
                "-nic",
                "none",
                "-serial",
                f"file:{out}/console",
                "-kernel",
                str(next(kernel.glob("boot/vmlinuz-*"))),
                "-initrd",
                str(initramfs(folder, kernel, of.console, runs, seconds)),
                "-append",
                f"console={of.console} quiet panic=-1",
                "-virtfs",
                f"{share},path=/,mount_tag=host,readonly=on",
                "-virtfs",
                f"{share},path={out},mount_tag=out",
            ],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=limit_s,
        )
        why = "it ended"
    except subprocess.TimeoutExpired:
        done, why = None, f"not over after {limit_s:g} s (--limit)"
    if done and done.returncode:
        stop(
            f"--machines has {machine!r}, which QEMU refuses:"
            f" {(done.stderr.strip().splitlines() or ['it says nothing'])[-1]}",
            2,
        )
    if not (out / "found.json").exists():
        console = out / "console"
        output = console.read_text(errors="replace")[-600:].strip() if console.exists() else ""
        stop(f"{machine}: no result, {why}; the last it said: {output or 'nothing'}", 3)
    return dict(json.loads((out / "found.json").read_text()))


def kept_runs(file: pathlib.Path, asked: dict[str, Any]) -> dict[str, Any]:
    """The runs of the file that would come out the same again: those with these seconds and
    programs, and with the present options."""
    content = json.loads(file.read_text()) if file.exists() else {}
    if any(content.get(name) != value for name, value in asked.items()):
        return {}
    return {
        name: run
        for name, run in content["runs"].items()
        if "sha256" in run and run.get("options") == RUNS.get(name)
    }


def expected(page: pathlib.Path | None, runs: list[str]) -> dict[str, str]:
    """SHA-256 of these runs, as the page has them."""
    if page is None:
        return {}
    try:
        found = dict(HASHES.findall(page.read_text()))
    except (OSError, UnicodeDecodeError) as e:
        stop(f"--expect {page}: {getattr(e, 'strerror', None) or 'it is no text'}", 2)
    if missing := [r for r in runs if r not in found]:
        stop(
            f"--expect {page} has no SHA-256 of {missing[0]}; valid: a page with a line of each of"
            " --runs, `NAME` and the SHA-256",
            2,
        )
    return {r: found[r] for r in runs}


def main() -> int:
    p = argparse.ArgumentParser(description="one run on several kinds of processor")
    p.add_argument("out", type=pathlib.Path)
    of = this_architecture()
    here = [r for r in RUNS if of.virtual_time or not is_virtual(r)]
    p.add_argument("--machines", default=of.processors, help="none: this one alone")
    p.add_argument(
        "--runs",
        default=",".join(r for r in ("cubic", "ns3") if r in here),
        help=f"{', '.join(here)}; all of them: all",
    )
    p.add_argument(
        "--expect",
        type=pathlib.Path,
        metavar="PAGE",
        help="a page with the SHA-256, such as docs/results/virtual-time.md",
    )
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--limit", type=float, default=3600, help="seconds of a guest")
    p.add_argument("--inside", action="store_true", help="run on this machine and no other")
    given = p.parse_args()
    # A guest is in another folder.
    os.environ["OPENWIP_BUILD"] = str(
        pathlib.Path(os.environ.get("OPENWIP_BUILD", TOP / "build")).resolve()
    )
    runs = here if given.runs == "all" else given.runs.split(",")
    if unknown := [r for r in runs if r not in here]:
        p.error(f"--runs has {unknown[0]!r}; valid on this processor: {', '.join(here)}")
    machines = [] if given.machines == "none" else re.split(",(?=(?:kvm|tcg):)", given.machines)
    if wrong := [m for m in machines if not MACHINE.fullmatch(m)]:
        p.error(
            f"--machines has {wrong[0]!r}; valid: kvm:PROCESSOR or tcg:PROCESSOR of QEMU, separated"
            " by commas"
        )
    if given.inside:
        measure(given.out, runs, given.seconds)
        return 0
    build = pathlib.Path(os.environ["OPENWIP_BUILD"])
    tools = (of.qemu, "cpio", "/bin/busybox") if machines else ()
    programs = PROGRAMS + (OF_VIRTUAL_TIME if any(map(is_virtual, runs)) else ())
    page = expected(given.expect, runs)
    if missing := [str(build / f) for f in programs if not (build / f).exists()] + [
        f for f in tools if not shutil.which(f)
    ]:
        p.error(
            f"{missing[0]} is missing; needed: a whole build in OPENWIP_BUILD, {of.qemu}"
            " busybox-static cpio"
        )
    asked = {"seconds": given.seconds, "programs": {f: sha256(build / f) for f in programs}}
    given.out.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {}
    for machine in ["here", *machines]:
        kept = given.out / f"{machine.replace(':', '-')}.json"
        there = kept_runs(kept, asked)
        if missing := [r for r in runs if r not in there]:
            new = (
                measure(given.out, missing, given.seconds)
                if machine == "here"
                else in_guest(machine, given.out.resolve(), missing, given.seconds, given.limit)
            )
            kept.write_text(json.dumps(asked | new | {"runs": there | new["runs"]}, indent=1))
        there = json.loads(kept.read_text())
        found[machine] = there
        print(
            f"{machine}: {there['processor']}, Linux {there['kernel']}, {' '.join(there['flags'])}",
            flush=True,
        )
        for name in runs:
            print(f"  {name}: {json.dumps(there['runs'][name])}", flush=True)
    others = [
        (m, r)
        for m in found
        for r in runs
        if found[m]["runs"][r].get("sha256", m) != found["here"]["runs"][r].get("sha256")
    ]
    others += [
        (str(given.expect), r) for r in page if page[r] != found["here"]["runs"][r].get("sha256")
    ]
    for machine, run in others:
        print(f"not the same: {run} on {machine}")
    return 1 if others else 0


if __name__ == "__main__":
    sys.exit(main())
