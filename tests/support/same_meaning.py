# SPDX-License-Identifier: GPL-3.0-or-later
"""One run record, and what the monitor's C++ and OpenWIP's Python make of it."""

import json
import os
import pathlib
import subprocess

import numpy
from openwip_schema import telemetry_pb2 as pb

from openwip_cli.air import SLOTS_PER_SECOND
from openwip_cli.figures import key_figures, link_counts, meaning
from openwip_cli.messages import telemetry
from openwip_cli.records import messages
from openwip_cli.records.run_record import RunRecord
from openwip_cli.views.run_report import data

PROGRAM = pathlib.Path(os.environ["OPENWIP_BUILD"]) / "tests/unit/gui/figures_of_record"
OF_FLOATS = 1e-6  # the monitor keeps parts of delays as floats of 32 bits, and so are SNRs


def expect(test, path):
    """Asserts that every figure that both have is the same, for one terminal."""
    done = subprocess.run([PROGRAM, path], capture_output=True, text=True, timeout=120)
    test.assertEqual((done.returncode, done.stderr), (0, ""))
    output = json.loads(done.stdout)
    with RunRecord(path) as record:
        for name, check in (
            ("messages", _messages),
            ("link", _link),
            ("packets", _packets),
            ("slots", _slots),
        ):
            with test.subTest(name):
                check(test, record, output)
    return output


def _near(test, one, other, relative, absolute=0.0):
    one, other = numpy.array(one, dtype="f8"), numpy.array(other, dtype="f8")
    test.assertEqual(one.shape, other.shape)
    numpy.testing.assert_allclose(one, other, rtol=relative, atol=absolute, equal_nan=True)


def _messages(test, record, output):
    reader = telemetry.Reader({})
    latest = {}
    for received_ns, source, topic, body in messages.messages(record, telemetry.TOPICS):
        message = reader.take(source, [topic.encode(), body], received_ns)
        if message is not None:
            latest[source, topic] = message.telemetry
    test.assertEqual(
        output["counts"],
        [reader.received(), reader.lost(), reader.malformed.total(), reader.future.total()],
    )
    newest = lambda topic, kind: next(
        (m for (_, t), m in latest.items() if t == topic), pb.Telemetry(**{kind: {}})
    )
    test.assertEqual(output["keeps_pace"], meaning.keeps_pace(newest("air", "air").air))
    shown = {
        topic: key_figures.message_of(newest(topic, field), topic)
        for topic, field in (("air", "air"), ("cpu", "cpu"))
    }
    shown["status"] = latest.get(("terminal", "status"), pb.Telemetry()).mac
    test.assertEqual(
        output["rows"],
        {name: key_figures.row_words(name, "monitor", shown) for name in ("radio", "time", "cpu")},
    )
    test.assertEqual(output["replayed"], meaning.is_replayed(newest("verdict", "verdict").verdict))
    if ("terminal", "status") in latest:
        test.assertEqual(output["lock"], meaning.lock(latest["terminal", "status"].mac.radio))
    if ("base", "status") in latest:
        test.assertEqual(
            output["dropped"], sum(meaning.drops(latest["base", "status"].mac.downlink).values())
        )


def _link(test, record, output):
    statuses = [
        pb.Telemetry.FromString(body).mac
        for _, source, topic, body in messages.messages(record, ("status",))
        if (source, topic) == ("base", "status")
    ]
    link = link_counts.link_interval(statuses[0], statuses[-1])
    test.assertEqual(output["modulation"], link["modulation_histogram"])
    test.assertEqual(output["retransmissions"], link["retransmission_histogram"])
    test.assertEqual(
        output["frames"], [link["frames_sent"], link["frames_failed"], link["frames_given_up"]]
    )
    goodput, _ = data.link(record)
    _near(
        test,
        output["goodput"],
        numpy.column_stack((goodput.t * SLOTS_PER_SECOND, goodput.y)),
        1e-12,
    )
    verdicts = record.table("verdict", "keeper")
    test.assertEqual(
        output["verdicts"],
        [
            list(v)
            for v in zip(*(verdicts[n].tolist() for n in ("valid", "goodput_bps", "capacity_bps")))
        ],
    )


def _packets(test, record, output):
    child = data.packets(record)
    _, parts, total = data.delays(child)
    test.assertEqual(
        (output["delays"]["packets"], output["delays"]["drops"]), (len(total), data.drops(child))
    )
    test.assertEqual(set(output["delays"]["parts"]), {*meaning.DELAY_PARTS, "total"})
    for name, values in (*parts.items(), ("total", total)):
        _near(
            test,
            output["delays"]["parts"][name],
            numpy.percentile(values, (50, 99, 100)),
            OF_FLOATS,
            1e-9,
        )


def _slots(test, record, output):
    slots = data.Slots(record)
    rows = {
        name: {int(row[0]): row[1:] for row in output[name]}
        for name in ("measured", "prediction_error", "outcome")
    }

    def same(name, at, values, absolute):
        """Compares values slot by slot; rows without any value are left out, since only one end
        reported those slots."""
        known = {s: r for s, r in rows[name].items() if any(x is not None for x in r)}
        of_python = {int(s): r for s, r in zip(at, values) if not numpy.isnan(r).all()}
        test.assertEqual(set(known), set(of_python))
        _near(
            test,
            [known[s] for s in sorted(known)],
            [of_python[s] for s in sorted(known)],
            OF_FLOATS,
            absolute,
        )

    same("prediction_error", *slots.error_pairs(), 1e-5)
    same("measured", slots.terminal["message.slot"], slots.terminal["snr_db"], 0)
    same("outcome", *slots.outcomes(), 0)
