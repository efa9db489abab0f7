// SPDX-License-Identifier: GPL-3.0-or-later
// A peer_link between two processes of one machine: a ring in shared memory each way, an eventfd as
// the bell of each end, and a Unix socket (shm://PATH) as the place to meet and the line that tells
// of a death. One wake-up per message at most, none while the other end is awake, no thread.
//
//   connecting end                      binding end
//   connect()
//   "OWIPRING", version, its bell  -->
//                                  <--  "OWIPRING", version, memory, its bell
//   ... rings ...                       ... rings ...
//   end of file on the socket: the other end has gone, whatever ended it
//
// The binding end takes one partner at a time; others are turned away while it is there. The
// connecting end tries again until it succeeds, and again after a loss. The memory is sealed
// against shrinking (no SIGBUS); the socket file's mode decides who may come.
// Silence: when nothing has moved for a quarter of it, a ping goes out, which the other end's
// receive() answers.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "peer/message_ring.h"
#include "peer/peer_link.h"

namespace wip::peer {

class ring_link final : public peer_link {
public:
    explicit ring_link(const link_config& config);  // throws bad_input
    ~ring_link() override;
    ring_link(const ring_link&) = delete;
    ring_link& operator=(const ring_link&) = delete;

    int message_fd() const override { return bell_.get(); }
    int connection_fd() const override { return events_.get(); }
    bool connected() const override { return connected_; }
    bool watch() override;
    bool receive(std::span<const std::uint8_t>& out) override;
    bool send(std::span<const std::uint8_t> message, bool can_wait) override;
    bool rest(bool for_urgent_only) override;
    void rise(bool readable) override;

private:
    using clock = std::chrono::steady_clock;

    class descriptor {
    public:
        descriptor() = default;
        explicit descriptor(int fd) : fd_(fd) {}
        descriptor(descriptor&& other) noexcept : fd_(other.release()) {}
        descriptor& operator=(descriptor&& other) noexcept {
            if (this != &other) reset(other.release());
            return *this;
        }
        ~descriptor() { reset(); }
        int get() const noexcept { return fd_; }
        explicit operator bool() const noexcept { return fd_ >= 0; }
        int release() noexcept {
            const int fd = fd_;
            fd_ = -1;
            return fd;
        }
        void reset(int fd = -1) noexcept;

    private:
        int fd_ = -1;
    };
    // Both rings: the binding end writes `down` and reads `up`.
    struct shared {
        ring_memory down, up;
    };
    class mapping {
    public:
        mapping() = default;
        ~mapping() { unmap(); }
        bool map(int fd);
        void unmap() noexcept;
        shared* get() const noexcept { return shared_; }

    private:
        shared* shared_ = nullptr;
    };
    struct greeting;
    struct envelope;

    void listen_on(const std::string& path, const std::string& what);
    void poll_for(int fd);
    void try_to_connect();
    void accept_partner();
    void on_greeting();
    bool send_greeting(int memory);
    bool establish(int memory, int bell);
    void lose();
    void arm_timer(std::chrono::milliseconds every);
    bool check_silence();
    bool put(ring_kind kind, std::span<const std::uint8_t> bytes, bool can_wait = false);

    link_config config_;
    std::string path_;
    descriptor bell_, events_, timer_, listener_;
    descriptor partner_;  // the socket to the other end, from connect() or accept() on
    descriptor partner_bell_;
    bool connected_ = false;
    mapping memory_;
    std::optional<ring_writer> writer_;
    std::optional<ring_reader> reader_;
    std::vector<std::uint8_t> in_;
    clock::time_point heard_, asked_;
    std::uint64_t taken_ = 0;
};

}  // namespace wip::peer
