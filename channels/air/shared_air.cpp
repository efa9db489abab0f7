// SPDX-License-Identifier: GPL-3.0-or-later
#include "air/shared_air.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "peer/local_socket.h"
#include "types/failure.h"

namespace wip::air {
namespace {

constexpr std::uint64_t magic = 0x4F57495041495221;  // "OWIPAIR!"
constexpr int sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr std::size_t most_connections = 256;
constexpr auto other_build = ": build medium and radios from one tree, and start them anew";
constexpr int answer_ms = 1000;                           // the longest wait for a medium's answer
constexpr double fastest = 1e6;                           // times the wall clock
constexpr std::int64_t most_clock_parts = 1'000'000'000;  // in 1e-12: 1000 ppm

constexpr std::size_t page(std::size_t n) { return (n + 4095) & ~std::size_t{4095}; }
constexpr std::size_t head_bytes(std::size_t nodes) {
    return page(page(sizeof(air_header)) + nodes * page(sizeof(node_block)));
}
constexpr std::size_t node_sample_bytes = (transmit_fifo_size + receive_ring_size) * sizeof(cf32);

// Whether the file has that size and is sealed against a change of it: nobody can truncate what is
// mapped.
bool has_sealed_size(int fd, std::size_t bytes) {
    struct stat found {};
    return ::fstat(fd, &found) == 0 && found.st_size == static_cast<off_t>(bytes) &&
           (::fcntl(fd, F_GET_SEALS) & sealed) == sealed;
}

}  // namespace

// The description that is sent with the memory's descriptor. `magic` and `version` stay its first
// fields in every version.
struct shared_air::description {
    struct one_node {
        char name[name_size];
        std::int64_t clock_parts;
    };
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t nodes;
    clock_kind clock;
    std::uint32_t reserved;
    double speed;
    one_node node[max_nodes];
};

std::string shared_air::path(const std::string& name) { return socket_of(::geteuid(), name); }

bool shared_air::valid_name(const std::string& name) {
    return !name.empty() && name.size() < name_size &&
           name.find_first_not_of(
               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
               "_.-") == std::string::npos;
}

shared_air::shared_air(const std::vector<std::string>& nodes, clock_kind clock, double speed)
    : clock_(clock), speed_(speed) {
    if (nodes.size() > max_nodes)
        throw std::invalid_argument("a medium of " + std::to_string(nodes.size()) +
                                    " nodes is asked for; valid: up to " +
                                    std::to_string(max_nodes));
    for (const std::string& name : nodes) nodes_.push_back({name, 0});
}

std::unique_ptr<shared_air> shared_air::create(const std::string& name,
                                               const std::vector<std::string>& nodes,
                                               clock_kind clock, double speed) {
    std::unique_ptr<shared_air> air(new shared_air(nodes, clock, speed));
    air->name_.emplace(name);
    air->label_ = name;
    air->file_ = descriptor(
        ::memfd_create(("openwip-air-" + name).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!air->file_.valid())
        throw machine_error("cannot make the shared memory of the medium (memfd_create)", errno);
    const int fd = air->file_.get();
    if (const int error = ::posix_fallocate(fd, 0, static_cast<off_t>(air->bytes())))
        throw machine_error(
            "cannot take " + std::to_string(air->bytes() >> 20) + " MiB of memory for the medium",
            error);
    if (::fcntl(fd, F_ADD_SEALS, sealed) != 0)
        throw machine_error("cannot seal the shared memory of the medium (F_ADD_SEALS)", errno);
    air->map(MAP_SHARED | MAP_POPULATE, fd);
    air->build();
    return air;
}

std::unique_ptr<shared_air> shared_air::create_private(const std::vector<std::string>& nodes,
                                                       clock_kind clock, double speed) {
    std::unique_ptr<shared_air> air(new shared_air(nodes, clock, speed));
    air->map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    air->build();
    return air;
}

std::size_t shared_air::bytes() const noexcept {
    return head_bytes(nodes()) + nodes() * node_sample_bytes;
}

void shared_air::map(int flags, int fd) {
    void* p = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, flags, fd, 0);
    if (p == MAP_FAILED)
        throw machine_error("cannot map the shared memory of the medium (mmap)", errno);
    memory_ = p;
}

// Constructs the structures in the memory, which the kernel has zeroed.
void shared_air::build() {
    new (memory_) air_header{};
    for (std::size_t i = 0; i < nodes(); ++i) new (&node(i)) node_block{};
}

shared_air::description shared_air::describe() const {
    description d{};
    d.magic = magic;
    d.version = layout_version;
    d.nodes = static_cast<std::uint32_t>(nodes());
    d.clock = clock_;
    d.speed = speed_;
    for (std::size_t i = 0; i < nodes(); ++i) {
        std::strncpy(d.node[i].name, nodes_[i].name.c_str(), name_size - 1);
        d.node[i].clock_parts = nodes_[i].clock_parts;
    }
    return d;
}

void shared_air::open(const std::optional<os::account>& also) {
    // The kernel's overflow uid stands for every account that is not mapped in this user namespace,
    // so it gets no access.
    const bool shared = also && also->uid != 0 && also->uid != os::overflow_user;
    listener_ = name_->listen(shared ? std::optional(also->gid) : std::nullopt);
    wake_ = descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake_.valid())
        throw machine_error("cannot make the wake-up of the medium (eventfd)", errno);
    sigset_t all, before;  // signals are for the program's own threads
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    std::vector<uid_t> users{0, ::geteuid()};  // this process may become another user
    if (shared) users.push_back(also->uid);
    server_thread_ =
        std::jthread([this, users](const std::stop_token& over) { serve(over, users); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void shared_air::serve(const std::stop_token& over, const std::vector<uid_t>& allowed) {
    const description received = describe();
    std::vector<descriptor> users;
    std::vector<pollfd> watched;
    while (!over.stop_requested()) {
        watched.assign({{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}});
        for (const descriptor& user : users) watched.push_back({user.get(), POLLIN, 0});
        if (::poll(watched.data(), watched.size(), -1) < 0) continue;
        // After the greeting, the only event of a connection is its end.
        for (std::size_t i = users.size(); i-- > 0;)
            if (watched[i + 2].revents != 0)
                users.erase(users.begin() + static_cast<std::ptrdiff_t>(i));
        if ((watched[0].revents & POLLIN) == 0) continue;
        descriptor user(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!user.valid()) {
            // This process is probably out of descriptors; the client tries again.
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) ::poll(nullptr, 0, 10);
            continue;
        }
        if (std::ranges::find(allowed, peer::process_at(user.get()).user) == allowed.end()) {
            refused_.fetch_add(1);
            continue;
        }
        if (users.size() < most_connections &&
            peer::send_message(user.get(), std::as_bytes(std::span(&received, 1)), {file_.get()}))
            users.push_back(std::move(user));
    }
}

std::unique_ptr<shared_air> shared_air::attach(const std::string& name) {
    descriptor connection = meet(name);
    if (!connection.valid()) return nullptr;
    pollfd answer{connection.get(), POLLIN, 0};
    if (::poll(&answer, 1, answer_ms) <= 0) return nullptr;
    description received{};
    std::vector<descriptor> received_files;
    const std::ptrdiff_t size = peer::receive_message(
        connection.get(), std::as_writable_bytes(std::span(&received, 1)), received_files, 1);
    if (size <= 0) return nullptr;  // the medium has ended meanwhile
    std::unique_ptr<shared_air> air(new shared_air);
    air->label_ = name;
    air->take(name, received, size);
    if (received_files.size() != 1 || !has_sealed_size(received_files[0].get(), air->bytes()))
        throw peer_error("medium '" + name + "' passed no sealed shared memory of " +
                         std::to_string(air->bytes()) + " bytes" + other_build);
    air->map(MAP_SHARED | MAP_POPULATE, received_files[0].get());
    air->connection_ = std::move(connection);
    if (air->header().state.load() != air_state::ready) return nullptr;
    return air;
}

void shared_air::take(const std::string& name, const description& received, std::ptrdiff_t size) {
    const auto has_first_fields =
        size >=
        static_cast<std::ptrdiff_t>(offsetof(description, version) + sizeof received.version);
    if (!has_first_fields || received.magic != magic)
        throw peer_error("what listens as medium '" + name + "' is no medium");
    if (received.version != layout_version)
        throw peer_error("medium '" + name + "' has layout version " +
                         std::to_string(received.version) + ", this module has " +
                         std::to_string(layout_version) + other_build);
    const auto refuse = [&name](const std::string& what) {
        throw peer_error("medium '" + name + "' sent a description with " + what + other_build);
    };
    if (size != sizeof received)
        refuse(std::to_string(size) + " bytes; valid: " + std::to_string(sizeof received));
    if (received.nodes > max_nodes)
        refuse(std::to_string(received.nodes) + " nodes; valid: at most " +
               std::to_string(max_nodes));
    if (received.clock != clock_kind::lockstep && received.clock != clock_kind::realtime)
        refuse("clock " + std::to_string(static_cast<std::uint32_t>(received.clock)));
    if (!(received.speed >= 0 && received.speed <= fastest))
        refuse("speed " + std::to_string(received.speed));
    clock_ = received.clock;
    speed_ = received.speed;
    for (std::size_t i = 0; i < received.nodes; ++i) {
        const description::one_node& n = received.node[i];
        const std::string node(n.name, ::strnlen(n.name, name_size));
        if (!valid_name(node)) refuse("the name of node " + std::to_string(i));
        if (n.clock_parts < -most_clock_parts || n.clock_parts > most_clock_parts)
            refuse("the clock of node '" + node + "'");
        nodes_.push_back({node, n.clock_parts});
    }
}

bool shared_air::connected() const noexcept {
    if (!connection_.valid()) return true;
    pollfd end{connection_.get(), POLLIN, 0};
    return ::poll(&end, 1, 0) <= 0;
}

shared_air::~shared_air() {
    if (memory_ != nullptr && name_) header().state.store(air_state::closed);
    if (server_thread_.joinable()) {
        server_thread_.request_stop();
        const std::uint64_t one = 1;
        (void)!::write(wake_.get(), &one, sizeof one);
        server_thread_.join();
    }
    if (memory_ != nullptr) ::munmap(memory_, bytes());
}

node_block& shared_air::node(std::size_t i) {
    return *reinterpret_cast<node_block*>(static_cast<char*>(memory_) + page(sizeof(air_header)) +
                                          i * page(sizeof(node_block)));
}

cf32* shared_air::transmit_fifo(std::size_t i) {
    return reinterpret_cast<cf32*>(static_cast<char*>(memory_) + head_bytes(nodes()) +
                                   i * node_sample_bytes);
}

cf32* shared_air::receive_ring(std::size_t i) { return transmit_fifo(i) + transmit_fifo_size; }

}  // namespace wip::air
