// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/tcp_view.h"

#include <QTextStream>
#include <functional>
#include <map>

#include "gui/plot/plot_help.h"

namespace wip::gui {
namespace {

constexpr double no_ssthresh = 1e6;  // the kernel's "not set yet" is larger than any window

}  // namespace

tcp_view::tcp_view(const session_model& model, slot_axis& axis)
    : view("tcp", "TCP",
           "Of each flow, from the kernel. Above: congestion window (segments), dashed: slow start "
           "threshold, cross: a segment was sent again. Below: round trip time (ms), dashed: "
           "retransmission timeout.",
           model, axis) {
    plot_ = new time_plot(axis);
    plot_->setToolTip(help());
    window_axis_ = plot_->yAxis;
    window_axis_->setLabel("segments");
    auto* below = plot_->add_axis_rect();
    time_axis_ = below->axis(QCPAxis::atLeft);
    time_axis_->setLabel("ms");
    auto* x2 = below->axis(QCPAxis::atBottom);
    legend_ = small_legend(plot_, plot_->axisRect());
    legend_->setWrap(1);
    for (int i = 0; i < most_flows; ++i) {
        lines l{};
        const auto add = [&](QCPAxis* x, QCPAxis* y, Qt::PenStyle style) {
            auto* g = plot_->addGraph(x, y);
            g->setPen(series_pen(i, style == Qt::SolidLine ? 1.8 : 1.0, style));
            return g;
        };
        l.cwnd = add(plot_->xAxis, window_axis_, Qt::SolidLine);
        l.ssthresh = add(plot_->xAxis, window_axis_, Qt::DashLine);
        l.rtt = add(x2, time_axis_, Qt::SolidLine);
        l.rto = add(x2, time_axis_, Qt::DashLine);
        l.retransmitted = add(plot_->xAxis, window_axis_, Qt::SolidLine);
        l.retransmitted->setLineStyle(QCPGraph::lsNone);
        l.retransmitted->setScatterStyle(
            QCPScatterStyle(QCPScatterStyle::ssCross, series_colour(i), 7));
        lines_.push_back(l);
    }
    setWidget(plot_);
}

void tcp_view::refresh(bool all) {
    const auto window = model().tcp_points().between(axis().left(), axis().right());
    // The flows that carry data; both ends know a flow, its sender is the one whose bytes are
    // acknowledged.
    struct span {
        std::uint64_t first, last;
    };
    std::map<int, span> acknowledged;
    for (const auto& p : window) {
        if (!model().shows_flow(p.flow)) continue;
        const auto at = acknowledged.try_emplace(p.flow, span{p.bytes_acknowledged, 0}).first;
        at->second.last = p.bytes_acknowledged;
    }
    std::vector<std::pair<std::uint64_t, int>> order;
    for (const auto& [flow, bytes] : acknowledged)
        order.emplace_back(bytes.last > bytes.first ? bytes.last - bytes.first : 0, flow);
    std::ranges::sort(order, std::greater{});
    std::vector<int> shown;
    for (const auto& [bytes, flow] : order)
        if (shown.empty() || (shown.size() < most_flows && 20 * bytes > order[0].first))
            shown.push_back(flow);
    std::ranges::sort(shown);  // a flow keeps its colour while others come and go in size
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
        QVector<QCPGraphData> cwnd, ssthresh, rtt, rto, again;
        const tcp_point* before = nullptr;
        for (const auto& p : window) {
            if (i >= shown.size() || p.flow != shown[i]) continue;
            const double x = plot_->x_of(static_cast<double>(p.slot));
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
    const bool changed = fit_upwards(window_axis_, 1.3 * most_segments) |  // the legend above
                         static_cast<int>(fit_upwards(time_axis_, most_ms));
    plot_->redraw(changed || all);
}

QString tcp_view::csv() const {
    QString text;
    QTextStream out(&text);
    out << "slot,seconds,flow,cwnd_segments,ssthresh_segments,rtt_ms,rto_ms,retransmitted\n";
    for (const auto& p : model().tcp_points().between(axis().left(), axis().right())) {
        if (!model().shows_flow(p.flow)) continue;
        out << p.slot << ',' << seconds_of(static_cast<double>(p.slot)) << ",\""
            << QString::fromStdString(model().flows()[p.flow]) << "\"," << p.cwnd << ','
            << p.ssthresh << ',' << p.rtt_ms << ',' << p.rto_ms << ',' << p.retransmitted << '\n';
    }
    return text;
}

}  // namespace wip::gui
