// SPDX-License-Identifier: GPL-3.0-or-later
// The state of TCP over the link: congestion window and round trip of each flow, over the same time
// axis as the bins.
#include <functional>
#include <map>

#include "gui/plot/plot_help.h"
#include "gui/views/views.h"

namespace wip::gui {
namespace {

constexpr double no_ssthresh = 1e6;  // the kernel's "not set yet" is larger than any window
// Flows in the window, the busiest first, at most this many.
constexpr int most_flows = 3;

class tcp_view : public time_view {
public:
    tcp_view(const session_model& model, slot_axis& axis)
        : time_view("tcp", "TCP",
                    "Of each flow, from the kernel. Above: congestion window (segments), dashed: "
                    "slow start threshold, cross: a segment was sent again. Below: round trip time "
                    "(ms), dashed: retransmission timeout.",
                    "segments", model, axis) {
        time_axis_->setLabel("ms");
        legend_->setWrap(1);
        for (int i = 0; i < most_flows; ++i) {
            const QPen dashed = series_pen(i, 1.0, Qt::DashLine);
            lines_.push_back({.cwnd = add_line(plot_, {}, series_pen(i, 1.8)),
                              .ssthresh = add_line(plot_, {}, dashed),
                              .rtt = add_line(plot_, {}, series_pen(i, 1.8), time_axis_),
                              .rto = add_line(plot_, {}, dashed, time_axis_),
                              .retransmitted = add_crosses(plot_, {}, series_colour(i), 7)});
        }
    }

    void refresh(bool all) override {
        const auto window = visible(model().tcp_points());
        const auto shown = busiest();
        if (shown != shown_) {
            shown_ = shown;
            all = true;
            legend_->clearItems();
            for (std::size_t i = 0; i < shown.size(); ++i) {
                lines_[i].cwnd->setName(
                    QString::fromStdString(model().flows()[static_cast<std::size_t>(shown[i])]));
                lines_[i].cwnd->addToLegend(legend_);
            }
        }
        double most_segments = 10, most_ms = 10;
        for (std::size_t i = 0; i < lines_.size(); ++i) {
            line_points cwnd, ssthresh, rtt, rto, again;
            const tcp_point* before = nullptr;
            for (const auto& p : window) {
                if (i >= shown.size() || p.flow != shown[i]) continue;
                const double x = x_of(p);
                cwnd.append({x, p.cwnd});
                if (p.ssthresh > 0 && p.ssthresh < no_ssthresh) ssthresh.append({x, p.ssthresh});
                rtt.append({x, p.rtt_ms});
                rto.append({x, p.rto_ms});
                most_segments = std::max(most_segments, p.cwnd);
                most_ms = std::max(most_ms, p.rtt_ms * 1.3);
                if (before != nullptr && p.retransmitted > before->retransmitted)
                    again.append({x, p.cwnd});
                before = &p;
            }
            lines_[i].cwnd->data()->set(cwnd, true);
            lines_[i].ssthresh->data()->set(ssthresh, true);
            lines_[i].rtt->data()->set(rtt, true);
            lines_[i].rto->data()->set(rto, true);
            lines_[i].retransmitted->data()->set(again, true);
        }
        plot_->say(shown.empty() ? "No TCP flow seen in this window" : "");
        // leaves room for the legend above
        const bool changed = fit_upwards(plot_->yAxis, 1.3 * most_segments) |
                             static_cast<int>(fit_upwards(time_axis_, most_ms));
        draw(plot_, changed || all);
    }

    QString csv() const override {
        return table_of(
            model().tcp_points(),
            "flow,cwnd_segments,ssthresh_segments,rtt_ms,rto_ms,retransmitted",
            [this](QTextStream& out, const tcp_point& p) {
                out << '"' << QString::fromStdString(model().flows()[p.flow]) << "\"," << p.cwnd
                    << ',' << p.ssthresh << ',' << p.rtt_ms << ',' << p.rto_ms << ','
                    << p.retransmitted;
            },
            [this](const tcp_point& p) { return model().shows_flow(p.flow); });
    }

private:
    // The flows that carry data; both ends know a flow, its sender is the one whose bytes are
    // acknowledged.
    std::vector<int> busiest() const {
        struct span {
            std::uint64_t first, last;
        };
        std::map<int, span> acknowledged;
        for (const auto& p : visible(model().tcp_points())) {
            if (!model().shows_flow(p.flow)) continue;
            const auto at = acknowledged.try_emplace(p.flow, span{p.bytes_acknowledged, 0}).first;
            at->second.last = p.bytes_acknowledged;
        }
        std::vector<std::pair<std::uint64_t, int>> order;
        for (const auto& [flow, bytes] : acknowledged)
            order.emplace_back(bytes.last > bytes.first ? bytes.last - bytes.first : 0, flow);
        std::ranges::sort(order, std::greater{});
        std::vector<int> flows;
        for (const auto& [bytes, flow] : order)
            if (flows.empty() || (flows.size() < most_flows && 20 * bytes > order[0].first))
                flows.push_back(flow);
        std::ranges::sort(flows);  // a flow keeps its colour while others come and go in size
        return flows;
    }

    struct lines {
        QCPGraph *cwnd, *ssthresh, *rtt, *rto, *retransmitted;
    };
    std::vector<lines> lines_;
    std::vector<int> shown_;
    QCPAxis* time_axis_ = plot_->add_axis_rect()->axis(QCPAxis::atLeft);
    QCPLegend* legend_ = small_legend(plot_, plot_->axisRect());
};

}  // namespace

view* make_tcp_view(const session_model& model, slot_axis& axis) {
    return new tcp_view(model, axis);
}

}  // namespace wip::gui
