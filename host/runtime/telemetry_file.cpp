// SPDX-License-Identifier: GPL-3.0-or-later
#include "runtime/telemetry_file.h"

#include <cerrno>

#include "types/failure.h"
#include "types/grid.h"
#include "types/slot_time.h"

namespace wip::host {
namespace {

void append_number(std::string& out, std::uint64_t value, int bytes) {
    while (bytes-- > 0) out.push_back(static_cast<char>(value >> (8 * bytes)));
}

void append_part(std::string& out, std::string_view part) {
    append_number(out, part.size(), 4);
    out += part;
}

}  // namespace

telemetry_file::file telemetry_file::open(const std::string& path) {
    std::FILE* f = std::fopen(path.c_str(), "wb");
    if (f == nullptr) throw machine_error(path, errno);
    return {f, [](std::FILE* p) { std::fclose(p); }};
}

telemetry_file::telemetry_file(file to, std::string source, const telemetry_rates& rates)
    : file_(std::move(to)), source_(std::move(source)) {
    const auto set = [this](topic t, int n) { every_[index(t)] = n; };
    set(topic::status, slots_per_second / 10);
    set(topic::slot, rates.slot_every);
    set(topic::receiver, rates.receiver_every);
    set(topic::packet, 1);
    set(topic::event, slots_per_second / 10);
}

void telemetry_file::publish(topic t, slot now, int user) {
    const auto at = static_cast<std::uint64_t>(slot_start_ns(now));
    auto& message = messages_[index(t)];
    message.set_sequence(++sequences_[index(t)]);
    message.set_slot(now.value);
    message.set_version(openwip::telemetry::VERSION_CURRENT);
    message.set_wall_ns(static_cast<std::int64_t>(at));
    message.set_user(static_cast<std::uint32_t>(user));
    packed_.clear();
    append_number(packed_, at, 8);
    append_part(packed_, source_);
    append_part(packed_, topic_names[index(t)]);
    append_part(packed_, message.SerializeAsString());
    if (error_ == 0 &&
        std::fwrite(packed_.data(), 1, packed_.size(), file_.get()) != packed_.size())
        error_ = errno;
}

void telemetry_file::flush() {
    if (error_ == 0 && std::fflush(file_.get()) != 0) error_ = errno;
    if (error_ != 0) throw machine_error("the telemetry of the run cannot be written", error_);
}

}  // namespace wip::host
