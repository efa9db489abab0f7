# SPDX-License-Identifier: GPL-3.0-or-later
"""The pass of a satellite over a place: its delay and its Doppler shift over time, from a circular
orbit, or from the two-line elements (TLE) of a real one."""

import datetime
import math
import os
from typing import Any, NamedTuple

import numpy

from ..errors import BadInput, not_valid
from ..machine import confined, outputs
from ..machine.confined import printable
from ..machine.places import Places
from ..settings.command_line import FILE, OUTPUT, Parser
from ..settings.kinds import Real

LIGHT_M_PER_S = 299_792_458.0
EARTH_M = 6_371_000.0  # mean radius
GRAVITY_M3_PER_S2 = 3.986004418e14  # gravitational parameter of the earth, WGS 84
EQUATOR_M, FLATTENING = 6_378_137.0, 1 / 298.257223563  # WGS 84
SIDEREAL_RAD_PER_S = 7.292115146706979e-5
SEARCHED_S = 2 * 86400  # seconds that are searched for the next pass
COARSE_S = 10


class Pass(NamedTuple):
    times_s: Any
    distance_m: Any
    speed_m_per_s: Any  # rate of change of the distance; negative: it comes nearer
    elevation_deg: Any

    def delay_ms(self, legs: int) -> Any:
        """`legs`: how often the distance is passed; 2: up and down again at the same place."""
        return 1e3 * legs * self.distance_m / LIGHT_M_PER_S

    def doppler_hz(self, carrier_hz: float) -> Any:
        """On one leg."""
        return -carrier_hz * self.speed_m_per_s / LIGHT_M_PER_S


def circular(altitude_km: float, highest_deg: float, duration_s: float, step_s: float) -> Pass:
    """The pass of a circular orbit over a round earth that does not turn, in closed form. It is
    highest in the middle of the time; `highest_deg`: its elevation then."""
    orbit = EARTH_M + altitude_km * 1e3
    turning = math.sqrt(GRAVITY_M3_PER_S2 / orbit**3)  # rad/s
    # The angle at the centre of the earth between the place and the nearest point of the orbit.
    highest = math.radians(highest_deg)
    aside = math.acos(EARTH_M / orbit * math.cos(highest)) - highest
    t = numpy.arange(0, duration_s + step_s / 2, step_s)
    angle = turning * (t - duration_s / 2)
    # cosine of the angle between place and satellite at the earth's centre
    cosine = math.cos(aside) * numpy.cos(angle)
    distance = numpy.sqrt(EARTH_M**2 + orbit**2 - 2 * EARTH_M * orbit * cosine)
    speed = EARTH_M * orbit * math.cos(aside) * numpy.sin(angle) * turning / distance
    elevation = numpy.degrees(numpy.arcsin((orbit * cosine - EARTH_M) / distance))
    return Pass(t, distance, speed, elevation)


class Place(NamedTuple):
    at_m: Any  # fixed to the earth
    up: Any  # unit vector


def place_of(latitude_deg: float, longitude_deg: float, height_m: float) -> Place:
    """A place on the ellipsoid."""
    latitude, longitude = math.radians(latitude_deg), math.radians(longitude_deg)
    eccentricity2 = FLATTENING * (2 - FLATTENING)
    across = EQUATOR_M / math.sqrt(1 - eccentricity2 * math.sin(latitude) ** 2)
    up = numpy.array(
        [
            math.cos(latitude) * math.cos(longitude),
            math.cos(latitude) * math.sin(longitude),
            math.sin(latitude),
        ]
    )
    scale = numpy.array([across, across, across * (1 - eccentricity2)])
    return Place((scale + height_m) * up, up)


def sidereal_rad(julian: Any) -> Any:
    """Greenwich mean sidereal time (IAU 1982), of a Julian date in UT1."""
    centuries = (julian - 2451545.0) / 36525.0
    seconds = (
        67310.54841
        + (876600 * 3600 + 8640184.812866) * centuries
        + 0.093104 * centuries**2
        - 6.2e-6 * centuries**3
    )
    return numpy.radians(seconds / 240.0) % (2 * math.pi)


