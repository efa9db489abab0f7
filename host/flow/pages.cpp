// SPDX-License-Identifier: GPL-3.0-or-later
// pages: requests and responses on a connection each, with a pause between.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "flow/kinds.h"

namespace wip::flow {
namespace {

constexpr std::size_t chunk_bytes = 1 << 17;

void serve_pages(const job& j) {
    static char chunk[chunk_bytes];
    const int l = j.with().listening(SOCK_STREAM);
    j.listening();
    for (;;) {
        const int s = ::accept(l, nullptr, nullptr);
        auto left = static_cast<long>(j.f.request_bytes);
        for (ssize_t n = 1; left > 0 && n > 0; left -= n) n = ::read(s, chunk, sizeof chunk);
        left = static_cast<long>(j.f.response_bytes);
        for (ssize_t n = 1; left > 0 && n > 0; left -= n)
            n = ::write(s, chunk,
                        std::min<std::size_t>(static_cast<std::size_t>(left), sizeof chunk));
        ::close(s);
    }
}

void ask_pages(const job& j) {
    static char chunk[chunk_bytes];
    const flow& f = j.f;
    const double start = j.start(), until = start + f.seconds;
    double sum = 0, longest = 0;
    int done = 0, broken = 0;
    for (double at = start; at < until; at = now() + f.think_s) {
        sleep_until(at);
        const int s = j.with().connected();
        std::uint64_t got = 0;
        if (::write(s, chunk, f.request_bytes) != static_cast<ssize_t>(f.request_bytes))
            give_up("request");
        for (ssize_t n = 0; (n = ::read(s, chunk, sizeof chunk)) > 0;)
            got += static_cast<std::uint64_t>(n);
        ::close(s);
        const double took = now() - at;
        if (got != f.response_bytes) {
            ++broken;
            continue;
        }
        ++done;
        sum += took;
        longest = std::max(longest, took);
    }
    j.to.say({{"pages", done},
              {"broken", broken},
              {"mean_s", rounded(done > 0 ? sum / done : 0, 9)},
              {"longest_s", rounded(longest, 9)}});
}

constexpr end ends[] = {{"server", true, false, serve_pages}, {"client", false, true, ask_pages}};
const kind pages("pages", ends);

}  // namespace
}  // namespace wip::flow
