// SPDX-License-Identifier: GPL-3.0-or-later
// The shared memory of one medium: what lies where, and who writes it.
//
//   [air_header][node_block x nodes][transmit FIFO, receive ring of node 0][... of node 1]...
//
// Every field has one writer: the medium (M), or the process that has claimed the node (N). All
// positions are 64-bit and never wrap; a ring index is a position modulo the ring's size. Time is
// ticks (mix/tick.h); sample [t, t+1) is released when now > t. A node whose receiver has a
// sampling clock of its own counts the samples of that clock: all times in its block are in these,
// and it has a `now` of its own.
//
// Transmit: a FIFO of samples plus a table of bursts which say when they are due, as in a USRP, so
// a burst may be far in the future without holding more memory than its samples. `state` of a burst
// is one atomic word, end position and two flags, changed by compare-and-swap: the node extends it,
// either side closes it, and no sample is ever both accepted and dropped.
// Receive: a ring indexed by sample time plus a table of windows [start, end) in which the medium
// fills it. Flags of a window say why it ended.
// Commands (tuning, gains, stream start and stop) go through a queue from the node to the medium.
// Events (burst acknowledged, underflow, late) come back in a ring that forgets the oldest.
//
// Neither side trusts the other: any process that has mapped the memory can write any of it at any
// time. So nothing in it says how large it is or what it consists of (shared_air.h keeps that in
// private memory); each side keeps its own positions; an index is a position modulo the size of its
// table; a count or a time that the other side wrote is read once, bounded, and only then used.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "air/futex.h"
#include "mix/tick.h"

namespace wip::air {

using mix::cf32;
using mix::default_frequency;
using mix::never;
using mix::sample_rate;
using mix::tick;

inline constexpr tick as_soon_as_possible = std::numeric_limits<tick>::min();

// A valid time is at most this far from the start of the clock, in ticks (297 years). Sums of two
// valid times do not overflow.
inline constexpr tick farthest_time = tick{1} << 56;
constexpr bool is_time(tick t) noexcept { return t >= -farthest_time && t <= farthest_time; }
constexpr tick bounded_time(tick t) noexcept {
    return t < -farthest_time ? -farthest_time : t > farthest_time ? farthest_time : t;
}

inline constexpr std::uint32_t layout_version = 6;
inline constexpr std::size_t max_nodes = 64;
inline constexpr std::size_t name_size = 32;
inline constexpr std::uint64_t transmit_fifo_size = std::uint64_t{1} << 18;  // 34 ms
inline constexpr std::uint64_t receive_ring_size = std::uint64_t{1} << 19;   // 68 ms

enum class clock_kind : std::uint32_t { lockstep, realtime };
enum class air_state : std::uint32_t { ready, closed };

struct air_header {
    std::atomic<air_state> state;            // M
    alignas(64) std::atomic<tick> now;       // M, released up to here
    std::atomic<std::uint32_t> running;      // M, the clock has started
    std::atomic<std::int64_t> clock_origin;  // M, CLOCK_MONOTONIC in ns of tick 0
    gate work;                               // N wakes M: a burst, a command or a claim
};

enum class command_kind : std::uint32_t {
    transmit_frequency,
    receive_frequency,
    transmit_gain,
    receive_gain,
    receive_start,  // count samples from `time`, 0 = until stopped
    receive_stop,
};
inline constexpr double phase_units = 4294967296;  // units of `count` in one turn of phase
inline constexpr command_kind last_command_kind = command_kind::receive_stop;

struct command {
    tick time;  // or as_soon_as_possible
    double value;
    std::int64_t count;  // start: samples; frequency or gain: its phase, in units of 2^-32 turns
    command_kind kind;
};

struct burst {
    tick time;                         // N, or as_soon_as_possible
    tick opened_at;                    // N, device time when it was handed over
    std::uint64_t first;               // N, position of its first sample in the FIFO
    std::atomic<std::uint64_t> state;  // N and M: end position << 3 | flags
    // N, not 0: the lockstep clock also waits for this node after the end of the burst.
    std::uint32_t hold;
};
inline constexpr std::uint64_t burst_closed = 1;   // by the node: nothing follows
inline constexpr std::uint64_t burst_refused = 2;  // by the medium: underflow or late
inline constexpr std::uint64_t burst_late = 4;     // why refused
inline constexpr int burst_flag_bits = 3;

struct window {
    tick start;                        // M
    std::atomic<tick> end;             // M, `never` while open
    std::atomic<std::uint32_t> flags;  // M
};
// The command came after its time; the window is empty.
inline constexpr std::uint32_t window_late = 1;
inline constexpr std::uint32_t window_overflow =
    2;  // the window ends where samples were lost: the node did not read in time, or a gap

enum class event_kind : std::uint32_t { burst_acknowledged, underflow, late };
struct event {
    tick time;
    event_kind kind;
};

// Copies an item that the other side may write at any time, so that the value that is checked is
// also the value that is used.
template <class Item>
Item snapshot(const Item& shared) noexcept {
    static_assert(std::is_trivially_copyable_v<Item>);
    Item copy;
    std::memcpy(&copy, &shared, sizeof copy);
    // The compiler does not read the shared memory again.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return copy;
}

template <class Item, std::size_t Size>
struct table {
    static_assert((Size & (Size - 1)) == 0);
    alignas(64) std::atomic<std::uint64_t> written;
    alignas(64) std::atomic<std::uint64_t> taken;
    Item items[Size];
    Item& at(std::uint64_t position) { return items[position % Size]; }
    static constexpr std::size_t size = Size;
};

inline constexpr std::int64_t no_process = 0, leaving_process = -1;

struct node_block {
    // The number of the process that has claimed the node. N replaces `no_process` by its number
    // (compare-and-swap), and at its end writes `leaving_process`; M writes `no_process` when it
    // has reset the node, so that no claim comes earlier.
    alignas(64) std::atomic<std::int64_t> process;
    std::atomic<std::uint32_t> claims;  // N, counts claims
    std::atomic<std::uint32_t> served;  // M, the value of `claims` up to which M has reset the node
    table<command, 256> commands;       // N -> M

