// SPDX-License-Identifier: GPL-3.0-or-later
// Grants lost and grants accepted that were not sent, with the padding pinned (control_region.h)
// and without, the channel told: AWGN, and typical urban seen every 20 slots (3 km/h). The CRC is
// read as one of 8 bits: the wrong ones that pass and are grants by their form, times 2^-8, are
// what 16 bits let through. Two slots before, the sender was 20 frames back.
// `counted`: those that passed, pinned and plain, how many of them went on from the last grant, and
// how many of these would have moved the window wrongly.
// And lost grants of another form, for cells of several terminals (types/common_grant.h): a grant
// for each terminal in the control symbols of its own bins, 16 coded bits a bin, by the same code,
// ended earlier; the bins evenly spread, or the best ones of the slot, as a scheduler gives them.
//   grant_errors [grants] [first SNR] [last SNR]     default 20000 a point, 0 to 6 dB; JSON lines
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numbers>
#include <random>

#include "phy/coding/control_region.h"
#include "phy/coding/crc.h"
#include "profiles/channel_definition.h"
#include "sample/tapped_delay_line.h"
#include "types/grant.h"

namespace {

using namespace wip;
using namespace wip::phy;

enum class content { nothing, ten_new, all_new, retransmissions };
constexpr const char* name_of(content c) {
    switch (c) {
        case content::nothing:
            return "no frame";
        case content::ten_new:
            return "10 new, boundaries";
        case content::all_new:
            return "25 new, boundaries";
        case content::retransmissions:
            return "25, a fifth again";
    }
    return "";
}

using packed = std::array<std::uint8_t, grant_bytes>;

packed make(content what, std::mt19937& random) {
    for (;;) {
        slot_grant g;
        g.frame_number = static_cast<std::uint16_t>(random() % frame_number_modulus);
        g.first_new_sn = static_cast<wire_sn>(random());
        g.window_edge = static_cast<std::uint16_t>(300 + random() % 2000);
        const std::size_t used = what == content::nothing   ? 0
                                 : what == content::ten_new ? 10
                                                            : nof_bins;
        for (std::size_t b = 0; b < used; ++b) {
            auto& bin = g.bins[b];
            bin.bits_per_symbol = static_cast<std::uint8_t>(1 + random() % 8);
            if (what == content::retransmissions && random() % 5 == 0) {
                bin.retransmission = true;
                bin.sn = static_cast<wire_sn>(g.first_new_sn - 1 - random() % 200);
                continue;
            }
            const auto nibbles = static_cast<unsigned>(
                frame_payload_nibbles(link_profile::radio, bin.bits_per_symbol));
            bin.boundary = random() % 12 == 0
                               ? static_cast<std::uint8_t>(1 + random() % (nibbles - 1))
                               : no_boundary;
        }
        packed bits;
        if (pack_grant(g, link_profile::radio, bits)) return bits;
    }
}

struct tally {
    int lost = 0, passed = 0, fitting = 0, misleading = 0;
};

// One decoding held against what was sent.
void count(std::span<const std::uint8_t, code_information_bits> bits, const packed& sent,
           const grant_due& due, bool has_to_fit, tally& t) {
    std::array<std::uint8_t, 32> bytes{};
    for (std::size_t i = 0; i < bits.size(); ++i)
        bytes[i / 8] = static_cast<std::uint8_t>(bytes[i / 8] << 1 | bits[i]);
    packed grant;
    std::copy_n(bytes.begin(), grant_bytes, grant.begin());
    if (grant == sent && crc16(grant) == (bytes[30] << 8 | bytes[31])) return;
    ++t.lost;
    const int difference = crc16(grant) ^ (bytes[30] << 8 | bytes[31]);
    const bool fits = due.fits(grant);
    const bool passes = (difference & 0xff) == 0 && (fits || !has_to_fit) &&
                        unpack_grant(grant, link_profile::radio).has_value();
    t.passed += passes;
    t.fitting += passes && fits;
    // First SN and window edge, bits 12 to 42: what the window is moved by.
    const auto window = [](const packed& g) {
        return (std::uint64_t{g[1]} & 0xf) << 32 | std::uint64_t{g[2]} << 24 | g[3] << 16 |
               g[4] << 8 | (g[5] & 0xe0);
    };
    t.misleading += passes && fits && window(grant) != window(sent);
}

void measure(content what, const char* channel, double snr_db, int grants) {
    const bool fades = channel[0] != 'A';
    std::mt19937 random(7);
    std::normal_distribution<float> gauss(
        0, static_cast<float>(std::pow(10, -snr_db / 20) / std::sqrt(2)));
    sample_model::tapped_delay_line line(profiles::load("jakes"), 5,
                                         sample_model::stage_context{.seed = 3});
    control_region region(3);
    convolutional_code code;
    tally pinned, plain;
    double pinned_bits = 0;
    for (int i = 0; i < grants; ++i) {
        const packed sent = make(what, random);
        control_symbols symbols;
        region.encode(sent, i % slots_per_frame, symbols);
        std::array<float, code_sent_bits> soft;
        std::complex<float> h = 1;
        for (std::size_t s = 0; s < symbols.size(); ++s) {
            if (fades && s % control_symbols_per_bin == 0)
                h = std::complex<float>(line.response(
                    std::int64_t{i} * 20 * slot_samples,
                    2e5 * (static_cast<double>(s / control_symbols_per_bin) - nof_bins / 2)));
            const auto y =
                (h * symbols[s] + std::complex<float>(gauss(random), gauss(random))) * std::conj(h);
            soft[2 * s] = y.real();
            soft[2 * s + 1] = y.imag();
        }
        std::array<std::uint8_t, code_information_bits> bits;
        std::array<float, code_sent_bits> ordered;
        region.order(soft, i % slots_per_frame, ordered);
        const auto unpacked = unpack_grant(sent, link_profile::radio);
        const grant_due due{.frame_number = unpacked->frame_number,
                            .first_new_sn = static_cast<wire_sn>(unpacked->first_new_sn - 20),
                            .most_new = 2 * nof_bins,
                            .window_edge = unpacked->window_edge};
        code.decode(ordered, bits);
        count(bits, sent, due, false, plain);
        const auto zeros = control_region::padding(ordered);
        pinned_bits += zeros.size();
        if (zeros.size() != 0) code.decode(ordered, bits, zeros);
        count(bits, sent, due, zeros.size() != 0, pinned);
    }
    const auto rate = [&](double n) { return n / grants; };
    std::printf(
        "{\"channel\": \"%s\", \"snr_db\": %g, \"content\": \"%s\", \"grants\": %d, "
        "\"pinned_bits\": %.1f, \"lost\": %.5f, \"lost_plain\": %.5f, \"false\": %.2g, "
        "\"false_plain\": %.2g, \"counted\": [%d, %d, %d, %d, %d, %d]}\n",
        channel, snr_db, name_of(what), grants, pinned_bits / grants, rate(pinned.lost),
        rate(plain.lost), rate(pinned.passed) / 256, rate(plain.passed) / 256, pinned.passed,
        plain.passed, pinned.fitting, plain.fitting, pinned.misleading, plain.misleading);
    std::fflush(stdout);
}

// Information bits, CRC included, of a code that sends `sent` bits. The number is even, since
// convolutional_code takes known zeros in pairs.
int bits_in(int sent) {
    int bits = 0;
    while (first_sent(bits + 2 + code_memory) <= sent) bits += 2;
    return bits;
}

void measure_own_bins(std::size_t bins, bool best, const char* channel, double snr_db, int grants) {
    const bool fades = channel[0] != 'A';
    std::mt19937 random(7);
    std::normal_distribution<float> gauss(
        0, static_cast<float>(std::pow(10, -snr_db / 20) / std::sqrt(2)));
    sample_model::tapped_delay_line line(profiles::load("jakes"), 5,
                                         sample_model::stage_context{.seed = 3});
    convolutional_code code;
    const int coded = static_cast<int>(2 * control_symbols_per_bin * bins);
    const int content = bits_in(coded);
    const bit_run zeros{content, code_information_bits};
    int lost = 0;
    for (int i = 0; i < grants; ++i) {
        std::array<std::complex<float>, nof_bins> h;
        h.fill(1);
        for (std::size_t b = 0; b < nof_bins && fades; ++b)
            h[b] =
                std::complex<float>(line.response(std::int64_t{i} * 20 * slot_samples,
                                                  2e5 * (static_cast<double>(b) - nof_bins / 2)));
        std::array<std::size_t, nof_bins> own;
        for (std::size_t b = 0; b < nof_bins; ++b) own[b] = best ? b : b * nof_bins / bins;
        if (best)
            std::ranges::stable_sort(own, std::greater{},
                                     [&](std::size_t b) { return std::norm(h[b]); });
        std::array<std::uint8_t, code_information_bits> bits{}, decoded;
        for (int n = 0; n < content; ++n)
            bits[static_cast<std::size_t>(n)] = static_cast<std::uint8_t>(random() & 1);
        std::array<std::uint8_t, code_sent_bits> sent;
        convolutional_code::encode(bits, sent);
        std::array<float, code_sent_bits> soft{};
        float sum = 0;
        for (std::size_t j = 0; j < static_cast<std::size_t>(coded); ++j) {
            // One after the other through the bins, as far apart as these few allow.
            const auto gain = std::abs(h[own[j % bins]]);
            soft[j] = gain * (gain * (sent[j] ? -1.F : 1.F) * std::numbers::sqrt2_v<float> / 2 +
                              gauss(random));
            sum += std::abs(soft[j]);
        }
        // Behind its bins the code of the zeros is known.
        std::fill(soft.begin() + coded, soft.end(), sum / static_cast<float>(coded));
        code.decode(soft, decoded, zeros);
        lost += !std::equal(bits.begin(), bits.begin() + content, decoded.begin());
    }
    std::printf(
        "{\"channel\": \"%s\", \"snr_db\": %g, \"own_bins\": %zu, \"best\": %s, \"grants\": %d, "
        "\"content_bits\": %d, \"lost\": %.5f}\n",
        channel, snr_db, bins, best ? "true" : "false", grants, content - 16,
        static_cast<double>(lost) / grants);
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    const int grants = argc > 1 ? std::atoi(argv[1]) : 20000;
    const double from = argc > 2 ? std::atof(argv[2]) : 0, to = argc > 3 ? std::atof(argv[3]) : 6;
    if (grants < 1 || to < from) {
        std::fprintf(stderr, "usage: grant_errors [grants] [first SNR] [last SNR]\n");
        return 2;
    }
    for (const char* channel : {"AWGN", "typical urban"})
        for (const content what :
             {content::nothing, content::ten_new, content::all_new, content::retransmissions})
            for (double snr_db = from; snr_db <= to; ++snr_db)
                measure(what, channel, snr_db, grants);
    for (const char* channel : {"AWGN", "typical urban"})
        for (const std::size_t bins : {4, 8, 10, 12})
            for (const bool best : {false, true})
                for (double snr_db = from; snr_db <= to && !(best && channel[0] == 'A'); ++snr_db)
                    measure_own_bins(bins, best, channel, snr_db, grants);
}
