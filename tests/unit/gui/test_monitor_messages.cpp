// SPDX-License-Identifier: GPL-3.0-or-later
// What the monitor hears, before it means anything: messages counted, session files, cells of other
// machines.
#include <gtest/gtest.h>
#include <unistd.h>

#include <QTemporaryDir>

#include "gui/cell/remote_cell.h"
#include "gui/model/session_file.h"
#include "messages.h"

namespace wip::gui {
namespace {

using openwip::telemetry::Telemetry;

TEST(message_reader, counts_gaps_of_each_topic_of_each_source_apart) {
    message_reader reader;
    for (const std::uint64_t n : {5, 6, 9}) EXPECT_NE(reader.read(raw(event_message(n))), nullptr);
    EXPECT_NE(reader.read(raw(event_message(100), "event", "terminal")), nullptr);
    EXPECT_NE(reader.read(raw(event_message(101), "event", "terminal")), nullptr);
    EXPECT_EQ(reader.total().received, 5u);
    EXPECT_EQ(reader.total().lost, 2u);
    EXPECT_EQ((reader.by_topic().at({"base", "event"}).lost), 2u);
    EXPECT_EQ((reader.by_topic().at({"terminal", "event"}).lost), 0u);
}

TEST(message_reader, a_publisher_that_starts_again_is_no_loss) {
    message_reader reader;
    for (const std::uint64_t n : {5, 6, 1, 2}) reader.read(raw(event_message(n)));
    EXPECT_EQ(reader.total().lost, 0u);
    EXPECT_EQ(reader.total().restarts, 1u);
}

TEST(message_reader, counts_garbage_and_later_versions_and_reads_on) {
    message_reader reader;
    EXPECT_EQ(reader.read({1, "base", "slot", "\xff\xff\xff no protobuf", true}), nullptr);
    EXPECT_EQ(reader.read({1, "base", "slot", "", true}), nullptr);
    EXPECT_EQ(reader.read({1, "base", "slot", "x", false}), nullptr);
    auto no_content = event_message(3);
    no_content.clear_event();
    EXPECT_EQ(reader.read(raw(no_content)), nullptr);
    auto before_time = event_message(3, -1);
    EXPECT_EQ(reader.read(raw(before_time)), nullptr);
    auto later = event_message(77);
    later.set_version(openwip::telemetry::VERSION_CURRENT + 1);
    EXPECT_EQ(reader.read(raw(later)), nullptr);
    EXPECT_EQ(reader.total().garbage, 5u);
    EXPECT_EQ(reader.total().future, 1u);
    EXPECT_NE(reader.read(raw(event_message(1))), nullptr);
    EXPECT_EQ(reader.total().received, 1u);
    EXPECT_EQ(reader.total().lost, 0u);
}

TEST(message_reader, invented_topics_have_one_entry_together) {
    message_reader reader;
    for (int i = 0; i < 1000; ++i) reader.read(raw(event_message(1), "topic" + std::to_string(i)));
    EXPECT_EQ(reader.by_topic().size(), 1u);
}

TEST(session_file, gives_back_what_was_written_and_stops_at_a_cut) {
    QTemporaryDir folder;
    const QString path = folder.filePath("a.owips");
    const raw_message first{1000, "base", "slot", std::string("\0\1\2", 3), true};
    const raw_message second{2'000'001'000, "terminal", "garbage", "", false};
    {
        session_writer writer(path, "demo");
        EXPECT_TRUE(writer.write(first));
        EXPECT_TRUE(writer.write(second));
    }
    {
        const session_reader reader(path);
        ASSERT_EQ(reader.size(), 2u);
        EXPECT_EQ(reader.header()["cell"].toString(), "demo");
        EXPECT_EQ(reader.length_ns(), 2'000'000'000);
        EXPECT_EQ(reader.message(0).body, first.body);
        EXPECT_EQ(reader.message(0).source, "base");
        EXPECT_TRUE(reader.message(0).two_frames);
        EXPECT_EQ(reader.message(1).topic, "garbage");
        EXPECT_FALSE(reader.message(1).two_frames);
        EXPECT_EQ(reader.at(1), 1u);
        EXPECT_EQ(reader.cut_off(), 0u);
    }
    QFile file(path);
    ASSERT_TRUE(file.resize(file.size() - 3));
    const session_reader cut(path);
    EXPECT_EQ(cut.size(), 1u);
    EXPECT_GT(cut.cut_off(), 0u);
}

TEST(session_file, refuses_other_files_later_formats_and_bad_places_in_one_line) {
    QTemporaryDir folder;
    const auto refused = [&](const QByteArray& content) {
        QFile file(folder.filePath("x"));
        if (!file.open(QIODevice::WriteOnly)) return std::string();
        file.write(content);
        file.close();
        try {
            const session_reader reader(file.fileName());
        } catch (const std::runtime_error& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    EXPECT_NE(refused("").find("not a session file"), std::string::npos);
    EXPECT_NE(refused("hello, this is some other file").find("not a session file"),
              std::string::npos);
    EXPECT_NE(refused(QByteArray("OWIPSES1\xff\xff\xff\x7f", 12)).find("not a session file"),
              std::string::npos);
    EXPECT_NE(refused(QByteArray("OWIPSES1\x0c\0\0\0{\"format\":2}", 24)).find("format 2"),
              std::string::npos);
    EXPECT_THROW(session_reader("/no/such/file"), std::runtime_error);
    EXPECT_THROW(session_writer("/no/such/folder/file", "demo"), std::runtime_error);
}

TEST(remote_cell, one_address_stands_for_all_sockets_of_a_cell_that_listens) {
    session_options options;
    use_endpoints({"tcp://lab7:5000"}, {}, options);
    EXPECT_EQ(options.control.at("air"), "tcp://lab7:5000");
    EXPECT_EQ(options.control.at("terminal"), "tcp://lab7:5002");
    EXPECT_EQ(options.telemetry.at("base"), "tcp://lab7:5003");
    EXPECT_EQ(options.telemetry.at("keeper"), "tcp://lab7:5006");
    session_options each;
    use_endpoints({"base=ipc:///tmp/x", "terminal=tcp://[::1]:7"}, {"base=tcp://h:1"}, each);
    EXPECT_EQ(each.telemetry.size(), 2u);
    EXPECT_EQ(each.telemetry.at("terminal"), "tcp://[::1]:7");
    EXPECT_EQ(each.control.at("base"), "tcp://h:1");
    for (const char* bad : {"tcp://lab7", "tcp://lab7:x", "tcp://lab7:0", "tcp://lab7:65535",
                            "tcp://:5000", "lab7:5000", "base=lab7", "=tcp://h:1"})
        EXPECT_THROW(use_endpoints({bad}, {}, each), std::runtime_error) << bad;
    EXPECT_THROW(use_endpoints({"a=tcp://h:1", "a=tcp://h:2"}, {}, each), std::runtime_error);
}

TEST(remote_cell, keys_are_read_and_bad_ones_refused) {
    QTemporaryDir folder;
    char public_key[41], secret_key[41];
    ASSERT_EQ(zmq_curve_keypair(public_key, secret_key), 0);
    const auto write = [&](const char* name, const std::string& text) {
        QFile file(folder.filePath(name));
        if (file.open(QIODevice::WriteOnly)) file.write(text.c_str());
    };
    const std::string path = folder.path().toStdString();
    EXPECT_FALSE(read_keys("", "", "").any());
    EXPECT_THROW(read_keys(path, "", ""), std::runtime_error);
    write("server.public", std::string("public-key: ") + public_key + "\n");
    write("client.key",
          std::string("public-key: ") + public_key + "\nsecret-key: " + secret_key + "\n");
    const auto keys = read_keys(path, "", "");
    EXPECT_EQ(keys.server_public, public_key);
    EXPECT_EQ(keys.own_secret, secret_key);
    EXPECT_EQ(read_keys("", public_key, path + "/client.key").own_secret, secret_key);
    EXPECT_THROW(read_keys("", public_key, ""), std::runtime_error);
    EXPECT_THROW(read_keys("", "short", path + "/client.key"), std::runtime_error);
    EXPECT_THROW(read_keys(path, public_key, ""), std::runtime_error);
    write("client.key", "public-key: x\n");
    EXPECT_THROW(read_keys(path, "", ""), std::runtime_error);
}

TEST(remote_cell, after_a_replay_its_telemetry_comes_again) {
    zmq::context_t context;
    zmq::socket_t publisher(context, zmq::socket_type::xpub);
    publisher.set(zmq::sockopt::linger, 0);
    publisher.bind("tcp://127.0.0.1:*");
    session_options options;
    options.telemetry["base"] = publisher.get(zmq::sockopt::last_endpoint);
    options.control["base"] = "tcp://127.0.0.1:1";
    session shown(options);
    const auto hears = [&] {
        for (std::uint64_t n = 1; n < 500 && shown.reader().total().received == 0; ++n) {
            const std::string body = event_message(n).SerializeAsString();
            publisher.send(zmq::str_buffer("event"), zmq::send_flags::sndmore);
            publisher.send(zmq::buffer(body), zmq::send_flags::none);
            ::usleep(10'000);
            shown.poll();
        }
        return shown.reader().total().received > 0;
    };
    EXPECT_TRUE(hears());
    const auto subject = shown.subject();
    shown.set_replay(true);
    EXPECT_GT(shown.subject(), subject);
    EXPECT_TRUE(shown.control_endpoints().empty());
    shown.set_replay(false);
    EXPECT_EQ(shown.control_endpoints().size(), 1u);
    EXPECT_TRUE(hears());
}

TEST(remote_cell, telemetry_comes_with_the_right_keys_only) {
    char server_public[41], server_secret[41], own_public[41], own_secret[41];
    ASSERT_EQ(zmq_curve_keypair(server_public, server_secret), 0);
    ASSERT_EQ(zmq_curve_keypair(own_public, own_secret), 0);
    zmq::context_t context;
    zmq::socket_t publisher(context, zmq::socket_type::xpub);
    publisher.set(zmq::sockopt::linger, 0);
    publisher.set(zmq::sockopt::curve_server, true);
    publisher.set(zmq::sockopt::curve_secretkey, server_secret);
    publisher.bind("tcp://127.0.0.1:*");
    const auto endpoint = publisher.get(zmq::sockopt::last_endpoint);
    session_options with, without, wrong;
    for (auto* o : {&with, &without, &wrong}) o->telemetry["base"] = endpoint;
    with.keys = {server_public, own_public, own_secret};
    wrong.keys = {own_public, own_public, own_secret};  // takes itself for the server
    session good(with), none(without), bad(wrong);
    for (std::uint64_t n = 1; n < 1000 && good.reader().total().received < 3; ++n) {
        const std::string body = event_message(n).SerializeAsString();
        publisher.send(zmq::str_buffer("event"), zmq::send_flags::sndmore);
        publisher.send(zmq::buffer(body), zmq::send_flags::none);
        ::usleep(10'000);
        for (auto* s : {&good, &none, &bad}) s->poll();
    }
    EXPECT_GE(good.reader().total().received, 3u);
    EXPECT_EQ(none.reader().total(), reading_counts{});
    EXPECT_EQ(bad.reader().total(), reading_counts{});
    EXPECT_EQ(good.state(), stream_state::live);
    EXPECT_EQ(none.state(), stream_state::waiting);
}

}  // namespace
}  // namespace wip::gui
