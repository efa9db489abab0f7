// SPDX-License-Identifier: GPL-3.0-or-later
// The one sleep of a process: it ends for a descriptor, for a ZeroMQ socket as long as that has
// something, and for the time.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <optional>

#include "runtime/poll_set.h"
#include "types/descriptor.h"

namespace wip::host {
namespace {

using namespace std::chrono_literals;

class a_process : public testing::Test {
protected:
    a_process() {
        int ends[2];
        EXPECT_EQ(::pipe(ends), 0);
        in.emplace(ends[0]);
        out.emplace(ends[1]);
        asked.set(zmq::sockopt::linger, 0);
        asks.set(zmq::sockopt::linger, 0);
        asked.bind("inproc://asked");
        asks.connect("inproc://asked");
    }
    void write() { EXPECT_EQ(::write(out->get(), "x", 1), 1); }
    void read() {
        char c;
        EXPECT_EQ(::read(in->get(), &c, 1), 1);
    }
    void ask() { asks.send(zmq::str_buffer("?"), zmq::send_flags::none); }
    bool answer() {
        zmq::message_t m;
        return asked.recv(m, zmq::recv_flags::dontwait).has_value();
    }

    zmq::context_t context;
    zmq::socket_t asked{context, zmq::socket_type::pair}, asks{context, zmq::socket_type::pair};
    std::optional<descriptor> in, out;
    poll_set watched;
};

TEST_F(a_process, sleeps_no_longer_than_it_has_patience) {
    watched.add(in->get());
    watched.add(asked);
    const auto before = std::chrono::steady_clock::now();
    EXPECT_FALSE(watched.sleep(20ms));
    EXPECT_GE(std::chrono::steady_clock::now() - before, 20ms);
    EXPECT_FALSE(watched.ready(0) || watched.ready(1));
}

TEST_F(a_process, wakes_for_a_descriptor_until_that_was_read) {
    const auto pipe = watched.add(in->get());
    write();
    for (int i = 0; i < 2; ++i) {
        EXPECT_TRUE(watched.sleep(10s));
        EXPECT_TRUE(watched.ready(pipe));
    }
    read();
    EXPECT_FALSE(watched.sleep(0s));
    EXPECT_FALSE(watched.ready(pipe));
}

TEST_F(a_process, wakes_for_every_message_of_a_socket_though_its_descriptor_tells_once) {
    const auto questions = watched.add(asked);
    for (int i = 0; i < 3; ++i) ask();
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(watched.sleep(10s)) << i;
        ASSERT_TRUE(watched.ready(questions)) << i;
        ASSERT_TRUE(answer());
    }
    EXPECT_FALSE(watched.ready(questions) && answer());
    while (watched.sleep(0s)) EXPECT_FALSE(watched.ready(questions));
    ask();
    EXPECT_TRUE(watched.sleep(10s));
    EXPECT_TRUE(watched.ready(questions));
}

TEST_F(a_process, looks_at_what_is_in_a_place_now) {
    const auto pipe = watched.add(in->get());
    const auto questions = watched.add_socket();
    write();
    ask();
    watched.replace(pipe, -1);
    EXPECT_FALSE(watched.sleep(0s));
    watched.replace(questions, &asked);
    EXPECT_TRUE(watched.sleep(10s));
    EXPECT_TRUE(watched.ready(questions));
    EXPECT_FALSE(watched.ready(pipe));
    watched.replace(questions, nullptr);
    EXPECT_FALSE(watched.sleep(0s));
    EXPECT_FALSE(watched.ready(questions));
    watched.replace(pipe, in->get());
    EXPECT_TRUE(watched.sleep(10s));
    EXPECT_TRUE(watched.ready(pipe));
}

}  // namespace
}  // namespace wip::host
