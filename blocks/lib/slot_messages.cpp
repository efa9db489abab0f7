// SPDX-License-Identifier: GPL-3.0-or-later
#include "slot_messages.h"

#include <initializer_list>
#include <utility>
#include <vector>

#include "sample_clock.h"
#include "schema/frame_outcome_wire.h"

namespace wip {
namespace {

using entry = std::pair<const char*, pmt::pmt_t>;

pmt::pmt_t dict_of(std::initializer_list<entry> entries) {
    auto dict = pmt::make_dict();
    for (const auto& [key, value] : entries) dict = pmt::dict_add(dict, pmt::mp(key), value);
    return dict;
}

template <class Floats>
pmt::pmt_t floats(const Floats& values) {
    return pmt::init_f32vector(values.size(), values.data());
}

}  // namespace

pmt::pmt_t slot_message(const phy::received_slot& received, std::int64_t air) {
    std::vector<std::uint8_t> bits(nof_bins), outcome(nof_bins);
    for (std::size_t b = 0; received.locked && received.grant_ok && b < bits.size(); ++b) {
        bits[b] = received.grant.bins[b].bits_per_symbol;
        outcome[b] = static_cast<std::uint8_t>(outcome_to_wire(received.bins[b].outcome));
    }
    return dict_of({{"air", pmt::from_long(air)},
                    {"locked", pmt::from_bool(received.locked)},
                    {"grant_ok", pmt::from_bool(received.grant_ok)},
                    {"snr_db", floats(received.snr_db)},
                    {"slot_snr_db", floats(phy::slot_snr_db(received))},
                    {"predicted_snr_db", floats(received.predicted_snr_db)},
                    {"bits_per_symbol", pmt::init_u8vector(bits.size(), bits)},
                    {"outcome", pmt::init_u8vector(outcome.size(), outcome)}});
}

pmt::pmt_t symbols_message(const phy::received_slot& received, std::int64_t air) {
    std::vector<phy::cf32> symbols;
    if (received.locked && received.grant_ok)
        for (const auto& bin : received.bins)
            if (bin.outcome != frame_outcome::unused)
                symbols.insert(symbols.end(), bin.symbols.begin(), bin.symbols.end());
    if (symbols.empty()) return nullptr;
    return pmt::cons(dict_of({{"air", pmt::from_long(air)}}),
                     pmt::init_c32vector(symbols.size(), symbols.data()));
}

pmt::pmt_t gain_message(const phy::gain_change& change) {
    const auto time = time_of_sample(change.at);
    return dict_of(
        {{"chan", pmt::from_long(0)},
         {"gain", pmt::from_double(change.gain.value)},
         {"time", pmt::cons(pmt::from_uint64(time.full), pmt::from_double(time.fraction))}});
}

}  // namespace wip
