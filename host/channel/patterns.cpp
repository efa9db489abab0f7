// SPDX-License-Identifier: GPL-3.0-or-later
#include "channel/patterns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "link/frame_success.h"
#include "link/scheduling_view.h"
#include "link/switch_table.h"
#include "link/symbol_error.h"
#include "os/output_file.h"
#include "sample/counter_random.h"
#include "trace/confined_trace.h"
#include "types/failure.h"
#include "types/require.h"

namespace wip::channel_program {
namespace {

using bin_model::trace_row;

struct sent_bin {
    int bits_per_symbol;
    float snr_db;  // true SNR
};

// Plans the transmission of one slot.
class planner {
public:
    explicit planner(const pattern_config& c)
        : config_(c), table_(switch_table_kind::nmse_0_1, link_profile::wipemu) {}
    std::vector<sent_bin> plan(const trace_row& snr, const trace_row& predicted) const {
        const auto order = strongest_first(predicted);
        std::vector<sent_bin> bins;
        for (int i = 0; i < config_.bins; ++i) {
            const std::size_t b = order[static_cast<std::size_t>(i)].n();
            bins.push_back({config_.modulation > 0 ? config_.modulation
                                                   : table_.bits_per_symbol(db(predicted[b])),
                            snr[b]});
        }
        return bins;
    }

private:
    pattern_config config_;
    switch_table table_;
};

// Symbol error rates on a grid of 0.25 dB, made when first asked for.
class error_rates {
public:
    double at(int k, db snr) {
        auto& curve = curves_[static_cast<std::size_t>(k)];
        if (curve.empty()) {
            const symbol_error e(k);
            for (int i = 0; i <= cells; ++i)
                curve.push_back(e.rate(std::pow(10.0, (lowest + i * step) / 10)));
        }
        const double x =
            std::clamp((snr.value - lowest) / step, 0.0, static_cast<double>(cells) - 1e-9);
        const auto i = static_cast<std::size_t>(x);
        return curve[i] + (x - static_cast<double>(i)) * (curve[i + 1] - curve[i]);
    }

private:
    static constexpr double lowest = -30, step = 0.25;  // dB of SNR
    static constexpr int cells = 320;  // covers up to 50 dB, where there are no symbol errors
    std::array<std::vector<double>, max_bits_per_symbol + 1> curves_;
};

// Numbers with a separator between them.
class number_text {
public:
    explicit number_text(const std::string& file) : file_(file) {}
    void put(std::int64_t n) {
        text_ += std::to_string(n);
        if (text_.size() > flush_bytes) flush();
    }
    void put(char c) { text_ += c; }
    // Writes the rest of the text; the file gets its name with give_name().
    void end() { flush(); }
    void give_name() { file_.give_name(); }

private:
    void flush() {
        file_.write(text_);
        text_.clear();
    }

