// SPDX-License-Identifier: GPL-3.0-or-later
// What TCP makes of the link: congestion window and round trip of each flow, over the same time
// axis as the bins.
#pragma once

#include "gui/plot/time_plot.h"
#include "gui/views/view.h"

namespace wip::gui {

class tcp_view : public view {
    Q_OBJECT
public:
    tcp_view(const session_model& model, slot_axis& axis);
    void refresh(bool all) override;
    QString csv() const override;
    time_plot& plot() { return *plot_; }
    // Flows in the window, the busiest first, at most this many.
    static constexpr int most_flows = 3;

private:
    struct lines {
        QCPGraph *cwnd, *ssthresh, *rtt, *rto, *retransmitted;
    };
    time_plot* plot_;
    std::vector<lines> lines_;
    std::vector<int> shown_;
    QCPAxis *window_axis_, *time_axis_;
    QCPLegend* legend_;
};

}  // namespace wip::gui
