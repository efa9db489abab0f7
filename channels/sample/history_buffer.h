// SPDX-License-Identifier: GPL-3.0-or-later
// The newest samples of a stream, real and imaginary part apart, addressed by absolute index. At
// least `memory` samples before the end are kept; up to `margin` elements before the first and
// after the last of them may be read (with arbitrary values), so that loops may work on whole
// vectors.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace wip::sample_model {

class history_buffer {
public:
    static constexpr std::int64_t margin = 128;
    static constexpr std::int64_t largest_append = 4096;

    explicit history_buffer(std::int64_t memory)
        : memory_(memory),
          capacity_(memory + largest_append + std::max<std::int64_t>(memory, 8192)),
          re_(static_cast<std::size_t>(capacity_ + 2 * margin)),
          im_(re_.size()),
          fill_(memory) {}

    std::int64_t end() const noexcept { return end_; }  // index after the newest sample

    // Discards everything: there are zeros before `first`, which is the next index.
    void restart(std::int64_t first) noexcept {
        std::fill(re_.begin(), re_.end(), 0.0f);
        std::fill(im_.begin(), im_.end(), 0.0f);
        fill_ = memory_;
        end_ = first;
    }

    // Appends at most largest_append samples.
    void append(std::span<const std::complex<float>> in) noexcept {
        const std::int64_t n = static_cast<std::int64_t>(in.size());
        if (fill_ + n > capacity_) {
            move_down(re_);
            move_down(im_);
            fill_ = memory_;
        }
        float* re = re_.data() + margin + fill_;
        float* im = im_.data() + margin + fill_;
        for (std::size_t i = 0; i < in.size(); ++i) {
            re[i] = in[i].real();
            im[i] = in[i].imag();
        }
        fill_ += n;
        end_ += n;
    }

    const float* re(std::int64_t index) const noexcept { return at(re_, index); }
    const float* im(std::int64_t index) const noexcept { return at(im_, index); }

private:
    const float* at(const std::vector<float>& x, std::int64_t index) const noexcept {
        return x.data() + margin + fill_ - (end_ - index);
    }
    void move_down(std::vector<float>& x) noexcept {
        std::memmove(x.data() + margin, x.data() + margin + fill_ - memory_,
                     static_cast<std::size_t>(memory_) * sizeof(float));
    }
    std::int64_t memory_, capacity_;
    std::vector<float> re_, im_;
    std::int64_t fill_;
    std::int64_t end_ = 0;
};

}  // namespace wip::sample_model
