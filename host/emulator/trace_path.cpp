// SPDX-License-Identifier: GPL-3.0-or-later
// A recorded network (delivery/delivery_link.h) as a link. Its files are texts that come from
// anybody: a regular file of bounded size, of which nothing is taken but numbers in range.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "delivery/delivery_link.h"
#include "emulator/link_pair.h"
#include "emulator/throttling_profile.h"
#include "settings/configuration.h"
#include "types/descriptor.h"

namespace wip::emulator {
namespace {

using delivery::delivery_config;
using delivery::delivery_link;
using openwip::control::MacStatus;

constexpr std::size_t largest_file = std::size_t{256} << 20;  // bytes

std::string content_of(const std::string& file) {
    const descriptor fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    struct stat info {};
    if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0)
        throw std::invalid_argument(std::string("cannot be read: ") + std::strerror(errno));
    if (!S_ISREG(info.st_mode)) throw std::invalid_argument("is no regular file");
    std::string text(largest_file + 1 < static_cast<std::size_t>(info.st_size)
                         ? largest_file + 1
                         : static_cast<std::size_t>(info.st_size),
                     '\0');
    if (text.size() > largest_file)
        throw std::invalid_argument("has more than " + std::to_string(largest_file >> 20) + " MiB");
    std::size_t size = 0;
    while (size < text.size()) {
        const auto taken = ::read(fd.get(), text.data() + size, text.size() - size);
        if (taken < 0 && errno == EINTR) continue;
        if (taken < 0)
            throw std::invalid_argument(std::string("cannot be read: ") + std::strerror(errno));
        if (taken == 0) break;
        size += static_cast<std::size_t>(taken);
    }
    text.resize(size);
    return text;
}

// Runs `read` on the content of a file. An error that it throws gets the names of the setting and
// of the file.
template <class Read>
void read_file(const char* key, const std::string& file, Read read) {
    try {
        read(content_of(file));
    } catch (const std::invalid_argument& e) {
        throw config::error(std::string(key) + " = " + file + ": " + e.what());
    }
}

void take_profile(const throttling_profile& p, bool uplink, delivery_config& to) {
    to.rate_kbps = uplink ? p.up_kbps : p.down_kbps;
    to.delay_ms += p.round_trip_ms / 2;
    to.loss = p.loss;
    if (p.queue_packets > 0) to.queue_packets = p.queue_packets;
}

delivery_config config_of(const trace_path_config& c, bool uplink) {
    const auto& files = uplink ? c.up : c.down;
    delivery_config d;
    d.delay_ms = c.delay_ms;
    d.queue_packets = files.queue_packets;
    d.queue = files.queue;
    d.seed = c.seed;
    const char* file_key =
        uplink && c.up.file != c.down.file ? config::name::trace_up_file : config::name::trace_file;
    const char* light_key = uplink && c.up.light_file != c.down.light_file
                                ? config::name::trace_up_light_file
                                : config::name::trace_light_file;
    read_file(file_key, files.file, [&](const std::string& text) {
        if (is_throttling_profile(text))
            take_profile(read_throttling_profile(text), uplink, d);
        else
            d.trace = delivery::read_delivery_trace(text);
    });
    if (files.light_file.empty()) return d;
    read_file(light_key, files.light_file, [&](const std::string& text) {
        if (!d.trace.trains.empty())
            throw std::invalid_argument(std::string("the trace of ") + file_key +
                                        " has base delays already; valid: without " + light_key +
                                        ", or a trace without base delays");
        auto light = delivery::read_delivery_trace(text);
        if (light.trains.empty())
            throw std::invalid_argument(
                "line 1 has one number; valid: lines of a time, a base delay and opportunities");
        d.trace.trains = std::move(light.trains);
    });
    return d;
}

class trace_path final : public link_pair {
public:
    explicit trace_path(const trace_path_config& c)
        : delay_ms_(c.delay_ms),
          given_down_(config_of(c, false)),
          given_up_(config_of(c, true)),
          down_(given_down_, false),
          up_(given_up_, true) {}
    packet_link& downlink() override { return down_; }
    packet_link& uplink() override { return up_; }
    void fill_base(MacStatus& status) const override {
        status.mutable_base()->set_payload_bits_acknowledged(8 * down_.sums().delivered.bytes);
        fill(down_, status);
    }
    void fill_terminal(MacStatus& status) const override { fill(up_, status); }
    void apply(const emulator_config& wanted, std::int64_t now_ns) override;
    void follow_packets(const packet_fn& take) override {
        down_.follow(take);
        up_.follow(take);
    }

private:
    static void fill(const delivery_link& link, MacStatus& status) {
        auto& recorded_status = *status.mutable_recorded();
        const std::int64_t now_ns = link.now_ns();
        if (now_ns > 0)
            recorded_status.set_mean_rate_bps(link.capacity_bits(now_ns) /
                                              (static_cast<double>(now_ns) * 1e-9));
        recorded_status.set_base_delay_ms(link.base_delay_ms(now_ns));
    }

    double delay_ms_;
    delivery_config given_down_, given_up_;
    delivery_link down_, up_;
};

// A profile's round trip stays beside the delay that is set.
void trace_path::apply(const emulator_config& wanted, std::int64_t /*now_ns*/) {
    const double more_ms = wanted.recorded.delay_ms - delay_ms_;
    down_.set_delay(given_down_.delay_ms + more_ms);
    up_.set_delay(given_up_.delay_ms + more_ms);
    down_.set_queue(wanted.recorded.down.queue);
    up_.set_queue(wanted.recorded.up.queue);
}

}  // namespace

std::unique_ptr<link_pair> make_trace_links(const emulator_config& config) {
    try {
        return std::make_unique<trace_path>(config.recorded);
    } catch (const std::invalid_argument& e) {
        throw config::error(std::string(config::name::trace_file) + " = " +
                            config.recorded.down.file + ": " + e.what());
    }
}

}  // namespace wip::emulator
