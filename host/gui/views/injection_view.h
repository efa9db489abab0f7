// SPDX-License-Identifier: GPL-3.0-or-later
// Delay injection as its access point sees it: above, of the flow that had the last sample, pdelay,
// what it is compared with, and the delay that is held; below the acknowledgements held now.
#pragma once

#include "gui/plot/time_plot.h"
#include "gui/views/view.h"

namespace wip::gui {

class injection_view : public view {
    Q_OBJECT
public:
    injection_view(const session_model& model, slot_axis& axis);
    void refresh(bool all) override;
    int frames_per_second() const override { return 5; }
    bool is_of_terminals() const override { return false; }
    QString csv() const override;

    time_plot& plot() { return *plot_; }
    QCPGraph& pdelay() { return *pdelay_; }
    QCPGraph& threshold() { return *threshold_; }
    QCPGraph& delay() { return *delay_; }
    QCPGraph& held() { return *held_; }
    // Above the picture; empty: it is off.
    QString words() const;

private:
    time_plot* plot_;
    QCPGraph *pdelay_, *threshold_, *delay_, *held_;
};

}  // namespace wip::gui
