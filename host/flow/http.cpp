// SPDX-License-Identifier: GPL-3.0-or-later
// http: a user who looks at pages of a web server. A visit has a connection of its own; on it the
// user sends a request for each object, without waiting for the responses before it, and pauses
// when a page is complete. A request begins with the number of bytes that its response has.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "flow/arrivals.h"
#include "flow/kinds.h"

namespace wip::flow {
namespace {

constexpr std::size_t chunk_bytes = 1 << 17;
constexpr double for_ever = std::numeric_limits<double>::infinity();

// --- the server ---

class server {
public:
    explicit server(const job& j)
        : job_(j), f_(j.f), until_(f_.start_s ? end_of(*f_.start_s) : for_ever) {}

    void run() {
        const int listener = job_.with().listening_to_send();
        if (f_.start_s) started(*f_.start_s);
        job_.listening();
        while (goes_on()) {
            connection_ = job_.with().accept_one(listener);
            if (connection_ < 0) continue;
            if (until_ == for_ever) started(now());
            ++visits_;
            job_.with().send_at_once(connection_);
            while (answer()) {
            }
            end_connection();
        }
        tell();
    }

private:
    const job& job_;
    const flow& f_;
    double until_, measured_ = 0, sample_ = 0, began_ = 0;
    int connection_ = -1, visits_ = 0;
    std::uint64_t written_ = 0;
    sent_bytes before_;  // bytes of connections that are over
    mark from_;
    round_trips trips_;

    double end_of(double start) const { return start + f_.seconds; }

    void started(double start) {
        began_ = start;
        until_ = end_of(start);
        measured_ = f_.measured_from_s > 0 ? start + f_.measured_from_s : 0;
        wake_at(measured_ > 0 ? measured_ : until_);
    }

    // Called between calls that wait. False: the time is over.
    bool goes_on() {
        const double t = now();
        if (measured_ > 0 && !from_.set() && t >= measured_) {
            from_ = mark::of(connection_, before_);
            trips_.forget();
            wake_at(until_);
        }
        if (connection_ >= 0 && t >= sample_) {
            trips_.sample(connection_);
            sample_ = t + 1;
        }
        return t < until_;
    }

    // Sends or receives all bytes. False: the visit or the time is over.
    template <class Call>
    bool whole(std::uint64_t size, Call call) {
        while (size > 0) {
            if (!goes_on()) return false;
            const ssize_t n = call(std::min<std::uint64_t>(size, chunk_bytes));
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return false;
            size -= static_cast<std::uint64_t>(n);
        }
        return true;
    }

    bool answer() {
        static char chunk[chunk_bytes];
        char* to = chunk;
        std::uint64_t size = 0;
        if (!whole(f_.request_bytes, [&](std::uint64_t most) {
                const ssize_t n = ::read(connection_, to, most);
                if (n > 0) to += n;
                return n;
            }))
            return false;
        std::memcpy(&size, chunk, sizeof size);
        return whole(size, [&](std::uint64_t most) {
            const ssize_t n = ::write(connection_, chunk, most);
            if (n > 0) written_ += static_cast<std::uint64_t>(n);
            return n;
        });
    }

    // When the time is over, what is not sent is dropped.
    void end_connection() {
        const linger drop = {goes_on() ? 0 : 1, 0};
        before_ = before_.with(connection_);
        ::setsockopt(connection_, SOL_SOCKET, SO_LINGER, &drop, sizeof drop);
        ::close(connection_);
        connection_ = -1;
    }

    void tell() {
        nlohmann::json found{{"began", rounded(began_, 9)},
                             {"bytes", written_},
                             {"visits", visits_},
                             {"congestion_control", f_.congestion_control}};
        if (from_.set()) found["since"] = from_.since(-1, f_.to, trips_, before_);
        job_.to.say(found);
    }
};

void serve(const job& j) { server(j).run(); }

// --- the user ---

class user {
public:
    explicit user(const job& j)
        : job_(j), f_(j.f), start_(j.start()), until_(start_ + f_.seconds) {}

    void run() {
        page_arrivals pages(f_);
        wake_at(until_);
        for (double complete = start_; wait_until(complete);) {
            const auto page = pages.next();
            if (!wait_until(complete + page.pause_s)) break;
            if (page.first) leave();
            const double asked = now();
            if ((connection_ >= 0 || connect()) && read(page)) {
                ++pages_;
                objects_ += page.objects.size();
                sum_ += now() - asked;
                longest_ = std::max(longest_, now() - asked);
            } else if (now() < until_) {
                ++broken_;
                leave();
            }
            complete = now();
        }
        job_.to.say({{"visits", visits_},
                     {"pages", pages_},
                     {"objects", objects_},
                     {"bytes", bytes_},
                     {"broken", broken_},
                     {"mean_s", rounded(pages_ > 0 ? sum_ / pages_ : 0, 9)},
                     {"longest_s", rounded(longest_, 9)}});
    }

private:
    const job& job_;
    const flow& f_;
    double start_, until_, sum_ = 0, longest_ = 0;
    int connection_ = -1, visits_ = 0, pages_ = 0, broken_ = 0;
    std::uint64_t bytes_ = 0;
    std::size_t objects_ = 0;

    // False: the flow is over.
    bool wait_until(double at) {
        while (now() < std::min(at, until_)) sleep_until_woken(at);
        return now() < until_;
    }

    bool connect() {
        connection_ = job_.with().to_connect();
        if (job_.with().connect_to(connection_) != 0) return false;
        ++visits_;
        job_.with().send_at_once(connection_);
        return true;
    }

    void leave() {
        if (connection_ >= 0) ::close(connection_);
        connection_ = -1;
    }

    bool read(const page_arrivals::page& page) {
        static char request[chunk_bytes];
        std::uint64_t left = 0;
        for (const auto& object : page.objects) {
            if (!wait_until(now() + object.after_s)) return false;
            std::memcpy(request, &object.bytes, sizeof object.bytes);
            if (::send(connection_, request, f_.request_bytes, MSG_NOSIGNAL) !=
                static_cast<ssize_t>(f_.request_bytes))
                return false;
            left += object.bytes;
        }
        while (left > 0) {
            const ssize_t n = job_.with().take(connection_);
            if (n < 0 && errno == EINTR && now() < until_) continue;
            if (n <= 0) return false;
            left -= static_cast<std::uint64_t>(n);
            bytes_ += static_cast<std::uint64_t>(n);
        }
        return true;
    }
};

void look(const job& j) { user(j).run(); }

constexpr end ends[] = {{"server", true, true, serve}, {"client", false, true, look}};
const kind http("http", ends);

}  // namespace
}  // namespace wip::flow
