# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the slot path's core and cost, of the causes of stalls, and of the pace that a machine
can hold."""

import contextlib
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
from unittest import mock

from openwip_cli.air import SAMPLE_RATE
from openwip_cli.errors import BadInput
from openwip_cli.figures import checks, report, stalls
from openwip_cli.figures.facts import Core, Facts
from openwip_cli.machine import placement, places, slot_path
from openwip_cli.measure import pace

sys.path.append(str(pathlib.Path(__file__).parents[2] / "bench"))
import bench_slot_path
import both_ways
import slot_path_cost
import valid_demo
import wake_ups


def alone(core):
    return {core}


def pairs(core):
    return {core, core ^ 1}


class Placement(unittest.TestCase):
    def test_one_core_has_everything(self):
        p = placement.choose([3], {3: 0.9}, alone)
        self.assertEqual((p.slot_path, p.others), ([3], [3]))

    def test_of_two_the_quieter_one_and_of_equals_the_last(self):
        self.assertEqual(placement.choose([0, 1], {0: 0.02, 1: 0.6}, alone).slot_path, [0])
        p = placement.choose([0, 1], {0: 0.05, 1: 0.0}, alone)
        self.assertEqual((p.slot_path, p.others), ([1], [0]))

    def test_the_sibling_of_the_slot_paths_core_stays_empty_where_there_are_others(self):
        p = placement.choose([0, 1, 2, 3], dict.fromkeys(range(4), 0.0), pairs)
        self.assertEqual((p.slot_path, p.others), ([3], [0, 1]))
        p = placement.choose([0, 1], {0: 0.0, 1: 0.0}, pairs)
        self.assertEqual((p.slot_path, p.others), ([1], [0]))

    def test_of_big_and_little_cores_the_slot_path_has_a_big_one(self):
        capacity = {0: 446, 1: 446, 2: 1024, 3: 1024}.get
        p = placement.choose(
            [0, 1, 2, 3], {0: 0.0, 1: 0.0, 2: 0.2, 3: 0.5}, alone, capacity=capacity
        )
        self.assertEqual(
            (p.slot_path, p.others, p.why), ([2], [0, 1, 3], "the quietest of the fastest cores")
        )
        p = placement.choose(
            [0, 1, 2, 3], dict.fromkeys(range(4), 0.0), alone, apart=True, capacity=capacity
        )
        self.assertEqual((p.slot_path, p.apart, p.others), ([3], [2], [0, 1]))
        p = placement.choose([0, 1], {0: 0.0, 1: 0.9}, alone, capacity={0: 446, 1: 1024}.get)
        self.assertEqual((p.slot_path, p.others), ([1], [0]))

    def test_capacities_are_read_from_the_kernel_and_alike_where_it_names_none(self):
        with tempfile.TemporaryDirectory() as sys_:
            for core, text in ((0, "446\n"), (1, "1024\n"), (2, "much\n")):
                folder = pathlib.Path(sys_, f"devices/system/cpu/cpu{core}")
                folder.mkdir(parents=True)
                (folder / "cpu_capacity").write_text(text)
            self.assertEqual(
                [placement.capacity_of(c, sys_) for c in range(4)], [446, 1024, 1024, 1024]
            )

    def test_cells_at_the_same_time_begin_with_the_fastest_cores(self):
        with (
            mock.patch.object(placement, "usable", lambda: [0, 1, 2]),
            mock.patch.object(placement, "capacity_of", {0: 1024, 1: 446, 2: 446}.get),
        ):
            self.assertEqual(
                [(p.slot_path, p.others) for p in map(placement.of_several, range(3))],
                [([0], [1, 2]), ([2], [0, 1]), ([1], [0, 2])],
            )

    def test_a_fader_that_nobody_waits_for_has_a_core_of_its_own_where_there_is_one(self):
        for cores, work, siblings, wanted in (
            ([3], {}, alone, ([3], None, [3])),
            ([0, 1], {}, alone, ([1], [0], [0])),
            ([0, 1], {}, pairs, ([1], [0], [0])),
            ([0, 1, 2], {1: 0.5}, alone, ([2], [0], [1])),
            ([0, 1, 2, 3], {}, pairs, ([3], [1], [0])),
            (list(range(8)), {6: 0.9}, pairs, ([7], [5], [0, 1, 2, 3, 4])),
        ):
            p = placement.choose(cores, work, siblings, apart=True)
            self.assertEqual((p.slot_path, p.apart, p.others), wanted)
            self.assertEqual(p.cores_of(slot_path=True, apart=True), wanted[1] or wanted[0])
            self.assertEqual(p.cores_of(slot_path=True, apart=False), wanted[0])
            self.assertEqual(p.cores_of(slot_path=False, apart=False), wanted[2])
            self.assertEqual(p.realtime, sorted({*wanted[0], *(wanted[1] or ())}))
        self.assertEqual(
            placement.choose([0, 1], {}, alone).cores_of(slot_path=True, apart=True), [1]
        )
        self.assertEqual(
            placement.choose([0, 1], {}, alone, apart=True).where(),
            "slot path on core 1, its fader on 0, the rest on 0",
        )

    def test_the_share_that_real_time_processes_may_have_is_of_one_core_and_without_a_fader_on_another(
        self,
    ):
        with tempfile.TemporaryDirectory() as folder:

            def allows(runtime, period):
                for what, us in (("runtime", runtime), ("period", period)):
                    at = pathlib.Path(folder, f"sys/kernel/sched_rt_{what}_us")
                    at.parent.mkdir(parents=True, exist_ok=True)
                    at.write_text(f"{us}\n")

            cpu = {"air": 0.1, "fader": 0.34, "base.radio": 0.4, "iperf3": 9.0}
            one, two = placement.Placement([1], [0]), placement.Placement([1], [0], apart=[0])
            self.assertEqual(
                [set(slot_path.on_its_core(cpu, p)) for p in (one, two)],
                [{"air", "fader", "base.radio"}, {"air", "base.radio"}],
            )
            self.assertIsNone(slot_path.realtime_share(cpu, one, folder))
            allows(950000, 1000000)
            self.assertEqual(
                slot_path.realtime_share(cpu, one, folder), {"used": 0.84, "allowed": 0.95}
            )
            self.assertEqual(
                slot_path.realtime_share(cpu, two, folder), {"used": 0.5, "allowed": 0.95}
            )
            for place in (placement.Placement(), placement.Placement([0, 1], [0, 1])):
                self.assertIsNone(slot_path.realtime_share(cpu, place, folder))
            self.assertIsNone(slot_path.realtime_share({"emulator": 0.1}, one, folder))
            allows(-1, 1000000)
            self.assertIsNone(slot_path.realtime_share(cpu, one, folder))

    def test_cores_are_read_from_the_option_and_refused_by_name(self):
        own_cores = placement.usable()
        several = [placement.of_several(i) for i in range(len(own_cores) + 1)]
        self.assertEqual(sorted(p.slot_path[0] for p in several[:-1]), own_cores)
        self.assertEqual(several[0].slot_path, several[-1].slot_path)
        self.assertTrue(all(len(own_cores) == 1 or p.slot_path[0] not in p.others for p in several))
        self.assertIs(placement.find(several[0], "nowhere"), several[0])
        self.assertEqual(placement.parse("auto"), "auto")
        self.assertEqual(placement.parse(str(own_cores[-1])), [own_cores[-1]])
        for text in ("", "x", "1000", f"{own_cores[0]},1000", "-1"):
            with self.assertRaisesRegex(BadInput, "--cores is .*valid: auto, none, or cores of"):
                placement.parse(text)

    def test_siblings_and_work_are_read_from_the_kernel(self):
        with tempfile.TemporaryDirectory() as folder:
            topology = pathlib.Path(folder, "devices/system/cpu/cpu2/topology")
            topology.mkdir(parents=True)
            (topology / "thread_siblings_list").write_text("2,6-7\n")
            self.assertEqual(placement.siblings_of(2, folder), {2, 6, 7})
            self.assertEqual(placement.siblings_of(5, folder), {5})
            pathlib.Path(folder, "stat").write_text(
                "cpu 9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 400 5 6 7 8 0 0\nintr 5\n"
            )
            self.assertEqual(placement.busy_ticks(folder), {0: 1 + 2 + 3 + 6 + 7 + 8})
            self.assertEqual(placement.ticks_to_spare(folder), {0: 2 + 400 + 5})

    def test_steal_is_that_of_the_cores_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "stat").write_text(
                "cpu 0 0 0 0 0 0 0 600 0 0\ncpu0 0 0 0 0 0 0 0 400 0 0\ncpu1 0 0 0 0 0 0 0 200"
                " 0 0\n"
            )
            ticks = os.sysconf("SC_CLK_TCK")
            self.assertEqual(
                [slot_path.steal_s(cores, folder) * ticks for cores in ([0], [1], None)],
                [400, 200, 300],
            )

    def test_the_words_say_where_and_why(self):
        p = placement.Placement([1], [0], "why", {"same_core": 11.2, "other_core": 80.0})
        self.assertEqual(
            p.words(),
            "slot path on core 1, the rest on 0 (why); a wake-up and its answer take 11 us on one"
            " core, 80 us across two",
        )


class Memory(unittest.TestCase):
    def test_page_faults_are_those_since_it_began_of_the_slot_paths_processes_that_live(self):
        faults = slot_path.PageFaults(
            {"air": os.getpid(), "judge": os.getpid(), "base.macd": 2**22 + 1}
        )
        self.assertLess(faults.report()["air"]["minor"], 4096)
        taken = bytearray(os.urandom(1) * (64 << 20))
        self.assertEqual(set(faults.report()), {"air"})
        # even where pages are of 2 MB
        self.assertGreater(faults.report()["air"]["minor"], len(taken) >> 21)

    def test_what_was_not_granted_and_who_waited_for_the_disk_is_said(self):
        fine = {
            "realtime_priority": {"air": True, "base.macd": None},
            "memory_locked": {"air": True, "base.macd": None},
            "page_faults": {"air": {"minor": 9, "major": 0}},
        }
        self.assertEqual(report.granted_words(fine), "real-time priority")
        self.assertEqual(
            report.granted_words(
                {
                    "realtime_priority": {"air": False},
                    "memory_locked": {"air": False, "base.macd": True, "base.radio": False},
                    "page_faults": {
                        "air": {"minor": 9, "major": 0},
                        "base.radio": {"minor": 1, "major": 3},
                    },
                }
            ),
            "without real-time priority: air; memory not locked: air, base.radio; waited for pages"
            " from disk: base.radio 3 times",
        )

    def test_it_is_asked_of_the_kernel(self):
        code = (
            "import ctypes, sys; ctypes.CDLL(None).mlock(ctypes.create_string_buffer(8192), 8192);"
            " print('on', flush=True); sys.stdin.read()"
        )
        with subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as child:
            child.stdout.readline()
            self.assertEqual(
                slot_path.granted({"air": child.pid, "base.macd": 2**22 + 1, "judge": 1})[
                    "memory_locked"
                ],
                {"air": True, "base.macd": None},
            )


class Cost(unittest.TestCase):
    def test_what_a_process_did_is_counted_for_each_slot(self):
        over = threading.Event()

        def work():
            while not over.is_set():
                time.sleep(0.001)

        threading.Thread(target=work, daemon=True).start()
        slots = iter((1000, 1150))
        found = slot_path_cost.measure({"me": os.getpid()}, 0.1, lambda: next(slots))
        over.set()
        self.assertGreater(found["me"]["switches"], 20 / 150)
        self.assertLess(found["me"]["switches"], 3)
        self.assertEqual(found["me"], found["total"])

    def test_a_process_that_is_gone_counts_nothing(self):
        slots = iter((0, 10))
        found = slot_path_cost.measure({"none": 2**22 + 1}, 0.0, lambda: next(slots))
        self.assertEqual(set(found["total"].values()), {0.0})

    def test_wake_ups_are_told_by_the_core_that_woke_and_the_core_that_ran(self):
        lines = [
            "  air-10  [001] d..1 1.0: sched_waking: comm=macd pid=20 prio=89 target_cpu=000",
            (
                "  <idle>-0 [000] d..2 1.1: sched_switch: prev_comm=swapper prev_pid=0 ==>"
                " next_comm=macd next_pid=20 next_prio=89"
            ),
            "  air-10  [000] d..1 2.0: sched_waking: comm=macd pid=20 prio=89 target_cpu=000",
            (
                "  <idle>-0 [000] d..2 2.1: sched_switch: prev_comm=swapper prev_pid=0 ==>"
                " next_comm=macd next_pid=20 next_prio=89"
            ),
            "  x-99  [000] d..1 3.0: sched_waking: comm=other pid=30 prio=120 target_cpu=000",
            (
                "  <idle>-0 [001] d..2 3.1: sched_switch: prev_comm=swapper prev_pid=0 ==>"
                " next_comm=other next_pid=30 next_prio=120"
            ),
        ]
        self.assertEqual(wake_ups.count(lines, {20}), {"wake_ups": 2, "across_cores": 1})

    def test_two_builds_are_compared_by_the_medians_of_their_runs(self):
        def runs(*values):
            return [
                {"figures": {"total": dict.fromkeys(bench_slot_path.FIGURES, v)}} for v in values
            ]

        found = bench_slot_path.compare(runs(1, 2, 3), runs(4, 4, 5))["switches"]
        self.assertEqual(found["ratio"], 0.5)
        self.assertLessEqual(found["interval"][0], 0.5)
        self.assertGreaterEqual(found["interval"][1], 0.5)
        self.assertLess(found["interval"][1], 1.0)

    def test_the_pace_of_catching_up_is_that_of_the_time_behind(self):
        class Air:
            wall = air = 100.0
            stopped = False

            def wait(self, seconds):
                self.wall += seconds
                if not self.stopped:
                    self.air = min(self.wall - 0.001, self.air + 1.8 * seconds)

            def look(self):
                return types.SimpleNamespace(wall_seconds=self.wall, now=self.air * SAMPLE_RATE)

        a = Air()
        a.wait(1.0)
        found = bench_slot_path.catch_up(
            a.look,
            lambda: setattr(a, "stopped", True),
            lambda: setattr(a, "stopped", False),
            a.wait,
        )
        self.assertAlmostEqual(found, 1.8, places=2)
        self.assertAlmostEqual(a.wall - a.air, bench_slot_path.CAUGHT_UP_S, delta=0.01)

    def test_a_run_that_ended_without_figures_is_its_verdict(self):
        verdict = {"valid": False, "reasons": ["lock: the terminal is not locked"]}
        self.assertEqual(
            both_ways.evaluated({"verdict": verdict}), {"verdict": verdict, "outside": None}
        )

    def test_a_run_that_is_invalid_is_made_again_and_after_three_it_is_none(self):
        for good, wanted in ((0, 0), (2, 2), (3, None)):
            with self.subTest(good=good), tempfile.TemporaryDirectory() as folder:
                # If the second or third run is good, the first one writes nothing.
                demo = (
                    f"cd {folder}; n=$(ls | grep -c ran); touch $n.ran; [ $n -eq 0 ] && [ {good}"
                    f" -gt 0 ] && exit 1; [ $n -ge {good} ]; bad=$?; for last; do :; done; [ $bad ="
                    ' 0 ] && v=true || v=false; echo \'{"verdict": {"valid": \'$v\', "reasons":'
                    ' ["late"]}}\' > "${last#--json=}"'
                )
                with contextlib.redirect_stderr(io.StringIO()):
                    found = valid_demo.run(
                        "a way, seed 1",
                        folder,
                        lambda base: ["--of", str(base)],
                        "env",
                        ("sh", "-c", demo, "demo"),
                    )
                self.assertEqual(len(list(pathlib.Path(folder).glob("*.ran"))), 1 + min(good, 2))
                self.assertEqual(
                    found and found[1].name, wanted if wanted is None else f"a-way-seed-1-{wanted}"
                )

    def test_what_cannot_be_benched_is_refused(self):
        for arguments, words in (
            (["--runs", "0"], "--runs is '0'"),
            (["--duration", "0.1"], "--duration is '0.1'"),
            (["--against", "/nowhere"], "a checkout whose demo is built"),
        ):
            with self.assertRaisesRegex(BadInput, words):
                bench_slot_path.parse(arguments)


class MachineStalls(unittest.TestCase):
    def found(self, script, cores=(0,), meanwhile=lambda watch: None):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, placement.PROBE)
            program.parent.mkdir(parents=True)
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)
            watch = slot_path.StallMonitor(
                list(cores), places.Places(pathlib.Path(folder), pathlib.Path(folder), "")
            )
            meanwhile(watch)
            return watch.report()

    def test_what_the_monitor_says_at_the_end_of_its_input_is_the_report(self):
        self.assertEqual(
            self.found('cat; echo "{\\"asked\\": \\"$*\\"}"', [3]), {"asked": "standstills 3 2"}
        )

    def test_of_several_cores_the_worst_is_reported_and_named_and_no_stall_counts_twice(self):
        """One of 5 ms took both cores; the fader's was held back once more."""

        def one(count, together, held):
            return {
                "least_ms": 2,
                "count": count,
                "longest_ms": 5,
                "together_ms": together,
                "held_back": {"count": held, "longest_ms": 3 * held, "together_ms": 3 * held},
            }

        reported = (
            f"[ \"$2\" = 3 ] && echo '{json.dumps(one(2, 8, 0))}' || echo"
            f" '{json.dumps(one(1, 5, 1))}'"
        )
        found = self.found(f"cat; {reported}", [3, 4])
        self.assertEqual(
            found,
            {"core": 3}
            | one(2, 8, 0)
            | {"held_back": {"core": 4, "count": 1, "longest_ms": 3, "together_ms": 3}},
        )
        self.assertEqual(
            stalls.words(found),
            "; the machine stalled for 2 ms or more 2 times, 5.0 ms at longest, 8 ms together"
            " (core 3, the worst) (the kernel held core 4 back 1 times)",
        )
        self.assertIn(
            " held core 4 back 1 times, ",
            checks.evaluate(Facts(core=Core(found), latest_ms=99.0))["reasons"][0],
        )
        self.assertIsNone(self.found('cat; [ "$2" = 3 ] && echo "{}"', [3, 4]))

    def test_a_core_or_a_time_that_is_none_is_refused_in_one_line(self):
        build = pathlib.Path(
            os.environ.get("OPENWIP_BUILD", pathlib.Path(__file__).parents[3] / "build")
        )
        for core, ms in (
            ("x", "2"),
            ("0", "y"),
            ("-1", "2"),
            ("0", "0"),
            ("0", "inf"),
            ("1e0", "2"),
        ):
            done = subprocess.run(
                [build / placement.PROBE, "standstills", core, ms],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
            )
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertIn(f"standstills are {core} {ms}; valid: ", done.stderr)

    def test_nobody_looked_without_a_core_or_without_its_priority(self):
        self.assertIsNone(slot_path.StallMonitor([], None).report())
        self.assertIsNone(self.found("exit 1"))

    def test_a_core_that_a_stopped_monitor_does_not_see_has_stalled(self):
        build = pathlib.Path(
            os.environ.get("OPENWIP_BUILD", pathlib.Path(__file__).parents[3] / "build")
        )
        watch = slot_path.StallMonitor([placement.usable()[0]], places.Places(build, build, ""))
        # the monitor has begun by then, or has ended for want of priority
        until = time.monotonic() + 5
        monitor = watch.processes[0]
        while (
            monitor.poll() is None
            and not os.sched_getscheduler(monitor.pid) & os.SCHED_FIFO
            and time.monotonic() < until
        ):
            time.sleep(0.01)
        # the first may come before its first look
        for what, seconds in 2 * ((signal.SIGSTOP, 0.05), (signal.SIGCONT, 0.1)):
            if monitor.poll() is None:
                monitor.send_signal(what)
            time.sleep(seconds)
        found = watch.report()
        if found is None:
            self.skipTest("real-time priority is not granted here")
        self.assertGreaterEqual(found["count"], 1)
        self.assertGreater(found["longest_ms"], 40)
        self.assertGreaterEqual(found["together_ms"], found["longest_ms"])
        # the process was not ready, so nothing held it back
        self.assertLess(found["held_back"]["longest_ms"], 40)


