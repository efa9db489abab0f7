// SPDX-License-Identifier: GPL-3.0-or-later
// A terminal that moves between networks: the rate of the downlink where it is, nothing during a
// handover, and the packets that wait for the end of one.
#include "gui/plot/plot_help.h"
#include "gui/views/views.h"

namespace wip::gui {
namespace {

// Other links have no networks.
bool is_there(const base_point& p) { return p.mobility.rate_kbps > 0; }

class handover_view : public time_view {
public:
    handover_view(const session_model& model, slot_axis& axis)
        : time_view("handover", "Networks",
                    "The downlink rate of the network where the terminal is (kbit/s); 0 during a "
                    "handover. Dotted: packets of the downlink that wait for its end.",
                    "kbit/s", model, axis) {
        plot_->yAxis2->setLabel("waiting");
        plot_->yAxis2->setVisible(true);
        plot_->yAxis2->setTickLabels(true);
        rate_->setLineStyle(QCPGraph::lsStepLeft);
        waiting_->setLineStyle(QCPGraph::lsStepLeft);
        small_legend(plot_, plot_->axisRect(), {rate_, waiting_});
    }
    int frames_per_second() const override { return 5; }
    bool is_of_terminals() const override { return false; }

    QString words() const override {
        const auto& m = model().base().mobility();
        if (m.network().empty()) return {};
        const QString network = QString::fromStdString(m.network());
        return QStringLiteral("%1; %2 handovers, %3 s of them")
            .arg(m.handing_over()
                     ? network + QStringLiteral(" to ") + QString::fromStdString(m.destination())
                     : network)
            .arg(m.handovers())
            .arg(m.handing_over_s(), 0, 'f', 1);
    }

    void refresh(bool all) override {
        line_points rate, waiting;
        double high = 0, most = 0;
        for (const auto& p : visible(model().base_points())) {
            if (!is_there(p)) continue;
            rate.append({x_of(p), p.mobility.handing_over ? 0 : p.mobility.rate_kbps});
            waiting.append({x_of(p), static_cast<double>(p.mobility.waiting)});
            high = std::max(high, p.mobility.rate_kbps);
            most = std::max(most, waiting.back().value);
        }
        plot_->say(rate.isEmpty() ? "No networks to move between (emulate --link hetnet)"
                                  : QString());
        plot_->note(words(), model().base().mobility().handing_over());
        rate_->data()->set(rate, true);
        waiting_->data()->set(waiting, true);
        // The note and the legend stand above the curves.
        plot_->yAxis->setRange(0, std::max(1.5 * high, 4.0));
        plot_->yAxis2->setRange(0, std::max(1.5 * most, 4.0));
        draw(plot_, all);
    }

    QString csv() const override {
        if (words().isEmpty()) return {};
        return table_of(
            model().base_points(), "rate_kbps,handing_over,waiting_packets",
            [](QTextStream& out, const base_point& p) {
                const auto& m = p.mobility;
                out << m.rate_kbps << ',' << int{m.handing_over} << ',' << m.waiting;
            },
            is_there);
    }

private:
    QCPGraph* rate_ = add_line(plot_, "rate", series_pen(0));
    QCPGraph* waiting_ = add_line(plot_, "waiting", series_pen(3, 1.2, Qt::DotLine), plot_->yAxis2);
};

}  // namespace

view* make_handover_view(const session_model& model, slot_axis& axis) {
    return new handover_view(model, axis);
}

}  // namespace wip::gui
