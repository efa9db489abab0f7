// SPDX-License-Identifier: GPL-3.0-or-later
// Goodput of the link against the capacity of the air interface. Both come with the verdict, and
// without a verdict there is no picture.
#include "gui/model/meaning.h"
#include "gui/plot/plot_help.h"
#include "gui/views/views.h"

namespace wip::gui {
namespace {

class goodput_view : public time_view {
public:
    goodput_view(const session_model& model, slot_axis& axis)
        : time_view("goodput", "Goodput and capacity",
                    "Goodput of the link over the last second against the payload of the frames "
                    "that the air interface could carry with the bins and modulation in use "
                    "(Mbit/s). Of one of several terminals its own goodput, against the capacity "
                    "of all. Shown with the verdict only.",
                    "Mbit/s", model, axis) {
        goodput_->setBrush(QColor(0x00, 0x72, 0xb2, 50));
        small_legend(plot_, plot_->axisRect(), {goodput_, capacity_});
    }
    int frames_per_second() const override { return 5; }

    void refresh(bool all) override {
        const QString verdict = verdict_text();
        const bool replayed = verdict_word() == "replay";
        plot_->say(verdict.isEmpty() ? "No verdict yet: goodput is not shown"
                   : replayed        ? "Recorded samples are played: there is no goodput"
                                     : "");
        plot_->note(verdict, verdict_is_bad());
        line_points good, most;
        double high = 0;
        for (const auto& p : visible(model().verdict_points())) {
            const double goodput = goodput_bps(p);
            if (std::isfinite(goodput)) good.append({x_of(p), goodput * 1e-6});
            // 0: the capacity is not known
            if (p.capacity_bps > 0) most.append({x_of(p), p.capacity_bps * 1e-6});
            high = std::max({high, p.goodput_bps * 1e-6, p.capacity_bps * 1e-6});
        }
        goodput_->data()->set(good, true);
        capacity_->data()->set(most, true);
        // leaves room for the legend above
        draw(plot_, fit_upwards(plot_->yAxis, 1.2 * high) || all);
    }

    QString csv() const override {
        return table_of(model().verdict_points(), "goodput_bps,capacity_bps,valid",
                        [this](QTextStream& out, const verdict_point& p) {
                            const double goodput = goodput_bps(p);
                            if (std::isfinite(goodput)) out << goodput;
                            out << ',' << p.capacity_bps << ',' << (p.valid ? 1 : 0);
                        });
    }

private:
    // The goodput of the terminals shown, in the second before that verdict; NaN: not known.
    double goodput_bps(const verdict_point& at) const {
        if (model().shown_user() == all_users) return at.goodput_bps;
        const auto& points = model().base_points();
        const base_point* to = points.last_before(static_cast<double>(at.slot));
        const base_point* from =
            points.last_before(static_cast<double>(at.slot - slots_per_second));
        return from == nullptr ? std::numeric_limits<double>::quiet_NaN()
                               : wip::gui::goodput_bps(*from, *to);
    }

    QCPGraph* capacity_ = add_line(plot_, "capacity", series_pen(1, 1.6, Qt::DashLine));
    QCPGraph* goodput_ = add_line(plot_, "goodput", series_pen(0, 2));
};

}  // namespace

view* make_goodput_view(const session_model& model, slot_axis& axis) {
    return new goodput_view(model, axis);
}

}  // namespace wip::gui
