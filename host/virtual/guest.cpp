// SPDX-License-Identifier: GPL-3.0-or-later
// wip_guest, the first and only program of a Linux kernel in virtual time: makes the network, runs
// the plan's traffic (host/flow), writes what came of it, and waits for its end. It is one program
// because every start of a program there costs as much as a packet.
//
// /plan is JSON of the form of host/flow/flows.schema.json. /result is a JSON object a line:
// {"sysctl": name, "value": what is read back}, {"program": ..., "said": ...}, and of each end of
// each flow {"flow": ..., "end": ...}, after lines with "part" where it has much to tell; what
// cannot be done has "failed". Without that it ends with {"whole": true}.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "flow/kinds.h"
#include "types/failure.h"

namespace {

using namespace wip;
using nlohmann::json;

constexpr const char* result_file = "/result";
constexpr const char* unfinished_file = "/result.new";
constexpr std::size_t longest_output = 1200;  // bytes of a program's output in one line

[[noreturn]] void fail(const std::string& what) { throw machine_error(what, errno); }

// Writes each line of the result in one call: a pipe keeps short writes together.
class result_lines {
public:
    result_lines() {
        if (::pipe(ends_) != 0) fail("cannot make the pipe of the results");
    }
    int in() const { return ends_[1]; }
    void tell(const json& line) const { write_text(flow::text_of(line) + "\n"); }
    // Writes an empty line, at which a reader has everything that was reported before.
    void tell_end() const { write_text("\n"); }
    std::FILE* reader() const {
        std::FILE* f = ::fdopen(ends_[0], "r");
        if (f == nullptr) fail("cannot read the results");
        return f;
    }

private:
    int ends_[2] = {-1, -1};

    void write_text(const std::string& text) const {
        if (text.size() > flow::longest_line ||
            ::write(ends_[1], text.data(), text.size()) != static_cast<ssize_t>(text.size()))
            throw machine_error("a line of the result cannot be written to its pipe");
    }
};

pid_t forked() {
    const pid_t pid = ::fork();
    if (pid < 0) fail("cannot start a process (fork)");
    return pid;
}

std::string read_all(int from) {
    std::string text;
    std::array<char, longest_output> part;
    for (ssize_t n = 0; (n = ::read(from, part.data(), part.size())) > 0;)
        text.append(part.data(), static_cast<std::size_t>(n));
    return text;
}

// Executes a program; `words` are its arguments.
void execute(const std::vector<std::string>& words) {
    std::vector<char*> all;
    for (const std::string& w : words) all.push_back(const_cast<char*>(w.c_str()));
    all.push_back(nullptr);
    ::execvp(all[0], all.data());
    ::_exit(127);
}

// --- the network ---

class network {
public:
    explicit network(const std::vector<std::string>& sides) {
        home_ = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
        for (const std::string& address : sides) add_side(address);
    }
    std::size_t sides() const { return spaces_.size(); }
    int space(int side) const { return spaces_.at(static_cast<std::size_t>(side)); }
    void enter(int side) const {
        if (::setns(space(side), CLONE_NEWNET) != 0)
            fail("cannot enter the network of side " + std::to_string(side));
    }
    bool leave() const { return ::setns(home_, CLONE_NEWNET) == 0; }

private:
    int home_ = -1;
    std::vector<int> spaces_;