    static constexpr std::size_t flush_bytes = 1 << 16;
    os::output_file file_;
    std::string text_;
};

template <class Slot>
void for_each_slot(const std::string& file, const planner& p, Slot on_slot) {
    trace::confined_reader in(file, trace::reading_account());
    std::vector<trace_row> snr, predicted;
    for (std::int64_t t = 0; in.next(snr, predicted); snr.clear(), predicted.clear())
        for (std::size_t i = 0; i < snr.size(); ++i, ++t)
            on_slot(t, p.plan(snr[i], predicted.empty() ? snr[i] : predicted[i]));
}

// Millisecond, counted from 1, in which slot t ends: slots are 2/3 ms.
std::int64_t end_ms(std::int64_t t) {
    return ((t + 1) * 1000 + slots_per_second - 1) / slots_per_second;
}

pattern_sizes mahimahi(const pattern_config& c) {
    number_text out(c.file);
    double bits = 0;
    std::int64_t opportunities = 0, last_ms = 0, period_ms = 0;
    for_each_slot(c.trace, planner(c), [&](std::int64_t t, const std::vector<sent_bin>& bins) {
        period_ms = end_ms(t);
        for (const sent_bin& b : bins)
            bits += payload_symbols_per_bin * b.bits_per_symbol *
                    frame_success(b.bits_per_symbol, db(b.snr_db));
        for (; bits >= 12000; bits -= 12000, ++opportunities) {
            out.put(last_ms = period_ms);
            out.put('\n');
        }
    });
    if (opportunities == 0)
        throw std::invalid_argument(c.trace +
                                    ": the trace carries less than one packet of 1500 bytes; "
                                    "valid: a longer trace, or more bins");
    // mm-link begins again after the last line, so the last line tells the period: an outage at the
    // end is in the file only if an opportunity ends it.
    if (last_ms < period_ms) {
        out.put(period_ms);
        out.put('\n');
        ++opportunities;
    }
    out.end();
    out.give_name();
    return {period_ms, 12000 * opportunities, opportunities};
}

// One line of numbers with commas between them.
class number_line {
public:
    explicit number_line(const std::string& file) : out_(file) {}
    void add(std::int64_t n) {
        if (!empty_) out_.put(',');
        out_.put(n);
        empty_ = false;
    }
    void end() {
        if (!empty_) out_.put('\n');
        out_.end();
    }
    void give_name() { out_.give_name(); }

private:
    number_text out_;
    bool empty_ = true;
};

pattern_sizes kaunet(const pattern_config& c) {
    number_line bandwidth(c.file + ".bandwidth"), errors(c.file + ".biterror"),
        losses(c.file + ".packetloss");
    error_rates rates;
    const std::uint32_t key = sample_model::derive_key(c.seed, 0x504154u);
    std::uint64_t draws = 0;
    std::int64_t bits = 0, lost = 0, ms = 0, in_ms = 0, last_in_ms = -1;
    const auto flush = [&](std::int64_t until) {
        for (; ms < until; ++ms) {
            if (ms > 0 && in_ms != last_in_ms) {
                bandwidth.add(ms);
                bandwidth.add(in_ms * 1000);
            }
            if (ms > 0) last_in_ms = in_ms;
            in_ms = 0;
        }
    };
    for_each_slot(c.trace, planner(c), [&](std::int64_t t, const std::vector<sent_bin>& bins) {
        flush(end_ms(t));
        for (const sent_bin& b : bins) {
            const int k = b.bits_per_symbol;
            const double rate = rates.at(k, db(b.snr_db));
            for (int i = 0; i < payload_symbols_per_bin; ++i, bits += k) {
                const auto u = sample_model::philox(draws++, key);
                if (u.a * 0x1p-32 >= rate) continue;
                const std::int64_t wrong = bits + static_cast<std::int64_t>(u.b) % k;
                errors.add(wrong + 1);
                if (const std::int64_t packet = wrong / (8 * c.packet_bytes) + 1; packet > lost) {
                    losses.add(packet);
                    lost = packet;
                }
            }
            in_ms += payload_symbols_per_bin * k;
        }
    });
    flush(ms + 1);
    for (auto* line : {&bandwidth, &errors, &losses}) line->end();
    for (auto* line : {&bandwidth, &errors, &losses}) line->give_name();
    const std::int64_t packet_bits = 8 * c.packet_bytes;
    return {ms - 1, bits, (bits + packet_bits - 1) / packet_bits};
}

}  // namespace

pattern_sizes write_patterns(const pattern_config& c) {
    check_range("--bins", c.bins, 1, nof_bins);
    check_range("--modulation", c.modulation, 0, max_bits_per_symbol);
    check_range("--packet-bytes", c.packet_bytes, 1, 65535);
    if (c.kind == "mahimahi") return mahimahi(c);
    if (c.kind == "kaunet") return kaunet(c);
    throw std::invalid_argument(not_valid("--kind", c.kind, "mahimahi or kaunet"));
}

}  // namespace wip::channel_program
