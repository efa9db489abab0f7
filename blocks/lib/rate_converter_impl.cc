// SPDX-License-Identifier: GPL-3.0-or-later
// See include/gnuradio/wip/rate_converter.h; channels/sample/rate_converter.h between GNU Radio's
// buffers.
#include <gnuradio/io_signature.h>
#include <gnuradio/wip/rate_converter.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "checked_parameter.h"
#include "sample/rate_converter.h"
#include "types/require.h"
#include "uhd_pmt.h"

namespace gr::wip {

namespace {

namespace model = ::wip::sample_model;

constexpr int most_inputs = 1024;  // that are converted at a time
constexpr double highest_clock = 1e10, highest_divider = 100000;

model::exact_rate checked_rate(const char* clock, std::int64_t hz, const char* divider,
                               std::int64_t by) {
    checked_parameter(clock, static_cast<double>(hz), 1, highest_clock);
    checked_parameter(divider, static_cast<double>(by), 1, highest_divider);
    return {hz, by};
}

std::int64_t checked_first(std::int64_t first) {
    if (first < 0)
        ::wip::refuse("rate_converter: first (index of the first sample)", std::to_string(first),
                      "0 or more");
    return first;
}

class rate_converter_impl : public rate_converter {
public:
    rate_converter_impl(const model::exact_rate& in, const model::exact_rate& out,
                        std::int64_t first)
        : gr::block("rate_converter", gr::io_signature::make(1, 1, sizeof(gr_complex)),
                    gr::io_signature::make(1, 1, sizeof(gr_complex))),
          in_(in),
          out_(out),
          first_(checked_first(first)),
          converter_(in, out),
          zeros_(static_cast<std::size_t>(converter_.after())) {
        set_relative_rate(1 / converter_.map().step());
        set_tag_propagation_policy(TPP_DONT);
        begin(0);
    }

    void set_first(std::int64_t first) override { first_ = checked_first(first); }

    // The rest of a burst needs no input.
    void forecast(int, gr_vector_int& required) override { required[0] = output_end_ ? 0 : 1; }

    int general_work(int room, gr_vector_int& available, gr_vector_const_void_star& in,
                     gr_vector_void_star& out) override {
        const auto* samples = static_cast<const gr_complex*>(in[0]);
        auto* output = static_cast<gr_complex*>(out[0]);
        tags_.clear();
        get_tags_in_window(tags_, 0, 0, static_cast<std::uint64_t>(available[0]));
        int used = 0, done = 0;
        for (;;) {
            done += produce({output + done, static_cast<std::size_t>(room - done)},
                            nitems_written(0) + static_cast<std::uint64_t>(done));
            if (done == room || used == available[0]) break;
            // Takes no more inputs than there is room for outputs, so that the end of a stream does
            // not stay in the converter.
            const int most = std::clamp(static_cast<int>((room - done) * converter_.map().step()),
                                        1, std::min(most_inputs, available[0] - used));
            used += feed({samples + used, static_cast<std::size_t>(most)},
                         nitems_read(0) + static_cast<std::uint64_t>(used));
        }
        consume(0, used);
        return done;
    }

private:
    // Makes the outputs for which the inputs so far suffice, and returns their number.
    int produce(std::span<gr_complex> out, std::uint64_t item) {
        const auto& map = converter_.map();
        const std::int64_t ready =
            output_end_ ? *output_end_ : map.at_or_after(converter_.fed() - converter_.after());
        const std::int64_t n =
            std::clamp<std::int64_t>(ready - next_, 0, static_cast<std::int64_t>(out.size()));
        converter_.work(next_, out.first(static_cast<std::size_t>(n)));
        for (; !times_.empty() && times_.front().sample < next_ + n; times_.pop_front())
            tag(item + static_cast<std::uint64_t>(times_.front().sample - next_), times_.front());
        next_ += n;
        if (output_end_ && next_ >= *output_end_) {
            if (ends_burst_ && n > 0)
                add_item_tag(0, item + static_cast<std::uint64_t>(n) - 1, pmt::mp("tx_eob"),
                             pmt::PMT_T);
            begin(position_);
        }
        return static_cast<int>(n);
    }

