// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sync_block.h>
#include <gnuradio/wip/api.h>

#include <memory>
#include <string>

namespace gr::wip {

class WIP_API snr_predictor : virtual public gr::sync_block {
public:
    using sptr = std::shared_ptr<snr_predictor>;
    // The description of the block and its parameters; Python shows it as its help.
    static constexpr const char* doc =
        R"(Channel (500) and SNR (25, dB) of every slot, from a channel_estimator with its tags,
to the SNR of every bin `horizon` slots later (25, dB); delayed by so many items it compares with
the SNR that came. A jump of the slot number starts the
learning again.

horizon    slots, 0..64
predictor  last, ar, ls, kalman or delay (docs/explanation/phy.md), or code of the user's own
           (docs/how-to/own-predictor.md)

ValueError, in C++ invalid_argument, names parameter, value and range.)";

    static sptr make(int horizon = 3, const std::string& predictor = "delay");

    // E|g - g^|^2 / E|g|^2 of the linear SNR over the last ~300 slots, and the same when the last
    // value is taken as prediction.
    virtual double nmse() const = 0;
    virtual double last_value_nmse() const = 0;
};

}  // namespace gr::wip
