// SPDX-License-Identifier: GPL-3.0-or-later
// A message that is parsed into the memory of the last one is that of ParseFromArray(), whatever
// the bytes are, and takes no new memory. Every operator new of the process is counted.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "counting_allocator.h"
#include "schema/kept_message.h"
#include "schema/slot_link.pb.h"

namespace {

using namespace wip;
using openwip::slot_link::ToFlowgraph;
using openwip::slot_link::ToMacd;
using wip::test::allocations;

std::span<const std::uint8_t> bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

bool kept(ToMacd& out, const std::string& bytes) {
    return parse_kept(out, &ToMacd::mutable_report, ToMacd::kReportFieldNumber, bytes_of(bytes));
}
bool kept(ToFlowgraph& out, const std::string& bytes) {
    return parse_kept(out, &ToFlowgraph::mutable_plan, ToFlowgraph::kPlanFieldNumber,
                      bytes_of(bytes));
}

std::string full_report(std::int64_t air, std::uint32_t bins = 25) {
    ToMacd m;
    auto& r = *m.mutable_report();
    r.set_air(air);
    r.set_locked(true);
    r.set_grant_ok(true);
    r.set_grant(std::string(30, 'g'));
    for (std::uint32_t b = 0; b < bins; ++b) {
        auto& bin = *r.add_bins();
        bin.set_bin(b);
        bin.set_outcome(openwip::slot_link::GOOD);
        bin.set_payload(std::string(108, static_cast<char>(air)));
        r.add_snr_db(static_cast<float>(b));
        r.add_predicted_snr_db(30);
    }
    return m.SerializeAsString();
}

std::string full_plan(std::int64_t air) {
    ToFlowgraph m;
    m.mutable_plan()->set_air(air);
    m.mutable_plan()->set_grant(std::string(30, 'g'));
    for (std::uint32_t b = 0; b < 25; ++b) {
        auto& bin = *m.mutable_plan()->add_payload();
        bin.set_bin(b);
        bin.set_payload(std::string(108, 'p'));
    }
    return m.SerializeAsString();
}

// The same as ParseFromArray() says, from whatever `out` holds.
void expect_alike(ToMacd& out, const std::string& bytes) {
    ToMacd all;
    const bool good = all.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
    ASSERT_EQ(kept(out, bytes), good);
    if (good) {
        EXPECT_EQ(out.what_case(), all.what_case());
        EXPECT_EQ(out.hello().SerializeAsString(), all.hello().SerializeAsString());
        EXPECT_EQ(out.request().SerializeAsString(), all.request().SerializeAsString());
        EXPECT_EQ(out.report().SerializeAsString(), all.report().SerializeAsString());
    }
}

TEST(KeptMessage, TheMessageOfEverySlotTakesNoMemory) {
    ToMacd report;
    ToFlowgraph plan;
    const std::string reports[] = {full_report(1), full_report(2)}, plans[] = {full_plan(1)};
    ASSERT_TRUE(kept(report, reports[0]));
    ASSERT_TRUE(kept(plan, plans[0]));
    const long before = allocations;
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(kept(report, reports[i % 2]));
        ASSERT_TRUE(kept(plan, plans[0]));
    }
    EXPECT_EQ(allocations, before);
    const long whole = allocations;
    ASSERT_TRUE(report.ParseFromArray(reports[0].data(), static_cast<int>(reports[0].size())));
    EXPECT_GT(allocations - whole, 50);  // so the test counts what it should
}

TEST(KeptMessage, NothingOfTheLastMessageIsLeft) {
    ToMacd m;
    for (const std::string& bytes :
         {full_report(1), full_report(2, 3), full_report(3, 0), full_report(4)})
        expect_alike(m, bytes);
    ToMacd small;
    small.mutable_report();
    expect_alike(m, small.SerializeAsString());
    EXPECT_TRUE(m.has_report());
    EXPECT_EQ(m.report().bins_size(), 0);
}

TEST(KeptMessage, OtherMessagesComeInBetween) {
    ToMacd m, hello, request;
    hello.mutable_hello()->set_role("terminal");
    request.mutable_request()->set_air(5);
    for (const std::string& bytes :
         {full_report(1), hello.SerializeAsString(), full_report(2), request.SerializeAsString(),
          std::string(), full_report(3), std::string("\x7a\x01x", 3), full_report(4)})
        expect_alike(m, bytes);
}

// Encodings that a writer may choose and ours does not.
TEST(KeptMessage, AFieldThatIsSaidTwiceOrAtLengthIsRead) {
    ToMacd m;
    expect_alike(m, full_report(1, 2) + full_report(2, 1));
    // The body without its tag and the two bytes of its length.
    const std::string body = full_report(7, 1).substr(3);
    ASSERT_GT(body.size(), 127U);
    const std::string length = {static_cast<char>(body.size() % 128 | 0x80),
                                static_cast<char>(body.size() / 128 | 0x80), 0};
    expect_alike(m, '\x1a' + length + body);
}

TEST(KeptMessage, DamagedBytesAreTakenOrRefusedAsParseFromArrayDoes) {
    std::mt19937 random(1);
    const std::string good = full_report(9, 4);
    ToMacd m;
    for (std::size_t n = 0; n < good.size(); ++n) expect_alike(m, good.substr(0, n));
    for (int i = 0; i < 20000; ++i) {
        std::string bytes = good;
        for (unsigned k = random() % 4 + 1; k > 0; --k)
            bytes[random() % (i % 2 == 0 ? 8 : bytes.size())] = static_cast<char>(random());
        expect_alike(m, bytes);
    }
}

}  // namespace
