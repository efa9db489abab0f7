// SPDX-License-Identifier: GPL-3.0-or-later
// The medium: one thread that releases sample time.
//
// Lockstep: the next quantum is released when every open burst has been written to its end (a
// transmitter whose burst has not begun or has ended does not hold the clock), every open receive
// window has room, and the wall clock has reached origin + tick/(rate speed); behind schedule it
// runs at full speed. So nothing is ever late, and nothing is lost. Samples are computed up to
// `lookahead_quanta` quanta before they are released, as soon as the transmitters have written
// them: the channel costs no latency. A command that changes what has been computed but not
// released makes the medium compute it again from there (every model is a function of the sample
// index). Realtime: the clock runs with the wall clock. A burst that comes after its time is
// refused (late), one that runs dry is cut off (underflow), a receiver that does not read loses
// samples (overflow): as on a USRP.
//
// A node with a sampling clock of its own lives in its own time: positions in its windows and
// rings, times of its commands and its device time count its samples; the mixer converts.
//
// A change of the channel, of the noise or of a blackout (mixer.h) is prepared by the thread that
// requests it and takes effect at the first slot boundary that is at least a slot away and has not
// been computed: nothing is computed again, and the time of the change is known before it comes.
//
// The clock starts when as many transmitters have opened a burst, and as many receivers a window,
// as medium_config::wait_transmitters and wait_receivers say.
//
// The medium does not trust a node. A command or burst with a value that no radio has is refused
// and counted. A node whose counters exceed its tables is treated as detached until another process
// claims it, and the reason is reported: whatever a node writes, the medium goes on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "air/medium_config.h"
#include "air/process_watch.h"
#include "air/receive_queue.h"
#include "air/shared_air.h"
#include "air/transmit_queue.h"
#include "mix/change_door.h"
#include "os/pacing.h"

namespace wip::air {

using medium_change = mix::mixer_change;
using medium_changes = mix::mixer_changes;
using mix::mixer;
using mix::node_tuning;
using mix::tuning;

struct node_status {
    std::string name;
    std::int64_t process = 0;  // 0: no process has attached to it
    bool transmits = false, receives = false;
    std::uint64_t refused = 0;  // commands and bursts with values that no radio has
};

struct medium_status {
    tick now = 0;
    double wall_seconds = 0;
    double real_time_factor = 0;
    os::pacing_summary pacing;
    std::uint64_t late = 0, underflows = 0, overflows = 0;
    // Since the start, of all nodes that check the time of their packets (node_block::displaced).
    std::uint64_t packets_at_wrong_time = 0;
    std::vector<node_status> nodes;
};

class medium {
public:
    // `say` gets one line at a time: waiting, started, node attached or detached.
    medium(shared_air& air, const medium_config& config,
           std::function<void(const std::string&)> say);

    // Runs until stop(), and returns an empty string; or until a node dies or its samples are on
    // the air at another time than their time stamp (unless stations_may_die), and returns a
    // sentence about that.
    std::string run();
    void stop() noexcept;  // any thread, also a signal handler

    // Any thread, one at a time: waits until the medium has taken the change, and returns the tick
    // from which it holds, a slot boundary; nullopt: the medium does not run, and nothing has
    // changed.
    std::optional<tick> change(medium_changes c);

    medium_status status();  // any thread
    void reset_counters();   // any thread: pacing, late, underflows, overflows, factor

private:
    void serve();
    void serve_claim(std::size_t i);
    void serve_commands(std::size_t i);
    void serve_bursts(std::size_t i);
    // Withdraws everything that the node has requested.
    void detach(std::size_t i);
    void refuse_node(std::size_t i, const std::string& why);
    void refuse_values(std::size_t i, const std::string& what, int count = 1);
    void changed_from(tick time) noexcept;
    void lose_samples(std::size_t i, tick from, tick to);
    std::string find_dead();
    std::string find_displaced();
    bool ready_to_start();
    bool something_new() const;
    bool can_compute(tick to) const;
    void compute(tick to);
    bool step_lockstep(tick target);
    bool step_realtime(tick target);
    void release(tick target);
    bool anything_active() const;
    std::int64_t due(tick t) const noexcept;  // CLOCK_MONOTONIC, ns

    shared_air& air_;
    air_header& header_;
    medium_config config_;
    std::function<void(const std::string&)> say_;
    mixer mixer_;
    std::vector<transmit_reader> transmitters_;
    std::vector<receive_writer> receivers_;
    std::vector<node_tuning> tunings_;
    std::vector<const mix::sample_source*> sources_;  // the transmitters, for the mixer
    // State of a node that the medium keeps outside of the shared memory, which the node can write.
    struct node_state {
        std::uint32_t claims = 0;          // the claim that is served
        std::uint64_t commands_taken = 0;  // commands taken from that claim
        bool refused = false;              // detached until the next claim, for wrong counters
        std::uint64_t displaced = 0;       // value of node_block::displaced when it was reported
        process_watch watch;
        std::atomic<std::uint64_t> malformed{0};  // values that were refused, for status
    };
    std::vector<node_state> known_;  // one for each node
    struct loss {
        sample_model::event_times times;
        tick length;
    };
    std::vector<std::vector<loss>> losses_;  // [node]: its gaps, in the time of its own clock
    std::vector<cf32> scratch_;
    std::vector<std::atomic<std::uint32_t>> activity_;  // for status: bit 0 tx, bit 1 rx
    tick now_ = 0;                                      // released
    tick computed_ = 0;  // samples before it have been written into the rings
    bool started_ = false;
    std::int64_t origin_ = 0;
    std::atomic<tick> released_{0};              // now_, for status
    std::atomic<std::int64_t> clock_origin_{0};  // origin_, for status; 0: it has not started
    std::string waiting_for_;
    std::atomic<bool> stop_{false};
    mix::change_door changes_;
    os::pacing pacing_;
    std::atomic<tick> reset_tick_{0};
    std::atomic<std::int64_t> reset_wall_{0};
    struct counters {
        std::uint64_t late = 0, underflows = 0, overflows = 0;
    };
    counters count() const;
    std::atomic<std::uint64_t> base_late_{0}, base_underflows_{0}, base_overflows_{0};
};

}  // namespace wip::air
