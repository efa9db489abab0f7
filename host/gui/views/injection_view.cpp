// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/injection_view.h"

#include <QTextStream>
#include <algorithm>
#include <cmath>

#include "gui/plot/plot_help.h"

namespace wip::gui {

injection_view::injection_view(const session_model& model, slot_axis& axis)
    : view("delay_injection", "Delay injection",
           "Acknowledgements held after delay spikes. Of the flow that had the last sample: its "
           "delay against its first one (pdelay), the threshold over which a delay is a spike, and "
           "D, for which the next ones are held (ms). Dotted: acknowledgements held now.",
           model, axis) {
    plot_ = new time_plot(axis);
    plot_->setToolTip(help());
    plot_->yAxis->setLabel("ms");
    plot_->yAxis2->setLabel("held");
    plot_->yAxis2->setVisible(true);
    plot_->yAxis2->setTickLabels(true);
    const auto add = [this](const char* name, const QPen& pen, QCPAxis* y = nullptr) {
        auto* g = plot_->addGraph(plot_->xAxis, y != nullptr ? y : plot_->yAxis);
        g->setName(name);
        g->setPen(pen);
        return g;
    };
    threshold_ = add("threshold", series_pen(1));
    pdelay_ = add("pdelay", series_pen(0));
    delay_ = add("D", series_pen(2));
    held_ = add("held", series_pen(3, 1.2, Qt::DotLine), plot_->yAxis2);
    held_->setLineStyle(QCPGraph::lsStepLeft);
    auto* legend = small_legend(plot_, plot_->axisRect());
    for (auto* g : {pdelay_, threshold_, delay_, held_}) g->addToLegend(legend);
    setWidget(plot_);
}

QString injection_view::words() const {
    QString text;
    for (const auto& p : model().base_points().between(axis().left(), axis().right())) {
        const auto& d = p.injection;
        if (d.samples == 0) continue;
        text = QStringLiteral("%1 spikes, %2 of %3 held, %4 ms each")
                   .arg(d.spikes)
                   .arg(d.held)
                   .arg(d.samples)
                   .arg(d.held == 0 ? 0 : d.held_ms / static_cast<double>(d.held), 0, 'f', 1);
    }
    return text;
}

void injection_view::refresh(bool all) {
    QVector<QCPGraphData> pdelay, threshold, delay, held;
    double high = 0, low = 0, most = 0;
    for (const auto& p : model().base_points().between(axis().left(), axis().right())) {
        const auto& d = p.injection;
        if (d.samples == 0) continue;
        const double x = plot_->x_of(static_cast<double>(p.slot));
        const auto add = [&](QVector<QCPGraphData>& to, double value) {
            if (!std::isfinite(value)) return;
            to.append({x, value});
            high = std::max(high, value);
            low = std::min(low, value);
        };
        add(pdelay, d.pdelay_ms);
        add(threshold, d.threshold_ms);
        add(delay, d.delay_ms);
        held.append({x, static_cast<double>(d.held_now)});
        most = std::max(most, static_cast<double>(d.held_now));
    }
    plot_->say(pdelay.isEmpty() ? "No delay injection (emulate --delay-injection adaptive)"
                                : QString());
    plot_->note(words(), false);
    pdelay_->data()->set(pdelay, true);
    threshold_->data()->set(threshold, true);
    delay_->data()->set(delay, true);
    held_->data()->set(held, true);
    // The words and the legend above.
    plot_->yAxis->setRange(1.2 * low, std::max(2 * high, 4.0));
    plot_->yAxis2->setRange(0, std::max(2 * most, 4.0));
    plot_->redraw(all);
}

QString injection_view::csv() const {
    QString text;
    QTextStream out(&text);
    for (const auto& p : model().base_points().between(axis().left(), axis().right()))
        if (const auto& d = p.injection; d.samples != 0)
            out << p.slot << ',' << seconds_of(static_cast<double>(p.slot)) << ',' << d.pdelay_ms
                << ',' << d.threshold_ms << ',' << d.delay_ms << ',' << d.held_now << '\n';
    return text.isEmpty()
               ? text
               : QStringLiteral("slot,seconds,pdelay_ms,threshold_ms,delay_ms,held\n") + text;
}

}  // namespace wip::gui
