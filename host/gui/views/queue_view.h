// SPDX-License-Identifier: GPL-3.0-or-later
// Packets waiting at both ends, and where packets were dropped.
#pragma once

#include "gui/plot/time_plot.h"
#include "gui/views/view.h"

namespace wip::gui {

class queue_view : public view {
    Q_OBJECT
public:
    queue_view(const session_model& model, slot_axis& axis);
    void refresh(bool all) override;
    QString csv() const override;
    time_plot& plot() { return *plot_; }
    QCPGraph& downlink() { return *downlink_; }
    QCPGraph& uplink() { return *uplink_; }
    QCPGraph& drops() { return *drops_; }

private:
    time_plot* plot_;
    QCPGraph *downlink_, *uplink_, *drops_;
};

}  // namespace wip::gui
