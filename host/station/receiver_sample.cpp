// SPDX-License-Identifier: GPL-3.0-or-later
#include "station/receiver_sample.h"

#include "types/grid.h"

namespace wip::host {

const char* fill_receiver(const openwip::slot_link::ReceiverDetail& detail,
                          const slot_report& report, const openwip::receiver::State& state,
                          openwip::telemetry::ReceiverSample& out) {
    out.Clear();
    auto& symbols = *out.mutable_symbols_of_bin();
    auto& bits = *out.mutable_bits_per_symbol();
    symbols.assign(nof_bins, '\0');
    bits.assign(nof_bins, '\0');
    std::size_t bytes = 0;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        bits[b] = static_cast<char>(report.grant.bins[b].bits_per_symbol);
        if (report.outcome[b] != frame_outcome::good && report.outcome[b] != frame_outcome::bad)
            continue;
        symbols[b] = static_cast<char>(payload_symbols_per_bin);
        bytes += std::size_t{2} * payload_symbols_per_bin;
    }
    if (detail.points().size() != bytes) return "detail: points that are not those of the bins";
    if (detail.channel_size() != 0 && detail.channel_size() != 2 * nof_subcarriers)
        return "detail: not 500 subcarriers";
    if (detail.noise_dbfs_size() != 0 && detail.noise_dbfs_size() != nof_bins)
        return "detail: not 25 noise levels";
    if (detail.spectrum_dbfs_size() != 0 && detail.spectrum_dbfs_size() != fft_size)
        return "detail: not a spectrum of 768 points";
    out.set_points(detail.points());
    *out.mutable_channel() = detail.channel();
    *out.mutable_noise_dbfs() = detail.noise_dbfs();
    *out.mutable_spectrum_dbfs() = detail.spectrum_dbfs();
    *out.mutable_state() = state;
    return nullptr;
}

}  // namespace wip::host
