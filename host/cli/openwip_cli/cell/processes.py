# SPDX-License-Identifier: GPL-3.0-or-later
"""The processes of a cell, in the order of starting: their command lines, environments and rights."""

from ..air import SLOT_SAMPLES
from ..machine import rights
from ..machine.places import Places
from ..settings import inputs, radios
from ..settings.scenario import SETTINGS, Scenario, text_of
from .cell import Cell
from .configuration import TRANSMITTER
from .process import Process

# Programs of the build.
MACD, MEDIUM, FADER = "host/macd/macd", "host/medium/air", "host/cabled/wip_fader"


def radio_environment(cell: Cell, places: Places) -> dict[str, str]:
    return {
        "OPENWIP_RUN": str(cell.run),
        "PYTHONPATH": str(places.build / "python"),
        "UHD_MODULE_PATH": str(places.build / "uhd_modules"),
        "GR_CONF_CONTROLPORT_ON": "False",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def flowgraph(role: str, places: Places) -> list[str]:
    return [
        str(places.python),
        str(
            places.top
            / "flowgraphs"
            / "apps"
            / ("base_station.py" if role == "base" else "terminal.py")
        ),
    ]


def transmitter_options(scenario: Scenario, control: str = "") -> list[str]:
    options = [
        "--edge-samples",
        str(scenario["radio.edge_samples"]),
        "--lead",
        str(scenario["link.transmit_lead_slots"]),
    ]
    if not scenario.cabled and not scenario.fade_in_transmitter:
        return options
    options.append("--bursts-first")
    if scenario.cabled:
        return options
    channel = {
        "speed_kmh": -1 if scenario.speed_kmh is None else scenario.speed_kmh,
        "shadowing": text_of(scenario["channel.shadowing"]),
        "user": scenario["channel.user"],
        "noise_dbfs": round(scenario.noise_dbfs, 4),
        "seed": scenario["seed"],
    }
    return [
        *options,
        "--channel-control",
        control,
        "--channel",
        ",".join(
            [scenario["channel.model"], *(f"{key}={value}" for key, value in channel.items())]
        ),
    ]


def receiver_options(scenario: Scenario) -> list[str]:
    return [
        "--horizon",
        str(scenario.retransmission_delay_slots),
        "--combining",
        scenario["link.combining"],
        "--predictor",
        inputs.for_process(scenario.values, SETTINGS)["phy.predictor"],
        "--gain-control",
        scenario["phy.gain_control"],
    ]


def packet_options(radio: radios.Radio) -> list[str]:
    """A software USRP without a product releases whole slots: with one packet a slot, a slot wakes
    each thread once."""
    return [] if radio.arguments else ["--spp", str(SLOT_SAMPLES)]


def cell_processes(
    cell: Cell,
    scenario: Scenario,
    places: Places,
    record_iq: dict[str, list[str]] | None = None,
    record_to: dict[str, tuple[int, ...]] | None = None,
) -> list[Process]:
    """The processes of a cell in the order in which they start: the medium and the MACs bind their
    sockets, then the radios connect to them. `record_iq`: more arguments of a station's flowgraph,
    by station; `record_to`: descriptors of the files that it records to."""
    more, files = record_iq or {}, record_to or {}
    run = cell.run
    common, radio = {"OPENWIP_RUN": str(run)}, radio_environment(cell, places)
    radio_of = radios.radios(scenario)

    def station(role: str, *extra: str) -> list[str]:
        return [
            *flowgraph(role, places),
            "--args",
            ",".join(
                filter(None, (f"type=vusrp,air={cell.name},node={role}", radio_of[role].arguments))
            ),
            "--endpoint",
            cell.line(f"{role}.slot"),
            "--freq",
            "1.8e9",
            "--record-endpoint",
            cell.endpoint(f"{role}.iq"),
            "--least-rights",
            *more.get(role, ()),
            "--start-time",
            "0.1",
            *extra,
        ]

    def mac(role: str) -> "Process":
        return Process(
            f"{role}.macd",
            [str(places.path(MACD)), "--config", str(run / f"{role}.yaml")],
            common,
            cell.namespace(role),
            slot_path=True,
        )

    fader = (
        [
            Process(
                "fader",
                [
                    str(places.path(FADER)),
                    "--config",
                    str(run / "fader.yaml"),
                    *more.get("fader", ()),
                ],
                radio,
                slot_path=True,
                apart=True,
                capabilities=rights.SLOT_PATH,
            )
        ]
        if scenario.cabled
        else []
    )
    return [
        Process(
            "air",
            [str(places.path(MEDIUM)), "--config", str(run / "air.yaml")],
            common,
            slot_path=True,
            capabilities=rights.SLOT_PATH,
        ),
        *fader,
        mac("base"),
        mac("terminal"),
        Process(
            "base.radio",
            station(
                "base",
                "--transmit-gain",
                f"{radio_of['base'].gain:g}",
                *transmitter_options(scenario, cell.endpoint(TRANSMITTER)),
            ),
            radio,
            slot_path=True,
            capabilities=rights.to_load(rights.RADIO, places.top, places.build),
            of_the_group=True,
            descriptors=files.get("base", ()),
        ),
        Process(
            "terminal.radio",
            station(
                "terminal",
                "--receive-gain",
                f"{radio_of['terminal'].gain:g}",
                *packet_options(radio_of["terminal"]),
                *receiver_options(scenario),
            ),
            radio,
            slot_path=True,
            capabilities=rights.to_load(rights.RADIO, places.top, places.build),
            of_the_group=True,
            descriptors=files.get("terminal", ()),
        ),
    ]
