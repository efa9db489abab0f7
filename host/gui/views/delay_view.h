// SPDX-License-Identifier: GPL-3.0-or-later
// Where the time of the IP packets goes: the parts of the delay stacked, over time.
#pragma once

#include <array>

#include "gui/plot/time_plot.h"
#include "gui/views/view.h"

namespace wip::gui {

class delay_view : public view {
    Q_OBJECT
public:
    delay_view(const session_model& model, slot_axis& axis);
    void refresh(bool all) override;
    int frames_per_second() const override { return 5; }
    QString csv() const override;
    time_plot& plot() { return *plot_; }
    // Upper edge of part i, stacked; for tests.
    QCPGraph& part(int i) { return *parts_[static_cast<std::size_t>(i)]; }

private:
    time_plot* plot_;
    std::array<QCPGraph*, 5> parts_{};
    QCPGraph* drops_;
};

}  // namespace wip::gui
