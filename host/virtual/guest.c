// SPDX-License-Identifier: GPL-3.0-or-later
// The first and only program of a Linux kernel in virtual time: makes the network, runs the
// traffic, writes what came of it, and waits for its end. It is small because every time a program
// runs there costs as much as a packet. /plan has one word and its values a line:
//
// clang-format off
//   seed N                                   of the kernel's random numbers
//   side ADDRESS/PREFIX                      the next interface, in a network namespace of its own
//   sysctl NAME VALUE...                     of every side from here on (net/ipv4/tcp_sack 1); read back, the same at all
//   run SIDE [</FILE] PROGRAM ARGUMENT...    of the host's programs (tc qdisc ...), with a file of the folder as its
//                                            input; what it prints is read back
//   after SIDE PROGRAM ARGUMENT...           the same when the traffic is over
//   program SIDE START PROGRAM ARGUMENT...   one of them as traffic; its /tmp is empty
//   between SIDE SIDE PROGRAM ARGUMENT...    one of the folder's, from here on until the traffic is over: in the first's
//                                            namespace, the second's is descriptor 3; what it prints is read back
//   window BYTES                             of TCP, of every receiver of bulk, transfer, sessions from here on: kept, and told
//   bulk FROM TO START SECONDS CC [KB [S]]   TCP as fast as it goes; seconds of the kernel's clock; KB of socket buffer (0: the
//                                            kernel's own); counted anew from S seconds on, until when it tries to connect
//   transfer FROM TO START BYTES CC [KB]     TCP, so many bytes
//   sessions FROM TO START CC BYTES TIMES ...           file transfers one after the other, a connection each
//   compare FROM TO START BYTES CC KB LIMIT SEED        bytes that are compared; sender's buffer; given up after LIMIT s
//   pages CLIENT SERVER START SECONDS REQUEST RESPONSE THINK CC    a connection each, THINK seconds between
//   voip FROM TO START SECONDS INTERVAL BYTES           UDP, a packet each INTERVAL seconds
// clang-format on
//
// /result is a JSON object a line: {"sysctl": name, "value": what is read back}, {"program": ...,
// "said": ...}, and of each end of each flow {"flow": ..., "end": ...}, after lines with "part"
// where it has much to tell; what cannot be done has "failed". Without that it ends with
// {"whole": true}. Sides and flows count from 0.
#define _GNU_SOURCE
#include "virtual/guest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "virtual/guest_sockets.h"

int sides;
struct in_addr addresses[most_sides];
static int spaces[most_sides], home = -1, results[2];

_Noreturn static void end(void) {
    // The calendar ends the kernel when it has seen the result.
    for (;;) pause();
}

_Noreturn void fail(const char* what) {
    FILE* f = fopen("/result.new", "w");
    fprintf(f, "{\"failed\": \"%s: %s\"}\n", what, strerror(errno));
    fclose(f);
    rename("/result.new", "/result");
    end();
}

// A line of the result, whole: pipes keep what is short together.
void tell(const char* format, ...) {
    char line[4096];
    va_list a;
    va_start(a, format);
    int n = vsnprintf(line, sizeof line, format, a);
    va_end(a);
    if (n > 0 && (size_t)n < sizeof line && write(results[1], line, (size_t)n) != n) _exit(1);
}

// --- the network ---

void enter(int side) {
    if (setns(spaces[side], CLONE_NEWNET)) fail("setns");
}

// eth<n> into a namespace.
static void move_interface(int n, int space) {
    char name[IFNAMSIZ];
    snprintf(name, sizeof name, "eth%d", n);
    struct {
        struct nlmsghdr head;
        struct ifinfomsg info;
        struct rtattr attribute;
        uint32_t space;
    } m = {{sizeof m, RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, 1, 0},
           {.ifi_index = (int)if_nametoindex(name)},
           {RTA_LENGTH(4), IFLA_NET_NS_FD},
           (uint32_t)space};
    struct {
        struct nlmsghdr head;
        struct nlmsgerr error;
        char rest[256];
    } reply;
    int s = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    if (s < 0 || send(s, &m, sizeof m, 0) < 0 || recv(s, &reply, sizeof reply, 0) < 0) fail(name);
    if (reply.error.error) errno = -reply.error.error, fail(name);
    close(s);
}

static void up(const char* name, const char* address, int prefix) {
    struct ifreq r = {0};
    struct sockaddr_in* a = (struct sockaddr_in*)&r.ifr_addr;
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name);
    if (address) {
        a->sin_family = AF_INET;
        inet_pton(AF_INET, address, &a->sin_addr);
        if (ioctl(s, SIOCSIFADDR, &r)) fail("address");
        a->sin_addr.s_addr = htonl(prefix ? ~0U << (32 - prefix) : 0);
        if (ioctl(s, SIOCSIFNETMASK, &r)) fail("netmask");
    }
    r.ifr_flags = IFF_UP | IFF_RUNNING | (address ? IFF_NOARP : IFF_LOOPBACK);
    if (ioctl(s, SIOCSIFFLAGS, &r)) fail("up");
    close(s);
}

