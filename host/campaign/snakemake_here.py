# SPDX-License-Identifier: GPL-3.0-or-later
"""Snakemake with one change. Its scheduler (9.27, scheduling/job_scheduler.py) has itself woken a
second after each look at the runs, and each such look asks for the next one: every run that ends
adds a look a second for the rest of the round. Here one is due at a time."""

import threading

from snakemake.cli import main
from snakemake.scheduling.job_scheduler import JobScheduler

assert hasattr(JobScheduler, "_schedule_reevalutation"), (
    "another Snakemake than host/campaign/requirements.txt says"
)


def look_later(self: JobScheduler, delay: float) -> None:
    def look() -> None:
        self.look_is_due = False
        self._open_jobs.release()

    if not getattr(self, "look_is_due", False):
        self.look_is_due = True
        timer = threading.Timer(delay, look)
        timer.daemon = True  # the end of a round does not wait for it
        timer.start()


JobScheduler._schedule_reevalutation = look_later

if __name__ == "__main__":
    main()
