// SPDX-License-Identifier: GPL-3.0-or-later
// See include/gnuradio/wip/combining_meter.h. A frame is identified by its position: bin and slot
// within the group of the test pattern (test_pattern.h). A group whose beginning was not seen (no
// lock) does not count.
#include <gnuradio/io_signature.h>
#include <gnuradio/wip/combining_meter.h>

#include <array>
#include <deque>
#include <mutex>
#include <utility>

#include "checked_parameter.h"
#include "test_pattern.h"
#include "types/grid.h"

namespace gr::wip {

namespace {

using ::wip::test_pattern;

constexpr std::size_t nof_points = 200;

// Counts the frames of one receiver by the transmissions that they needed.
class frame_count {
public:
    frame_count(int transmissions, int update_slots)
        : transmissions_(transmissions),
          most_frames_(2 * ::wip::nof_bins * static_cast<std::size_t>(update_slots)),
          total_(static_cast<std::size_t>(transmissions) + 1) {}

    void on_slot(std::int64_t air, bool grant_ok, const std::vector<std::uint8_t>& outcome) {
        const auto in_group = air % (test_pattern::loop_slots * transmissions_);
        const auto transmission = static_cast<int>(in_group) / test_pattern::loop_slots;
        auto& position = positions_[static_cast<std::size_t>(in_group % test_pattern::loop_slots)];
        if (transmission == 0) position = {.group_start = grant_ok ? air : -1};
        if (position.group_start != air - transmission * test_pattern::loop_slots) return;
        for (std::size_t b = 0; b < position.needed.size() && b < outcome.size(); ++b) {
            if (outcome[b] != 0) position.used[b] = true;
            if (outcome[b] == 1 && position.needed[b] == 0)
                position.needed[b] = static_cast<std::uint8_t>(transmission + 1);
        }
        if (transmission == transmissions_ - 1) finish(position);
    }

    const std::vector<std::uint64_t>& total() const { return total_; }
    // Per cent of the frames since the last take_frames() that were not received.
    float failed() const {
        return frames_.empty()
                   ? 0.0f
                   : 100.0f * static_cast<float>(lost_) / static_cast<float>(frames_.size());
    }
    // The transmissions that each of these frames needed.
    std::vector<float> take_frames() {
        lost_ = 0;
        return std::exchange(frames_, {});
    }

private:
    struct position_state {
        std::int64_t group_start = -1;
        std::array<bool, ::wip::nof_bins> used{};
        std::array<std::uint8_t, ::wip::nof_bins> needed{};  // 0: not received yet
    };

    void finish(const position_state& position) {
        // The other receiver reports nothing, so the frames were not taken.
        if (frames_.size() >= most_frames_) take_frames();
        for (std::size_t b = 0; b < position.used.size(); ++b) {
            if (!position.used[b]) continue;
            const int needed = position.needed[b] == 0 ? transmissions_ + 1 : position.needed[b];
            ++total_[static_cast<std::size_t>(needed - 1)];
            frames_.push_back(static_cast<float>(needed));
            lost_ += position.needed[b] == 0;
        }
    }

    const int transmissions_;
    const std::size_t most_frames_;  // frames of two updates
    std::array<position_state, test_pattern::loop_slots> positions_;
    std::vector<std::uint64_t> total_;
    std::vector<float> frames_;
    std::uint64_t lost_ = 0;
};

}  // namespace

class combining_meter_impl : public combining_meter {
public:
    combining_meter_impl(int transmissions, int update_slots)
        : gr::block("combining_meter", gr::io_signature::make(0, 0, 0),
                    gr::io_signature::make(0, 0, 0)),
          update_slots_(checked_parameter("update_slots", update_slots, 1, 15000)),
          single_(checked_parameter("transmissions", transmissions, 1,
                                    test_pattern::most_transmissions),
                  update_slots),
          combined_(transmissions, update_slots),
          points_(nof_points) {
        for (const auto* port : {"failed", "needed_single", "needed_combined"})
            message_port_register_out(pmt::mp(port));
        listen("single", single_);
        listen("combined", combined_);
    }

    std::vector<std::uint64_t> single() const override {
        std::lock_guard lock(mutex_);
        return single_.total();
    }
    std::vector<std::uint64_t> combined() const override {
        std::lock_guard lock(mutex_);
        return combined_.total();
    }

private:
    void listen(const char* name, frame_count& count) {
        const auto port = pmt::mp(name);
        message_port_register_in(port);
        set_msg_handler(port, [this, &count](const pmt::pmt_t& m) { on_slot(m, count); });
    }

    void on_slot(const pmt::pmt_t& message, frame_count& count) {
        if (!pmt::is_dict(message)) return;
        const auto air = pmt::dict_ref(message, pmt::mp("air"), pmt::PMT_NIL);
        const auto grant_ok = pmt::dict_ref(message, pmt::mp("grant_ok"), pmt::PMT_F);
        const auto outcome = pmt::dict_ref(message, pmt::mp("outcome"), pmt::PMT_NIL);
        if (!pmt::is_integer(air) || !pmt::is_u8vector(outcome)) return;
        const std::int64_t slot = pmt::to_long(air);
        if (slot < 0) return;
        std::unique_lock lock(mutex_);
        count.on_slot(slot, pmt::eq(grant_ok, pmt::PMT_T), pmt::u8vector_elements(outcome));
        if (&count != &combined_ || slot / update_slots_ == last_update_) return;
        last_update_ = slot / update_slots_;
        points_.pop_front();
        points_.emplace_back(single_.failed(), combined_.failed());
        const std::vector<gr_complex> failed(points_.begin(), points_.end());
        const auto frames_single = single_.take_frames();
        const auto frames_combined = combined_.take_frames();
        lock.unlock();
        publish("failed", pmt::init_c32vector(failed.size(), failed));
        publish("needed_single", pmt::init_f32vector(frames_single.size(), frames_single));
        publish("needed_combined", pmt::init_f32vector(frames_combined.size(), frames_combined));
    }

    void publish(const char* port, const pmt::pmt_t& vector) {
        if (pmt::length(vector) > 0)
            message_port_pub(pmt::mp(port), pmt::cons(pmt::PMT_NIL, vector));
    }

    const int update_slots_;
    mutable std::mutex mutex_;  // guards all members below
    frame_count single_;
    frame_count combined_;
    std::deque<gr_complex> points_;
    std::int64_t last_update_ = -1;
};

combining_meter::sptr combining_meter::make(int transmissions, int update_slots) {
    return gnuradio::make_block_sptr<combining_meter_impl>(transmissions, update_slots);
}

}  // namespace gr::wip
