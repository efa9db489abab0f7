// SPDX-License-Identifier: GPL-3.0-or-later
// The effect of the air on the frames of one slot, symbol by symbol (Alfredsson 2012, 5.3.2 and
// 6.2.2).
// A frame of k bits/symbol is 108 points x_i of the constellation; the bin's SNR is g:
//
//   y_i = x_i + n_i,  n_i circular complex Gaussian of variance 1/g
//
// Symbol i is right when y_i lies in the decision region of x_i (nearest point). All 108 right: the
// frame is good. Otherwise the sums over its copies S = sum g y and G = sum g are kept under the
// unit's key (SN, offset, modulation), and a retransmission of the same unit is detected from S /
// G, the mean of all copies weighted by their SNR, which is white again with SNR G.
//
// The point that is sent does not depend on the payload: x_i is drawn uniformly, as after a
// scrambler (without one, a file of zeros would always send one corner point, the best protected
// one). A retransmission sends the points of the stored copy. Detected label XOR sent label are the
// bits in error, and they are flipped in the payload of a bad frame, so that `deliver_corrupt` gets
// the errors of the real labelling.
//
// Two methods, one distribution. `symbols` does all of this for every frame. `computed` draws first
// whether the frame is good, with the exact probability (1 - SER(g))^108 (link/symbol_error.h), and
// makes symbols only where they matter: for frames that failed, from the distribution that they
// have given that the frame failed, and for retransmissions that are combined (their outcome
// depends on what the earlier copies were). Given failure, with s = SER and q = 1 - s:
//
//   first wrong symbol i     P(i) = q^i s / (1 - q^108)
//   symbols before i         point and noise drawn until the point is right
//   symbol i                 point p and direction t with density exp(-R_p(t)^2 g), R_p(t) the
//                            distance to the boundary of p's region, then |n|^2 = R^2 + Exp(1)/g:
//                            the distribution of white noise beyond the boundary
//   symbols after i          point and noise drawn without a condition
//
// Labels and noise are functions of (seed, slot, bin): a rerun is bit-identical.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <span>

#include "port/link_port.h"
#include "types/eight_points.h"
#include "types/grid.h"

namespace wip::bin_model {

class failure_tables;  // bin/failed_symbol.h

enum class error_method : std::uint8_t {
    symbols,   // every symbol is simulated
    computed,  // the same distribution, cheaper
    none,      // every frame arrives
};

struct symbol_channel_config {
    error_method errors = error_method::symbols;
    bool combining = true;
    link_profile profile = link_profile::wipemu;
    std::uint64_t seed = 1;
    eight_points eight = eight_points::star;  // the set of 3 bits/symbol
    // The failure tables of that set, for the method `computed`, if they have been made already.
    std::shared_ptr<const failure_tables> failures;
};

// The symbols of one slot as the detector had them (combined copies included), in units of the root
// of the mean symbol energy.
struct slot_symbols {
    std::uint32_t made = 0;  // bit b is set: of_bin[b] belongs to this slot
    std::array<std::array<std::complex<float>, payload_symbols_per_bin>, nof_bins> of_bin{};
};

class symbol_channel {
public:
    explicit symbol_channel(const symbol_channel_config& config);
    ~symbol_channel();
    symbol_channel(symbol_channel&&) noexcept;
    symbol_channel& operator=(symbol_channel&&) noexcept;

    // Copies the payloads of `plan` into `report` with what the air did to them, and fills in slot,
    // grant, outcome and combined; the grant always arrives. `snr`: linear, of each bin. The caller
    // fills in the SNRs of the report.
    void carry(const slot_plan& plan, std::span<const float, nof_bins> snr, slot_report& report);

    void set_combining(bool on);
    // Sets the method from the next slot on. The first change to `computed` makes its tables,
    // unless `failures` are given; that takes too long for a slot.
    void set_errors(error_method errors, std::shared_ptr<const failure_tables> failures = {});

    // Keeps the symbols of the slots carried from now on, for display. `computed` makes them only
    // for frames that it does not decide by probability, `none` never.
    void keep_symbols(bool on);
    const slot_symbols& kept() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace wip::bin_model
