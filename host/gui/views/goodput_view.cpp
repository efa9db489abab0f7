// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/goodput_view.h"

#include <QTextStream>
#include <cmath>
#include <limits>

#include "gui/model/meaning.h"
#include "gui/plot/plot_help.h"

namespace wip::gui {

goodput_view::goodput_view(const session_model& model, slot_axis& axis)
    : view("goodput", "Goodput and capacity",
           "Goodput of the link over the last second against the payload of the frames that the "
           "air interface could carry with the bins and modulation in use (Mbit/s). Of one of "
           "several terminals its own goodput, against the capacity of all. Shown with the verdict "
           "only.",
           model, axis) {
    plot_ = new time_plot(axis);
    plot_->setToolTip(help());
    plot_->yAxis->setLabel("Mbit/s");
    capacity_ = plot_->addGraph();
    capacity_->setName("capacity");
    capacity_->setPen(series_pen(1, 1.6, Qt::DashLine));
    goodput_ = plot_->addGraph();
    goodput_->setName("goodput");
    goodput_->setPen(series_pen(0, 2));
    goodput_->setBrush(QColor(0x00, 0x72, 0xb2, 50));
    auto* legend = small_legend(plot_, plot_->axisRect());
    goodput_->addToLegend(legend);
    capacity_->addToLegend(legend);
    setWidget(plot_);
}

void goodput_view::refresh(bool all) {
    const QString verdict = verdict_text();
    const bool replayed = verdict_word() == "replay";
    plot_->say(verdict.isEmpty() ? "No verdict yet: goodput is not shown"
               : replayed        ? "Recorded samples are played: there is no goodput"
                                 : "");
    plot_->note(verdict, verdict_is_bad());
    QVector<QCPGraphData> good, most;
    double high = 0;
    for (const auto& p : model().verdict_points().between(axis().left(), axis().right())) {
        const double x = plot_->x_of(static_cast<double>(p.slot));
        const double goodput = goodput_bps(p);
        if (std::isfinite(goodput)) good.append({x, goodput * 1e-6});
        most.append({x, p.capacity_bps * 1e-6});
        high = std::max({high, p.goodput_bps * 1e-6, p.capacity_bps * 1e-6});
    }
    goodput_->data()->set(good, true);
    capacity_->data()->set(most, true);
    plot_->redraw(fit_upwards(plot_->yAxis, 1.2 * high) || all);  // the legend above
}

double goodput_view::goodput_bps(const verdict_point& at) const {
    if (model().shown_user() == all_users) return at.goodput_bps;
    const auto& points = model().base_points();
    const base_point* to = points.last_before(static_cast<double>(at.slot));
    const base_point* from = points.last_before(static_cast<double>(at.slot - slots_per_second));
    return from == nullptr ? std::numeric_limits<double>::quiet_NaN()
                           : wip::gui::goodput_bps(*from, *to);
}

QString goodput_view::csv() const {
    QString text;
    QTextStream out(&text);
    out << "slot,seconds,goodput_bps,capacity_bps,valid\n";
    for (const auto& p : model().verdict_points().between(axis().left(), axis().right())) {
        out << p.slot << ',' << seconds_of(static_cast<double>(p.slot)) << ',';
        const double goodput = goodput_bps(p);
        if (std::isfinite(goodput)) out << goodput;
        out << ',' << p.capacity_bps << ',' << (p.valid ? 1 : 0) << '\n';
    }
    return text;
}

}  // namespace wip::gui
