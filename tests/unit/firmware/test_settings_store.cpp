// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <optional>

#include "rig.h"

using namespace wip::attenuator;

namespace {

settings with_level(int level) {
    settings s;
    s.levels[0] = {static_cast<std::uint8_t>(level)};
    return s;
}

}  // namespace

TEST(SettingsStore, HasNothingBeforeSomethingIsSaved) {
    fake_flash flash;
    EXPECT_EQ(settings_store(flash).load(), std::nullopt);
    EXPECT_TRUE(settings_store(flash).check());
}

TEST(SettingsStore, ReadsBackWhatWasSavedLast) {
    fake_flash flash;
    settings_store store(flash);
    for (int k = 0; k < 100; ++k) {
        ASSERT_TRUE(store.save(with_level(k))) << k;
        ASSERT_EQ(settings_store(flash).load(), with_level(k)) << k;
    }
}

TEST(SettingsStore, EveryFieldIsKept) {
    settings s;
    s.series = 0b1010;
    s.levels = {quarter_db{1}, {2}, {200}, {0}, {5}, {6}, {254}, {0}};
    s.switch_position = 4;
    s.trigger_out = false;
    s.on_underflow = fallback::maximum;
    s.on_silence = fallback::hold;
    s.silence_ticks = 59'999;
    fake_flash flash;
    ASSERT_TRUE(settings_store(flash).save(s));
    EXPECT_EQ(settings_store(flash).load(), s);
}

TEST(SettingsStore, TheSameSettingsAreNotWrittenTwice) {
    fake_flash flash;
    settings_store store(flash);
    ASSERT_TRUE(store.save(with_level(3)));
    flash.power = 0;
    EXPECT_TRUE(store.save(with_level(3)));
}

// The power goes after each byte that is written or erased, in each of the states that the log can
// be in.
TEST(SettingsStore, APowerCutLeavesTheOldSettingsOrTheNew) {
    for (int saved = 1; saved <= 12; ++saved)
        for (int cut = 0;; ++cut) {
            fake_flash flash;
            for (int k = 0; k < saved; ++k) ASSERT_TRUE(settings_store(flash).save(with_level(k)));
            flash.power = cut;
            const bool whole = settings_store(flash).save(with_level(100));
            flash.power = -1;
            const auto s = settings_store(flash).load();
            ASSERT_TRUE(s.has_value()) << saved << " saved, cut after " << cut;
            ASSERT_TRUE(s == with_level(100) || (!whole && s == with_level(saved - 1)))
                << saved << " saved, cut after " << cut;
            // The store can still be used.
            ASSERT_TRUE(settings_store(flash).save(with_level(101)));
            ASSERT_EQ(settings_store(flash).load(), with_level(101));
            if (whole) break;
        }
}

TEST(SettingsStore, WhatIsNoSettingIsNotRead) {
    for (std::uint32_t at = 0; at < settings_store::record_bytes; ++at) {
        fake_flash flash;
        ASSERT_TRUE(settings_store(flash).save(with_level(0)));
        std::array<std::uint8_t, 1> byte{};
        flash.read(0, at, byte);
        if (byte[0] == 0) continue;  // a bit of flash that is 0 stays so until it is erased
        byte[0] = static_cast<std::uint8_t>(byte[0] & (byte[0] - 1));
        flash.write(0, at, byte);
        EXPECT_EQ(settings_store(flash).load(), std::nullopt) << at;
    }
}
