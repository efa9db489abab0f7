// SPDX-License-Identifier: GPL-3.0-or-later
// Packets waiting at both ends, and where packets were dropped.
#include <map>

#include "gui/plot/plot_help.h"
#include "gui/views/views.h"

namespace wip::gui {
namespace {

// Ten minutes of samples are not drawn point by point: of each part of the window its highest.
constexpr int most_points = 600;

class queue_view : public time_view {
public:
    queue_view(const session_model& model, slot_axis& axis)
        : time_view("queue", "Queues",
                    "Packets waiting for the air at the base station and for the uplink at the "
                    "terminal. A cross: packets were dropped there since the status before.",
                    "packets", model, axis) {
        small_legend(plot_, plot_->axisRect(), {downlink_, uplink_, drops_});
    }

    void refresh(bool all) override {
        line_points down, up, drops;
        double high = 0;
        const auto add = [&](line_points& to, double slot, double value) {
            high = std::max(high, value);
            to.append({plot_->x_of(slot), value});
        };
        const double part = axis().window() / most_points;
        double part_end = 0, part_slot = 0, part_high = -1;
        for (const auto& c : visible(model().columns())) {
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
        for (const auto& p : visible(model().base_points())) {
            const auto slot = static_cast<double>(p.slot);
            // A publisher without queue samples still counts its queue in every status.
            if (!from_slots) add(down, slot, static_cast<double>(p.queued_packets));
            if (before != nullptr && p.dropped_packets > before->dropped_packets)
                add(drops, slot, static_cast<double>(p.queued_packets));
            before = &p;
        }
        for (const auto& p : visible(model().terminal_points()))
            add(up, static_cast<double>(p.slot), static_cast<double>(p.uplink_queued));
        downlink_->data()->set(down, true);
        uplink_->data()->set(up, true);
        drops_->data()->set(drops, true);
        // The legend above.
        draw(plot_, fit_upwards(plot_->yAxis, std::max(1.2 * high, 4.0)) || all);
    }

    QString csv() const override {
        QString text;
        QTextStream out(&text);
        out << "slot,seconds,downlink_packets,downlink_bytes,uplink_packets,dropped_packets\n";
        // Samples and statuses are of other slots: a value that was not reported for a slot is
        // empty.
        struct row {
            QString downlink = ",", uplink, dropped;
        };
        std::map<std::int64_t, row> rows;
        const auto queued = [](auto packets, auto bytes) {
            return QStringLiteral("%1,%2").arg(packets).arg(bytes);
        };
        for (const auto& c : visible(model().columns()))
            if (c.queued_packets >= 0)
                rows[c.slot].downlink = queued(c.queued_packets, c.queued_bytes);
        const bool from_slots = !rows.empty();
        const base_point* before = nullptr;
        for (const auto& p : visible(model().base_points())) {
            if (!from_slots) rows[p.slot].downlink = queued(p.queued_packets, p.queued_bytes);
            if (before != nullptr && p.dropped_packets > before->dropped_packets)
                rows[p.slot].dropped = QString::number(p.dropped_packets - before->dropped_packets);
            before = &p;
        }
        for (const auto& p : visible(model().terminal_points()))
            rows[p.slot].uplink = QString::number(p.uplink_queued);
        for (const auto& [slot, r] : rows)
            begin_line(out, slot) << r.downlink << ',' << r.uplink << ',' << r.dropped << '\n';
        return text;
    }

private:
    QCPGraph* downlink_ = add_line(plot_, "downlink", series_pen(0));
    QCPGraph* uplink_ = add_line(plot_, "uplink", series_pen(2, 1.6, Qt::DashLine));
    QCPGraph* drops_ = add_crosses(plot_, "dropped", series_colour(1), 7);
};

}  // namespace

view* make_queue_view(const session_model& model, slot_axis& axis) {
    return new queue_view(model, axis);
}

}  // namespace wip::gui
