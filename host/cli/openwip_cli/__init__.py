# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher of OpenWIP: starts a cell on this machine, watches it, measures it, ends it.

Packages, from those that import none of the others to the commands (tests/unit/structure/test_python.py
checks who may import whom):

  air, errors   numbers of the air interface; what can go wrong, with its exit code
  programs      run inside a namespace as applications, and import nothing
  machine       the operating system: processes, namespaces, rights, files that can be believed,
                cores
  messages      telemetry, control, link frames: what processes of a cell publish and answer
  settings      names, ranges, scenario files, options
  figures       what figures mean: capacity, sums, verdict, delay, health; pure functions, so that
                report, page, top, metrics and the verdict so far cannot differ
  cell          a cell: names, run folder, supervisor, who may reach it, how it is found while it
                runs
  measure       traffic in it, how the machine held, the verdict so far
  records, capture, channel, iq    what is kept of it: telemetry, frames, SNR traces, samples
  runs          from the start of a cell to the verdict: demo, emulate, replay, tcp-l, validate; one
                of them is run.py
  campaign      experiments: many runs, and what they say together
  lab           worksheets for students, and the check of their answers
  views         of a cell that is up, or of a record; a view starts nothing
  commands      what is left: down, status, exec, set, get, doctor, radio, benchmarks

`figures` lies below `cell` and `measure`, apart from `views`: the verdict is made of it while a
cell runs. The command lines of runs stand in runs/options.py, above what they name (keys,
recordings), so `settings` needs nothing but `air`."""
