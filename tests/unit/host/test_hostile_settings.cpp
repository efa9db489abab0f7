// SPDX-License-Identifier: GPL-3.0-or-later
// Every setting of every process that has a table of them, given everything that is no number or
// hardly one: refused in one line that names the key, or taken as one value that reads back alike.
#include <gtest/gtest.h>

#include <cmath>

#include "configured_processes.h"
#include "hostile_numbers.h"

using namespace wip;
using wip::test::configured_process;
using wip::test::hostile_numbers;
using wip::test::started;

namespace {

void expect_one_value(const config::settings& s, const config::key& k, const std::string& given) {
    if (k.type == config::kind::integer) {
        const auto v = static_cast<double>(s.integer(k.path));
        EXPECT_TRUE(v >= k.lowest && v <= k.highest) << k.path << " = " << given << " is " << v;
    } else if (k.type == config::kind::real) {
        const double v = s.real(k.path);
        EXPECT_TRUE(std::isfinite(v) && v >= k.lowest && v <= k.highest)
            << k.path << " = " << given << " is " << v;
        EXPECT_FALSE(std::signbit(v) && v == 0) << k.path << " = " << given;
    }
}

class HostileSettings : public testing::TestWithParam<configured_process> {};

}  // namespace

TEST_P(HostileSettings, each_is_refused_with_its_key_or_taken_as_one_value) {
    std::size_t taken = 0, refused = 0;
    for (const auto& k : *GetParam().keys)
        for (const std::string value : hostile_numbers) {
            config::settings s = started(GetParam());
            try {
                s.merge_assignment(k.path + "=" + value);
                GetParam().translate(s);
            } catch (const config::error& e) {
                const std::string why = e.what();
                EXPECT_NE(why.find(k.path), std::string::npos)
                    << k.path << "=" << value << ": " << why;
                EXPECT_EQ(why.find('\n'), std::string::npos) << why;
                ++refused;
                continue;
            }
            expect_one_value(s, k, value);
            config::settings again = started(GetParam());
            again.merge_yaml(s.to_yaml(), "again");
            EXPECT_EQ(again.text(k.path), s.text(k.path)) << k.path << "=" << value;
            ++taken;
        }
    EXPECT_GT(taken, GetParam().keys->size() / 2);
    EXPECT_GT(refused, 10 * GetParam().keys->size());
}

TEST_P(HostileSettings, a_change_at_run_time_is_taken_whole_or_not_at_all) {
    for (const auto& k : *GetParam().keys)
        for (const std::string value : hostile_numbers) {
            if (!k.runtime) continue;
            config::settings s = started(GetParam());
            const std::string before = s.to_yaml();
            const auto dot = k.path.find('.');
            const std::string yaml =
                k.path.substr(0, dot) + ":\n  " + k.path.substr(dot + 1) + ": " + value;
            try {
                s.merge_yaml(yaml, "configure", true);
            } catch (const config::error& e) {
                EXPECT_NE(std::string(e.what()).find("configure"), std::string::npos) << e.what();
                EXPECT_EQ(s.to_yaml(), before);
                continue;
            }
            expect_one_value(s, k, value);
            try {
                GetParam().translate(s);
            } catch (const config::error&) {  // refused because of another setting
            }
        }
}

INSTANTIATE_TEST_SUITE_P(Processes, HostileSettings,
                         testing::ValuesIn(wip::test::configured_processes()),
                         [](const auto& tested) {
                             std::string name = tested.param.name;
                             std::erase(name, ' ');
                             return name;
                         });
