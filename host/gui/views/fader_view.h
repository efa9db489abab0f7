// SPDX-License-Identifier: GPL-3.0-or-later
// The fader of a cabled cell: levels that its radios receive and send over time, the one over the
// other (an attenuator's track), and the taps that are commanded now, a colour for
// each path; in words its delay, what it lost and clipped, and the soundings: its own, and that
// through the radios as the verdict has it.
#pragma once

#include <vector>

#include "gui/plot/time_plot.h"
#include "gui/views/view.h"

namespace wip::gui {

class fader_view : public view {
    Q_OBJECT
public:
    fader_view(const session_model& model, slot_axis& axis);
    void refresh(bool all) override;
    int frames_per_second() const override { return 5; }
    bool is_of_terminals() const override { return false; }
    QString csv() const override;

    time_plot& plot() { return *plot_; }
    QCPGraph& input() { return *input_; }
    QCPGraph& output() { return *output_; }
    QCPGraph& channel() { return *channel_; }  // output over input, dB
    QCPBars& taps(std::size_t path = 0) { return *taps_.at(path); }
    std::size_t nof_paths() const { return taps_.size(); }
    // Above the pictures; empty: there is no fader.
    QString words() const;

private:
    void draw_taps(const openwip::control::AirStatus& a);

    time_plot* plot_;
    QCPGraph *input_, *output_, *channel_;
    QCPAxisRect* below_;
    QCPLegend* path_names_;
    std::vector<QCPBars*> taps_;  // by path
};

}  // namespace wip::gui
