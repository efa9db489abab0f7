// SPDX-License-Identifier: GPL-3.0-or-later
// A peer_link between two processes of one machine: a ring in shared memory each way, an eventfd as
// the bell of each end, and a Unix socket (shm://PATH) over which they meet and notice each other's
// end. One wake-up per message at most, none while the other end is awake, no thread.
//
//   connecting end                      binding end
//   connect()
// "FWIPRING", version, its bell  -->
//                                  <--  "FWIPRING", version, memory, its bell
//   ... rings ...                       ... rings ...
//   end of file on the socket: the other process has ended, however it ended
//
// The binding end takes one partner at a time; others are turned away while it is there. The
// connecting end tries again until it succeeds, and again after a loss. The memory is sealed
// against shrinking (no SIGBUS). The socket file's mode decides who may come, and each end asks the
// kernel who the other one is: root and its own user are let in, others are turned away.
// Silence: when nothing has moved for a quarter of it, a ping goes out, which the other end's
// receive() answers.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "peer/endpoint.h"
#include "peer/local_socket.h"
#include "peer/message_ring.h"
#include "peer/peer_link.h"
#include "types/descriptor.h"
#include "types/failure.h"

namespace wip::peer {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t magic = 0x474E495250495746;  // "FWIPRING", little endian
constexpr std::uint32_t version = 1;
constexpr auto retry_every = 20ms;
constexpr int sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

int checked(int fd, const char* what) {
    if (fd < 0) throw machine_error(what, errno);
    return fd;
}

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

    void listen_on(const std::string& path, const std::string& what);
    void poll_for(int fd);
    void try_to_connect();
    void accept_partner();
    void on_greeting();
    bool send_greeting(int memory);
    bool establish(int memory, descriptor bell);
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
    clock::time_point last_heard_, last_ping_;
    std::uint64_t last_taken_ = 0;  // the partner's position at the last check of its silence
};

struct ring_link::greeting {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t descriptors;
};

bool ring_link::mapping::map(int fd) {
    unmap();
    struct stat info {};
    if (::fstat(fd, &info) != 0 || info.st_size != static_cast<off_t>(sizeof(shared)) ||
        (::fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK) == 0)
        return false;
    void* p = ::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) return false;
    shared_ = static_cast<shared*>(p);
    return true;
}

void ring_link::mapping::unmap() noexcept {
    if (shared_ != nullptr) ::munmap(shared_, sizeof(shared));
    shared_ = nullptr;
}