class Orbit:
    """A satellite as its elements say, seen from a place."""

    def __init__(self, lines: tuple[str, str], place: Place, file: str) -> None:
        try:
            from sgp4.api import Satrec
        except ImportError:
            raise BadInput(
                f"--tle {file} needs Debian's python3-sgp4, which is not installed; valid: install"
                " it, or --altitude-km for a circular orbit"
            ) from None
        self.satellite: Any = Satrec.twoline2rv(*lines)
        self.file, self.place = file, place
        self.epoch = self.satellite.jdsatepoch + self.satellite.jdsatepochF

    def seen(self, seconds: Any) -> Pass:
        """At these times after the epoch of the elements."""
        whole = numpy.full(len(seconds), self.satellite.jdsatepoch)
        part = self.satellite.jdsatepochF + seconds / 86400
        errors, position, velocity = self.satellite.sgp4_array(whole, part)
        if errors.any():
            raise BadInput(
                f"{self.file}: SGP4 cannot follow this orbit (error {int(errors[errors != 0][0])});"
                " valid: elements of a satellite that is still up"
            )
        # From the true equator and mean equinox to a frame that turns with the earth.
        angle = sidereal_rad(whole + part)
        cos, sin = numpy.cos(angle), numpy.sin(angle)

        def turned(v: Any) -> Any:
            return numpy.stack(
                [cos * v[:, 0] + sin * v[:, 1], cos * v[:, 1] - sin * v[:, 0], v[:, 2]], axis=1
            )

        satellite_m, moving = 1e3 * turned(position), 1e3 * turned(velocity)
        moving = moving - SIDEREAL_RAD_PER_S * numpy.stack(
            [-satellite_m[:, 1], satellite_m[:, 0], numpy.zeros(len(satellite_m))], axis=1
        )
        way = satellite_m - self.place.at_m
        distance = numpy.linalg.norm(way, axis=1)
        direction = way / distance[:, None]
        return Pass(
            numpy.asarray(seconds, dtype="f8"),
            distance,
            (moving * direction).sum(axis=1),
            numpy.degrees(numpy.arcsin(direction @ self.place.up)),
        )

    def next_pass(self, least_deg: float, duration_s: float | None, step_s: float) -> Pass:
        """The first whole pass after the epoch above this elevation; with a duration, so much of
        it around its highest point."""
        coarse = self.seen(numpy.arange(0.0, SEARCHED_S, COARSE_S))
        is_up = coarse.elevation_deg >= least_deg
        begins = numpy.flatnonzero(is_up[1:] & ~is_up[:-1]) + 1
        if not len(begins):
            raise BadInput(
                f"{self.file}: within {SEARCHED_S // 86400} days after its epoch the satellite does"
                f" not rise above {least_deg:g} degrees at this place; valid: another place, or a"
                " smaller --min-elevation-deg"
            )
        first = int(begins[0])
        last = first + int(numpy.argmin(is_up[first:])) if not is_up[first:].all() else len(is_up)
        top = first + int(numpy.argmax(coarse.elevation_deg[first:last]))
        low, high = float((first - 1) * COARSE_S), float(last * COARSE_S)
        if duration_s is not None:
            low, high = top * COARSE_S - duration_s / 2, top * COARSE_S + duration_s / 2
        fine = self.seen(numpy.arange(low, high + step_s / 2, step_s))
        keep = (fine.elevation_deg >= least_deg) | (duration_s is not None)
        found = Pass(*(part[keep] for part in fine))
        return found._replace(times_s=found.times_s - found.times_s[0])

    def time_of(self, seconds: float) -> datetime.datetime:
        j2000 = datetime.datetime(2000, 1, 1, 12, tzinfo=datetime.timezone.utc)
        return j2000 + datetime.timedelta(days=self.epoch - 2451545.0, seconds=seconds)