    // Feeds inputs up to the next tag that has an effect. Returns how many were taken.
    int feed(std::span<const gr_complex> in, std::uint64_t item) {
        std::size_t count = in.size();
        bool is_burst_end = false;
        for (const tag_t& tag : tags_) {  // tx_sob may come after the time tag
            if (tag.offset == item && pmt::symbol_to_string(tag.key) == "tx_sob") burst_ = true;
        }
        for (const tag_t& tag : tags_) {
            if (tag.offset < item) continue;
            const std::size_t at = static_cast<std::size_t>(tag.offset - item);
            const std::string key = pmt::symbol_to_string(tag.key);
            if (key == "rx_time" || key == "tx_time") {
                if (at == 0) {
                    if (!on_time(tag.key, tag.value)) return 0;
                } else if (at < count) {
                    count = at, is_burst_end = false;
                }
            } else if (key == "tx_eob" && at < count) {
                count = at + 1, is_burst_end = true;
            }
        }
        converter_.feed(in.first(count));
        position_ += static_cast<std::int64_t>(count);
        if (is_burst_end) finish(true);
        return static_cast<int>(count);
    }

    // The input ends for now: zeros follow it, and the outputs up to its end are still made.
    void finish(bool burst) {
        converter_.feed(zeros_);
        output_end_ = converter_.map().at_or_after(position_);
        ends_burst_ = burst;
    }

    // Handles a time tag. False: the outputs before this time have to go out first, then it is to
    // be called again.
    bool on_time(const pmt::pmt_t& key, const pmt::pmt_t& value) {
        const auto time = ::wip::read_seconds(value);
        if (!time) return true;
        const model::seconds exact{static_cast<std::int64_t>(time->full), time->fraction};
        const std::int64_t sample = model::sample_of_time(exact, in_);
        // A radio that transmits looks at a time only where a burst begins.
        const bool transmits = pmt::symbol_to_string(key) == "tx_time";
        if (sample != position_ && next_ < converter_.map().at_or_after(position_)) {
            finish(transmits);
            return false;
        }
        if (sample != position_ && has_time_ && transmits) burst_ = true;
        if (sample != position_ || !has_time_) begin(sample);
        has_time_ = true;
        const model::seconds whole = model::time_of_sample(sample, in_);
        const double later =
            static_cast<double>(exact.full - whole.full) + (exact.fraction - whole.fraction);
        times_.push_back({std::max(next_, converter_.map().at_or_after(sample)), key, burst_,
                          transmits ? 0 : later});
        burst_ = false;
        return true;
    }

    void begin(std::int64_t sample) {
        converter_.restart(sample);
        position_ = sample;
        next_ = std::max(first_.load(), converter_.map().at_or_after(sample));
        output_end_.reset();
        times_.clear();
    }

    struct mark {  // a time with which to tag an output
        std::int64_t sample;
        pmt::pmt_t key;
        bool burst;
        double later;  // seconds by which the inputs are taken later than their numbers say
    };
    void tag(std::uint64_t item, const mark& m) {
        auto time = model::time_of_sample(m.sample, out_);
        time.fraction += m.later;
        const double carry = std::floor(time.fraction);
        time.full += static_cast<std::int64_t>(carry);
        time.fraction -= carry;
        // Too close to a full second for a double, or before time 0: the fraction of a sample is
        // left away.
        if (time.full < 0 || !(time.fraction < 1)) time = model::time_of_sample(m.sample, out_);
        add_item_tag(0, item, m.key,
                     pmt::make_tuple(pmt::from_uint64(static_cast<std::uint64_t>(time.full)),
                                     pmt::from_double(time.fraction)));
        if (m.burst) add_item_tag(0, item, pmt::mp("tx_sob"), pmt::PMT_T);
    }

    const model::exact_rate in_, out_;
    std::atomic<std::int64_t> first_;  // number of the first output sample
    model::rate_converter converter_;
    const std::vector<gr_complex> zeros_;
    std::vector<tag_t> tags_;
    std::int64_t position_ = 0, next_ = 0;      // sample numbers of the next input and output
    std::optional<std::int64_t> output_end_{};  // the end of the outputs, when the input has ended
    std::deque<mark> times_{};
    bool has_time_ = false, burst_ = false, ends_burst_ = false;
};

}  // namespace

rate_converter::sptr rate_converter::make(std::int64_t in_clock, std::int64_t in_divider,
                                          std::int64_t out_clock, std::int64_t out_divider,
                                          std::int64_t first) {
    return gnuradio::make_block_sptr<rate_converter_impl>(
        checked_rate("in_clock", in_clock, "in_divider", in_divider),
        checked_rate("out_clock", out_clock, "out_divider", out_divider), first);
}

}  // namespace gr::wip
