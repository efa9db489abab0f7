// SPDX-License-Identifier: GPL-3.0-or-later
// The output of the serial line. Text that does not fit is cut, a frame that does not fit is
// dropped whole; `overrun` is then set.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace wip::attenuator {

class output_buffer {
public:
    static constexpr std::size_t capacity = 1024;  // characters

    void text(std::string_view t) {
        const std::size_t n = std::min(t.size(), capacity - size_);
        std::copy_n(t.begin(), n, bytes_.begin() + static_cast<std::ptrdiff_t>(size_));
        size_ += n;
        overrun_ = overrun_ || n < t.size();
    }
    void number(std::int64_t n) {
        std::array<char, 24> digits{};
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), n).ptr;
        text({digits.data(), static_cast<std::size_t>(end - digits.data())});
    }
    // 127 -> 31.75
    void quarters(int n) {
        static constexpr std::array<std::string_view, 4> parts{".00", ".25", ".50", ".75"};
        number(n / 4);
        text(parts[static_cast<unsigned>(n % 4)]);
    }
    bool frame(std::span<const std::uint8_t> f) {
        if (f.size() > capacity - size_) {
            overrun_ = true;
            return false;
        }
        std::ranges::copy(f, bytes_.begin() + static_cast<std::ptrdiff_t>(size_));
        size_ += f.size();
        return true;
    }
    std::span<const char> bytes() const { return {bytes_.data(), size_}; }
    std::size_t size() const { return size_; }
    bool overrun() const { return overrun_; }
    void clear() {
        size_ = 0;
        overrun_ = false;
    }

private:
    std::array<char, capacity> bytes_{};
    std::size_t size_ = 0;
    bool overrun_ = false;
};

}  // namespace wip::attenuator
