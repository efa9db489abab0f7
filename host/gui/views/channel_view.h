// SPDX-License-Identifier: GPL-3.0-or-later
// The channel as the receiver estimates it in one slot: magnitude over frequency, and the impulse
// response that belongs to it.
//
//   h(tau) = 1/N sum_n w(n) H(n) exp(j 2 pi f(n) tau),   w: Hann window, mean 1
//
// The window costs half of the resolution (0.4 us instead of 0.2) and keeps a strong path from
// hiding weak ones behind its side lobes. The subcarriers are -250..-1 and 1..250; DC is empty.
#pragma once

#include "gui/plot/custom_plot.h"
#include "gui/views/view.h"

namespace wip::gui {

class channel_view : public view {
    Q_OBJECT
public:
    channel_view(const session_model& model, slot_axis& axis);
    void refresh(bool all) override;
    int frames_per_second() const override { return 5; }
    QString csv() const override;

    // dB at each subcarrier / at each delay; the formulas of the picture, for tests too.
    static std::vector<double> magnitude_db(const openwip::telemetry::ReceiverSample& sample);
    static std::vector<double> impulse_db(const openwip::telemetry::ReceiverSample& sample);
    static double frequency_khz(int subcarrier);
    static double delay_us(int index) { return first_us + step_us * index; }
    static constexpr double first_us = -2, step_us = 0.1;
    static constexpr int nof_delays = 141;  // to 12 us: the cyclic prefix is 11 us

private:
    QCustomPlot* plot_;
    QCPGraph *magnitude_, *noise_, *impulse_;
    QCPItemText* title_;
    std::int64_t seen_ = -1;
};

}  // namespace wip::gui
