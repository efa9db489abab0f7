// SPDX-License-Identifier: GPL-3.0-or-later
// The fader of a cabled cell: levels that its radios receive and send over time, the one over the
// other (an attenuator's track), and the taps that are commanded now, a colour for
// each path; in words its delay, what it lost and clipped, and the soundings: its own, and that
// through the radios as the verdict has it. Beside it, or alone, a programmable attenuator: what
// its channels take away over time.
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
    // Of channel 1, 2, ..., dB below 0.
    QCPGraph& attenuation(std::size_t channel) { return *attenuation_.at(channel - 1); }
    // Above the pictures; empty: there is neither fader nor attenuator.
    QString words() const;

private:
    void draw_taps(const openwip::control::AirStatus& a);
    void draw_attenuation();
    QString fader_words() const, attenuator_words() const;

    time_plot* plot_;
    QCPGraph *input_, *output_, *channel_;
    std::vector<QCPGraph*> attenuation_;  // by channel, in the legend once it is one of a run
    QCPLegend* level_names_;
    QCPAxisRect* below_;
    QCPLegend* path_names_;
    std::vector<QCPBars*> taps_;  // by path
};

}  // namespace wip::gui