    void add_side(const std::string& address);
};

// eth<n> into a namespace.
void move_interface(const std::string& name, int space) {
    struct {
        nlmsghdr head;
        ifinfomsg info;
        rtattr attribute;
        std::uint32_t space;
    } m = {{sizeof m, RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, 1, 0},
           {},
           {RTA_LENGTH(4), IFLA_NET_NS_FD},
           static_cast<std::uint32_t>(space)};
    m.info.ifi_index = static_cast<int>(::if_nametoindex(name.c_str()));
    struct {
        nlmsghdr head;
        nlmsgerr error;
        char rest[256];
    } reply = {};
    const int s = ::socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    if (s < 0 || ::send(s, &m, sizeof m, 0) < 0 || ::recv(s, &reply, sizeof reply, 0) < 0)
        fail("cannot move the interface " + name);
    if (reply.error.error != 0) {
        errno = -reply.error.error;
        fail("cannot move the interface " + name);
    }
    ::close(s);
}

void set_up(const std::string& name, const std::string& address, int prefix) {
    ifreq r = {};
    const int s = ::socket(AF_INET, SOCK_DGRAM, 0);
    std::snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name.c_str());
    if (!address.empty()) {
        sockaddr_in a = {};
        a.sin_family = AF_INET;
        ::inet_pton(AF_INET, address.c_str(), &a.sin_addr);
        std::memcpy(&r.ifr_addr, &a, sizeof a);
        if (::ioctl(s, SIOCSIFADDR, &r) != 0)
            fail("cannot set the address " + address + " of " + name);
        a.sin_addr.s_addr = htonl(prefix > 0 ? ~0U << (32 - prefix) : 0);
        std::memcpy(&r.ifr_addr, &a, sizeof a);
        if (::ioctl(s, SIOCSIFNETMASK, &r) != 0) fail("cannot set the netmask of " + name);
    }
    const int kind = address.empty() ? IFF_LOOPBACK : IFF_NOARP;
    r.ifr_flags = static_cast<short>(IFF_UP | IFF_RUNNING | kind);
    if (::ioctl(s, SIOCSIFFLAGS, &r) != 0) fail("cannot bring up the interface " + name);
    ::close(s);
}

void network::add_side(const std::string& address) {
    const std::string name = "eth" + std::to_string(sides());
    const std::size_t slash = address.find('/');
    if (slash == std::string::npos)
        throw bad_input("the address of a network side is " + address + "; valid: ADDRESS/PREFIX");
    if (::unshare(CLONE_NEWNET) != 0) fail("cannot make a network of its own (unshare)");
    spaces_.push_back(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    if (!leave()) fail("cannot go back to the first network (setns)");
    move_interface(name, spaces_.back());
    enter(static_cast<int>(sides()) - 1);
    set_up("lo", "", 0);
    set_up(name, address.substr(0, slash), std::stoi(address.substr(slash + 1)));
    leave();
}

// Sets a value of every side, or of the kernel where sides have none of their own. The value that
// is read back is one.
json set_everywhere(const network& net, const std::string& name, const std::string& value) {
    const std::string path = "/proc/sys/" + name;
    std::string before;
    for (std::size_t side = 0; side < net.sides(); ++side) {
        net.enter(static_cast<int>(side));
        int f = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
        if (f < 0 && errno == ENOENT && net.leave()) f = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
        if (f < 0 || ::write(f, value.data(), value.size()) < 0)
            fail("cannot set " + name + " to " + value);
        std::array<char, 256> got;
        const ssize_t size = ::pread(f, got.data(), got.size() - 1, 0);
        if (size < 0) fail("cannot read " + name + " back");
        ::close(f);
        const std::string read(got.data(), static_cast<std::size_t>(size));
        if (side > 0 && read != before) {
            errno = ECANCELED;
            fail(name + " has different values in the network namespaces of the hosts");
        }
        before = read;
    }
    std::string shown = before.substr(0, before.find('\n'));
    for (char& c : shown)
        if (c == '\t') c = ' ';
    return {{"sysctl", name}, {"value", shown}};
}

// --- programs of the host ---

// Executes a program of the host in a namespace, with `out` as its output.
[[noreturn]] void become(const network& net, const flow::command& c, int in, int out) {
    net.enter(c.side);
    if (in >= 0) ::dup2(in, 0);
    if (::chroot("/host") != 0 || ::chdir("/") != 0 || ::dup2(out, 1) < 0) ::_exit(126);
    ::setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
    execute(c.words);
    ::_exit(127);
}

// Hands the output of the program on in pieces. Returns how it ended.
int run_program(const network& net, const flow::command& c,
                const std::function<void(const std::string&)>& on_output) {
    int in = -1, out[2];
    if (!c.input.empty()) {
        in = ::open(("/" + c.input).c_str(), O_RDONLY | O_CLOEXEC);
        if (in < 0) fail("cannot read the input /" + c.input);
    }
    if (::pipe(out) != 0) fail("cannot make the pipe of a program");
    const pid_t pid = forked();
    if (pid == 0) become(net, c, in, out[1]);
    ::close(out[1]);
    if (in >= 0) ::close(in);
    std::array<char, longest_output> text;
    std::size_t size = 0;
    for (ssize_t n = 1; n > 0;) {
        n = ::read(out[0], text.data() + size, text.size() - 1 - size);
        if (n > 0) size += static_cast<std::size_t>(n);
        if (size == 0 || (n > 0 && size + 1 < text.size())) continue;
        std::string piece(text.data(), size);
        for (char& ch : piece)
            if (static_cast<unsigned char>(ch) < ' ' && ch != '\n') ch = ' ';
        on_output(piece);
        size = 0;
    }
    ::close(out[0]);
    int status = 0;
    ::waitpid(pid, &status, 0);
    return status;
}

void run_before_or_after(const network& net, const flow::command& c, const result_lines& to) {
    const int status = run_program(net, c, [&](const std::string& piece) {
        to.tell({{"side", c.side}, {"program", c.words[0]}, {"said", {piece}}});
    });
    if (status != 0) {
        throw bad_input(c.words[0] + " failed with status " +
                        std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : status));
    }
}

