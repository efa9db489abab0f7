// SPDX-License-Identifier: GPL-3.0-or-later
// compare: a transfer of known bytes, given up at a time: what is there of them, and what of that
// is wrong.
#include <sys/socket.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "flow/kinds.h"

namespace wip::flow {
namespace {

// The same bytes at both ends, of a seed.
std::vector<std::uint8_t> data_of(std::uint64_t bytes, std::uint64_t seed) {
    std::vector<std::uint8_t> data(bytes);
    std::uint64_t x = seed * 0x9E3779B97F4A7C15U + 0x2545F4914F6CDD1DU;
    for (std::uint64_t i = 0; i < bytes; ++i) {
        if (i % 8 == 0) {
            x ^= x << 13U;
            x ^= x >> 7U;
            x ^= x << 17U;
        }
        data[i] = static_cast<std::uint8_t>(x >> (8 * (i % 8)));
    }
    return data;
}

void receive_compared(const job& j) {
    const std::uint64_t size = j.f.bytes;
    const std::vector<std::uint8_t> wanted = data_of(size, j.f.seed);
    std::vector<std::uint8_t> got(size);
    std::uint64_t bytes = 0, bytes_wrong = 0, bits_wrong = 0;
    const int l = j.with().listening(SOCK_STREAM);
    wake_at(j.start() + j.f.limit_s);
    j.listening();
    const int s = ::accept(l, nullptr, nullptr);
    const double began = now();
    bool given_up = s < 0;
    while (s >= 0 && bytes < size) {
        const ssize_t n = ::read(s, got.data() + bytes, size - bytes);
        if (n <= 0) {
            given_up = n < 0 && errno == EINTR;
            break;
        }
        bytes += static_cast<std::uint64_t>(n);
    }
    const double last = now();
    for (std::uint64_t i = 0; i < bytes; ++i) {
        bytes_wrong += got[i] != wanted[i] ? 1 : 0;
        bits_wrong +=
            static_cast<std::uint64_t>(std::popcount(static_cast<unsigned>(got[i] ^ wanted[i])));
    }
    j.to.say({{"bytes", bytes},
              {"began", rounded(began, 9)},
              {"last", rounded(last, 9)},
              {"bytes_wrong", bytes_wrong},
              {"bits_wrong", bits_wrong},
              {"given_up", given_up}});
}

void send_compared(const job& j) {
    const std::uint64_t size = j.f.bytes;
    std::vector<std::uint8_t> data = data_of(size, j.f.seed);
    std::uint64_t at = 0;
    const double start = j.start();
    sleep_until(start);
    const int s = j.with().to_connect();
    if (j.f.buffer_kb > 0) j.with().set_send_buffer(s, 1024 * j.f.buffer_kb);
    wake_at(start + j.f.limit_s);
    if (j.with().connect_to(s) == 0) {
        for (ssize_t n = 1; n > 0 && at<size; at += n> 0 ? static_cast<std::uint64_t>(n) : 0)
            n = ::write(s, data.data() + at, size - at);
        ::shutdown(s, SHUT_WR);
        // Waits until the other end has closed the connection.
        if (at == size) static_cast<void>(!::read(s, data.data(), 1));
    }
    tell_sender(j, s, start, at, {});
}

constexpr end ends[] = {{"receiver", true, true, receive_compared},
                        {"sender", false, true, send_compared}};
const kind compare("compare", ends);

}  // namespace
}  // namespace wip::flow
