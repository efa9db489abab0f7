# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip doctor: what this machine has and lacks for radios, a line each: ok, or what it costs
and the command that mends it.

Nothing is changed without --fix, which runs the commands of the findings that have one that is
safe: kernel settings and modules, until the next start of the machine. Exit code 0: nothing costs
anything, 1: something does, 2: bad input."""

import ctypes
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..cell.radio_loop import PROGRAM, ask, devices, environment
from ..errors import INVALID, VALID, BadInput, Stop, cause_of
from ..machine import outputs, rights
from ..machine.places import Places
from ..settings.command_line import Parser
from ..settings.kinds import Real
from .finding import Finding, as_json, evaluated, show
from .radio_defaults import of_defaults
from .radio_findings import findings_of_loop, sensor_findings, source_findings
from .radio_program import asked, radio_option, receive_options, transmit_options

# The limits that UHD asks for if a radio is on a network (manual, transport): the sockets' buffers,
# and frames of 8000 bytes.
SOCKET_BYTES = 33_554_432
LARGE_MTU = 8000  # bytes: jumbo frames, which UHD recommends at 10 Gbit/s
# Devices whose samples come over 10 gigabit as well; the others take what there is.
TEN_GIGABIT = ("x300", "x310", "n300", "n310", "n320", "n321", "x410")
USB_VENDORS = ("2500", "3923")  # Ettus Research, National Instruments
USB_3_MBPS = 5000  # Mbit/s of SuperSpeed USB
GOOD_CLOCKS = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter")
LEAST_CORES = 2  # the slot path needs a core that others leave alone
PROBE_S = 120  # seconds; the image of a device may have to be loaded first
USUAL_SHARE = 0.95  # share of a core for real-time processes: the kernel's default
_CLONE_NEWNET = 0x40000000  # of linux/sched.h


class Machine:
    """The machine that is examined; a test gives a folder in the place of / and other answers."""

    def __init__(
        self, root: pathlib.Path | str = "/", environment: Mapping[str, str] | None = None
    ) -> None:
        self.root = pathlib.Path(root)
        self.environment = dict(os.environ if environment is None else environment)

    def text(self, path: str) -> str | None:
        try:
            return (self.root / path.lstrip("/")).read_text().strip()
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        text = self.text(path)
        return int(text) if text is not None and text.lstrip("-").isdigit() else None

    def output_of(self, *command: str, timeout: float = 30) -> str | None:
        """None: there is no such program, or it says nothing in time."""
        if shutil.which(command[0], path=self.environment.get("PATH")) is None:
            return None
        try:
            return subprocess.run(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=timeout,
                env=self.environment,
            ).stdout
        except subprocess.TimeoutExpired:
            return None

    @staticmethod
    def can(action: Callable[[], object]) -> str | None:
        """Tries the action in a child process. Returns None if it succeeds, else the error in
        words."""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                action()
                text = ""
            except OSError as e:
                text = e.strerror or str(e)
            os.write(write, text.encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as output:
            text = output.read()
        os.waitpid(child, 0)
        return text or None


# --- checks ---


def check_uhd(m: Machine, _radio: str) -> Iterator[Finding]:
    output = m.output_of("uhd_config_info", "--version")
    version = re.search(r"UHD (\S+)", output or "")
    if version is None:
        yield Finding(
            "UHD",
            "uhd_config_info is not there",
            "no hardware can be looked for",
            "sudo apt-get install uhd-host",
        )
        return
    yield Finding("UHD", version[1])
    output = m.output_of("uhd_config_info", "--images-dir") or ""
    place = re.search(r"Images directory: *(\S+)", output)
    wanted = m.environment.get("UHD_IMAGES_DIR") or (place[1] if place else "")
    images = (
        [
            f
            for end in ("bit", "bin", "hex", "lvbitx")
            for f in pathlib.Path(wanted).rglob(f"*.{end}")
        ]
        if wanted
        else []
    )
    if images:
        yield fitting_images(m, wanted, f"{len(images)} in {wanted}")
        return
    where = (
        f"UHD_IMAGES_DIR is {wanted}, where there are none"
        if m.environment.get("UHD_IMAGES_DIR")
        else (f"none in {wanted}" if wanted else "there is no folder of them")
    )
    yield Finding(
        "images of UHD",
        where,
        "no USRP starts without its firmware and FPGA image",
        (
            "unset UHD_IMAGES_DIR, or set it to a folder with images; "
            if m.environment.get("UHD_IMAGES_DIR")
            else ""
        )
        + "sudo uhd_images_downloader",
    )


def fitting_images(m: Machine, folder: str, there: str) -> Finding:
    """UHD's downloader notes of which revision its images are, and lists which its UHD wants."""
    try:
        inventory = json.loads(pathlib.Path(folder, "inventory.json").read_text())
        kept = {target: entry["repo_hash"] for target, entry in inventory.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return Finding(
            "images of UHD",
            f"{there}; of which UHD they are is not written there (no inventory.json): opening the"
            " radio shows it",
        )
    wanted = dict(
        re.findall(
            r"^(\S+) *: *\S+/([^/\s]+)/[^/\s]+$",
            m.output_of("uhd_images_downloader", "--list-targets") or "",
            re.M,
        )
    )
    if not wanted:
        return Finding(
            "images of UHD",
            f"{there}; uhd_images_downloader, which knows whether they fit, is not there",
        )
    other = sorted(
        target for target, revision in kept.items() if wanted.get(target, revision) != revision
    )
    if not other:
        return Finding("images of UHD", f"{there}, of this UHD")
    named = ", ".join(f"{t} ({kept[t]}, wanted {wanted[t]})" for t in other[:2]) + (
        ", ..." if len(other) > 2 else ""
    )
    return Finding(
        "images of UHD",
        f"{there}, {len(other)} of another UHD: {named}",
        "a device with such an image is refused, or loaded anew",
        f"sudo uhd_images_downloader --install-location {folder}",
    )


def check_radio(m: Machine, radio: str) -> Iterator[Finding]:
    listed = m.output_of("uhd_find_devices", *(["--args", radio] if radio else []))
    if listed is None:
        yield Finding(
            "devices",
            "uhd_find_devices is not there, or does not end",
            "none can be found",
            "sudo apt-get install uhd-host",
        )
        return
    found = devices(listed)
    if not found:
        if radio:
            yield Finding(
                "devices",
                f"none with --radio {radio}",
                "no station can use it",
                "check power, cable and address; ./openwip doctor without --radio lists what is"
                " found",
            )
        else:
            yield Finding("devices", "none found; software USRPs (type=vusrp) need none")
        return
    for device in found:
        name = ", ".join(
            f"{k}={device[k]}" for k in ("type", "product", "serial", "addr") if k in device
        )
        yield Finding("device", name)
        if "addr" in device:
            yield from check_network(m, device)
        if device.get("type") != "vusrp":  # with --radio the opened device reports the same
            yield from of_defaults(m, device.get("product", device.get("type", "")), False)
    if any(d.get("type") == "b200" for d in found):
        yield from check_usb(m)


def check_usb(m: Machine) -> Iterator[Finding]:
    for vendor in sorted((m.root / "sys/bus/usb/devices").glob("*/idVendor")):
        if vendor.read_text().strip() not in USB_VENDORS:
            continue
        speed = m.number(str(vendor.with_name("speed").relative_to(m.root))) or 0
        yield evaluated(
            "USB",
            f"{speed} Mbit/s at port {vendor.parent.name}",
            speed >= USB_3_MBPS,
            "7.68 MS/s both ways are 61 MB/s, more than USB 2 carries",
            "another port or cable: USB 3 (blue, SS)",
        )


def check_network(m: Machine, device: Mapping[str, str]) -> Iterator[Finding]:
    route = re.search(r"\bdev (\S+)", m.output_of("ip", "route", "get", device["addr"]) or "")
    if route is None:
        yield Finding(
            "network",
            f"no route to {device['addr']}",
            "the device cannot be reached",
            f"ip route get {device['addr']}",
        )
        return
    mtu = m.number(f"/sys/class/net/{route[1]}/mtu") or 0
    yield evaluated(
        "MTU",
        f"{mtu} on {route[1]}",
        device.get("product", "").lower() not in TEN_GIGABIT or mtu >= LARGE_MTU,
        "five times as many packets as with large frames",
        f"sudo ip link set {route[1]} mtu 9000",
        safe=True,
    )


def check_buffers(m: Machine, _radio: str) -> Iterator[Finding]:
    for key in ("rmem_max", "wmem_max"):
        value = m.number(f"/proc/sys/net/core/{key}")
        if value is None:
            yield Finding(f"net.core.{key}", "not known (another network namespace?)")
        else:
            yield evaluated(
                f"net.core.{key}",
                f"{value} bytes",
                value >= SOCKET_BYTES,
                "a radio on a network overflows when this machine is late for some ms",
                f"sudo sysctl -w net.core.{key}={SOCKET_BYTES}",
                safe=True,
            )


def check_processor(m: Machine, _radio: str) -> Iterator[Finding]:
    cores = len(os.sched_getaffinity(0))
    yield evaluated(
        "cores",
        str(cores),
        cores >= LEAST_CORES,
        "what is beside the slot path makes slots late",
        "give the machine two cores",
    )
    governors = {
        p.read_text().strip()
        for p in (m.root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")
    }
    yield evaluated(
        "frequency governor",
        ", ".join(sorted(governors)) or "none here (a virtual machine)",
        not governors - {"performance"},
        "the clock is slow when a slot begins: late slots",
        "sudo cpupower frequency-set -g performance",
    )
    clock = (
        m.text("/sys/devices/system/clocksource/clocksource0/current_clocksource") or "not known"
    )
    yield evaluated(
        "clock source",
        clock,
        clock in (*GOOD_CLOCKS, "not known"),
        "reading the time takes a microsecond and more, in every slot",
        "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource, if"
        " the machine has it",
    )


def check_rights(m: Machine, _radio: str) -> Iterator[Finding]:
    priority = (
        "run as root, or grant it: echo '@usrp - rtprio 99' | sudo tee"
        " /etc/security/limits.d/usrp.conf; sudo usermod -aG usrp $USER"
    )
    why = m.can(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10)))
    yield evaluated(
        "real-time priority", why or "granted", not why, "any other program delays a slot", priority
    )
    yield realtime_share(m)
    memory = (
        "run as root with CAP_IPC_LOCK, or: echo '@usrp - memlock unlimited' | sudo tee -a"
        " /etc/security/limits.d/usrp.conf"
    )
    why = m.can(rights.lock_memory)
    yield evaluated(
        "memory locking",
        why or "granted",
        not why,
        "a page that is fetched from disk makes a slot late",
        memory,
    )
    yield check_tun(m)
    libc = ctypes.CDLL(None, use_errno=True)

    def new_namespace() -> None:
        if libc.unshare(_CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    why = m.can(new_namespace)
    yield evaluated(
        "network namespaces",
        why or "can be made",
        not why,
        "a cell cannot be made on this machine",
        "run as root (sudo)",
    )


def realtime_share(m: Machine) -> Finding:
    """The share of each core that the kernel gives to real-time processes; if they need more it
    stops them until the period is over."""
    share, period = (
        m.number(f"/proc/sys/kernel/sched_rt_{what}_us") for what in ("runtime", "period")
    )
    if share is None or not period:
        return Finding("real-time share", "not known")
    says = "all of a core" if share < 0 else f"{share} of {period} us of a core"
    return evaluated(
        "real-time share",
        says,
        not 0 <= share < USUAL_SHARE * period,
        "a slot path that needs more is held back until the period is over: late slots",
        f"sudo sysctl -w kernel.sched_rt_runtime_us={round(USUAL_SHARE * period)}",
        safe=True,
    )


def check_tun(m: Machine) -> Finding:
    tun = m.root / "dev/net/tun"
    if not tun.exists():
        return Finding(
            "TUN",
            "/dev/net/tun is not there",
            "no IP over the radio",
            "sudo modprobe tun",
            safe=True,
        )
    if not os.access(tun, os.R_OK | os.W_OK):
        return Finding(
            "TUN", "/dev/net/tun is not ours to open", "no IP over the radio", "run as root (sudo)"
        )
    return Finding("TUN", "there")


def check_versions(m: Machine, _radio: str) -> Iterator[Finding]:
    kernel = m.text("/proc/sys/kernel/osrelease") or "not known"
    gnuradio = (m.output_of("gnuradio-config-info", "--version") or "").strip()
    if not gnuradio:
        yield Finding(
            "versions",
            f"kernel {kernel}",
            "GNU Radio is not there: no station over radios",
            "./openwip setup demo",
        )
    elif not gnuradio.lstrip("v").startswith("3.10"):
        yield Finding(
            "versions",
            f"kernel {kernel}, GNU Radio {gnuradio}",
            "OpenWIP is written for GNU Radio 3.10",
            "a release that has it",
        )
    else:
        yield Finding(
            "versions", f"kernel {kernel}, GNU Radio {gnuradio}, Python {sys.version.split()[0]}"
        )


def check_opened(places: Places, radio: str) -> Iterator[Finding]:
    """Reference, time and locks: the radio is opened for it."""
    if not places.path(PROGRAM).exists():
        yield Finding(
            "reference, time, locks",
            "not asked: that program is not built; ./openwip radio probe builds it",
        )
        return
    try:
        found = ask(places, "probe", radio, [], limit_s=PROBE_S)
    except (BadInput, Stop) as e:
        yield Finding(
            "opening the radio",
            str(e),
            "no station can use it",
            "what UHD says; uhd_usrp_probe says more",
        )
        return
    yield from sensor_findings(found)
    yield from source_findings(found)


CHECKS = (check_uhd, check_radio, check_buffers, check_processor, check_rights, check_versions)


def examine(machine: Machine, radio: str = "", places: Places | None = None) -> list[Finding]:
    findings = [finding for check in CHECKS for finding in check(machine, radio)]
    if radio and places and any(f.what == "device" for f in findings):
        findings += check_opened(places, radio)
    return findings


def fix(findings: Sequence[Finding]) -> None:
    for f in findings:
        if f.safe and not f.ok:
            command = f.mend.removeprefix("sudo ").split() if os.geteuid() == 0 else f.mend.split()
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            how = (
                "done"
                if done.returncode == 0
                else f"failed: {cause_of(command[0], done.returncode, done.stderr)}"
            )
            print(f"fix   {f.what}: {f.mend}: {how}")


def main(arguments: list[str], places: Places) -> int:
    p = Parser(
        "doctor",
        "Checks what this computer has and lacks for real-time operation with radios: prints a"
        " line for each finding, with its consequence and the command that mends it.",
    )
    radio_option(p)
    p.add_argument(
        "--fix",
        action="store_true",
        help="run those of the proposed commands that are safe (kernel settings, modules), then"
        " check again",
    )
    p.add_argument(
        "--loop",
        action="store_true",
        help=(
            "measure how long samples take from the radio to this computer and back, and print the"
            " shortest scheduling lead and ARQ retransmission delay that follow. THIS TRANSMITS."
            " The options for duration, frequency, gains and antennas need it"
        ),
    )
    p.value(
        "--duration",
        Real(1, 3600),
        was="--seconds",
        metavar="S",
        help="longest time for the measurement of --loop, in seconds (default 60)",
    )
    receive_options(p)
    transmit_options(p)
    p.json("the findings about this computer", was_a_word=True)
    given = p.parse_args(arguments)
    meant = [
        o
        for o in (
            "--duration",
            "--receive-gain",
            "--antenna",
            "--transmit-gain",
            "--transmit-antenna",
        )
        if getattr(given, {"--duration": "seconds"}.get(o, o[2:].replace("-", "_")))
        not in (None, "")
    ]
    if meant and not given.loop:
        raise BadInput(
            f"{meant[0]} is given without --loop, and nothing else uses the radio; valid: with"
            " --loop"
        )
    given.seconds = given.seconds or 60.0
    outputs.check_given("--json", given.json)
    if given.loop:
        places.check_built(PROGRAM)
    machine = Machine(environment=environment(places))
    findings = examine(machine, given.radio, places)
    if given.fix:
        fix(findings)
        findings = examine(machine, given.radio, places)
    if given.json != "-":
        show(findings)
    loop: dict[str, Any] = {}
    if given.loop:
        loop = ask(places, "loop", given.radio, asked(given))
        measured = list(findings_of_loop(loop))
        if given.json != "-":
            show(measured)
        findings += measured
    lacking = sum(not f.ok for f in findings)
    outputs.say(
        given.json,
        f"{len(findings)} findings, "
        + (f"{lacking} of them cost something" if lacking else "nothing to mend"),
    )
    outputs.write_json(
        given.json, {"findings": as_json(findings)} | ({"loop": loop} if given.loop else {})
    )
    return INVALID if lacking else VALID
