// SPDX-License-Identifier: GPL-3.0-or-later
// See include/gnuradio/wip/synchroniser.h; wip::phy::slot_synchroniser between GNU Radio's buffers.
#include <gnuradio/io_signature.h>
#include <gnuradio/wip/synchroniser.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>

#include "checked_parameter.h"
#include "phy/sync/slot_synchroniser.h"
#include "sample_clock.h"
#include "types/grid.h"
#include "uhd_pmt.h"

namespace gr::wip {

namespace {

constexpr std::size_t slot_bytes = ::wip::slot_samples * sizeof(gr_complex);

// The slot number nearest to the sample time, among all that agree with the slot in frame.
std::int64_t slot_number(::wip::sample start, int slot_in_frame) {
    const std::int64_t near =
        ::wip::slot_of(start + ::wip::sample_count(::wip::slot_samples / 2)).value;
    constexpr std::int64_t frame = ::wip::slots_per_frame;
    std::int64_t difference = ((slot_in_frame - near) % frame + frame) % frame;
    if (difference > frame / 2) difference -= frame;
    return std::max<std::int64_t>(near + difference, slot_in_frame);
}

// Linear; it selects the estimator's filter, which matters little for tracking.
constexpr float mean_snr = 100;

class synchroniser_impl : public synchroniser, private ::wip::phy::slot_user {
public:
    synchroniser_impl(int cell, std::int64_t start_slot)
        : gr::block("synchroniser", gr::io_signature::make(1, 1, sizeof(gr_complex)),
                    gr::io_signature::make(1, 1, slot_bytes)),
          synchroniser_(cell, true),
          pilots_(cell == ::wip::phy::any_cell ? 0 : cell),
          clock_(::wip::first_sample(::wip::slot(checked_start_slot(start_slot)))) {
        set_relative_rate(1, ::wip::slot_samples);
        set_tag_propagation_policy(TPP_DONT);
    }

    void forecast(int, gr_vector_int& required) override { required[0] = 1; }

    int general_work(int room, gr_vector_int& available, gr_vector_const_void_star& in,
                     gr_vector_void_star& out) override {
        const auto* samples = static_cast<const gr_complex*>(in[0]);
        const int nof_available = available[0];
        read_times(nof_available);
        int used = 0, made = 0;
        while (made < room) {
            if (!ready_.empty()) {
                write_slot(static_cast<char*>(out[0]) + static_cast<std::size_t>(made) * slot_bytes,
                           nitems_written(0) + static_cast<std::uint64_t>(made));
                ++made;
            } else if (used < nof_available) {
                used += feed(samples + used, nof_available - used,
                             nitems_read(0) + static_cast<std::uint64_t>(used));
            } else {
                break;
            }
        }
        locked_ = synchroniser_.state() == ::wip::phy::sync_state::synchronised;
        cfo_ = synchroniser_.track().cfo_hz();
        consume(0, used);
        return made;
    }

    bool locked() const override { return locked_; }
    double cfo_hz() const override { return cfo_; }
    std::uint64_t locks() const override { return locks_; }

private:
    struct slot_out {
        std::vector<gr_complex> samples;
        std::int64_t number = 0;
        int cell = 0;
        double cfo_hz = 0, cfo_phase = 0, cfo_turn = 0;
        double timing = 0, fraction = 0, shift = 0;
        double pilot_score = 0;
    };

    void read_times(int nof_available) {
        static const pmt::pmt_t rx_time = pmt::mp("rx_time");
        times_.clear();
        get_tags_in_window(times_, 0, 0, static_cast<std::uint64_t>(nof_available), rx_time);
    }

    // One piece, up to the next tag. Returns how many samples it took.
    int feed(const gr_complex* in, int nof_available, std::uint64_t item) {
        int count = std::min(nof_available, ::wip::slot_samples);
        for (const auto& tag : times_) {
            const auto time = ::wip::read_sample_time(tag.value);
            if (!time || tag.offset < item) continue;
            if (tag.offset == item)
                clock_.set(item, *time);
            else
                count = static_cast<int>(
                    std::min<std::uint64_t>(static_cast<std::uint64_t>(count), tag.offset - item));
        }
        synchroniser_.set_grid(clock_.later());
        synchroniser_.process(clock_.at(item), {in, static_cast<std::size_t>(count)}, *this);
        return count;
    }

    // slot_user: tracking is driven by the channel estimated from the pilots alone.
    void on_candidate(int cell) noexcept override {
        cell_ = cell;
        pilots_ = ::wip::phy::pilots(cell);
        estimator_.reset();
        counted_ = false;
    }
    void on_lock_lost(::wip::phy::sync_loss) noexcept override {}
    void on_no_signal(::wip::sample) override {}
    const ::wip::phy::channel_estimate* on_slot(const ::wip::phy::aligned_slot& s) override {
        if (s.missing) return nullptr;
        if (s.state == ::wip::phy::sync_state::synchronised) {
            if (!counted_) ++locks_;
            counted_ = true;
            const auto& track = synchroniser_.track();
            ready_.push_back(
                {{s.samples.begin(), s.samples.end()},
                 slot_number(s.start, s.slot_in_frame),
                 cell_,
                 track.cfo_hz(),
                 track.phase(),
                 track.turn(),
                 static_cast<double>(s.start.value % ::wip::slot_samples) + track.fraction(),
                 track.fraction(),
                 track.shift(),
                 double{s.pilot_score}});
        }
        estimator_.from_pilots(s.elements, pilots_.of(s.slot_in_frame).data(), mean_snr, channel_);
        return &channel_;
    }
    void on_tracking_updated() override {}

    void write_slot(char* out, std::uint64_t item) {
        const slot_out& s = ready_.front();
        std::memcpy(out, s.samples.data(), slot_bytes);
        const auto tag = [&](const char* key, const pmt::pmt_t& value) {
            add_item_tag(0, item, pmt::mp(key), value);
        };
        tag("slot", pmt::from_uint64(static_cast<std::uint64_t>(s.number)));
        tag("cell", pmt::from_long(s.cell));
        tag("cfo_hz", pmt::from_double(s.cfo_hz));
        tag("cfo_phase", pmt::from_double(s.cfo_phase));
        tag("cfo_turn", pmt::from_double(s.cfo_turn));
        tag("timing_samples", pmt::from_double(s.timing));
        tag("timing_fraction", pmt::from_double(s.fraction));
        tag("timing_shift", pmt::from_double(s.shift));
        tag("pilot_score", pmt::from_double(s.pilot_score));
        ready_.pop_front();
    }

    ::wip::phy::slot_synchroniser synchroniser_;
    ::wip::phy::channel_estimator estimator_;
    ::wip::phy::channel_estimate channel_;
    ::wip::phy::pilots pilots_;
    int cell_ = 0;
    bool counted_ = false;  // the present synchronisation is counted in locks_
    ::wip::sample_clock clock_;
    std::vector<tag_t> times_;
    std::deque<slot_out> ready_;
    std::atomic<bool> locked_ = false;
    std::atomic<double> cfo_ = 0;
    std::atomic<std::uint64_t> locks_ = 0;
};

}  // namespace

synchroniser::sptr synchroniser::make(int cell, std::int64_t start_slot) {
    return gnuradio::make_block_sptr<synchroniser_impl>(cell, start_slot);
}

}  // namespace gr::wip
