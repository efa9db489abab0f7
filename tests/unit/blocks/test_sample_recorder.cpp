// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <thread>

#include "iq/sample_recorder.h"

namespace {

using wip::sample;
using wip::iq::sample_recorder;
using cf32 = sample_recorder::cf32;

class a_recording : public testing::Test {
protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "openwip-recXXXXXX").string();
        folder = ::mkdtemp(name.data());
    }
    void TearDown() override { std::filesystem::remove_all(folder); }
    std::string file(const char* name) const { return (folder / name).string(); }

    // Sample n has the value n.
    static std::vector<cf32> ramp(std::int64_t first, std::size_t n) {
        std::vector<cf32> out(n);
        for (std::size_t i = 0; i < n; ++i)
            out[i] = {static_cast<float>(first + static_cast<std::int64_t>(i)), 1.0F};
        return out;
    }
    std::vector<std::int64_t> written() const {
        std::ifstream in(file("data"), std::ios::binary);
        const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
        std::vector<cf32> values(bytes.size() / sizeof(cf32));
        std::memcpy(static_cast<void*>(values.data()), bytes.data(), values.size() * sizeof(cf32));
        std::vector<std::int64_t> out;
        for (const auto v : values) out.push_back(static_cast<std::int64_t>(v.real()));
        return out;
    }
    static std::vector<std::int64_t> numbers(std::int64_t first, std::size_t n) {
        std::vector<std::int64_t> out(n);
        std::iota(out.begin(), out.end(), first);
        return out;
    }

    std::filesystem::path folder;
};

TEST_F(a_recording, holds_what_came_and_says_where_the_sample_time_jumped) {
    sample_recorder recorder({.samples_file = file("data")});
    recorder.samples(sample(100), ramp(100, 50));
    recorder.samples(sample(150), ramp(150, 50));
    recorder.samples(sample(300), ramp(300, 10));
    const auto facts = recorder.finish();
    EXPECT_EQ(facts.error, "");
    EXPECT_EQ(facts.samples, 110);
    EXPECT_EQ(facts.samples_lost, 0);
    ASSERT_EQ(facts.stretches.size(), 2U);
    EXPECT_EQ(facts.stretches[0].first_sample, 100);
    EXPECT_EQ(facts.stretches[1].first_sample, 300);
    EXPECT_EQ(facts.stretches[1].index, 100);
    EXPECT_FALSE(facts.stretches[1].lost_by_recorder);  // the radio lost them
    auto expected = numbers(100, 100);
    for (const auto n : numbers(300, 10)) expected.push_back(n);
    EXPECT_EQ(written(), expected);
}

TEST_F(a_recording, says_where_the_grid_of_the_samples_has_moved) {
    sample_recorder recorder({.samples_file = file("data")});
    recorder.samples(sample(100), ramp(100, 50), 0.25);
    recorder.samples(sample(150), ramp(150, 50), 0.25);
    recorder.samples(sample(200), ramp(200, 10), -0.375);
    recorder.samples(sample(300), ramp(300, 10), -0.375);
    const auto facts = recorder.finish();
    ASSERT_EQ(facts.stretches.size(), 3U);
    EXPECT_EQ(facts.stretches[0].later, 0.25);
    EXPECT_EQ(facts.stretches[1].later, -0.375);
    EXPECT_EQ(facts.stretches[1].index, 100);
    EXPECT_EQ(facts.stretches[2].later, -0.375);
}

TEST_F(a_recording, of_some_slots_begins_and_ends_within_a_piece) {
    sample_recorder recorder(
        {.samples_file = file("data"), .begin = sample(105), .end = sample(120)});
    recorder.samples(sample(90), ramp(90, 10));
    EXPECT_FALSE(recorder.complete());
    recorder.samples(sample(100), ramp(100, 10));
    recorder.samples(sample(110), ramp(110, 50));
    EXPECT_TRUE(recorder.complete());
    recorder.samples(sample(160), ramp(160, 50));
    const auto facts = recorder.finish();
    EXPECT_EQ(facts.samples, 15);
    EXPECT_EQ(facts.samples_lost, 0);
    EXPECT_EQ(written(), numbers(105, 15));
}

TEST_F(a_recording, keeps_reports_of_its_slots_with_their_lengths) {
    sample_recorder recorder({.reports_file = file("reports"), .begin = sample(10)});
    const std::vector<std::uint8_t> one{1, 2, 3}, two(300, 7);
    recorder.report(sample(9), one);
    recorder.report(sample(10), one);
    recorder.report(sample(11), two);
    EXPECT_EQ(recorder.finish().reports, 2);
    std::ifstream in(file("reports"), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    std::string expected = "OWSLOTS1";
    expected +=
        std::string("\3\0\0\0\1\2\3", 7) + std::string("\x2c\1\0\0", 4) + std::string(300, '\7');
    EXPECT_EQ(bytes, expected);
}

// A pipe that nobody reads is a disk that does not follow.
TEST_F(a_recording, never_waits_for_a_slow_disk_and_counts_what_it_lost) {
    ASSERT_EQ(::mkfifo(file("data").c_str(), 0600), 0);
    const int reader = ::open(file("data").c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(reader, 0);
    sample_recorder recorder({.samples_file = file("data"), .queue_samples = 10000});
    std::int64_t time = 0;
    for (; time < 100000; time += 1000) recorder.samples(sample(time), ramp(time, 1000));
    // All samples that were accepted come out of the other end.
    std::vector<char> got;
    std::thread drain([&] {
        std::vector<char> buffer(1 << 16);
        for (;;) {
            const auto n = ::read(reader, buffer.data(), buffer.size());
            if (n <= 0) return;
            got.insert(got.end(), buffer.begin(), buffer.begin() + n);
            if (buffer[static_cast<std::size_t>(n) - 1] == 'E') return;
        }
    });
    while (recorder.samples_so_far() == 0) std::this_thread::yield();
    // When there is room again it goes on, and counts the jump as its own.
    std::int64_t before = recorder.samples_so_far();
    while (recorder.samples_so_far() == before) {
        recorder.samples(sample(time), ramp(time, 1000));
        time += 1000;
        std::this_thread::yield();
    }
    const auto facts = recorder.finish();
    EXPECT_EQ(::write(reader, "E", 1), 1);
    drain.join();
    ::close(reader);
    EXPECT_EQ(facts.error, "");
    EXPECT_EQ(facts.samples + facts.samples_lost, time);
    EXPECT_GE(facts.samples_lost, 70000);  // 10000 in the queue, 8192 in the pipe
    EXPECT_EQ(got.size(), static_cast<std::size_t>(facts.samples) * sizeof(cf32) + 1);
    ASSERT_GE(facts.stretches.size(), 2U);
    EXPECT_TRUE(facts.stretches.back().lost_by_recorder);
    EXPECT_FALSE(facts.stretches.front().lost_by_recorder);
}

TEST_F(a_recording, says_what_the_disk_said) {
    sample_recorder recorder({.samples_file = "/dev/full"});
    recorder.samples(sample(0), ramp(0, 1000));
    const auto facts = recorder.finish();
    EXPECT_EQ(facts.error, "No space left on device");
}

TEST_F(a_recording, refuses_a_file_that_cannot_be_made) {
    try {
        sample_recorder recorder({.samples_file = file("none/data")});
        FAIL();
    } catch (const std::runtime_error& e) {
        EXPECT_NE(std::string(e.what()).find("none/data: cannot be written: No such file"),
                  std::string::npos);
    }
}

}  // namespace
