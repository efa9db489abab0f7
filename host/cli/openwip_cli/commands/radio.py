# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip radio list, probe, levels, spectrum: radios that UHD finds, without a cell. A finding
is ok, or what it costs and what mends it. Exit code 0: nothing costs anything, 1: something does,
2: bad input, or a radio that is not there."""

import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from ..air import SAMPLE_RATE
from ..cell.radio_loop import ask, devices, environment
from ..errors import INVALID, VALID, BadInput
from ..machine import outputs
from ..machine.places import Places
from ..settings import radios
from ..settings.command_line import OUTPUT, run_command
from ..settings.kinds import Real
from . import doctor
from .finding import Finding, as_json, evaluated, show
from .radio_defaults import of_defaults
from .radio_findings import sensor_findings, source_findings
from .radio_program import asked, parsed, radio_parser, transmit_options

USAGE = """usage: ./openwip radio COMMAND [--radio ARGS] [--json[=FILE]] [OPTIONS]

  list        list the devices that UHD finds, and the software radio
  probe       check a device: clocks, rates, ranges, sensors, time and calibration
  levels      measure noise floor, DC offset, clipping; with --tone (transmits) image and leakage
  spectrum    measure the spectrum of what is received, and draw it (--out FILE.png)

--radio: UHD device arguments, such as type=b200 (without: the first radio found); type=vusrp is a software one that hears itself.
COMMAND --help: its options."""

RESAMPLING = "a sixth of a core for each direction"  # docs/results/radios.md, Rates
# Products whose mixers are corrected from a file that one has to make; the others measure and
# correct themselves.
CORRECTED_FROM_A_FILE = ("n200", "n210", "x300", "x310")
SOFTWARE = "air_connected"  # a sensor that only software USRPs have
LEAST_IMAGE_DB = 25  # docs/results/radios.md: costs 256-QAM about 1 dB
MOST_DC_DBFS = -20  # dB of full scale; a higher level costs headroom


def mhz(hz: float) -> str:
    return f"{hz / 1e6:.6f}".rstrip("0").rstrip(".")


def span(r: dict[str, Any], scale: float = 1) -> str:
    """A range in words."""
    low, high = f"{r['lowest'] / scale:g}", f"{r['highest'] / scale:g}"
    return low if low == high else f"{low}..{high}"


# --- list ---


def found_devices(places: Places, radio: str) -> list[dict[str, str]]:
    """Software radios show themselves only when they are asked for by type."""
    machine = doctor.Machine(environment=environment(places))
    found: list[dict[str, str]] = []
    for wanted in [radio] if radio else ["", "type=vusrp"]:
        listed = machine.output_of("uhd_find_devices", *(["--args", wanted] if wanted else []))
        if listed is None:
            raise BadInput(
                "the program uhd_find_devices is not installed, or does not end; install it with"
                " sudo apt-get install uhd-host"
            )
        # find_all is UHD's own, of the search.
        found += [{k: v for k, v in d.items() if k != "find_all"} for d in devices(listed)]
    return found


def list_radios(arguments: list[str], places: Places) -> int:
    given = parsed(radio_parser("radio list"), arguments)
    found = found_devices(places, given.radio)
    if given.json != "-":
        for device in found:
            first = [k for k in ("type", "product", "serial", "addr") if k in device]
            print(
                ", ".join(
                    f"{k}={device[k]}" for k in (*first, *(k for k in device if k not in first))
                )
            )
        if not found:
            print(
                "none found: check power, cable and address; ./openwip doctor says what this"
                " machine lacks"
            )
    outputs.write_json(given.json, {"devices": found})
    return VALID if found else INVALID


# --- probe ---


def of_clock(found: dict[str, Any], radio: str) -> Iterator[Finding]:
    product = radios.products().get(radios.model(found["product"]))
    # The range that UHD reports is that of the moment: for devices with some clocks, the range of
    # the one they were opened with.
    others = (
        ", ".join(map(mhz, product["clock"]["list"]))
        if product and "list" in product["clock"]
        else span(found["clocks_hz"], 1e6)
    )
    yield Finding("master clock", f"{mhz(found['clock_hz'])} MHz (of {others})")
    sides = [found[s] for s in ("receive", "transmit") if s in found]
    rate = sides[0]["rate_hz"] if sides else 0
    if not any(s["converted"] for s in sides):
        yield Finding("sample rate", f"{mhz(rate)} MS/s, that of a cell")
        return
    clock = radios.clock(product) if product else None
    direct = clock is not None and clock % SAMPLE_RATE == 0 and clock != found["clock_hz"]
    yield Finding(
        "sample rate",
        f"{mhz(rate)} MS/s, converted to and from {mhz(SAMPLE_RATE)}",
        RESAMPLING,
        (
            f"--radio {shlex.quote(','.join(filter(None, (radio, f'master_clock_rate={clock}'))))}"
            if direct
            else "nothing: its clock has no other rate; it works so"
        ),
    )


def of_side(name: str, s: dict[str, Any]) -> Iterator[Finding]:
    yield Finding(
        name,
        f"{s['front']}, {s['channels']} channel{'s' if s['channels'] != 1 else ''},"
        f" {span(s['frequency_hz'], 1e6)} MHz, gain {span(s['gain_db'])} dB in steps of"
        f" {s['gain_db']['step']:g}, bandwidth {span(s['bandwidth_hz'], 1e6)} MHz, antennas"
        f" {', '.join(s['antennas'])}",
    )


def of_calibration(found: dict[str, Any], radio: str) -> Iterator[Finding]:
    sides = {s: found[s] for s in ("receive", "transmit") if s in found}
    known = [s for s in sides if sides[s]["power_calibrated"]]
    yield Finding(
        "power",
        (
            f"calibrated ({' and '.join(known)})"
            if known
            else "not calibrated: levels in dBFS, not in dBm"
        ),
    )
    if radios.model(found["product"]) not in CORRECTED_FROM_A_FILE:
        yield Finding("images", "the device corrects its mixers by itself")
        return
    lacking = [s for s in sides if not sides[s]["image_calibrated"]]
    if not lacking:
        yield Finding("images", "corrected from files of this board")
    elif SOFTWARE in found["sensors"]:
        yield Finding(
            "images",
            "not corrected, as a board without files (software: there is nothing to correct)",
        )
    else:
        programs = {
            "receive": ("uhd_cal_rx_iq_balance",),
            "transmit": ("uhd_cal_tx_iq_balance", "uhd_cal_tx_dc_offset"),
        }
        yield Finding(
            "images",
            f"no file of this board ({', '.join(lacking)})",
            "images and LO leakage only 25 to 30 dB down",
            "nothing connected, then: "
            + "; ".join(f"{c} --args {shlex.quote(radio)}" for s in lacking for c in programs[s]),
        )


def findings_of_probe(found: dict[str, Any], radio: str) -> Iterator[Finding]:
    yield Finding("device", f"{found['name']}, serial {found['serial'] or 'unknown'}")
    yield from of_clock(found, radio)
    for name, key in (("receiver", "receive"), ("transmitter", "transmit")):
        if key in found:
            yield from of_side(name, found[key])
        else:
            yield Finding(
                name,
                "none",
                f"it can only be a station that {'sends' if key == 'receive' else 'receives'}",
                "a board that has both",
            )
    yield from sensor_findings(found)
    yield from source_findings(found)
    yield from of_calibration(found, radio)
    yield from of_defaults(doctor.Machine(), found["product"], SOFTWARE in found["sensors"])


def finish(reported: Iterable[Finding], found: dict[str, Any], file: str | None) -> int:
    findings = list(reported)
    if file != "-":
        show(findings)
    outputs.write_json(file, found | {"findings": as_json(findings)})
    return VALID if all(f.ok for f in findings) else INVALID


def probe(arguments: list[str], places: Places) -> int:
    given = parsed(radio_parser("radio probe"), arguments)
    found = ask(places, "probe", given.radio, [])
    return finish(findings_of_probe(found, given.radio), found, given.json)


# --- levels ---


def findings_of_levels(found: dict[str, Any]) -> Iterator[Finding]:
    yield Finding(
        "receiver",
        f"{mhz(found['frequency_hz'])} MHz, gain {found['receive_gain_db']:g} dB,"
        f" {found['antenna']}, {mhz(found['rate_hz'])} MS/s, {found['samples']} samples",
    )
    yield Finding(
        "noise",
        f"{found['noise_dbfs']:.1f} dBFS in 7.68 MHz; less the gain"
        f" {found['noise_at_gain_0_dbfs']:.1f}",
    )
    yield evaluated(
        "DC offset",
        f"{found['dc_dbfs']:.1f} dBFS",
        found["dc_dbfs"] <= MOST_DC_DBFS,
        "takes headroom of the converter",
        "less gain; another antenna port, if a strong carrier is at the centre",
    )
    yield evaluated(
        "level",
        f"peak {found['peak_dbfs']:.1f} dBFS, {100 * found['clipped']:.4g} % of the samples"
        " clipped",
        found["clipped"] == 0,
        "noise in every bin",
        "less --receive-gain, or a larger attenuator",
    )
    tone = found["tone"]
    if tone is None:
        return
    sent = f"sent with gain {tone['sent']['transmit_gain_db']:g} dB from {tone['sent']['antenna']}"
    if not tone["heard"]:
        yield Finding(
            "tone",
            f"not heard ({sent})",
            "no images or leakage measured",
            "more --transmit-gain or --receive-gain, with the attenuator in its place; cable,"
            " antenna ports",
        )
        return
    yield Finding(
        "tone",
        f"{tone['dbfs']:.1f} dBFS at {tone['hz'] / 1e3:+.1f} kHz,"
        f" {tone['hz'] - tone['expected_hz']:+.0f} Hz off ({sent})",
    )
    for name, key in (
        ("image of the receiver", "receive_image"),
        ("image of the transmitter", "transmit_image"),
    ):
        yield evaluated(
            name,
            f"{'at least ' if tone[key]['at_least'] else ''}{tone[key]['db']:.1f} dB below the"
            " tone",
            tone[key]["db"] >= LEAST_IMAGE_DB or tone[key]["at_least"],
            "more than 1 dB at 256-QAM",
            "calibrate (./openwip radio probe says how)",
        )
    leak = tone["leakage"]
    yield Finding(
        "LO leakage", f"{'at least ' if leak['at_least'] else ''}{leak['db']:.1f} dB below the tone"
    )


def levels(arguments: list[str], places: Places) -> int:
    p = radio_parser("radio levels", receives=True)
    p.value(
        "--tone",
        Real(-60, 0),
        metavar="DBFS",
        nargs="?",
        const=-6.0,
        help="send a tone during the measurement, 912 kHz above the centre frequency (level in"
        " dBFS, default -6): THIS TRANSMITS",
    )
    p.add_argument(
        "--tone-radio",
        metavar="ARGS",
        default="",
        help="radio that sends the tone (default: the one that is measured)",
    )
    transmit_options(p)
    given = parsed(p, arguments)
    if given.tone is None and (
        given.tone_radio or given.transmit_gain is not None or given.transmit_antenna
    ):
        raise BadInput(
            "--tone-radio, --transmit-gain or --transmit-antenna is given without --tone; valid:"
            " with --tone, as nothing is sent otherwise"
        )
    found = ask(places, "levels", given.radio, asked(given))
    return finish(findings_of_levels(found), found, given.json)


# --- spectrum ---


def spectrum(arguments: list[str], places: Places) -> int:
    p = radio_parser("radio spectrum", receives=True)
    p.add_argument(
        "-o",
        "--out",
        names=OUTPUT,
        metavar="FILE.png",
        help="file for the picture (default spectrum.png, or none with --json)",
    )
    given = parsed(p, arguments)
    file = given.out or (None if given.json else "spectrum.png")
    if file:
        outputs.check("--out", file)
    found = ask(places, "spectrum", given.radio, asked(given))
    if file:
        from . import radio_plot

        with outputs.writing("--out", file):
            radio_plot.draw(file, found, given.radio)
        if given.json != "-":
            print(file)
    outputs.write_json(given.json, found, indent=0)
    return VALID


COMMANDS = {"list": list_radios, "probe": probe, "levels": levels, "spectrum": spectrum}


def main(arguments: list[str], places: Places) -> int:
    return run_command("radio", USAGE, COMMANDS, arguments, places)
