// SPDX-License-Identifier: GPL-3.0-or-later
// The messages that the monitor receives, before it interprets them: messages counted, run records,
// cells of other machines.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "gui/cell/record_pipe.h"
#include "gui/cell/remote_cell.h"
#include "gui/cell/replayer.h"
#include "messages.h"
#include "types/failure.h"

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
    for (const char* topic : {"slot", "no topic"})
        EXPECT_EQ(reader.read(raw(event_message(3), topic)), nullptr);
    EXPECT_EQ(reader.total().garbage, 7u);
    EXPECT_EQ(reader.total().future, 1u);
    EXPECT_NE(reader.read(raw(event_message(78))), nullptr);
    EXPECT_EQ(reader.total().received, 1u);
    EXPECT_EQ(reader.total().lost, 0u);  // nor is the one of a later version
}

TEST(message_reader, invented_topics_have_one_entry_together) {
    message_reader reader;
    for (int i = 0; i < 1000; ++i) reader.read(raw(event_message(1), "topic" + std::to_string(i)));
    EXPECT_EQ(reader.by_topic().size(), 1u);
}

// Reads until the record is complete.
void read_all(record_reader& reader) {
    for (int i = 0; i < 3000 && !reader.whole(); ++i) {
        reader.take_in();
        ::usleep(10'000);
    }
    EXPECT_TRUE(reader.whole());
}

std::string refused(const QString& path) {
    try {
        const record_reader reader(path);
    } catch (const std::runtime_error& e) {
        return e.what();
    }
    return "";
}

class a_run_record : public testing::Test {
protected:
    QTemporaryDir folder_;
    const QString path_ = folder_.filePath("run.h5");
    const raw_message first_ = raw(event_message(1)),
                      second_ = raw(event_message(2), "event", "base", 2'000'000'001);

    void write(const std::vector<raw_message>& messages) {
        record_writer writer(path_, "demo");
        for (const auto& m : messages) writer.write(m);
        writer.finish();
        EXPECT_EQ(writer.trouble(), "");
    }
    // One each millisecond.
    static std::vector<raw_message> events() {
        std::vector<raw_message> many;
        for (std::uint64_t n = 1; n < 20'000; ++n)
            many.push_back(
                raw(event_message(n), "event", "base", static_cast<std::int64_t>(n) * 1'000'000));
        return many;
    }
    QByteArray bytes() {
        QFile file(path_);
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }
    void put(const QByteArray& content) {
        QFile file(path_);
        if (file.open(QIODevice::WriteOnly)) file.write(content);
    }
};

TEST_F(a_run_record, gives_back_what_was_written_and_what_was_no_message_as_such) {
    write(
        {first_, {5000, "terminal", "slot", "garbage", true}, {6000, "", "", "", false}, second_});
    record_reader reader(path_);
    EXPECT_EQ(reader.length_ns(), second_.received_ns - first_.received_ns);
    read_all(reader);
    EXPECT_EQ(reader.trouble(), "");
    ASSERT_EQ(reader.size(), 4u);
    EXPECT_EQ(reader.message(0).body, first_.body);
    EXPECT_EQ(reader.message(0).source, "base");
    EXPECT_EQ(reader.message(3).body, second_.body);
    EXPECT_EQ(reader.message(3).received_ns, second_.received_ns);
    EXPECT_EQ(reader.at(5000 - first_.received_ns), 1u);
    message_reader evaluate;
    for (std::size_t i = 0; i < reader.size(); ++i) evaluate.read(reader.message(i));
    EXPECT_EQ(evaluate.total().received, 2u);
    EXPECT_EQ((evaluate.by_topic().at({"terminal", "slot"}).garbage), 1u);
    EXPECT_EQ(evaluate.total().garbage, 2u);
}

TEST_F(a_run_record, that_is_none_is_refused_in_one_line_that_names_it) {
    write({first_, second_});
    const QByteArray whole = bytes();
    QByteArray changed = whole, later = whole;
    changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 1);
    later.replace("openwip-run-record 1", "openwip-run-record 2");
    const std::vector<std::pair<QByteArray, std::string>> cases{
        {"", "is no run record"},
        {"hello, this is some other file", "is no run record; valid: a file of ./openwip record"},
        {whole.left(whole.size() - 3), "is truncated or was changed"},
        {changed, "is truncated or was changed"},
        {later, "format version 2; valid: 1"},
        {QByteArray(512, '\0') + whole.mid(512), "its recorder was killed"},
        {QByteArray("OWIPSES1\x0c\0\0\0{\"format\":1}", 24),
         "a session file of an earlier monitor"}};
    for (const auto& [content, why] : cases) {
        put(content);
        const std::string reported = refused(path_);
        EXPECT_TRUE(reported.starts_with(path_.toStdString())) << reported;
        EXPECT_NE(reported.find(why), std::string::npos) << reported;
        EXPECT_EQ(reported.find('\n'), std::string::npos) << reported;
    }
    EXPECT_EQ(refused("/no/such/file"), "/no/such/file: No such file or directory");
}

TEST_F(a_run_record, that_cannot_be_written_is_refused_at_once_and_nothing_else_is_replaced) {
    EXPECT_THROW(record_writer("/no/such/folder/file", "demo"), std::runtime_error);
    put("mine");
    EXPECT_THROW(record_writer(path_, "demo"), std::runtime_error);
    EXPECT_EQ(bytes(), "mine");
}

// The recorder is a program of the tree.
TEST_F(a_run_record, is_not_begun_where_the_tree_is_not) {
    const auto top = qgetenv("OPENWIP_TOP");
    qputenv("OPENWIP_TOP", "/no/such/tree");
    std::string reported;
    try {
        record_writer(path_, "demo");
    } catch (const bad_input& e) {
        reported = e.what();
    }
    qputenv("OPENWIP_TOP", top);
    EXPECT_NE(reported.find("cannot be started; valid: ./openwip monitor"), std::string::npos)
        << reported;
}

TEST_F(a_run_record, is_played_to_where_it_was_sought_before_all_of_it_has_been_read) {
    const auto many = events();
    write(many);
    session shown({});
    replayer player(path_, shown);
    player.set_playing(false);
    player.seek(player.length_ns(), 1e6);
    EXPECT_EQ(player.position_ns(), player.length_ns());
    EXPECT_FALSE(player.at_end());
    for (int i = 0; i < 3000 && !player.at_end(); ++i) {
        player.advance(1'000'000'000);
        ::usleep(10'000);
    }
    EXPECT_TRUE(player.at_end());
    EXPECT_EQ(shown.reader().total().received, many.size());
    player.seek(0, 60);
    EXPECT_EQ(shown.reader().total().received, 1u);
    player.set_playing(true);
    player.set_speed(0.5);
    player.advance(20'000'000);
    EXPECT_EQ(shown.reader().total().received, 11u);
}

TEST_F(a_run_record, whose_reader_is_killed_is_said_to_go_no_further) {
    const auto many = events();
    write(many);
    record_reader reader(path_);
    ::kill(static_cast<pid_t>(reader.process_id()), SIGSEGV);
    read_all(reader);
    EXPECT_EQ(reader.trouble(), "openwip record was ended by SIGSEGV");
    EXPECT_LT(reader.size(), many.size());
}

// A run directory whose state is removed while it is read. The state is a pipe, which is removed
// from the directory before the last of `readings` readers gets it.
class vanishing_cell {
public:
    explicit vanishing_cell(int readings) {
        ::mkdir((root() + "/cell").c_str(), 0755);
        make_pipe();
        removing_ = std::thread([this, readings] {
            for (int left = readings - 1; left >= 0; --left) {
                const int pipe = ::open(state_.c_str(), O_WRONLY);  // waits until somebody reads
                std::filesystem::remove(state_);
                if (left > 0) make_pipe();
                gone_ = left == 0;
                const std::string text =
                    "{\"keeper\": [" + std::to_string(::getpid()) + ", " + start_time() + "]}";
                EXPECT_EQ(::write(pipe, text.data(), text.size()), std::ssize(text));
                ::close(pipe);
            }
        });
    }
    ~vanishing_cell() {
        while (!gone_) std::ifstream(state_).get();  // takes requests that nobody else took
        removing_.join();
    }
    std::string root() const { return folder_.path().toStdString(); }
    bool gone() const { return gone_; }

private:
    // A pipe of its own for each reading, so that none gets what is meant for the next one.
    void make_pipe() const {
        ASSERT_EQ(::mkfifo((state_ + ".new").c_str(), 0644), 0);
        std::filesystem::rename(state_ + ".new", state_);
    }
    static std::string start_time() {
        std::ifstream stat("/proc/self/stat");
        const std::string text((std::istreambuf_iterator<char>(stat)), {});
        std::istringstream fields(text.substr(text.rfind(')') + 2));
        std::string field;
        for (int i = 0; i < 20; ++i) fields >> field;
        return field;
    }

    QTemporaryDir folder_;
    const std::string state_ = root() + "/cell/state.json";
    std::atomic<bool> gone_ = false;
    std::thread removing_;
};

TEST(session, a_cell_that_is_removed_while_it_is_looked_at_has_ended) {
    for (const int readings : {2, 3, 4}) {
        vanishing_cell cell(readings);
        session_options options;
        options.cell = "cell";
        options.run_root = cell.root();
        session shown(options);
        shown.poll();
        shown.take(raw(event_message(1)));
        for (int i = 0; i < 1000 && shown.state() != stream_state::ended &&
                        shown.state() != stream_state::no_cell;
             ++i) {
            shown.poll();
            ::usleep(10'000);
        }
        EXPECT_TRUE(cell.gone());
        EXPECT_EQ(shown.state(), stream_state::ended) << readings << " readings";
        EXPECT_EQ(shown.state_text().toStdString(),
                  "Cell 'cell' has ended; this is what was seen last");
        EXPECT_EQ(shown.reader().total().received, 1u);
    }
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
    wrong.keys = {own_public, own_public, own_secret};  // uses its own key as that of the server
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