class Stalls(unittest.TestCase):
    NAMES = ("air", "base.radio")

    def moments(self, passed=0.2, stolen=0.0, ran=(0.01, 0.02), waited=(0.0, 0.0)):
        a = slot_path.Moment(10.0, 0.0, 5.0, dict.fromkeys(self.NAMES, (1.0, 1.0)))
        b = slot_path.Moment(
            10.0 + passed,
            0.02,
            5.0 + stolen,
            {n: (1.0 + r, 1.0 + w) for n, r, w in zip(self.NAMES, ran, waited)},
        )
        return a, b

    def test_a_stall_has_the_name_of_whoever_made_it(self):
        for words, moment in (
            ("a hypervisor took the slot path's core for 100 of 200 ms", {"stolen": 0.1}),
            ("base.radio was ready and had no core for 150 of 200 ms", {"waited": (0.0, 0.15)}),
            ("the slot path worked all the time, base.radio most", {"ran": (0.05, 0.15)}),
            # air lets others go first
            ("the processes slept; of them base.radio", {"waited": (0.15, 0.0)}),
            ("the processes slept; of them base.radio", {}),
        ):
            self.assertIn(words, slot_path.blame(*self.moments(**moment)))

    def test_the_watch_keeps_the_interval_in_which_it_became_worst(self):
        most_behind_s = iter((0.001, 0.001, 0.030, 0.030))
        watch = slot_path.StallWatch({"me": os.getpid()}, lambda: next(most_behind_s))
        for _ in range(4):
            watch.look()
        watch.start = watch.join = lambda *_: None
        self.assertEqual([m.most_behind_s for m in watch.worst], [0.001, 0.030])
        self.assertEqual(watch.report()["longest_ms"], 30.0)

    def test_no_answer_is_no_stall(self):
        watch = slot_path.StallWatch({}, lambda: None)
        watch.look()
        watch.join = lambda *_: None
        self.assertEqual(watch.report(), {})


class Pace(unittest.TestCase):
    def test_a_machine_that_holds_runs_at_full_speed_and_a_slower_one_with_room(self):
        self.assertEqual(pace.chosen(1.0), 1.0)
        self.assertEqual(pace.chosen(0.98), 1.0)
        self.assertEqual(pace.chosen(0.8), 0.6)
        self.assertEqual(pace.chosen(0.0), 0.01)
        self.assertEqual(pace.chosen(1.0, 0.004), 1.0)
        self.assertEqual(pace.chosen(1.0, 0.02), 0.75)
        self.assertEqual(pace.chosen(0.8, 0.9), 0.6)


if __name__ == "__main__":
    unittest.main()
