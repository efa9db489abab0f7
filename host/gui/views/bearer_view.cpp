// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/bearer_view.h"

#include <QTextStream>
#include <algorithm>
#include <iterator>

#include "gui/plot/plot_help.h"

namespace wip::gui {
namespace {

// Of a counter, per second, between two statuses.
double rate(std::uint64_t from, std::uint64_t to, double seconds) {
    return seconds > 0 && to >= from ? static_cast<double>(to - from) / seconds : 0;
}

}  // namespace

bearer_view::bearer_view(const session_model& model, slot_axis& axis)
    : view("bearer", "UMTS bearer",
           "The RLC of the downlink of a UMTS bearer: PDUs that are sent and not acknowledged "
           "(window), packets that wait or are not acknowledged (held), and PDUs sent again each "
           "second. Orange words: packets were given up, or the RLC was reset.",
           model, axis) {
    plot_ = new time_plot(axis);
    plot_->setToolTip(help());
    plot_->yAxis->setLabel("PDUs, packets");
    window_ = plot_->addGraph();
    window_->setName("window");
    window_->setPen(series_pen(0));
    held_ = plot_->addGraph();
    held_->setName("held");
    held_->setPen(series_pen(2, 1.6, Qt::DashLine));
    retransmissions_ = plot_->addGraph();
    retransmissions_->setName("sent again/s");
    retransmissions_->setPen(series_pen(1));
    auto* legend = small_legend(plot_, plot_->axisRect());
    for (auto* g : {window_, held_, retransmissions_}) g->addToLegend(legend);
    setWidget(plot_);
}

QString bearer_view::words() const {
    const auto& status = model().base();
    if (!status.has_bearer()) return {};
    const auto& to = status.bearer();
    // Over what is shown.
    const auto per_second = [this](const auto& points, const auto& count) {
        if (points.begin() == points.end()) return 0.0;
        const auto &first = *points.begin(), &last = *std::prev(points.end());
        return rate(count(first), count(last),
                    seconds_of(static_cast<double>(last.slot - first.slot)));
    };
    const double polls = per_second(model().base_points().between(axis().left(), axis().right()),
                                    [](const base_point& p) { return p.bearer.polls; });
    const double statuses =
        per_second(model().terminal_points().between(axis().left(), axis().right()),
                   [](const terminal_point& p) { return p.rlc_statuses; });
    return QStringLiteral("%1 kbit/s, %2; polls %3/s, status %4/s; given up %5, resets %6")
        .arg(to.rate_bps() / 1000, 0, 'f', 0)
        .arg(QString::fromStdString(status.rrc_state()).toUpper())
        .arg(polls, 0, 'f', 1)
        .arg(statuses, 0, 'f', 1)
        .arg(to.sdus_given_up())
        .arg(to.resets());
}

void bearer_view::refresh(bool all) {
    const bool is_there = model().base().has_bearer();
    plot_->say(is_there ? QString() : "No UMTS bearer (emulate --link umts)");
    const auto& now = model().base().bearer();
    plot_->note(words(), now.sdus_given_up() + now.resets() != 0);
    QVector<QCPGraphData> window, held, again;
    double high = 0;
    const base_point* before = nullptr;
    for (const auto& p : model().base_points().between(axis().left(), axis().right())) {
        if (!is_there) break;
        const auto slot = static_cast<double>(p.slot);
        const double x = plot_->x_of(slot);
        window.append({x, static_cast<double>(p.bearer.window)});
        held.append({x, static_cast<double>(p.bearer.held)});
        if (before != nullptr)
            again.append({x, rate(before->bearer.retransmissions, p.bearer.retransmissions,
                                  seconds_of(slot - static_cast<double>(before->slot)))});
        before = &p;
        high = std::max({high, window.back().value, held.back().value,
                         again.isEmpty() ? 0 : again.back().value});
    }
    window_->data()->set(window, true);
    held_->data()->set(held, true);
    retransmissions_->data()->set(again, true);
    plot_->redraw(fit_upwards(plot_->yAxis, std::max(1.4 * high, 4.0)) || all);  // words above
}

QString bearer_view::csv() const {
    if (!model().base().has_bearer()) return {};
    QString text;
    QTextStream out(&text);
    out << "slot,seconds,window_pdus,held_packets,retransmissions,polls\n";
    for (const auto& p : model().base_points().between(axis().left(), axis().right()))
        out << p.slot << ',' << seconds_of(static_cast<double>(p.slot)) << ',' << p.bearer.window
            << ',' << p.bearer.held << ',' << p.bearer.retransmissions << ',' << p.bearer.polls
            << '\n';
    return text;
}

}  // namespace wip::gui
