// SPDX-License-Identifier: GPL-3.0-or-later
// The recording of a block: started and stopped by any thread, used by work() while it holds
// hold().
#pragma once

#include <gnuradio/wip/recording.h>

#include <memory>
#include <mutex>
#include <utility>

#include "sample_recorder.h"
#include "types/failure.h"

namespace wip {

class block_recorder {
public:
    std::unique_lock<std::mutex> hold() const { return std::unique_lock(mutex_); }
    // The rest of these only while holding.
    explicit operator bool() const { return recorder_ != nullptr; }
    sample_recorder* operator->() const { return recorder_.get(); }

    void start(const std::string& samples_file, const std::string& reports_file,
               std::int64_t begin_slot, std::int64_t end_slot, std::int64_t nof_slots) {
        sample_recorder_config config;
        config.samples_file = samples_file;
        config.reports_file = reports_file;
        if (begin_slot >= 0) config.begin = first_sample(slot(begin_slot));
        if (end_slot >= 0) config.end = first_sample(slot(end_slot));
        if (nof_slots > 0) config.most = sample_count(nof_slots * slot_samples);
        {
            const auto holding = hold();
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
        const auto holding = hold();
        starting_ = false;
        if (failure) std::rethrow_exception(failure);
        recorder_ = std::move(made);
    }

    gr::wip::recording_status status() const {
        const auto holding = hold();
        gr::wip::recording_status s;
        if (!recorder_) return s;
        s.running = true;
        s.complete = recorder_->complete();
        s.samples = recorder_->samples_so_far();
        return s;
    }

    gr::wip::recording_status stop() {
        std::unique_ptr<sample_recorder> ended;
        {
            const auto holding = hold();
            ended = std::move(recorder_);
        }
        if (!ended) throw bad_input("no recording is running");
        const auto facts = ended->finish();
        gr::wip::recording_status s;
        s.complete = ended->complete();
        s.samples = facts.samples;
        s.samples_lost = facts.samples_lost;
        s.reports = facts.reports;
        s.reports_lost = facts.reports_lost;
        s.error = facts.error;
        for (const auto& stretch : facts.stretches)
            s.stretches.push_back({stretch.index, stretch.first.value, stretch.lost_here});
        return s;
    }

private:
    mutable std::mutex mutex_;
    std::unique_ptr<sample_recorder> recorder_;
    bool starting_ = false;
};

}  // namespace wip