ring_link::ring_link(const link_config& config)
    : config_(config),
      path_(socket_path(config.endpoint)),
      bell_(checked(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd")),
      events_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
      timer_(checked(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC),
                     "timerfd_create")) {
    const std::string what = "endpoints." + config.name + " is " + config.endpoint + ": ";
    if (path_.empty() || path_.size() > longest_socket_path)
        throw bad_input(what + "its path has " + std::to_string(path_.size()) +
                        " characters; valid: 1.." + std::to_string(longest_socket_path));
    poll_for(timer_.get());
    if (config.which == end::bind)
        listen_on(path_, what);
    else
        try_to_connect();
}

ring_link::~ring_link() {
    if (listener_.valid()) ::unlink(path_.c_str());
}

void ring_link::listen_on(const std::string& path, const std::string& what) {
    check_free(path, what);
    ::unlink(path.c_str());  // the socket of a process that is gone
    listener_ = make_local_socket();
    const auto address = address_of(path);
    // The group may connect: in a cell's folder that of the cell's account.
    const mode_t before = ::umask(0117);
    const bool bound =
        ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        ::listen(listener_.get(), 8) == 0;
    const int error = errno;
    ::umask(before);
    if (!bound) {
        listener_.close();
        throw bad_input(what + std::strerror(error));
    }
    poll_for(listener_.get());
}

// A descriptor leaves the set when it is closed.
void ring_link::poll_for(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    checked(::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

void ring_link::arm_timer(std::chrono::milliseconds every) {
    itimerspec t{};
    t.it_value.tv_nsec = t.it_interval.tv_nsec = every.count() * 1'000'000;
    ::timerfd_settime(timer_.get(), 0, &t, nullptr);
}

void ring_link::try_to_connect() {
    partner_ = connect_to(path_);
    const bool reached = partner_.valid();
    const bool stranger = reached && !is_own_or_root(process_at(partner_.get()).user);
    if (stranger) ++malformed_messages;
    if (!reached || stranger || !send_greeting(-1)) {
        partner_.close();
        arm_timer(retry_every);
        return;
    }
    arm_timer(0ms);
    poll_for(partner_.get());
}

// Sends the greeting with the descriptor of the bell, and from the binding end that of the memory.
bool ring_link::send_greeting(int memory) {
    const greeting hello{magic, version, memory < 0 ? 1U : 2U};
    const auto bytes = std::as_bytes(std::span(&hello, 1));
    return memory < 0 ? send_message(partner_.get(), bytes, {bell_.get()})
                      : send_message(partner_.get(), bytes, {bell_.get(), memory});
}

void ring_link::accept_partner() {
    for (;;) {
        descriptor fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!fd.valid()) return;
        if (connected_ || !is_own_or_root(process_at(fd.get()).user)) {  // turned away
            ++malformed_messages;
            continue;
        }
        // A process that connects and sends nothing is replaced by the next one.
        partner_ = std::move(fd);
        poll_for(partner_.get());
    }
}

// Handles the partner's greeting, or its end of file.
void ring_link::on_greeting() {
    greeting hello{};
    std::vector<descriptor> descriptors;
    const auto n = receive_message(partner_.get(), std::as_writable_bytes(std::span(&hello, 1)),
                                   descriptors, 2);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    descriptors.resize(2);
    descriptor bell = std::move(descriptors[0]), memory = std::move(descriptors[1]);
    const bool binds = config_.which == end::bind;
    bool good = n == sizeof hello && hello.magic == magic && hello.version == version &&
                bell.valid() && memory.valid() != binds;
    if (good && binds) {
        memory = descriptor(checked(::memfd_create("openwip-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING),
                                    "memfd_create"));
        good = ::ftruncate(memory.get(), sizeof(shared)) == 0 &&
               ::fcntl(memory.get(), F_ADD_SEALS, sealed) == 0;
    }
    good =
        good && establish(memory.get(), std::move(bell)) && (!binds || send_greeting(memory.get()));
    if (good) {
        connected_ = true;
        last_heard_ = last_ping_ = clock::now();
        if (config_.silence > 0ms) arm_timer(std::min(config_.silence / 4, 250ms));
        return;
    }
    if (n > 0) ++malformed_messages;
    lose();
}

bool ring_link::establish(int memory, descriptor bell) {
    partner_bell_ = std::move(bell);
    // A bell that is no eventfd could block this process, so it is made non-blocking before it is
    // written to.
    const int flags = ::fcntl(partner_bell_.get(), F_GETFL);
    if (flags < 0 || ::fcntl(partner_bell_.get(), F_SETFL, flags | O_NONBLOCK) != 0) return false;
    reader_.reset();
    writer_.reset();
    if (!memory_.map(memory)) return false;
    auto& s = *memory_.get();
    const bool binds = config_.which == end::bind;
    writer_.emplace(binds ? s.down : s.up);
    reader_.emplace(binds ? s.up : s.down);
    last_taken_ = 0;
    return true;
}

// Closes the connection. Messages that the other end had written can still be read.
void ring_link::lose() {
    connected_ = false;
    partner_.close();
    partner_bell_.close();
    writer_.reset();
    if (config_.which == end::connect)
        arm_timer(retry_every);
    else
        arm_timer(0ms);
}

bool ring_link::watch() {
    std::uint64_t expirations = 0;
    const bool tick = ::read(timer_.get(), &expirations, sizeof expirations) == sizeof expirations;
    bool lost = false;
    if (connected_) {
        char byte;  // after the greeting only the end of the connection comes
        const auto n = ::recv(partner_.get(), &byte, 1, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) ||
            (config_.silence > 0ms && check_silence())) {
            lose();
            lost = true;
        }
    }
    if (listener_.valid()) accept_partner();
    if (tick && config_.which == end::connect && !partner_.valid()) try_to_connect();
    if (!connected_ && partner_.valid()) on_greeting();
    return lost && !connected_;
}

// True: the other end does not even answer a ping.
bool ring_link::check_silence() {
    const auto now = clock::now();
    if (const auto taken = writer_->taken(); taken != last_taken_) {
        last_taken_ = taken;
        last_heard_ = now;
    }
    if (now - last_heard_ > config_.silence) return true;
    if (now - std::max(last_heard_, last_ping_) > config_.silence / 4) {
        last_ping_ = now;
        put(ring_kind::ping, {});
    }
    return false;
}

bool ring_link::put(ring_kind kind, std::span<const std::uint8_t> bytes, bool can_wait) {
    if (!writer_ || !writer_->write(kind, bytes)) return false;
    if (writer_->must_ring(can_wait)) {
        const std::uint64_t one = 1;
        // Full counter: it rings already.
        (void)!::write(partner_bell_.get(), &one, sizeof one);
    }
    return true;
}

bool ring_link::send(std::span<const std::uint8_t> message, bool can_wait) {
    return connected_ && put(ring_kind::message, message, can_wait);
}

bool ring_link::receive(std::span<const std::uint8_t>& out) {
    while (reader_) {
        ring_kind kind{};
        switch (reader_->read(kind, in_)) {
            case ring_reader::outcome::nothing:
                return false;
            case ring_reader::outcome::damaged:
                ++malformed_messages;
                reader_.reset();
                // The line is useless: its end is seen like that of a death.
                if (partner_.valid()) ::shutdown(partner_.get(), SHUT_RDWR);
                return false;
            case ring_reader::outcome::got:
                break;
        }
        if (config_.silence > 0ms) last_heard_ = clock::now();
        if (kind == ring_kind::message) {
            out = in_;
            return true;
        }
        if (kind == ring_kind::ping)
            put(ring_kind::pong, {});
        else if (kind != ring_kind::pong)
            ++malformed_messages;
    }
    return false;
}

// Called before this end sleeps on its bell: tells the other end to ring it. False: something may
// have come already.
bool ring_link::rest(bool for_urgent_only) {
    return !reader_ || reader_->rest(for_urgent_only ? sleep::for_urgent : sleep::for_any);
}

// Called after the sleep: the other end need not ring any more, and the bell is emptied.
void ring_link::rise(bool readable) {
    if (reader_) reader_->rise();
    std::uint64_t count = 0;
    if (readable) (void)!::read(bell_.get(), &count, sizeof count);
}

}  // namespace

std::unique_ptr<peer_link> make_ring_link(const link_config& config) {
    return std::make_unique<ring_link>(config);
}

}  // namespace wip::peer
