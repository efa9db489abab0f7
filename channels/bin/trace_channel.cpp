// SPDX-License-Identifier: GPL-3.0-or-later
#include "bin/trace_channel.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "types/db.h"
#include "types/require.h"

namespace wip::bin_model {
namespace {

// Converts the rows in place, because the largest trace has 1.1 GB.
std::vector<trace_row> to_linear(std::vector<trace_row> rows) {
    for (std::size_t t = 0; t < rows.size(); ++t)
        for (std::size_t b = 0; b < nof_bins; ++b) {
            const float v = rows[t][b];
            if (!(v >= lowest_snr_db && v <= highest_snr_db))
                throw std::invalid_argument(not_valid("the SNR in slot " + std::to_string(t) +
                                                          ", bin " + std::to_string(b) +
                                                          " of the trace",
                                                      text_of(v) + " dB", "-60..80 dB"));
            rows[t][b] = static_cast<float>(db(static_cast<double>(v)).power());
        }
    return rows;
}

void copy_row(const std::vector<trace_row>& rows, slot s, std::span<float, nof_bins> out) noexcept {
    const auto n = static_cast<std::int64_t>(rows.size());
    const std::int64_t t = (s.value % n + n) % n;
    std::copy_n(rows[static_cast<std::size_t>(t)].begin(), nof_bins, out.begin());
}

}  // namespace

trace_channel::trace_channel(std::vector<trace_row> snr_db, std::vector<trace_row> predicted_snr_db)
    : snr_(to_linear(std::move(snr_db))), predicted_(to_linear(std::move(predicted_snr_db))) {
    if (snr_.empty()) throw std::invalid_argument("the SNR trace has no slots; valid: one or more");
    if (!predicted_.empty() && predicted_.size() != snr_.size())
        throw std::invalid_argument("the SNR trace has " + std::to_string(predicted_.size()) +
                                    " rows of predictions; valid: " + std::to_string(snr_.size()) +
                                    ", as many as rows of SNR");
}

void trace_channel::snr(slot s, std::span<float, nof_bins> linear) noexcept {
    copy_row(snr_, s, linear);
}

void trace_channel::predicted_snr(slot s, std::span<float, nof_bins> linear) noexcept {
    copy_row(predicted_.empty() ? snr_ : predicted_, s, linear);
}

}  // namespace wip::bin_model
