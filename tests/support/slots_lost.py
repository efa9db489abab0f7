# SPDX-License-Identifier: GPL-3.0-or-later
"""Slots that came to nothing in a cell, from statuses of both macds (detail 2), each counted once.
What was not sent the terminal does not hear either; what it did not hear, or tells of too late, is
sent again."""


def so_far(base, terminal):
    radio, heard = base.radio, terminal.terminal
    return {
        "not_sent": radio.late_slots + radio.underflows + radio.slots_left_out,
        "late_plans": radio.late_plans,
        "not_heard": heard.slots_unlocked + heard.grants_failed,
        "no_feedback": base.base.feedback_missing,
    }


def between(before, after):
    """The slots lost by one cause: if both the receiver and the radio report them, they are taken
    for the same slots."""
    d = {name: after[name] - before[name] for name in before}
    return (
        d["not_sent"] + d["late_plans"] + max(0, d["not_heard"] - d["not_sent"], d["no_feedback"])
    )
