// SPDX-License-Identifier: GPL-3.0-or-later
// Goodput of the link against the capacity of the air interface. Both come with the verdict, and
// without a verdict there is no picture.
#pragma once

#include "gui/plot/time_plot.h"
#include "gui/views/view.h"

namespace wip::gui {

class goodput_view : public view {
    Q_OBJECT
public:
    goodput_view(const session_model& model, slot_axis& axis);
    void refresh(bool all) override;
    int frames_per_second() const override { return 5; }
    QString csv() const override;
    time_plot& plot() { return *plot_; }

private:
    // Of what is shown, in the second before that verdict; NaN: not known.
    double goodput_bps(const verdict_point& at) const;

    time_plot* plot_;
    QCPGraph *goodput_, *capacity_;
};

}  // namespace wip::gui
