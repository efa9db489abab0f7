// SPDX-License-Identifier: GPL-3.0-or-later
// The spectrum of the received samples, as a spectrum analyser shows it: the newest one (or that at
// the cursor), the mean power of the last 30, and the highest of all in the visible window.
#pragma once

#include <vector>

#include "gui/plot/custom_plot.h"
#include "gui/views/view.h"

namespace wip::gui {

class spectrum_view : public view {
    Q_OBJECT
public:
    spectrum_view(const session_model& model, slot_axis& axis);
    void refresh(bool all) override;
    int frames_per_second() const override { return 5; }
    QString csv() const override;

    QString words() const override { return title_->text(); }

    static double frequency_mhz(int point) {
        return (point - fft_size / 2) * subcarrier_spacing_hz * 1e-6;
    }
    // Edges of the bins, MHz: halfway between neighbours, and half a subcarrier beside the
    // outermost ones. The bin in the middle contains the empty carrier.
    static std::vector<double> edges_mhz();
    static constexpr int most_samples = 30;

private:
    struct curves {
        std::int64_t slot = -1;  // slot of the newest spectrum; -1: none
        int samples = 0;         // spectra that the mean was made of
        std::vector<double> newest, mean, highest;
    };
    curves shown() const;
    QString why_none() const;

    QCustomPlot* plot_;
    QCPGraph *newest_, *mean_, *highest_;
    QCPItemText* title_;
    std::int64_t seen_ = -1;
};

}  // namespace wip::gui
