// SPDX-License-Identifier: GPL-3.0-or-later
// A block that can_record: started and stopped by any thread, used by work() while it holds
// hold_recording().
#pragma once

#include <gnuradio/wip/recording.h>

#include <memory>
#include <mutex>
#include <utility>

#include "iq/sample_recorder.h"
#include "types/failure.h"

namespace wip {

template <class Block>
class recording_block : public Block {
public:
    void start_recording(const std::string& samples_file, const std::string& reports_file,
                         std::int64_t begin_slot, std::int64_t end_slot,
                         std::int64_t nof_slots) override {
        iq::sample_recorder_config config;
        config.samples_file = samples_file;
        config.reports_file = reports_file;
        if (begin_slot >= 0) config.begin = first_sample(slot(begin_slot));
        if (end_slot >= 0) config.end = first_sample(slot(end_slot));
        if (nof_slots > 0) config.most = sample_count(nof_slots * slot_samples);
        {
            const auto holding = hold_recording();
            if (recorder_ || starting_)
                throw bad_input("a recording is running already; valid: stop it first");
            starting_ = true;
        }
        std::unique_ptr<iq::sample_recorder> made;
        std::exception_ptr failure;
        try {
            made = std::make_unique<iq::sample_recorder>(config);
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
        std::unique_ptr<iq::sample_recorder> ended;
        {
            const auto holding = hold_recording();
            ended = std::move(recorder_);
        }
        if (!ended) throw bad_input("no recording is running; valid: start one first");
        return status_of(ended->finish());
    }

protected:
    std::unique_lock<std::mutex> hold_recording() const { return std::unique_lock(mutex_); }
    std::unique_ptr<iq::sample_recorder> recorder_;  // only while holding; nullptr: none runs

private:
    static gr::wip::recording_status status_of(iq::recording r) {
        gr::wip::recording_status s;
        s.complete = r.complete;
        s.samples = r.samples;
        s.samples_lost = r.samples_lost;
        s.reports = r.reports;
        s.reports_lost = r.reports_lost;
        s.error = std::move(r.error);
        for (const auto& t : r.stretches)
            s.stretches.push_back({t.index, t.first_sample, t.later, t.lost_by_recorder});
        return s;
    }

    mutable std::mutex mutex_;
    bool starting_ = false;
};

}  // namespace wip