def elements_of(text: str, file: str) -> tuple[str, str]:
    """The two lines of the first satellite of a file, which may have a line with its name above
    them. Their form and their check sums are right."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    for first, second in zip(lines, lines[1:]):
        if not (first.startswith("1 ") and second.startswith("2 ")):
            continue
        for line in (first, second):
            if len(line) != 69 or not line.isascii():
                raise BadInput(
                    f"{file}: line {printable(line, 40)!r} has {len(line)} characters; valid: 69"
                )
            found = sum(int(c) if c.isdigit() else c == "-" for c in line[:68]) % 10
            if line[68] != str(found):
                raise BadInput(
                    f"{file}: line {printable(line, 40)!r} ends with the check digit {line[68]};"
                    f" valid: {found}"
                )
        return first, second
    raise BadInput(
        f"{file} has no two-line elements (TLE) of a satellite; valid: a line that begins with '1"
        " ' and after it one that begins with '2 '"
    )


LARGEST_TLE = 1 << 20  # bytes of a file of two-line elements


def read_elements(file: str) -> tuple[str, str]:
    try:
        with os.fdopen(confined.opened(file), "rb") as f:
            text = f.read(LARGEST_TLE).decode("ascii", "replace")
    except OSError as e:
        raise BadInput(f"{file}: cannot be read: {e.strerror}") from None
    return elements_of(text, file)


DELAYS_EVERY_MS = 100


def write(found: Pass, carrier_hz: float, legs: int, out: str | None, delays: str | None) -> None:
    """The files that are asked for, and two lines for people."""
    delay, doppler = found.delay_ms(legs), found.doppler_hz(carrier_hz)
    try:
        if out is not None:
            with outputs.replacing(out) as f:
                f.write("time_s,delay_ms,doppler_hz,elevation_deg\n")
                f.writelines(
                    f"{t:.3f},{d:.6f},{s:.2f},{e:.3f}\n"
                    for t, d, s, e in zip(found.times_s, delay, doppler, found.elevation_deg)
                )
        if delays is not None:
            last_ms = int(1e3 * found.times_s[-1])
            # The time in the last line is the period of the trace: it is the end of the pass.
            at = [*range(0, last_ms, DELAYS_EVERY_MS), last_ms]
            with outputs.replacing(delays) as f:
                f.writelines(
                    f"{ms} {d:.6f}\n"
                    for ms, d in zip(at, numpy.interp(at, found.times_s * 1e3, delay))
                )
    except OSError as e:
        raise BadInput(f"{out or delays}: cannot be written: {e.strerror}") from None
    rate = numpy.gradient(doppler, found.times_s)
    print(
        f"{', '.join(name for name in (out, delays) if name is not None)}:"
        f" {found.times_s[-1]:.1f} s, elevation {found.elevation_deg.min():.1f} to"
        f" {found.elevation_deg.max():.1f} degrees\n"
        f"  delay {delay.min():.3f} to {delay.max():.3f} ms; Doppler shift at"
        f" {carrier_hz / 1e6:g} MHz {doppler.min() / 1e3:+.2f} to {doppler.max() / 1e3:+.2f} kHz,"
        f" changing by up to {abs(rate).max():.0f} Hz/s"
    )


def main(arguments: list[str], _places: Places) -> int:
    p = Parser(
        "channel pass",
        "Computes delay and Doppler shift while a satellite passes over a place on the ground.",
    )
    p.add_argument(
        "-o",
        "--out",
        names=OUTPUT,
        metavar="FILE.csv",
        help="CSV file to write, with the columns time_s, delay_ms, doppler_hz and elevation_deg",
    )
    p.add_argument(
        "--delays",
        names=OUTPUT,
        metavar="FILE",
        help="file to write with a delay for each 100 ms, for emulate --link trace --trace FILE",
    )
    p.value(
        "--altitude-km",
        Real(100, 50000),
        default=600.0,
        help=(
            "altitude in km of a circular orbit, over a spherical earth whose rotation is"
            " neglected (default 600)"
        ),
    )
    p.value(
        "--highest-deg",
        Real(1, 90),
        default=90.0,
        help="highest elevation in degrees during the pass of a circular orbit (default 90)",
    )
    p.add_argument(
        "--tle",
        names=FILE,
        metavar="FILE",
        help=(
            "file with the two-line elements (TLE) of a satellite's orbit, instead of the circular"
            " orbit of --altitude-km"
        ),
    )
    p.value(
        "--latitude-deg",
        Real(-90, 90),
        default=0.0,
        help="with --tle: latitude of the place on the ground, in degrees north (default 0)",
    )
    p.value(
        "--longitude-deg",
        Real(-180, 180),
        default=0.0,
        help=(
            "with --tle: longitude of the place on the ground, in degrees east of Greenwich"
            " (default 0)"
        ),
    )
    p.value(
        "--height-m",
        Real(-500, 9000),
        default=0.0,
        help="with --tle: height of the place on the ground above the ellipsoid, in m (default 0)",
    )
    p.value(
        "--min-elevation-deg",
        Real(0, 89),
        default=10.0,
        help="with --tle: elevation in degrees above which the satellite is visible (default 10)",
    )
    p.value(
        "--duration",
        Real(1, 86400),
        default=None,
        help=(
            "length in seconds of the part of the pass around its highest point that is written"
            " (default: 600 s; with --tle, as long as the satellite is above --min-elevation-deg)"
        ),
    )
    p.value(
        "--step",
        Real(0.001, 60),
        default=0.1,
        help="time between two rows of the result, in seconds (default 0.1)",
    )
    p.value(
        "--carrier-hz",
        Real(1e6, 1e12),
        default=2e9,
        help="carrier frequency of the Doppler shift, in Hz (default 2e9)",
    )
    p.value(
        "--legs",
        Real(1, 2),
        default=1.0,
        help=(
            "number of radio links of the path: 1 from the ground to the satellite (default), or 2"
            " through a transparent satellite to a gateway at the same place, which corrects the"
            " Doppler shift of its own link"
        ),
    )
    given = p.parse_args(arguments)
    if given.out is None and given.delays is None:
        raise BadInput(
            "neither -o nor --delays is given, so no file would be written; valid: at least one of"
            " them"
        )
    if given.legs not in (1.0, 2.0):
        raise not_valid("--legs", f"{given.legs:g}", "1 or 2")
    out, delays = (
        outputs.checked(flag, name) if name is not None else None
        for flag, name in (("-o", given.out), ("--delays", given.delays))
    )
    if given.tle is not None:
        place = place_of(given.latitude_deg, given.longitude_deg, given.height_m)
        orbit = Orbit(read_elements(given.tle), place, given.tle)
        found = orbit.next_pass(given.min_elevation_deg, given.duration, given.step)
        if len(found.times_s) < 3:
            raise BadInput(
                f"{given.tle}: the pass lasts less than three steps of {given.step:g} s; valid: a"
                " smaller --step"
            )
    else:
        found = circular(given.altitude_km, given.highest_deg, given.duration or 600.0, given.step)
    write(found, given.carrier_hz, int(given.legs), out, delays)
    return 0