    table<burst, 1024> bursts;                            // N -> M
    alignas(64) std::atomic<std::uint64_t> fifo_written;  // N
    std::atomic<std::uint64_t> wanted;  // M, FIFO position that it waits for; 0: any change
    alignas(64) std::atomic<std::uint64_t> fifo_freed;  // M
    gate room;                                          // M wakes N: FIFO, bursts, commands
    // N, ticks between handing over a sample and its time on the air.
    std::atomic<tick> transmit_latency;
    // N, not 0: the node itself decides what is late or has run dry, as a radio with control logic
    // does (vusrp/transmit_core.h). The medium then puts everything on the air that it hands over.
    // The node's counts: slots of the medium in which something was late, slots in which it ran
    // dry, and overflows.
    std::atomic<std::uint32_t> judges;
    std::atomic<std::uint64_t> judged_late, judged_dry, judged_full;
    // N: packets that were on the air at another time than their time stamp, and the distance in
    // ticks of the first of them (positive: late).
    std::atomic<std::uint64_t> displaced;
    std::atomic<tick> displaced_by;

    table<window, 256> windows;          // M -> N; more than there can be gaps within a ring
    alignas(64) std::atomic<tick> read;  // N, samples before this are consumed
    alignas(64) std::atomic<tick> receive_wanted;  // N, the tick that it waits for
    gate samples;                                  // M wakes N

    table<event, 256> events;  // M -> N
    gate happened;             // M wakes N

    std::atomic<std::uint64_t> underflows, lates, overflows;  // M

    alignas(64) std::atomic<tick> now;  // M, header.now as the node's own clock counts it
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<tick>::is_always_lock_free);

}  // namespace wip::air
