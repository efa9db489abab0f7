// SPDX-License-Identifier: GPL-3.0-or-later
// Prints what the monitor makes of a run record, as JSON: for test_same_meaning.py, which asks the
// rest of OpenWIP the same.
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "gui/cell/record_pipe.h"
#include "gui/model/meaning.h"
#include "gui/model/message_reader.h"
#include "gui/views/figure_rows.h"

namespace {

using namespace wip::gui;

struct monitor {
    message_reader reader;
    session_model model;

    explicit monitor(const QString& path) {
        record_reader record(path);
        for (std::size_t next = 0; !record.whole() || next < record.size();) {
            record.take_in();
            for (; next < record.size(); ++next) {
                const raw_message raw = record.message(next);
                const auto* message = reader.read(raw);
                if (message != nullptr && !model.take(raw.source, *message)) reader.was_garbage();
            }
        }
        if (!record.trouble().isEmpty()) throw std::runtime_error(record.trouble().toStdString());
    }
};

QJsonValue number(double x) { return std::isfinite(x) ? QJsonValue(x) : QJsonValue(); }

template <typename Range, typename F>
QJsonArray list(const Range& range, F value_of) {
    QJsonArray all;
    for (const auto& x : range) all.append(value_of(x));
    return all;
}

QJsonArray goodput(const session_model& m) {
    QJsonArray all;
    const base_point* before = nullptr;
    for (const auto& p : m.base_points()) {
        const double bps = before == nullptr ? double(unknown) : goodput_bps(*before, p);
        if (std::isfinite(bps)) all.append(QJsonArray{double(p.slot), bps});
        before = &p;
    }
    return all;
}

template <typename Counts>
QJsonArray grown(const Counts& from, const Counts& to) {
    QJsonArray all;
    for (std::size_t i = 0; i < from.size(); ++i) all.append(double(to[i] - from[i]));
    return all;
}

QJsonObject delays(const session_model& m) {
    std::array<std::vector<float>, 6> sorted;
    QJsonObject drops, all;
    for (const auto& p : m.packets()) {
        const auto reason = QString::fromStdString(m.drop_reasons()[p.dropped]);
        if (p.dropped != 0) drops[reason] = drops[reason].toInt() + 1;
        for (std::size_t i = 0; p.dropped == 0 && i < 6; ++i)
            sorted[i].push_back(i < 5 ? p.part_ms[i] : p.total_ms);
    }
    for (std::size_t i = 0; i < 6 && !sorted[5].empty(); ++i) {
        std::ranges::sort(sorted[i]);
        all[i < 5 ? delay_parts[i].name : "total"] =
            QJsonArray{double(quantile(sorted[i], 0.5)), double(quantile(sorted[i], 0.99)),
                       double(sorted[i].back())};
    }
    return {{"parts", all}, {"packets", int(sorted[5].size())}, {"drops", drops}};
}

QJsonArray columns(const session_model& m, double (*value_of)(const slot_column&, wip::bin_index)) {
    return list(m.columns(), [value_of](const slot_column& c) {
        QJsonArray row{double(c.slot)};
        for (std::size_t b = 0; b < wip::nof_bins; ++b)
            row.append(number(value_of(c, wip::bin_index(b))));
        return row;
    });
}

double outcome(const slot_column& c, wip::bin_index b) {
    return c.outcome[b.n()] == unknown_byte ? double(unknown) : c.outcome[b.n()];
}

QJsonObject rows(const session_model& m) {
    const messages_by_topic latest{{"status", &m.terminal()}, {"air", &m.air()}, {"cpu", &m.cpu()}};
    QJsonObject all;
    for (const char* name : {"radio", "time", "cpu"})
        all[name] = QString::fromStdString(row_words(name, latest));
    return all;
}

QJsonObject figures(const monitor& replayed) {
    const session_model& m = replayed.model;
    const auto& counts = replayed.reader.total();
    const base_point none, &first = m.base_points().empty() ? none : m.base_points().front(),
                           &last = m.base_points().empty() ? none : m.base_points().back();
    return {{"counts", QJsonArray{double(counts.received), double(counts.lost),
                                  double(counts.garbage), double(counts.future)}},
            {"goodput", goodput(m)},
            {"modulation", grown(first.modulation, last.modulation)},
            {"retransmissions", grown(first.retransmissions, last.retransmissions)},
            {"frames", QJsonArray{double(last.frames_sent - first.frames_sent),
                                  double(last.frames_failed - first.frames_failed),
                                  double(last.frames_dropped - first.frames_dropped)}},
            {"dropped", double(last.dropped_packets)},
            {"delays", delays(m)},
            {"verdicts", list(m.verdict_points(),
                              [](const verdict_point& v) {
                                  return QJsonArray{v.valid, v.goodput_bps, v.capacity_bps};
                              })},
            {"replayed", is_replayed(m.verdict())},
            {"keeps_pace", keeps_pace(m.air())},
            {"lock", QString::fromStdString(lock_words(m.terminal().radio()))},
            {"rows", rows(m)},
            {"measured", columns(m, [](const slot_column& c,
                                       wip::bin_index b) { return double(c.measured_db[b.n()]); })},
            {"prediction_error",
             columns(m, [](const slot_column& c,
                           wip::bin_index b) { return prediction_error(c, b).value; })},
            {"outcome", columns(m, outcome)}};
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc != 2) throw std::runtime_error("usage: figures_of_record RECORD.h5");
        const monitor replayed(argv[1]);
        std::puts(QJsonDocument(figures(replayed)).toJson(QJsonDocument::Compact).constData());
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "figures_of_record: %s\n", e.what());
        return 2;
    }
}