static void add_side(char* address) {
    char name[IFNAMSIZ], *slash = strchr(address, '/');
    if (sides == most_sides || !slash) errno = EINVAL, fail("side");
    *slash = 0;
    if (home < 0) home = open("/proc/self/ns/net", O_RDONLY);
    if (unshare(CLONE_NEWNET)) fail("unshare");
    spaces[sides] = open("/proc/self/ns/net", O_RDONLY);
    if (setns(home, CLONE_NEWNET)) fail("setns");
    move_interface(sides, spaces[sides]);
    inet_pton(AF_INET, address, &addresses[sides]);
    enter(sides);
    snprintf(name, sizeof name, "eth%d", sides);
    up("lo", NULL, 0);
    up(name, address, atoi(slash + 1));
    setns(home, CLONE_NEWNET);
    ++sides;
}

// Sets a value of every side, or of the kernel where sides have none of their own. The value that
// is read back is one.
static void set_everywhere(char** words, int n) {
    char path[256], value[256] = "", got[256] = "", before[256] = "", differs[256];
    snprintf(path, sizeof path, "/proc/sys/%s", words[0]);
    for (int i = 1; i < n; ++i)
        snprintf(value + strlen(value), sizeof value - strlen(value), "%s%s", i > 1 ? " " : "",
                 words[i]);
    for (int side = 0; side < sides; ++side) {
        enter(side);
        int f = open(path, O_RDWR);
        if (f < 0 && errno == ENOENT && !setns(home, CLONE_NEWNET)) f = open(path, O_RDWR);
        if (f < 0 || write(f, value, strlen(value)) < 0) fail(words[0]);
        ssize_t size = pread(f, got, sizeof got - 1, 0);
        if (size < 0) fail(words[0]);
        got[size] = 0;
        close(f);
        snprintf(differs, sizeof differs, "%s is not the same at all sides", words[0]);
        if (side > 0 && strcmp(got, before)) errno = ECANCELED, fail(differs);
        memcpy(before, got, sizeof got);
    }
    for (char* c = got; *c; ++c)
        if (*c == '\t') *c = ' ';
    got[strcspn(got, "\n")] = 0;
    tell("{\"sysctl\": \"%s\", \"value\": \"%s\"}\n", words[0], got);
}

// As a string of JSON.
static const char* quoted(const char* text) {
    static char out[3500];
    size_t at = 0;
    for (; *text && at + 4 < sizeof out; ++text) {
        if (*text == '"' || *text == '\\') out[at++] = '\\';
        if (*text == '\n') out[at++] = '\\';
        out[at++] = *text == '\n' ? 'n' : (unsigned char)*text < ' ' ? ' ' : *text;
    }
    out[at] = 0;
    return out;
}

// Becomes a program of the host's, in a namespace, with `out` for its output.
_Noreturn static void become(char** words, int in, int out) {
    enter(atoi(words[0]));
    if (in >= 0) dup2(in, 0);
    if (chroot("/host") || chdir("/") || dup2(out, 1) < 0) _exit(126);
    setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
    execvp(words[1], words + 1);
    _exit(127);
}

