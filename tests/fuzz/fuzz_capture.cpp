// SPDX-License-Identifier: GPL-3.0-or-later
// Telemetry of anybody becomes a capture: messages of any bytes, and messages that are right but
// for some of their bits. Whatever they hold, the file is pcapng from end to end: blocks of the
// length that they say, twice; every packet of an interface that was declared; as many packets of
// each as are counted; nothing after the limits that were asked for.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "capture/capture.h"
#include "fuzz_input.h"

using namespace wip;
using namespace wip::fuzz;
using wip::capture::byte_buffer;

namespace {

constexpr int most_messages = 100;

class memory_file {
public:
    memory_file() : fd_(::memfd_create("capture", MFD_CLOEXEC)) {}
    ~memory_file() { ::close(fd_); }
    memory_file(const memory_file&) = delete;
    memory_file& operator=(const memory_file&) = delete;
    std::string name() const { return "/proc/self/fd/" + std::to_string(fd_); }
    byte_buffer content() const {
        byte_buffer all(static_cast<std::size_t>(::lseek(fd_, 0, SEEK_END)));
        expect(::pread(fd_, all.data(), all.size(), 0) == static_cast<ssize_t>(all.size()), "read");
        return all;
    }

private:
    int fd_;
};

std::uint32_t u32_at(const byte_buffer& b, std::size_t at) {
    std::uint32_t v = 0;
    expect(at + 4 <= b.size(), "a block that is cut off");
    std::memcpy(&v, &b[at], 4);
    return v;
}

// Options from `at` to `end`: codes and lengths, up to the end mark.
void check_options(const byte_buffer& b, std::size_t at, std::size_t end) {
    while (at < end) {
        const std::uint32_t head = u32_at(b, at);
        const std::uint32_t code = head & 0xffff, length = head >> 16;
        at += 4 + (length + 3) / 4 * 4;
        expect(at <= end, "an option longer than its block");
        if (code == 0) {
            expect(length == 0 && at == end, "something behind the end of the options");
            return;
        }
    }
    expect(at == end, "options that do not end where their block does");
}

void check_file(const byte_buffer& b, const capture::capture& c, std::uint64_t most,
                std::uint32_t snap) {
    constexpr std::uint32_t section = 0x0a0d0d0a, interface = 1, packet = 6, statistics = 5;
    std::vector<std::uint64_t> packets;
    std::size_t with_statistics = 0;
    std::uint64_t all = 0;
    for (std::size_t at = 0; at < b.size();) {
        const std::uint32_t type = u32_at(b, at), length = u32_at(b, at + 4);
        expect(length >= 12 && length % 4 == 0 && at + length <= b.size(), "the length of a block");
        expect(u32_at(b, at + length - 4) == length, "a block whose lengths differ");
        expect((at == 0) == (type == section), "a section that is not the beginning");
        const std::size_t body = at + 8, end = at + length - 4;
        if (type == section) {
            check_options(b, body + 16, end);
        } else if (type == interface) {
            packets.push_back(0);
            check_options(b, body + 8, end);
        } else if (type == packet) {
            const std::uint32_t i = u32_at(b, body), captured = u32_at(b, body + 12);
            expect(i < packets.size(), "a packet of no interface");
            expect(captured <= u32_at(b, body + 16), "more captured than there was");
            expect(snap == 0 || captured <= snap, "a packet longer than was asked for");
            expect(captured <= length, "a packet longer than its block");
            check_options(b, body + 20 + (captured + 3) / 4 * 4, end);
            ++packets[i];
            ++all;
        } else {
            expect(type == statistics, "a block of an unknown type");
            expect(u32_at(b, body) == with_statistics, "statistics out of order");
            ++with_statistics;
            check_options(b, body + 12, end);
        }
        at += length;
    }
    expect(packets.size() == c.interfaces().size() && with_statistics == packets.size(),
           "interfaces are not as many as were announced");
    for (std::size_t i = 0; i < packets.size(); ++i)
        expect(packets[i] == c.interfaces()[i].packets, "packets are not as many as counted");
    expect(most == 0 || all <= most, "more packets than were asked for");
}

openwip::telemetry::Telemetry draw_right(fuzz_input& in, std::int64_t& slot) {
    openwip::telemetry::Telemetry m;
    const int kind = in.u8();
    slot += kind % 16;
    m.set_slot(slot);
    m.set_wall_ns((kind & 64) != 0 ? static_cast<std::int64_t>(in.u64()) : slot * 666'667);
    m.set_user((kind & 32) != 0 ? in.u8() : 0);
    if ((kind & 16) != 0) {
        auto& batch = *m.mutable_ip();
        batch.set_skipped(in.u8());
        batch.set_packets_before(in.u8());
        for (int n = in.in(0, 6); n > 0; --n) {
            auto& p = *batch.add_packet();
            p.set_out(in.flag());
            p.set_time_ns((slot + in.in(-60, 10)) * 666'667);
            p.set_data(in.text(in.u8()));
        }
        return m;
    }
    auto& batch = *m.mutable_frames();
    batch.set_frames_before(in.u8());
    const auto add = [](std::string& column, int value) { column += static_cast<char>(value); };
    for (int slots = in.in(0, 3); slots > 0; --slots) {
        auto& s = *batch.add_slot();
        s.set_air(slot - slots);
        if (in.flag()) s.set_grant(in.text(30));
        const int frames = in.in(0, 25);
        s.set_frames(static_cast<std::uint32_t>(frames));
        for (int f = 0; f < frames; ++f) {
            const int k = in.in(1, 8);
            add(*batch.mutable_bin(), f);
            add(*batch.mutable_bits_per_symbol(), k);
            batch.add_sn(in.u16());
            add(*batch.mutable_offset(), 0);
            add(*batch.mutable_whole(), 1);
            add(*batch.mutable_last(), 1);
            add(*batch.mutable_retransmissions(), k % 3);
            add(*batch.mutable_outcome(), k % 4);
            batch.add_snr_db(12);
            add(*batch.mutable_combined(), 0);
            batch.add_payload_bits(static_cast<std::uint32_t>(108 * k));
            batch.mutable_payload()->append(static_cast<std::size_t>((108 * k + 7) / 8), 'x');
            add(*batch.mutable_nof_packets(), k % 2);
            if (k % 2 == 1) batch.add_packet(in.u8());
            add(*batch.mutable_border(), 255);
        }
    }
    return m;
}

openwip::telemetry::Telemetry draw_message(fuzz_input& in, std::int64_t& slot) {
    const int kind = in.in(0, 3);
    if (kind == 0) {
        const auto b = in.block();
        openwip::telemetry::Telemetry m;
        return m.ParseFromArray(b.data(), static_cast<int>(b.size()))
                   ? m
                   : openwip::telemetry::Telemetry{};
    }
    auto m = draw_right(in, slot);
    if (kind != 1) return m;
    std::string bytes = m.SerializeAsString();
    for (int n = in.in(1, 4); n > 0 && !bytes.empty(); --n) {
        char& c = bytes[in.u16() % bytes.size()];
        c = static_cast<char>(c ^ in.u8());
    }
    openwip::telemetry::Telemetry damaged;
    return damaged.ParseFromString(bytes) ? damaged : m;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz_input in(data, size);
    capture::capture_options o;
    const int choices = in.u8();
    o.ip = (choices & 1) == 0;
    o.frames = (choices & 2) == 0;
    o.base = (choices & 4) == 0;
    o.terminals = in.in(1, 3);
    o.seconds = (choices & 8) != 0 ? in.share() : 0;
    o.count = (choices & 16) != 0 ? in.u8() : 0;
    o.snap = (choices & 32) != 0 ? in.u8() : 0;
    if ((choices & 64) != 0)
        o.start_ns = static_cast<std::int64_t>(in.u64() %
                                               static_cast<std::uint64_t>(capture::latest_wall_ns));
    o.speed = (choices & 128) != 0 ? 0.01 + in.share() : 1;
    o.comments = {in.text(in.u8())};
    memory_file memory;
    capture::capture_file file(memory.name());
    capture::capture c(o, file);
    std::int64_t slot = 0;
    for (int i = 0; i < most_messages && !in.empty() && !c.enough(); ++i) {
        const auto from = in.flag() ? capture::station::base : capture::station::terminal;
        c.take(from, draw_message(in, slot));
    }
    c.finish(in.flag() ? "VALID" : "");
    expect(!file.failed(), "a file that cannot be written: " + file.failure());
    check_file(memory.content(), c, o.count, o.snap);
    return 0;
}
