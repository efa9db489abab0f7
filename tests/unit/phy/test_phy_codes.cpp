// SPDX-License-Identifier: GPL-3.0-or-later
// CRCs, frame coder, convolutional code, control region.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <set>
#include <string>

#include "phy/coding/control_region.h"
#include "phy/coding/crc.h"
#include "phy/coding/frame_coder.h"
#include "phy/grid/sequence.h"

namespace {

using namespace wip;
using namespace wip::phy;

const std::string check_string = "123456789";

TEST(crc, agrees_with_the_catalogued_check_values) {
    const auto* data = reinterpret_cast<const std::uint8_t*>(check_string.data());
    EXPECT_EQ(crc24(data, 18), 0xCDE703U);         // CRC-24/LTE-A
    EXPECT_EQ(crc16(std::span(data, 9)), 0x29B1);  // CRC-16/IBM-3740
}

TEST(crc, of_any_number_of_nibbles_is_that_of_bitwise_division) {
    std::mt19937 random(1);
    std::vector<std::uint8_t> data(120);
    for (auto& b : data) b = static_cast<std::uint8_t>(random());
    for (int nibbles = 0; nibbles <= 240; ++nibbles) {
        std::uint32_t r = 0;
        for (int i = 0; i < 4 * nibbles; ++i) {
            const auto bit = data[static_cast<std::size_t>(i / 8)] >> (7 - i % 8) & 1U;
            const bool top = (r >> 23 & 1) != bit;
            r = (r << 1 & 0xffffff) ^ (top ? 0x864cfbU : 0U);
        }
        ASSERT_EQ(crc24(data.data(), nibbles), r) << nibbles;
    }
}

TEST(crc, divides_its_multiples_and_nothing_that_is_a_burst_of_24_bits_away) {
    std::mt19937 random(3);
    std::array<std::uint64_t, 11> word{};
    const auto flip = [&](unsigned at) { word[at / 64] ^= 1ULL << (63 - at % 64); };
    const auto add = [&](std::uint32_t bits, unsigned at) {  // the lowest of `bits` goes to `at`
        for (unsigned i = 0; bits >> i != 0; ++i)
            if (bits >> i & 1) flip(at - i);
    };
    constexpr unsigned last = 64 * word.size() - 1;
    for (int trial = 0; trial < 1000; ++trial) {
        add(0x1864cfb, 24 + random() % (last - 23));
        ASSERT_TRUE(crc24_divides(word));
        const std::uint32_t burst = 1 + random() % 0xffffff;
        const unsigned at = 23 + random() % (last - 22);
        add(burst, at);
        ASSERT_FALSE(crc24_divides(word)) << burst << " " << at;
        add(burst, at);
    }
}

// The remainder of a pattern of wrong bits is the sum of the remainders of its bits. Shorter frames
// are the end of longer ones.
TEST(crc, sees_odd_patterns_any_two_wrong_bits_and_up_to_32_qam_any_five) {
    std::vector<std::uint32_t> one, two;
    for (int i = 0; i < nof_labels * max_bits_per_symbol; ++i) {
        constexpr int bytes = nof_labels * max_bits_per_symbol / 8;
        std::array<std::uint8_t, bytes> word{};
        word[static_cast<std::size_t>(bytes - 1 - i / 8)] = static_cast<std::uint8_t>(1U << i % 8);
        one.push_back(crc24(word.data(), 2 * bytes));
        ASSERT_EQ(std::popcount(one.back()) % 2, 1);  // divisible by x + 1
    }
    // Two pairs with the same remainder are four wrong bits that pass: each is found three times.
    constexpr int code_words[] = {0, 0, 0, 0, 0, 126, 372, 1114};
    for (const int k : {5, 6, 7, 8}) {
        two.clear();
        for (std::size_t i = 0; i < static_cast<std::size_t>(nof_labels * k); ++i)
            for (std::size_t j = 0; j < i; ++j) two.push_back(one[i] ^ one[j]);
        std::ranges::sort(two);
        ASSERT_NE(two.front(), 0U);
        int pairs = 0;
        for (std::size_t i = 0, same = 0; i < two.size(); ++i) {
            same = i > 0 && two[i] == two[i - 1] ? same + 1 : 0;
            pairs += static_cast<int>(same);
        }
        EXPECT_EQ(pairs, 3 * code_words[k - 1]) << k;
    }
}

class every_modulation : public testing::TestWithParam<int> {
protected:
    std::vector<std::uint8_t> payload() {
        std::vector<std::uint8_t> p(
            static_cast<std::size_t>(frame_payload_bytes(link_profile::radio, GetParam())));
        for (auto& b : p) b = static_cast<std::uint8_t>(random());
        if (frame_payload_nibbles(link_profile::radio, GetParam()) % 2 != 0) p.back() &= 0xf0;
        return p;
    }
    std::mt19937 random{3};
    const std::uint64_t key = payload_key(5, 1234, 56);
};
INSTANTIATE_TEST_SUITE_P(bits, every_modulation, testing::Range(1, 9));

TEST_P(every_modulation, frame_comes_back) {
    for (int n = 0; n < 50; ++n) {
        const auto p = payload();
        label_array labels{};
        frame_array f;
        encode_frame(p, GetParam(), key, labels);
        ASSERT_TRUE(decode_frame(labels, GetParam(), key, f));
        ASSERT_TRUE(std::equal(p.begin(), p.end(), f.begin()));
    }
}

TEST_P(every_modulation, any_single_wrong_bit_is_seen) {
    label_array labels{};
    frame_array f;
    encode_frame(payload(), GetParam(), key, labels);
    for (std::size_t s = 0; s < nof_labels; ++s)
        for (int b = 0; b < GetParam(); ++b) {
            labels[s] ^= static_cast<std::uint8_t>(1 << b);
            ASSERT_FALSE(decode_frame(labels, GetParam(), key, f)) << s << " " << b;
            labels[s] ^= static_cast<std::uint8_t>(1 << b);
        }
}

TEST_P(every_modulation, frame_read_under_another_sn_offset_or_cell_fails_its_crc) {
    label_array labels{};
    frame_array f;
    encode_frame(payload(), GetParam(), key, labels);
    EXPECT_FALSE(decode_frame(labels, GetParam(), payload_key(5, 1235, 56), f));
    EXPECT_FALSE(decode_frame(labels, GetParam(), payload_key(5, 1234, 57), f));
    EXPECT_FALSE(decode_frame(labels, GetParam(), payload_key(6, 1234, 56), f));
}

TEST_P(every_modulation, zeros_do_not_go_out_as_one_symbol) {
    const std::vector<std::uint8_t> zeros(payload().size(), 0);
    label_array labels{};
    encode_frame(zeros, GetParam(), key, labels);
    const auto most = std::count(labels.begin(), labels.begin() + nof_labels, labels[0]);
    EXPECT_LT(most, nof_labels * 3 / 4);
}

// The code as its definition reads, for comparison.
std::vector<std::uint8_t> reference_code(const std::vector<std::uint8_t>& bits) {
    std::vector<std::uint8_t> x(6, 0);
    x.insert(x.end(), bits.begin(), bits.end());
    x.insert(x.end(), 6, 0);
    std::vector<std::uint8_t> out;
    for (std::size_t t = 0; t < bits.size() + 6; ++t) {
        const auto* n = x.data() + t + 6;
        out.push_back(n[0] ^ n[-1] ^ n[-2] ^ n[-3] ^ n[-6]);                              // 171
        if (t % 2 == 0 || t >= 248) out.push_back(n[0] ^ n[-2] ^ n[-3] ^ n[-5] ^ n[-6]);  // 133
    }
    return out;
}

struct coded {
    std::array<std::uint8_t, code_information_bits> bits{};
    std::array<std::uint8_t, code_sent_bits> sent{};
    std::array<float, code_sent_bits> soft{};
    explicit coded(std::uint32_t seed) {
        std::mt19937 random(seed);
        for (auto& b : bits) b = random() & 1;
        convolutional_code::encode(bits, sent);
        for (std::size_t i = 0; i < soft.size(); ++i) soft[i] = sent[i] ? -1.F : 1.F;
    }
    bool decodes(convolutional_code& c) const {
        std::array<std::uint8_t, code_information_bits> got;
        c.decode(soft, got);
        return got == bits;
    }
};

TEST(convolutional_code, is_the_one_of_its_definition) {
    const coded c(1);
    const auto reference = reference_code({c.bits.begin(), c.bits.end()});
    ASSERT_EQ(reference.size(), std::size_t{code_sent_bits});
    EXPECT_TRUE(std::equal(reference.begin(), reference.end(), c.sent.begin()));
}

TEST(convolutional_code, corrects_any_two_wrong_bits) {  // free distance 6
    convolutional_code code;
    coded c(2);
    ASSERT_TRUE(c.decodes(code));
    for (std::size_t a = 0; a < code_sent_bits; ++a)
        for (std::size_t b = a; b < std::min<std::size_t>(a + 25, code_sent_bits); ++b) {
            c.soft[a] = -c.soft[a];
            if (b != a) c.soft[b] = -c.soft[b];
            ASSERT_TRUE(c.decodes(code)) << a << " " << b;
            c.soft[a] = -c.soft[a];
            if (b != a) c.soft[b] = -c.soft[b];
        }
}

TEST(convolutional_code, gains_from_soft_values) {
    // The same noise: blocks lost with soft values, and with their signs only.
    convolutional_code code;
    int soft_lost = 0, hard_lost = 0;
    std::mt19937 random(9);
    std::normal_distribution<float> noise(0, 0.62F);
    for (std::uint32_t n = 0; n < 300; ++n) {
        coded c(n);
        for (auto& s : c.soft) s += noise(random);
        soft_lost += !c.decodes(code);
        for (auto& s : c.soft) s = s > 0 ? 1.F : -1.F;
        hard_lost += !c.decodes(code);
    }
    EXPECT_LT(soft_lost, 30);
    EXPECT_GT(hard_lost, 5 * (soft_lost + 1));
}

TEST(convolutional_code, does_not_mind_the_scale_or_nonsense) {
    convolutional_code code;
    for (const float scale : {1e-12F, 1.F, 1e12F}) {
        coded c(4);
        for (auto& s : c.soft) s *= scale;
        EXPECT_TRUE(c.decodes(code)) << scale;
    }
    coded c(4);
    c.soft.fill(0);
    EXPECT_FALSE(c.decodes(code));
    c.soft.fill(std::numeric_limits<float>::quiet_NaN());
    c.decodes(code);
    c.soft.fill(std::numeric_limits<float>::infinity());
    c.decodes(code);
}

class control_region_at : public testing::Test {
protected:
    std::array<std::uint8_t, grant_bytes> grant{};
    control_symbols symbols{}, again{};
    std::array<float, code_sent_bits> soft{};
    std::array<std::uint8_t, grant_bytes> got{};
    void SetUp() override {
        std::mt19937 random(8);
        for (auto& b : grant) b = static_cast<std::uint8_t>(random());
    }
    void send(const control_region& c, int slot_in_frame) {
        c.encode(grant, slot_in_frame, symbols);
        for (std::size_t i = 0; i < symbols.size(); ++i) {
            soft[2 * i] = symbols[i].real();
            soft[2 * i + 1] = symbols[i].imag();
        }
    }
    bool received(control_region& c, int slot_in_frame, const std::optional<grant_due>& due = {}) {
        std::array<float, code_sent_bits> ordered;
        c.order(soft, slot_in_frame, ordered);
        return c.decode(ordered, slot_in_frame, due, got, again);
    }
};

TEST_F(control_region_at, every_slot_comes_back_with_its_symbols) {
    control_region c(17);
    for (int s = 0; s < slots_per_frame; ++s) {
        send(c, s);
        ASSERT_TRUE(received(c, s));
        EXPECT_EQ(got, grant);
        EXPECT_EQ(again, symbols);
    }
}

TEST_F(control_region_at, another_slot_or_cell_is_refused) {
    control_region c(17), other(18);
    send(c, 3);
    EXPECT_FALSE(received(c, 4));
    EXPECT_FALSE(received(other, 3));
}

TEST_F(control_region_at, one_erased_bin_in_eight_is_survived) {
    control_region c(0);
    send(c, 0);
    for (std::size_t bin = 0; bin < nof_bins; bin += 8)
        for (std::size_t i = 0; i < 2 * control_symbols_per_bin; ++i)
            soft[bin * 2 * control_symbols_per_bin + i] = 0;
    EXPECT_TRUE(received(c, 0));
}

TEST(convolutional_code, with_zeros_pinned_decodes_what_is_around_them) {
    convolutional_code code;
    for (const int first : {0, 124, 180, 234}) {
        coded c(5);
        std::fill(c.bits.begin() + first, c.bits.begin() + 240, std::uint8_t{0});
        convolutional_code::encode(c.bits, c.sent);
        for (std::size_t i = 0; i < c.soft.size(); ++i) c.soft[i] = c.sent[i] ? -1.F : 1.F;
        // The received values of the zeros do not matter.
        for (int i = first_sent(first + code_memory); i < first_sent(240); ++i)
            c.soft[static_cast<std::size_t>(i)] = -1;
        std::array<std::uint8_t, code_information_bits> got;
        code.decode(c.soft, got, {first, 240});
        EXPECT_EQ(got, c.bits) << first;
    }
}

// Grants as a base station sends them, through noise of `snr_db`.
class padded_grants : public control_region_at {
protected:
    std::mt19937 random{11};
    slot_grant sent;
    control_region region{17};