static void run_program(char** words, int flow) {
    char text[1600];
    size_t size = 0;
    ssize_t n = 0;
    int output[2], status = 0, in = -1;
    if (words[1][0] == '<') {
        in = open(words[1] + 1, O_RDONLY | O_CLOEXEC);
        if (in < 0) fail(words[1]);
        words[1] = words[0], ++words;
    }
    if (pipe(output)) fail("pipe");
    pid_t pid = fork();
    if (pid < 0) fail("fork");
    if (pid == 0) become(words, in, output[1]);
    close(output[1]);
    if (in >= 0) close(in);
    do {
        n = read(output[0], text + size, sizeof text - 1 - size);
        if (n > 0) size += (size_t)n;
        text[size] = 0;
        if (size == 0 || (n > 0 && size + 1 < sizeof text)) continue;
        if (flow < 0)
            tell("{\"side\": %d, \"program\": \"%s\", \"said\": [\"%s\"]}\n", atoi(words[0]),
                 words[1], quoted(text));
        else
            tell("{\"part\": 1, \"flow\": %d, \"end\": \"program\", \"said\": [\"%s\"]}\n", flow,
                 quoted(text));
        size = 0;
    } while (n > 0);
    close(output[0]);
    waitpid(pid, &status, 0);
    if (flow >= 0)
        tell("{\"flow\": %d, \"end\": \"program\", \"program\": \"%s\", \"status\": %d}\n", flow,
             words[1], WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    else if (status)
        errno = ECANCELED, fail(words[1]);
}

void run_as_flow(char** words, int flow) { run_program(words, flow); }

// --- a program between two sides ---

static pid_t between;
static int between_said[2];

static void start_between(char** words) {
    const int listens = atoi(words[0]), connects = atoi(words[1]);
    if (between || listens >= sides || connects >= sides) errno = EINVAL, fail("between");
    if (pipe(between_said)) fail("pipe");
    between = fork();
    if (between < 0) fail("fork");  // -1 is everybody to kill()
    if (between == 0) {
        enter(listens);
        if (dup2(between_said[1], 1) < 0 || dup2(spaces[connects], 3) < 0) _exit(126);
        execv(words[2], words + 2);
        _exit(127);
    }
    close(between_said[1]);
}

static void end_between(void) {
    char text[1600];
    size_t size = 0;
    ssize_t n = 0;
    int status = 0;
    kill(between, SIGTERM);
    while ((n = read(between_said[0], text + size, sizeof text - 1 - size)) > 0) size += (size_t)n;
    text[size] = 0;
    waitpid(between, &status, 0);
    if (status)
        tell("{\"failed\": \"between two sides: %s\"}\n", quoted(text));
    else
        tell("{\"between\": %s}\n", text);
}

// --- the plan ---

static void seed_random(unsigned long long seed) {
    struct {
        struct rand_pool_info head;
        unsigned long long words[8];
    } pool = {{.entropy_count = 512, .buf_size = 64}, {0}};
    for (int i = 0; i < 8; ++i)
        pool.words[i] = seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    int f = open("/dev/random", O_WRONLY);
    if (f < 0 || ioctl(f, RNDADDENTROPY, &pool)) fail("seed");
    ioctl(f, RNDRESEEDCRNG);
    close(f);
}

static char later[8][256];  // lines of what is to run after the traffic
static int laters;

static int do_line(char* line) {  // returns how many ends of flows it has started
    if (!strncmp(line, "after ", 6)) {
        const size_t most = sizeof *later;
        if (laters == (int)(sizeof later / most) ||
            (size_t)snprintf(later[laters++], most, "run %s", line + 6) >= most)
            errno = E2BIG, fail("after");
        return 0;
    }
    char* words[most_words + 1] = {0};
    int n = 0;
    for (char* w = strtok(line, " \t\n"); w; w = strtok(NULL, " \t\n")) {
        if (n == most_words) errno = E2BIG, fail(words[0]);
        words[n++] = w;
    }
    if (n == 0 || words[0][0] == '#') return 0;
    if (!strcmp(words[0], "seed") && n == 2) return seed_random(strtoull(words[1], NULL, 10)), 0;
    if (!strcmp(words[0], "side") && n == 2) return add_side(words[1]), 0;
    if (!strcmp(words[0], "window") && n == 2) return window_bytes = atoi(words[1]), 0;
    if (!strcmp(words[0], "sysctl") && n >= 3) return set_everywhere(words + 1, n - 1), 0;
    if (!strcmp(words[0], "between") && n >= 4) return start_between(words + 1), 0;
    if (!strcmp(words[0], "run") && n >= 3) return run_program(words + 1, -1), 0;
    const int ends = add_flow(words, n);
    if (ends == 0) errno = EINVAL, fail(words[0]);
    return ends;
}

int main(void) {
    static char line[1 << 13], text[1 << 13];
    mkdir("/proc", 0755), mkdir("/sys", 0755), mkdir("/dev", 0755), mkdir("/host", 0755);
    mount("proc", "/proc", "proc", 0, NULL);
    mount("dev", "/dev", "devtmpfs", 0, NULL);
    mount("host", "/host", "hostfs", MS_RDONLY, "/");
    mount("tmp", "/host/tmp", "tmpfs", 0, NULL);
    mount("proc", "/host/proc", "proc", 0, NULL);  // where tc looks for the unit of its times
    if (pipe(results)) fail("pipe");
    signal(SIGPIPE, SIG_IGN);
    FILE* plan = fopen("/plan", "r");
    if (!plan) fail("plan");
    int ends = 0;
    while (fgets(line, sizeof line, plan)) {
        if (!strchr(line, '\n') && !feof(plan)) errno = E2BIG, fail(strtok(line, " "));
        ends += do_line(line);
    }
    fclose(plan);

    FILE* in = fdopen(results[0], "r");
    FILE* out = fopen("/result.new", "w");
    if (!in || !out) fail("result");
    while (ends > 0 && fgets(text, sizeof text, in)) {
        fputs(text, out);
        if (!strncmp(text, "{\"flow\"", 7)) --ends;
        if (strstr(text, "\"failed\"")) break;  // the other end may wait for ever
    }
    if (between) end_between();
    for (int i = 0; i < laters; ++i) do_line(later[i]);
    tell("\n");
    while (fgets(text, sizeof text, in) && text[0] != '\n') fputs(text, out);
    fputs("{\"whole\": true}\n", out);
    // Where the disk of the host is full, fsync() alone says so.
    if (fflush(out) || ferror(out) || fsync(fileno(out)) || fclose(out)) fail("result");
    rename("/result.new", "/result");
    end();
}
