// SPDX-License-Identifier: GPL-3.0-or-later
// Wrong acknowledgements that a base station would believe. The two CRCs of a form are 31
// conditions; so seldom does a form with wrong ACK bits meet them all that it is counted how many
// meet 8 of them: 8 of the form's own CRC, 8 of that of the control region, or 4 of each. If they
// meet them as if by chance, one in 256 of them does, and 2^-31 of them meet all.
//
// Forms are coded, sent over a channel that the decoder is told, and decoded: AWGN, and typical
// urban seen every 20 slots (3 km/h). Then words that are random, and forms with 1 to 40 wrong bits
// out of 256, without a code: how many are believed.
//   false_feedback [forms] [words] [seed]     default 20000 a point, 2000000, 8; JSON lines
#include <array>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "phy/coding/control_region.h"
#include "phy/coding/crc.h"
#include "profiles/channel_definition.h"
#include "sample/tapped_delay_line.h"
#include "wire/feedback_bits.h"

namespace {

using namespace wip;
using namespace wip::phy;

// A form and the CRC of the control region, 256 bits.
using word = std::array<std::uint8_t, code_information_bits / 8>;

feedback_content random_content(std::mt19937_64& random) {
    feedback_content f;
    f.frame_number = static_cast<std::uint8_t>(random() % feedback_frame_modulus);
    f.slot_in_frame = static_cast<std::uint8_t>(random() % slots_per_frame);
    f.grant_ok = true;
    f.ack = static_cast<std::uint32_t>(random() & 0x1ffffff);
    for (auto& snr : f.predicted_snr_db)
        snr = snr_of_code(static_cast<std::uint8_t>(random() & 127)).single();
    f.prediction_nmse = nmse_of_code(static_cast<std::uint8_t>(random() & 127));
    f.buffer = static_cast<std::uint8_t>(random() & 63);
    return f;
}

word with_crc(const control_content& form) {
    word w;
    std::copy(form.begin(), form.end(), w.begin());
    const std::uint16_t crc = crc16(form);
    w[30] = static_cast<std::uint8_t>(crc >> 8);
    w[31] = static_cast<std::uint8_t>(crc);
    return w;
}

control_content form_of(const word& w) {
    control_content form;
    std::copy_n(w.begin(), form.size(), form.begin());
    return form;
}

// Remainder of the CRC of the control region; 0: it holds.
unsigned outer_rest(const word& w) {
    return crc16(form_of(w)) ^ (static_cast<unsigned>(w[30]) << 8 | w[31]);
}

// Remainder of the form's own CRC; 0: it holds.
unsigned inner_rest(const word& w) {
    std::uint32_t r = 0x7fff;
    for (int i = 0; i < 225; ++i) {
        const std::uint32_t bit = w[static_cast<std::size_t>(i / 8)] >> (7 - i % 8) & 1U;
        r = (r << 1 ^ ((r >> 14 ^ bit) & 1 ? 0x3ed7U : 0U)) & 0x7fff;
    }
    return r ^ ((static_cast<unsigned>(w[28]) << 8 | w[29]) & 0x7fff);
}

bool believed(const word& w) {
    return outer_rest(w) == 0 && unpack_feedback(form_of(w)).has_value();
}

// Bits 12 to 36.
std::array<int, 4> ack_of(const word& w) { return {w[1] & 0x0f, w[2], w[3], w[4] & 0xf8}; }

struct tally {
    int forms = 0, lost = 0, wrong = 0, inner = 0, outer = 0, both = 0, believed = 0;
    void add(const word& got, const word& sent) {
        ++forms;
        if (got == sent) return;
        ++lost;
        believed += ::believed(got);
        if (ack_of(got) == ack_of(sent)) return;
        ++wrong;
        const unsigned in = inner_rest(got), out = outer_rest(got);
        inner += (in & 0xff) == 0;
        outer += (out & 0xff) == 0;
        both += (in & 0xf) == 0 && (out & 0xf) == 0;
    }
};

void over_the_air(const char* channel, double snr_db, int forms) {
    const bool fades = channel[0] != 'A';
    std::mt19937_64 random(7);
    std::normal_distribution<float> gauss(
        0, static_cast<float>(std::pow(10, -snr_db / 20) / std::sqrt(2)));
    sample_model::tapped_delay_line line(profiles::load("jakes"), 5,
                                         sample_model::stage_context{.seed = 3});
    const control_region region(sender::on_uplink(3, 0));
    convolutional_code code;
    tally t;
    for (int i = 0; i < forms; ++i) {
        control_content form;
        pack_feedback(random_content(random), form);
        control_symbols symbols;
        region.encode(form, i % slots_per_frame, symbols);
        std::array<float, code_sent_bits> soft, ordered;
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
        region.order(soft, i % slots_per_frame, ordered);
        std::array<std::uint8_t, code_information_bits> bits;
        code.decode(ordered, bits);
        word got{};
        for (std::size_t n = 0; n < bits.size(); ++n)
            got[n / 8] = static_cast<std::uint8_t>(got[n / 8] << 1 | bits[n]);
        t.add(got, with_crc(form));
    }
    std::printf(
        "{\"channel\": \"%s\", \"snr_db\": %g, \"forms\": %d, \"lost\": %d, \"wrong_ack\": %d, "
        "\"expected\": %.1f, "
        "\"eight_of_own\": %d, \"eight_of_control\": %d, \"four_of_each\": %d, \"believed\": %d}\n",
        channel, snr_db, t.forms, t.lost, t.wrong, t.wrong / 256.0, t.inner, t.outer, t.both,
        t.believed);
    std::fflush(stdout);
}

void without_a_code(const char* what, int words, unsigned seed) {
    const bool random_words = what[0] == 'r';
    std::mt19937_64 random(seed);
    word sent{};
    int count = 0;
    for (int i = 0; i < words; ++i) {
        word w;
        if (random_words) {
            for (std::size_t n = 0; n < w.size(); n += 8) {
                const std::uint64_t bits = random();
                for (std::size_t k = 0; k < 8; ++k)
                    w[n + k] = static_cast<std::uint8_t>(bits >> 8 * k);
            }
        } else {
            if (i % 1000 == 0) {
                control_content form;
                pack_feedback(random_content(random), form);
                sent = with_crc(form);
            }
            w = sent;
            for (std::uint64_t n = 1 + random() % 40; n > 0; --n) {
                const auto bit = static_cast<unsigned>(random() % 256);
                w[bit / 8] = static_cast<std::uint8_t>(w[bit / 8] ^ 0x80U >> bit % 8);
            }
        }
        count += w != sent && believed(w);
    }
    std::printf("{\"words\": \"%s\", \"count\": %d, \"believed\": %d}\n", what, words, count);
}

}  // namespace

int main(int argc, char** argv) {
    const int forms = argc > 1 ? std::atoi(argv[1]) : 20000;
    const int words = argc > 2 ? std::atoi(argv[2]) : 2000000;
    const auto seed = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 8U;
    if (forms < 1 || words < 1) {
        std::fprintf(stderr, "usage: false_feedback [forms] [words] [seed]\n");
        return 2;
    }
    for (const double snr_db : {2.0, 3.0, 3.5, 4.0}) over_the_air("AWGN", snr_db, forms);
    for (const double snr_db : {4.0, 6.0, 8.0, 10.0}) over_the_air("typical urban", snr_db, forms);
    without_a_code("random", words, seed);
    without_a_code("mutated", words, seed);
}
