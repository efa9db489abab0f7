// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/health_bar.h"

#include <QHBoxLayout>
#include <algorithm>
#include <cmath>

#include "gui/model/meaning.h"
#include "gui/views/figure_rows.h"

namespace wip::gui {

using openwip::telemetry::Telemetry;

namespace {
constexpr int most_letters = 60;  // characters of a reason that are shown beside the other fields
QString digits(double value, int decimals) { return QString::number(value, 'f', decimals); }

QString row(const char* name, const char* topic, const google::protobuf::Message& latest) {
    return QString::fromStdString(row_words(name, {{topic, &latest}}));
}
}  // namespace

health_bar::health_bar(const session& shown, QWidget* parent) : QFrame(parent), session_(shown) {
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(6, 2, 6, 2);
    row->setSpacing(6);
    add("stream", "What is shown, and whether its telemetry is coming in");
    add("verdict", "Verdict of the run so far: a throughput or delay counts only when it is VALID");
    verdict_help_ = labels_["verdict"]->toolTip();
    add("radio",
        "Lock of the terminal, mean SNR (dB), error vector magnitude (% of the mean symbol), "
        "carrier offset (Hz), NMSE of the SNR prediction");
    add("realtime",
        "Factor: air time over wall time x speed. Pacing: how late slots were released "
        "(99th percentile, ms). Late: transmissions that missed their time");
    add("cpu",
        "Processor cores in use by the cell; pressure: share of time in which some task waited "
        "for a core");
    add("telemetry",
        "Messages received by this window; lost: gaps in the sequence numbers; garbage: not "
        "parseable; future: of a version that this window does not know");
    add("time",
        "Newest air slot and its time (1500 slots are one second); frames per second drawn");
    row->addStretch(1);
}

void health_bar::add(const QString& field, const QString& help) {
    auto* label = new QLabel(this);
    label->setObjectName("health_" + field);
    label->setToolTip(help);
    label->setTextFormat(Qt::PlainText);
    label->setContentsMargins(6, 2, 6, 2);
    layout()->addWidget(label);
    labels_[field] = label;
    moods_[field] = mood::neutral;
}

void health_bar::set(const QString& field, const QString& text, mood m) {
    QLabel* label = labels_[field];
    if (label->text() != text) label->setText(text);
    if (moods_[field] == m) return;
    moods_[field] = m;
    label->setStyleSheet(m == mood::neutral ? QString()
                         : m == mood::good
                             ? QStringLiteral("background:#0072b2;color:white;border-radius:3px")
                             : QStringLiteral("background:#d55e00;color:white;border-radius:3px"));
}

QString health_bar::text_of(const QString& field) const {
    const auto at = labels_.find(field);
    return at == labels_.end() ? QString() : at->second->text();
}

std::vector<QString> health_bar::fields() const {
    std::vector<QString> names;
    for (const auto& [name, label] : labels_) names.push_back(name);
    return names;
}

void health_bar::show_verdict() {
    const session_model& m = session_.model();
    const auto& v = m.verdict();
    QString help = verdict_help_;
    if (!m.has(Telemetry::kVerdict)) {
        set("verdict", "no verdict yet");
    } else if (is_replayed(v)) {
        set("verdict", "REPLAY of recorded samples");
    } else if (v.valid()) {
        set("verdict", "VALID so far", mood::good);
    } else {
        QString text = "INVALID";
        if (v.reason_size() > 0) {
            const QString first = QString::fromStdString(v.reason(0));
            text += ": " + (first.size() > most_letters ? first.left(most_letters) + "..." : first);
        }
        for (const auto& reason : v.reason()) help += "\n" + QString::fromStdString(reason);
        set("verdict", text, mood::bad);
    }
    labels_["verdict"]->setToolTip(help);
}

void health_bar::refresh(double frames_per_second) {
    const session_model& m = session_.model();
    const stream_state state = session_.state();
    const bool stream_runs = state == stream_state::live || state == stream_state::replay;
    set("stream", session_.state_text(),
        stream_runs                      ? mood::neutral
        : state == stream_state::waiting ? mood::neutral
                                         : mood::bad);

    show_verdict();

    if (m.has_terminal() && m.terminal().users_size() > 1) {
        int locked = 0;
        double low = INFINITY, high = -INFINITY;
        for (const auto& t : m.terminal().users()) {
            locked += t.radio().locked() ? 1 : 0;
            if (!t.radio().has_mean_snr_db()) continue;
            low = std::min(low, t.radio().mean_snr_db());
            high = std::max(high, t.radio().mean_snr_db());
        }
        const int all = m.terminal().users_size();
        QString text = QStringLiteral("%1 of %2 terminals locked").arg(locked).arg(all);
        if (low <= high) text += "  SNR " + digits(low, 1) + " to " + digits(high, 1) + " dB";
        set("radio", text, locked == all ? mood::neutral : mood::bad);
    } else if (m.has_terminal()) {
        const auto& r = m.terminal().radio();
        QString text = QString::fromStdString(lock_words(r));
        const QString figures = row("radio", "status", m.terminal());
        if (!figures.isEmpty()) text += "  " + figures;
        set("radio", text, r.locked() ? mood::neutral : mood::bad);
    } else {
        set("radio", "radio: -");
    }

    if (m.has(Telemetry::kAir)) {
        set("realtime", row("time", "air", m.air()),
            keeps_pace(m.air()) ? mood::neutral : mood::bad);
    } else {
        set("realtime", "real time: -");
    }

    if (m.has(Telemetry::kCpu)) {
        QString each;
        for (const auto& p : m.cpu().process())
            each += QStringLiteral("\n%1: %2")
                        .arg(QString::fromStdString(p.name()))
                        .arg(p.cores(), 0, 'f', 2);
        set("cpu", row("cpu", "cpu", m.cpu()));
        labels_["cpu"]->setToolTip("Processor cores in use by each process of the cell" + each);
    } else {
        set("cpu", "CPU: -");
    }

    const auto& c = session_.reader().total();
    QString text = QStringLiteral("telemetry %1").arg(c.received);
    if (c.lost != 0) text += QStringLiteral("  lost %1").arg(c.lost);
    if (c.garbage != 0) text += QStringLiteral("  garbage %1").arg(c.garbage);
    if (c.future != 0) text += QStringLiteral("  future version %1").arg(c.future);
    set("telemetry", text, c.lost + c.garbage + c.future != 0 ? mood::bad : mood::neutral);

    set("time", QStringLiteral("slot %1  %2 s  %3 frames/s")
                    .arg(m.newest_slot())
                    .arg(seconds_of(static_cast<double>(m.newest_slot())), 0, 'f', 1)
                    .arg(frames_per_second, 0, 'f', 0));
}

}  // namespace wip::gui