    void send(int used, double snr_db) {
        sent = {};
        sent.frame_number = static_cast<std::uint16_t>(random() % frame_number_modulus);
        sent.first_new_sn = static_cast<wire_sn>(random());
        sent.window_edge = static_cast<std::uint16_t>(random() % 2000);
        for (std::size_t b = 0; b < static_cast<std::size_t>(used); ++b) {
            sent.bins[b].bits_per_symbol = static_cast<std::uint8_t>(1 + random() % 8);
            sent.bins[b].boundary =
                random() % 12 == 0 ? static_cast<std::uint8_t>(1 + random() % 20) : no_boundary;
        }
        ASSERT_TRUE(pack_grant(sent, link_profile::radio, grant));
        control_region_at::send(region, 5);
        std::normal_distribution<float> noise(
            0, static_cast<float>(std::sqrt(0.5) * std::pow(10, -snr_db / 20)));
        for (float& s : soft) s += noise(random);
    }
    grant_due due() const {
        return {sent.frame_number, sent.first_new_sn, nof_bins, sent.window_edge};
    }
};

TEST_F(padded_grants, fewer_are_lost_when_their_zeros_are_pinned) {
    for (const int used : {0, 10}) {
        int lost = 0, lost_pinned = 0;
        for (int n = 0; n < 1000; ++n) {
            send(used, 3);
            lost += !(received(region, 5) && got == grant);
            lost_pinned += !(received(region, 5, due()) && got == grant);
        }
        EXPECT_GT(lost, 400);
        EXPECT_LT(lost_pinned, used == 0 ? 0.77 * lost : 0.85 * lost);  // 0.70, 0.78 of 20000
    }
}

TEST_F(padded_grants, none_is_lost_for_it_where_there_is_hardly_noise) {
    for (int n = 0; n < 3000; ++n) {
        send(n % 26, 10);
        ASSERT_TRUE(received(region, 5, due()));
        ASSERT_EQ(got, grant);
    }
}

TEST_F(padded_grants, one_that_is_not_due_is_decoded_all_the_same) {
    int pinned = 0;
    for (int n = 0; n < 200; ++n) {
        send(0, 6);
        std::array<float, code_sent_bits> ordered;
        region.order(soft, 5, ordered);
        pinned += control_region::padding(ordered).size() != 0;
        for (auto other : {due(), due(), due(), due()}) {
            (n % 3 == 0   ? other.frame_number
             : n % 3 == 1 ? other.first_new_sn
                          : other.window_edge) ^= 1U << 11;
            if (received(region, 5)) {
                ASSERT_TRUE(received(region, 5, other));
            }
        }
    }
    EXPECT_GT(pinned, 100);
}

TEST(grant_due, is_the_same_frame_no_more_frames_than_there_were_bins_and_no_edge_behind_the_last) {
    std::array<std::uint8_t, grant_bytes> bits;
    const auto fits = [&](int number, int first, int edge) {
        slot_grant g;
        g.frame_number = static_cast<std::uint16_t>(number);
        g.first_new_sn = static_cast<wire_sn>(first);
        g.window_edge = static_cast<std::uint16_t>(edge);
        EXPECT_TRUE(pack_grant(g, link_profile::radio, bits));
        return grant_due{4095, 65530, 50, 100}.fits(bits);
    };
    EXPECT_TRUE(fits(4095, 65530, 100));
    EXPECT_TRUE(fits(4095, 65580, 150));
    EXPECT_TRUE(fits(4095, 65580, 0));
    EXPECT_FALSE(fits(0, 65530, 100));
    EXPECT_FALSE(fits(4095, 65529, 99));
    EXPECT_FALSE(fits(4095, 65581, 100));
    EXPECT_FALSE(fits(4095, 65530, 101));
}

TEST(control_region, any_twelve_coded_bits_in_a_row_are_in_twelve_bins) {
    for (int j = 0; j + 12 <= code_sent_bits; ++j) {
        std::set<int> bins;
        for (int i = j; i < j + 12; ++i) bins.insert(153 * i % code_sent_bits / 16);
        ASSERT_EQ(bins.size(), 12U) << j;
    }
}

}  // namespace