void run_as_flow(const network& net, const flow::flow& f, const flow::teller& to) {
    flow::sleep_until(*f.start_s);
    const int status = run_program(net, {f.from, f.command, ""}, [&](const std::string& piece) {
        to.say_part({{"said", {piece}}});
    });
    to.say({{"program", f.command[0]}, {"status", WIFEXITED(status) ? WEXITSTATUS(status) : -1}});
}

// --- a program between two sides ---

class program_between {
public:
    program_between(const network& net, const flow::between& b) {
        if (::pipe(said_) != 0) fail("cannot make the pipe of a program");
        pid_ = forked();
        if (pid_ == 0) {
            net.enter(b.listens);
            if (::dup2(said_[1], 1) < 0 || ::dup2(net.space(b.connects), 3) < 0) ::_exit(126);
            execute(b.words);
        }
        ::close(said_[1]);
    }
    // Ends the program and returns what it printed.
    json ended() const {
        int status = 0;
        ::kill(pid_, SIGTERM);
        const std::string text = read_all(said_[0]);
        ::waitpid(pid_, &status, 0);
        if (status != 0) return {{"failed", "between two sides: " + text}};
        return {{"between", json::parse(text)}};
    }

private:
    pid_t pid_ = -1;
    int said_[2] = {-1, -1};
};

// --- the plan ---

void seed_random(std::uint64_t seed) {
    struct {  // a rand_pool_info of the kernel's
        int entropy_count = 512, buf_size = sizeof words;
        std::uint64_t words[8];
    } pool = {};
    for (std::uint64_t& word : pool.words)
        word = seed = seed * 6364136223846793005U + 1442695040888963407U;
    const int f = ::open("/dev/random", O_WRONLY | O_CLOEXEC);
    if (f < 0 || ::ioctl(f, RNDADDENTROPY, &pool) != 0) fail("cannot seed /dev/random");
    ::ioctl(f, RNDRESEEDCRNG);
    ::close(f);
}

// Starts a process, which is reported as failed when it cannot do its work.
void start_process(const flow::flow& f, const result_lines& results,
                   const std::function<bool()>& work) {
    if (forked() != 0) return;
    try {
        ::_exit(work() ? 0 : 1);
    } catch (const std::exception& e) {
        results.tell({{"flow", f.number}, {"failed", e.what()}});
    }
    ::_exit(1);
}

