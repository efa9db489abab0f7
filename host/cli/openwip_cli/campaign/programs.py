# SPDX-License-Identifier: GPL-3.0-or-later
"""Digests of the programs of the build that decide a run, in the folder's plan: results of two of them are not mixed (the kernel of
virtual time: options.check_plan)."""
import hashlib
import pathlib

from ..errors import BadInput
from ..runs import emulate, ns3, split_tcp, virtual
from ..runs.options import CLOCKS
from .plan import Experiment
from .runner import Store

OF = dict(zip(CLOCKS, ((emulate.PROGRAM,), (emulate.PROGRAM, virtual.GUEST), (ns3.PROGRAM,))))
SPLIT = (split_tcp.PROGRAM, split_tcp.GUEST)


def digests(e: Experiment, build: pathlib.Path) -> dict[str, str]:
    names = OF[e.time] + SPLIT * any(name.startswith("split_tcp.") for name in e.settings.keys() | e.varied)
    there = [build / name for name in names if (build / name).exists()]
    return {program.name: hashlib.sha256(program.read_bytes()).hexdigest()[:16] for program in there}


def check(store: Store, experiments: list[Experiment], build: pathlib.Path) -> dict[str, dict[str, str]]:
    """Of each experiment what the plan has to say, once all is built; a folder of before plans said it is taken as it is."""
    before = (store.plan or {"experiments": {}})["experiments"]
    said = {}
    for e in experiments:
        was, now = before.get(e.name, {}).get("programs", {}), digests(e, build)
        for name in was:
            if now.get(name, was[name]) != was[name]:
                raise BadInput(f"--out: {e.name} in {store.out} was begun with {name} {was[name]}, and that of this build is {now[name]}; use another --out")
        said[e.name] = was | now
    return said
