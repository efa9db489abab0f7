// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/queue_view.h"

#include <QTextStream>
#include <map>

#include "gui/plot/plot_help.h"

namespace wip::gui {
namespace {

// Ten minutes of samples are not drawn point by point: of each part of the window its highest.
constexpr int most_points = 600;

}  // namespace

queue_view::queue_view(const session_model& model, slot_axis& axis)
    : view("queue", "Queues",
           "Packets waiting for the air at the base station and for the uplink at the terminal. A "
           "cross: "
           "packets were dropped there since the status before.",
           model, axis) {
    plot_ = new time_plot(axis);
    plot_->setToolTip(help());
    plot_->yAxis->setLabel("packets");
    downlink_ = plot_->addGraph();
    downlink_->setName("downlink");
    downlink_->setPen(series_pen(0));
    uplink_ = plot_->addGraph();
    uplink_->setName("uplink");
    uplink_->setPen(series_pen(2, 1.6, Qt::DashLine));
    drops_ = plot_->addGraph();
    drops_->setName("dropped");
    drops_->setLineStyle(QCPGraph::lsNone);
    drops_->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssCross, series_colour(1), 7));
    auto* legend = small_legend(plot_, plot_->axisRect());
    for (auto* g : {downlink_, uplink_, drops_}) g->addToLegend(legend);
    setWidget(plot_);
}

void queue_view::refresh(bool all) {
    QVector<QCPGraphData> down, up, drops;
    double high = 0;
    const auto add = [&](QVector<QCPGraphData>& to, double slot, double value) {
        high = std::max(high, value);
        to.append({plot_->x_of(slot), value});
    };
    const double part = axis().window() / most_points;
    double part_end = 0, part_slot = 0, part_high = -1;
    for (const auto& c : model().columns().between(axis().left(), axis().right())) {
        if (c.queued_packets < 0) continue;
        if (static_cast<double>(c.slot) >= part_end) {
            if (part_high >= 0) add(down, part_slot, part_high);
            part_end = static_cast<double>(c.slot) + part;
            part_high = -1;
        }
        if (static_cast<double>(c.queued_packets) > part_high) {
            part_high = static_cast<double>(c.queued_packets);
            part_slot = static_cast<double>(c.slot);
        }
    }
    if (part_high >= 0) add(down, part_slot, part_high);
    const bool from_slots = !down.isEmpty();
    const base_point* before = nullptr;
    for (const auto& p : model().base_points().between(axis().left(), axis().right())) {
        const auto slot = static_cast<double>(p.slot);
        // A publisher without queue samples still counts its queue in every status.
        if (!from_slots) add(down, slot, static_cast<double>(p.queued_packets));
        if (before != nullptr && p.dropped_packets > before->dropped_packets)
            add(drops, slot, static_cast<double>(p.queued_packets));
        before = &p;
    }
    for (const auto& p : model().terminal_points().between(axis().left(), axis().right()))
        add(up, static_cast<double>(p.slot), static_cast<double>(p.uplink_queued));
    downlink_->data()->set(down, true);
    uplink_->data()->set(up, true);
    drops_->data()->set(drops, true);
    plot_->redraw(fit_upwards(plot_->yAxis, std::max(1.2 * high, 4.0)) || all);  // the legend above
}

QString queue_view::csv() const {
    QString text;
    QTextStream out(&text);
    out << "slot,seconds,downlink_packets,downlink_bytes,uplink_packets,dropped_packets\n";
    // Samples and statuses are of other slots: what was not said of a slot is empty.
    struct row {
        QString downlink = ",", uplink, dropped;
    };
    std::map<std::int64_t, row> rows;
    const auto queued = [](auto packets, auto bytes) {
        return QStringLiteral("%1,%2").arg(packets).arg(bytes);
    };
    const double left = axis().left(), right = axis().right();
    for (const auto& c : model().columns().between(left, right))
        if (c.queued_packets >= 0) rows[c.slot].downlink = queued(c.queued_packets, c.queued_bytes);
    const bool from_slots = !rows.empty();
    const base_point* before = nullptr;
    for (const auto& p : model().base_points().between(left, right)) {
        if (!from_slots) rows[p.slot].downlink = queued(p.queued_packets, p.queued_bytes);
        if (before != nullptr && p.dropped_packets > before->dropped_packets)
            rows[p.slot].dropped = QString::number(p.dropped_packets - before->dropped_packets);
        before = &p;
    }
    for (const auto& p : model().terminal_points().between(left, right))
        rows[p.slot].uplink = QString::number(p.uplink_queued);
    for (const auto& [slot, r] : rows)
        out << slot << ',' << seconds_of(static_cast<double>(slot)) << ',' << r.downlink << ','
            << r.uplink << ',' << r.dropped << '\n';
    return text;
}

}  // namespace wip::gui