// Starts a process for each end; returns how many of them report a result.
int start_flow(const network& net, const flow::plan& p, const flow::flow& f,
               const result_lines& results) {
    if (f.kind == "program") {
        start_process(f, results, [&] {
            run_as_flow(net, f, {results.in(), f.number, "program"});
            return true;
        });
        return 1;
    }
    int tell = 0;
    for (const flow::end& e : flow::ends_of(f.kind)) {
        tell += e.tells ? 1 : 0;
        start_process(f, results, [&] {
            net.enter(e.side(f));
            return flow::run_end(p, f, e, results.in()).empty();
        });
    }
    return tell;
}

std::string read_file(const char* path) {
    std::ifstream in(path);
    std::ostringstream text;
    if (!(text << in.rdbuf())) throw machine_error(std::string(path) + " cannot be read");
    return text.str();
}

void write_result(std::FILE* in, std::FILE* out, int ends, const std::function<void()>& at_end) {
    std::vector<char> line(2 * flow::longest_line);
    const auto next = [&] {
        return std::fgets(line.data(), static_cast<int>(line.size()), in) != nullptr;
    };
    while (ends > 0 && next()) {
        std::fputs(line.data(), out);
        const json report = json::parse(line.data());
        if (report.contains("flow") && !report.contains("part")) --ends;
        if (report.contains("failed")) break;  // the other end may wait for ever
    }
    at_end();
    while (next() && line[0] != '\n') std::fputs(line.data(), out);
}

void do_plan() {
    const flow::plan p = flow::read_plan(read_file("/plan"));
    const result_lines results;
    if (p.seed) seed_random(*p.seed);
    const network net(p.sides);
    for (const auto& [name, value] : p.sysctls) results.tell(set_everywhere(net, name, value));
    for (const flow::command& c : p.programs) run_before_or_after(net, c, results);
    std::optional<program_between> proxy;
    if (p.proxy) proxy.emplace(net, *p.proxy);
    int ends = 0;
    for (const flow::flow& f : p.flows) ends += start_flow(net, p, f, results);

    std::FILE* in = results.reader();
    std::FILE* out = std::fopen(unfinished_file, "w");
    if (out == nullptr) fail(std::string("cannot write ") + unfinished_file);
    write_result(in, out, ends, [&] {
        if (proxy) results.tell(proxy->ended());
        for (const flow::command& c : p.afterwards) run_before_or_after(net, c, results);
        results.tell_end();
    });
    std::fputs("{\"whole\": true}\n", out);
    // If the disk of the host is full, only fsync() fails.
    if (std::fflush(out) != 0 || std::ferror(out) != 0 || ::fsync(::fileno(out)) != 0 ||
        std::fclose(out) != 0)
        fail(std::string("cannot write ") + unfinished_file);
}

void prepare_folders() {
    for (const char* folder : {"/proc", "/sys", "/dev", "/host"}) ::mkdir(folder, 0755);
    ::mount("proc", "/proc", "proc", 0, nullptr);
    ::mount("dev", "/dev", "devtmpfs", 0, nullptr);
    ::mount("host", "/host", "hostfs", MS_RDONLY, "/");
    ::mount("tmp", "/host/tmp", "tmpfs", 0, nullptr);
    ::mount("proc", "/host/proc", "proc", 0, nullptr);  // tc finds the unit of its times there
}

}  // namespace

int main() {
    prepare_folders();
    std::signal(SIGPIPE, SIG_IGN);
    try {
        do_plan();
    } catch (const std::exception& e) {
        if (::getpid() != 1) ::_exit(126);  // this is a child whose program could not be started
        if (std::FILE* f = std::fopen(unfinished_file, "w")) {
            std::fputs((flow::text_of({{"failed", e.what()}}) + "\n").c_str(), f);
            std::fclose(f);
        }
    }
    std::rename(unfinished_file, result_file);
    // The calendar ends the kernel when it has seen the result.
    for (;;) ::pause();
}
