// SPDX-License-Identifier: GPL-3.0-or-later
// Frames of the visible window counted by modulation, or by how often they were sent again. The
// base station counts every frame of a run; the window is the difference of two of its statuses.
#pragma once

#include "gui/plot/custom_plot.h"
#include "gui/views/view.h"

namespace wip::gui {

class histogram_view : public view {
    Q_OBJECT
public:
    enum class kind { modulation, retransmissions };
    histogram_view(kind of, const session_model& model, slot_axis& axis);
    void refresh(bool all) override;
    int frames_per_second() const override { return 4; }
    QString csv() const override;
    // Frames in the window: by bits per symbol 0..8, or by retransmissions 0..30.
    std::vector<double> counts() const;
    QCustomPlot& plot() { return *plot_; }

private:
    kind kind_;
    QCustomPlot* plot_;
    QCPBars* bars_;
    QCPItemText* title_;
};

}  // namespace wip::gui
