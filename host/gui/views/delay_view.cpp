// SPDX-License-Identifier: GPL-3.0-or-later
// Where the time of the IP packets goes: the parts of the delay stacked, over time.
#include <array>

#include "gui/model/meaning.h"
#include "gui/plot/plot_help.h"
#include "gui/views/views.h"

namespace wip::gui {
namespace {

constexpr int nof_buckets = 150;

struct bucket {
    std::array<double, 5> sum{};
    int delivered = 0, dropped = 0;
};

class delay_view : public time_view {
public:
    delay_view(const session_model& model, slot_axis& axis)
        : time_view("packet_delay", "Packet delay",
                    "Mean delay of the packets that arrived in each 1/150 of the window, from TUN "
                    "to TUN in ms, stacked by where the time went: queue, scheduling, air, "
                    "retransmission, reordering. Cross on the base line: packets were dropped. "
                    "Delays are shown once the run has a verdict (VALID or INVALID).",
                    "ms", model, axis) {
        // The parts are drawn from the top of the stack down: each is painted over by the one below
        // it, so that a fill down to the axis will do.
        for (std::size_t i = parts_.size(); i-- > 0;) {
            parts_[i] = add_line(plot_, delay_parts[i].name, Qt::NoPen);
            parts_[i]->setLineStyle(QCPGraph::lsStepLeft);
            parts_[i]->setBrush(series_colour(delay_parts[i].colour));
            parts_[i]->setAdaptiveSampling(false);
        }
        drops_ = add_crosses(plot_, "dropped", Qt::black, 8);
        auto* legend = small_legend(plot_, plot_->axisRect());
        for (auto* g : parts_) g->addToLegend(legend);
        drops_->addToLegend(legend);
    }
    int frames_per_second() const override { return 5; }

    void refresh(bool all) override {
        const QString verdict = verdict_text();
        plot_->note(verdict, verdict_is_bad());
        const auto window = visible(model().packets());
        plot_->say(verdict.isEmpty() ? "No verdict yet: delays are not shown"
                   : window.empty()  ? "No packet records in this window"
                                     : "");
        // Buckets stand still on the slot axis, so that a packet does not change its bucket as time
        // goes on.
        const double width = axis().window() / nof_buckets;
        const auto first = static_cast<std::int64_t>(std::floor(axis().left() / width));
        std::vector<bucket> buckets(nof_buckets + 2);
        for (const auto& p : window) {
            if (verdict.isEmpty() || !model().shows(p.user)) continue;
            const auto k = static_cast<std::int64_t>(std::floor(p.slot / width)) - first;
            if (k < 0 || k >= std::ssize(buckets)) continue;
            bucket& b = buckets[static_cast<std::size_t>(k)];
            if (p.dropped != 0) {
                ++b.dropped;
                continue;
            }
            ++b.delivered;
            for (std::size_t i = 0; i < 5; ++i) b.sum[i] += static_cast<double>(p.part_ms[i]);
        }
        std::array<line_points, 5> tops;
        line_points drops;
        double high = 0;
        for (std::size_t k = 0; k < buckets.size(); ++k) {
            const bucket& b = buckets[k];
            const double x =
                plot_->x_of(static_cast<double>(first + static_cast<std::int64_t>(k)) * width);
            double top = 0;
            for (std::size_t i = 0; i < 5; ++i) {
                if (b.delivered > 0) top += b.sum[i] / b.delivered;
                tops[i].append({x, top});
            }
            high = std::max(high, top);
            if (b.dropped > 0) drops.append({x + seconds_of(width) / 2, 0});
        }
        for (std::size_t i = 0; i < 5; ++i) parts_[i]->data()->set(tops[i], true);
        drops_->data()->set(drops, true);
        // leaves room for the legend above
        draw(plot_, fit_upwards(plot_->yAxis, 1.3 * high) || all);
    }

    QString csv() const override {
        QString text;
        QTextStream out(&text);
        out << "number,left_slot,bytes";
        for (const auto& p : delay_parts) out << ',' << p.name << "_ms";
        out << ",total_ms,dropped,terminal,verdict\n";
        const QString verdict = verdict_word();
        if (verdict.isEmpty()) return text;
        for (const auto& p : visible(model().packets())) {
            if (!model().shows(p.user)) continue;
            out << p.number << ',' << QString::number(p.slot, 'f', 3) << ',' << p.bytes;
            for (const float x : p.part_ms) out << ',' << x;
            out << ',' << p.total_ms << ','
                << QString::fromStdString(model().drop_reasons()[p.dropped]) << ',' << p.user + 1
                << ',' << verdict << '\n';
        }
        return text;
    }

private:
    std::array<QCPGraph*, 5> parts_{};
    QCPGraph* drops_;
};

}  // namespace

view* make_delay_view(const session_model& model, slot_axis& axis) {
    return new delay_view(model, axis);
}

}  // namespace wip::gui
