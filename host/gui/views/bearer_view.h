// SPDX-License-Identifier: GPL-3.0-or-later
// The RLC of a UMTS bearer's downlink: PDUs of its window, packets that it holds, retransmissions;
// in words how often it polls and is told, and what it gave up.
#pragma once

#include "gui/plot/time_plot.h"
#include "gui/views/view.h"

namespace wip::gui {

class bearer_view : public view {
    Q_OBJECT
public:
    bearer_view(const session_model& model, slot_axis& axis);
    void refresh(bool all) override;
    QString csv() const override;

    time_plot& plot() { return *plot_; }
    QCPGraph& window() { return *window_; }
    QCPGraph& held() { return *held_; }
    QCPGraph& retransmissions() { return *retransmissions_; }
    // Above the picture; empty: there is no bearer.
    QString words() const;

private:
    time_plot* plot_;
    QCPGraph *window_, *held_, *retransmissions_;
};

}  // namespace wip::gui
