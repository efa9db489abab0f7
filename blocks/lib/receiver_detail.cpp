// SPDX-License-Identifier: GPL-3.0-or-later
#include "receiver_detail.h"

#include <cmath>

#include "types/point_code.h"

namespace wip {

void fill_detail(const phy::received_slot& received, std::span<const float> spectrum_dbfs,
                 openwip::slot_link::ReceiverDetail& out) {
    out.Clear();
    out.mutable_spectrum_dbfs()->Add(spectrum_dbfs.begin(), spectrum_dbfs.end());
    if (!received.locked) return;
    auto& points = *out.mutable_points();
    for (const auto& bin : received.bins) {
        if (bin.outcome == phy::bin_outcome::unused) continue;
        for (const auto& symbol : bin.symbols) {
            points.push_back(point_code(symbol.real()));
            points.push_back(point_code(symbol.imag()));
        }
    }
    const float scale = std::pow(10.0F, received.unit_dbfs / 20);
    for (const auto& h : received.channel) {
        out.add_channel(h.real() * scale);
        out.add_channel(h.imag() * scale);
    }
    for (const float noise : received.bin_noise)
        out.add_noise_dbfs(10 * std::log10(std::max(noise, 1e-20F)) + received.unit_dbfs);
}

}  // namespace wip
