// SPDX-License-Identifier: GPL-3.0-or-later
// Distribution of the packet delay and of its parts in the visible window: share of packets that
// took longer, over logarithmic axes, where the tail can be read.
#pragma once

#include <array>

#include "gui/plot/custom_plot.h"
#include "gui/views/view.h"

namespace wip::gui {

class distribution_view : public view {
    Q_OBJECT
public:
    distribution_view(const session_model& model, slot_axis& axis);
    void refresh(bool all) override;
    int frames_per_second() const override { return 2; }
    QString csv() const override;
    QString summary() const { return title_->text(); }
    QCustomPlot& plot() { return *plot_; }

private:
    // Sorted; part 5 is the total.
    std::array<std::vector<float>, 6> sorted_parts(int& dropped) const;

    QCustomPlot* plot_;
    std::array<QCPGraph*, 6> lines_{};
    QCPItemText* title_;
    QCPLegend* legend_;
};

}  // namespace wip::gui
