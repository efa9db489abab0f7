// SPDX-License-Identifier: GPL-3.0-or-later
// The RLC of a UMTS bearer's downlink: PDUs of its window, packets that it holds, retransmissions;
// as text the numbers of polls and status PDUs, and what it gave up.
#include <iterator>

#include "gui/plot/plot_help.h"
#include "gui/views/views.h"

namespace wip::gui {
namespace {

// The rate of a counter, per second, between two statuses.
double rate(std::uint64_t from, std::uint64_t to, double seconds) {
    return seconds > 0 && to >= from ? static_cast<double>(to - from) / seconds : 0;
}

class bearer_view : public time_view {
public:
    bearer_view(const session_model& model, slot_axis& axis)
        : time_view("bearer", "UMTS bearer",
                    "The RLC of the downlink of a UMTS bearer: PDUs that are sent and not "
                    "acknowledged (window), packets that wait or are not acknowledged (held), and "
                    "PDUs sent again each second. Orange words: packets were dropped, or the RLC "
                    "was reset.",
                    "PDUs, packets", model, axis) {
        small_legend(plot_, plot_->axisRect(), {window_, held_, retransmissions_});
    }

    void refresh(bool all) override {
        const bool is_there = model().base().has_bearer();
        plot_->say(is_there ? QString() : "No UMTS bearer (emulate --link umts)");
        const auto& now = model().base().bearer();
        plot_->note(words(), now.sdus_given_up() + now.resets() != 0);
        line_points window, held, again;
        double high = 0;
        const base_point* before = nullptr;
        for (const auto& p : visible(model().base_points())) {
            if (!is_there) break;
            const double x = x_of(p);
            window.append({x, static_cast<double>(p.bearer.window)});
            held.append({x, static_cast<double>(p.bearer.held)});
            if (before != nullptr)
                again.append({x, rate(before->bearer.retransmissions, p.bearer.retransmissions,
                                      seconds_of(static_cast<double>(p.slot - before->slot)))});
            before = &p;
            high = std::max({high, window.back().value, held.back().value,
                             again.isEmpty() ? 0 : again.back().value});
        }
        window_->data()->set(window, true);
        held_->data()->set(held, true);
        retransmissions_->data()->set(again, true);
        draw(plot_, fit_upwards(plot_->yAxis, std::max(1.4 * high, 4.0)) || all);  // words above
    }

    QString words() const override {
        const auto& status = model().base();
        if (!status.has_bearer()) return {};
        const auto& to = status.bearer();
        // Rates over the time that is shown.
        const auto per_second = [](const auto& points, const auto& count) {
            if (points.begin() == points.end()) return 0.0;
            const auto &first = *points.begin(), &last = *std::prev(points.end());
            return rate(count(first), count(last),
                        seconds_of(static_cast<double>(last.slot - first.slot)));
        };
        const double polls = per_second(visible(model().base_points()),
                                        [](const base_point& p) { return p.bearer.polls; });
        const double statuses = per_second(visible(model().terminal_points()),
                                           [](const terminal_point& p) { return p.rlc_statuses; });
        return QStringLiteral("%1 kbit/s, %2; polls %3/s, status %4/s; dropped %5, resets %6")
            .arg(to.rate_bps() / 1000, 0, 'f', 0)
            .arg(QString::fromStdString(status.rrc_state()).toUpper())
            .arg(polls, 0, 'f', 1)
            .arg(statuses, 0, 'f', 1)
            .arg(to.sdus_given_up())
            .arg(to.resets());
    }

    QString csv() const override {
        if (!model().base().has_bearer()) return {};
        return table_of(model().base_points(), "window_pdus,held_packets,retransmissions,polls",
                        [](QTextStream& out, const base_point& p) {
                            out << p.bearer.window << ',' << p.bearer.held << ','
                                << p.bearer.retransmissions << ',' << p.bearer.polls;
                        });
    }

private:
    QCPGraph* window_ = add_line(plot_, "window", series_pen(0));
    QCPGraph* held_ = add_line(plot_, "held", series_pen(2, 1.6, Qt::DashLine));
    QCPGraph* retransmissions_ = add_line(plot_, "sent again/s", series_pen(1));
};

}  // namespace

view* make_bearer_view(const session_model& model, slot_axis& axis) {
    return new bearer_view(model, axis);
}

}  // namespace wip::gui
