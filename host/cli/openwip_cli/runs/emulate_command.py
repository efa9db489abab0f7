# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip emulate: in real time, in virtual time, under ns-3, or with the generator of
packets."""

import dataclasses

from ..cell.session import Progress
from ..errors import BadInput
from ..figures import report
from ..machine import outputs, placement
from ..machine.places import Places
from ..records import record
from . import emulate, ns3, virtual
from . import run as runs
from .options import parse_emulate


def main(arguments: list[str], places: Places) -> int:
    options, progress = parse_emulate(arguments), Progress()
    kind, injection = options.scenario["link.kind"], options.scenario["delay_injection.mode"]
    if options.generator and (kind != "ofdm" or injection != "off"):
        raise BadInput(
            f"--generator is given with link.kind {kind} and delay_injection.mode {injection};"
            " valid: ofdm"
            " and off"
        )
    outputs.check_given("--json", options.json)
    seconds = options.scenario["traffic.duration_s"]
    if options.generator:
        progress(f"packet generator, {seconds:g} s of virtual time")
        result, _ = emulate.generate(options.scenario, seconds, places)
        return runs.report(result, options, report.generator_screen(result))
    if options.time != "real":
        outputs.check_given("--capture", options.capture, *options.inputs)
        record.check_target(options.record)
        if options.time == "ns3":
            result = ns3.run(
                options.scenario,
                places,
                None,
                options.capture,
                progress,
                options.tcp,
                options.record,
            )
        else:
            plan = virtual.download(options.scenario)
            plan.sysctls = options.sysctl
            result = virtual.run(
                options.scenario,
                places,
                plan,
                options.capture,
                progress,
                placement.choose(placement.usable(), placement.share_of_work()).slot_path,
                options.record,
            )
        if options.record:
            record.report_result(result["record"], progress)
        return runs.report(result, options, report.screen(result))
    around = {
        f.name: getattr(options, f.name)
        for f in dataclasses.fields(options)
        if f.name != "scenario"
    }
    result = emulate.run(options.scenario, None, progress, places=places, observers=True, **around)
    return runs.report(result, options, report.screen(result))
