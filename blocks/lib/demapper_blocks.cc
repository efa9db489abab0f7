// SPDX-License-Identifier: GPL-3.0-or-later
// carrier_demapper over wip::phy::slot_extractor, payload_demapper over the resource map.
#include <gnuradio/io_signature.h>
#include <gnuradio/wip/carrier_demapper.h>
#include <gnuradio/wip/payload_demapper.h>

#include <stdexcept>

#include "phy/ofdm/slot_extractor.h"
#include "resource_copy.h"
#include "slot_tags.h"
#include "types/grant.h"

namespace gr::wip {

namespace {

// Items of a buffer. GNU Radio rounds a buffer up to a multiple of the page size, and warns when
// that changes its size; with 64 items of this block it does not.
constexpr int element_buffer = 64;

class carrier_demapper_impl : public carrier_demapper {
public:
    carrier_demapper_impl()
        : gr::sync_block("carrier_demapper",
                         gr::io_signature::make(1, 1, ::wip::slot_samples * sizeof(gr_complex)),
                         gr::io_signature::make(1, 1, ::wip::slot_elements * sizeof(gr_complex))) {
        set_min_output_buffer(0, element_buffer);
    }
    int work(int n, gr_vector_const_void_star& in, gr_vector_void_star& out) override {
        const auto* samples = static_cast<const gr_complex*>(in[0]);
        auto* elements = static_cast<gr_complex*>(out[0]);
        get_tags_in_window(tags_, 0, 0, static_cast<std::uint64_t>(n));
        for (int i = 0; i < n; ++i) {
            const std::uint64_t item = nitems_read(0) + static_cast<std::uint64_t>(i);
            extractor_.set_cfo(tag_number(tags_, item, "cfo_hz", 0));
            extractor_.set_fraction(tag_number(tags_, item, "timing_fraction", 0));
            extractor_.extract(samples, tag_number(tags_, item, "cfo_phase", 0), planes_);
            ::wip::from_planes(planes_, elements);
            samples += ::wip::slot_samples;
            elements += ::wip::slot_elements;
        }
        return n;
    }

private:
    ::wip::phy::slot_extractor extractor_;
    ::wip::slot_planes planes_;
    std::vector<tag_t> tags_;
};

std::vector<int> checked_bins(const std::vector<int>& bins) {
    std::vector<int> all;
    for (int b = 0; b < ::wip::nof_bins; ++b) all.push_back(b);
    if (bins.empty()) return all;
    for (std::size_t i = 0; i < bins.size(); ++i)
        if (bins[i] < 0 || bins[i] >= ::wip::nof_bins || (i > 0 && bins[i] <= bins[i - 1]))
            throw std::invalid_argument(
                "bins has " + std::to_string(bins[i]) +
                ", which is out of order or outside 0..24; valid: ascending indexes 0..24");
    return bins;
}

class payload_demapper_impl : public payload_demapper {
public:
    explicit payload_demapper_impl(const std::vector<int>& bins)
        : gr::sync_interpolator(
              "payload_demapper",
              gr::io_signature::make(1, 1, ::wip::slot_elements * sizeof(gr_complex)),
              gr::io_signature::make(1, 1, sizeof(gr_complex)),
              static_cast<unsigned>(checked_bins(bins).size() * ::wip::payload_symbols_per_bin)) {
        for (const int b : checked_bins(bins))
            for (const auto& e : ::wip::phy::payload_elements)
                element_indexes_.push_back(
                    static_cast<std::size_t>(e.symbol * ::wip::nof_subcarriers +
                                             b * ::wip::subcarriers_per_bin + e.subcarrier));
    }
    int work(int n, gr_vector_const_void_star& in, gr_vector_void_star& out) override {
        const auto* elements = static_cast<const gr_complex*>(in[0]);
        auto* symbols = static_cast<gr_complex*>(out[0]);
        const int slots = n / static_cast<int>(element_indexes_.size());
        for (int i = 0; i < slots; ++i, elements += ::wip::slot_elements)
            for (const std::size_t index : element_indexes_) *symbols++ = elements[index];
        return n;
    }

private:
    std::vector<std::size_t> element_indexes_;
};

}  // namespace

carrier_demapper::sptr carrier_demapper::make() {
    return gnuradio::make_block_sptr<carrier_demapper_impl>();
}
payload_demapper::sptr payload_demapper::make(const std::vector<int>& bins) {
    return gnuradio::make_block_sptr<payload_demapper_impl>(bins);
}

}  // namespace gr::wip
