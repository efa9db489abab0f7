// SPDX-License-Identifier: GPL-3.0-or-later
// Delay injection as its access point sees it: above, of the flow that had the last sample, pdelay,
// what it is compared with, and the delay that is held; below the acknowledgements held now.
#include "gui/plot/plot_help.h"
#include "gui/views/views.h"

namespace wip::gui {
namespace {

// Off: there are no samples.
bool is_on(const base_point& p) { return p.injection.samples != 0; }

class injection_view : public time_view {
public:
    injection_view(const session_model& model, slot_axis& axis)
        : time_view("delay_injection", "Delay injection",
                    "Acknowledgements held after delay spikes. Of the flow that had the last "
                    "sample: its delay against its first one (pdelay), the threshold over which a "
                    "delay is a spike, and D, for which the next ones are held (ms). Dotted: "
                    "acknowledgements held now.",
                    "ms", model, axis) {
        plot_->yAxis2->setLabel("held");
        plot_->yAxis2->setVisible(true);
        plot_->yAxis2->setTickLabels(true);
        held_->setLineStyle(QCPGraph::lsStepLeft);
        small_legend(plot_, plot_->axisRect(), {pdelay_, threshold_, delay_, held_});
    }
    int frames_per_second() const override { return 5; }
    bool is_of_terminals() const override { return false; }

    QString words() const override {
        QString text;
        for (const auto& p : visible(model().base_points())) {
            const auto& d = p.injection;
            if (!is_on(p)) continue;
            text = QStringLiteral("%1 spikes, %2 of %3 held, %4 ms each")
                       .arg(d.spikes)
                       .arg(d.held)
                       .arg(d.samples)
                       .arg(d.held == 0 ? 0 : d.held_ms / static_cast<double>(d.held), 0, 'f', 1);
        }
        return text;
    }

    void refresh(bool all) override {
        line_points pdelay, threshold, delay, held;
        double high = 0, low = 0, most = 0;
        for (const auto& p : visible(model().base_points())) {
            if (!is_on(p)) continue;
            const auto add = [&](line_points& to, double value) {
                if (!std::isfinite(value)) return;
                to.append({x_of(p), value});
                high = std::max(high, value);
                low = std::min(low, value);
            };
            add(pdelay, p.injection.pdelay_ms);
            add(threshold, p.injection.threshold_ms);
            add(delay, p.injection.delay_ms);
            held.append({x_of(p), static_cast<double>(p.injection.held_now)});
            most = std::max(most, held.back().value);
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
        draw(plot_, all);
    }

    QString csv() const override {
        if (words().isEmpty()) return {};
        return table_of(
            model().base_points(), "pdelay_ms,threshold_ms,delay_ms,held",
            [](QTextStream& out, const base_point& p) {
                const auto& d = p.injection;
                out << d.pdelay_ms << ',' << d.threshold_ms << ',' << d.delay_ms << ','
                    << d.held_now;
            },
            is_on);
    }

private:
    QCPGraph* threshold_ = add_line(plot_, "threshold", series_pen(1));
    QCPGraph* pdelay_ = add_line(plot_, "pdelay", series_pen(0));
    QCPGraph* delay_ = add_line(plot_, "D", series_pen(2));
    QCPGraph* held_ = add_line(plot_, "held", series_pen(3, 1.2, Qt::DotLine), plot_->yAxis2);
};

}  // namespace

view* make_injection_view(const session_model& model, slot_axis& axis) {
    return new injection_view(model, axis);
}

}  // namespace wip::gui
