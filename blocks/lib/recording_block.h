// SPDX-License-Identifier: GPL-3.0-or-later
// A block that can_record: started and stopped by any thread, used by work() while it holds
// hold_recording().
#pragma once

#include <gnuradio/wip/recording.h>

#include <memory>
#include <mutex>
#include <utility>

#include "sample_recorder.h"
#include "types/failure.h"

namespace wip {

template <class Block>
class recording_block : public Block {
public:
    void start_recording(const std::string& samples_file, const std::string& reports_file,
                         std::int64_t begin_slot, std::int64_t end_slot,
                         std::int64_t nof_slots) override {
        sample_recorder_config config;
        config.samples_file = samples_file;
        config.reports_file = reports_file;
        if (begin_slot >= 0) config.begin = first_sample(slot(begin_slot));
        if (end_slot >= 0) config.end = first_sample(slot(end_slot));
        if (nof_slots > 0) config.most = sample_count(nof_slots * slot_samples);
        {
            const auto holding = hold_recording();
            if (recorder_ || starting_) throw bad_input("a recording is running already");
            starting_ = true;
        }
        std::unique_ptr<sample_recorder> made;
        std::exception_ptr failure;
        try {
            made = std::make_unique<sample_recorder>(config);
        } catch (...) {
            failure = std::current_exception();
        }
        const auto holding = hold_recording();
        starting_ = false;
        if (failure) std::rethrow_exception(failure);
        recorder_ = std::move(made);
    }

    gr::wip::recording_status recording() const override {
        const auto holding = hold_recording();
        gr::wip::recording_status s;
        if (!recorder_) return s;
        s.running = true;
        s.complete = recorder_->complete();
        s.samples = recorder_->samples_so_far();
        return s;
    }

    gr::wip::recording_status stop_recording() override {
        std::unique_ptr<sample_recorder> ended;
        {
            const auto holding = hold_recording();
            ended = std::move(recorder_);
        }
        if (!ended) throw bad_input("no recording is running");
        return ended->finish();
    }

protected:
    std::unique_lock<std::mutex> hold_recording() const { return std::unique_lock(mutex_); }
    std::unique_ptr<sample_recorder> recorder_;  // only while holding; nullptr: none runs

private:
    mutable std::mutex mutex_;
    bool starting_ = false;
};

}  // namespace wip
