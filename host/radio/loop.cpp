// SPDX-License-Identifier: GPL-3.0-or-later
#include "radio/loop.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <utility>

#include "iq/radio_clock.h"
#include "os/monotonic.h"
#include "os/realtime.h"
#include "radio/lateness.h"
#include "types/failure.h"
#include "types/grid.h"

namespace wip::radio {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr double slots_per_second = 1500;
constexpr std::size_t burst_size = 256, sounding_size = 1024;  // samples
constexpr float amplitude = 0.25F;                             // share of full scale
constexpr int lost_at_most = 10;  // gaps until the measurement is given up
// least correlation (0 to 1) of a burst that was received; noise alone stays below 0.02
constexpr double heard_from = 0.05;

// A pattern that no other transmitter sends: QPSK from a fixed seed.
std::vector<cf32> pattern(std::size_t size) {
    std::minstd_rand random(1);
    std::vector<cf32> made(size);
    for (cf32& x : made) {
        const auto bits = random() >> 8;
        x = {bits & 1 ? amplitude : -amplitude, bits & 2 ? amplitude : -amplitude};
    }
    return made;
}

class device_time {
public:
    explicit device_time(usrp::sptr radio) : radio_(std::move(radio)) {
        std::vector<std::int64_t> cost;
        for (int i = 0; i < 21; ++i) {
            const std::int64_t before = os::monotonic_ns();
            refresh();
            cost.push_back(os::monotonic_ns() - before);
        }
        std::nth_element(cost.begin(), cost.begin() + 10, cost.end());
        reading_s_ = 1e-9 * static_cast<double>(cost[10]);
        direct_ = reading_s_ < 20e-6;
    }
    double now() const {
        if (direct_) return radio_->get_time_now().get_real_secs();
        return static_cast<double>(clock_.at(os::monotonic_ns())->value) / sample_rate_hz;
    }
    // Ten times a second, where it is not read directly.
    void refresh() {
        const uhd::time_spec_t read = radio_->get_time_now();
        clock_.add(sample(read.to_ticks(sample_rate_hz)), os::monotonic_ns());
    }
    bool direct() const noexcept { return direct_; }
    double reading_s() const noexcept { return reading_s_; }

private:
    usrp::sptr radio_;
    iq::radio_clock clock_;
    double reading_s_ = 0;
    bool direct_ = true;
};

// Receives slots until it is destroyed.
class slot_watch {
public:
    slot_watch(const usrp::sptr& radio, uhd::rx_streamer::sptr stream, const device_time& time)
        : radio_(radio), stream_(std::move(stream)), time_(time), thread_([this] { run(); }) {}
    ~slot_watch() {
        if (thread_.joinable()) end();
    }
    std::vector<double> end() {
        ends_ = true;
        thread_.join();
        stream_->issue_stream_cmd(uhd::stream_cmd_t::STREAM_MODE_STOP_CONTINUOUS);
        if (!trouble_.empty()) throw machine_error(trouble_);
        return std::exchange(latencies_, {});
    }
    int gaps() const noexcept { return gaps_; }

private:
    void run() {
        const sched_param priority{os::slot_path_priority};
        // it works without real-time priority, only later
        pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority);
        try {
            receive();
        } catch (const std::exception& e) {
            trouble_ = e.what();
        }
    }
    void receive() {
        const double rate = radio_->get_rx_rate(0);
        std::vector<cf32> slot(static_cast<std::size_t>(std::lround(rate / slots_per_second)));
        latencies_.reserve(1 << 18);
        uhd::stream_cmd_t start(uhd::stream_cmd_t::STREAM_MODE_START_CONTINUOUS);
        start.stream_now = false;  // starts at a slot boundary, as a station does
        start.time_spec =
            uhd::time_spec_t(std::ceil((time_.now() + 0.05) * slots_per_second) / slots_per_second);
        stream_->issue_stream_cmd(start);
        int silent = 0, settled = 0;
        while (!ends_) {
            uhd::rx_metadata_t about;
            const std::size_t got = stream_->recv(slot.data(), slot.size(), about, 1.0);
            const double arrived = time_.now();
            if (about.error_code == uhd::rx_metadata_t::ERROR_CODE_OVERFLOW) {
                ++gaps_;
                settled = 0;
            } else if (got == 0) {
                if (++silent > 3) throw machine_error("the radio delivers no samples");
            } else if (++settled > 30) {  // the first slots of a stream are not typical
                const double last = static_cast<double>(got) / rate;
                latencies_.push_back(arrived - about.time_spec.get_real_secs() - last);
            }
        }
    }

    usrp::sptr radio_;
    uhd::rx_streamer::sptr stream_;
    const device_time& time_;
    std::vector<double> latencies_;
    std::atomic<bool> ends_ = false;
    int gaps_ = 0;
    std::string trouble_;
    std::thread thread_;
};

// Sends one burst so long before its time, and returns whether it was late; none: no report came.
std::optional<bool> late(uhd::tx_streamer& stream, const device_time& time, double lead,
                         const std::vector<cf32>& burst) {
    uhd::async_metadata_t event;
    while (stream.recv_async_msg(event, 0)) {  // discards events of earlier bursts
    }
    uhd::tx_metadata_t about;
    about.start_of_burst = about.end_of_burst = about.has_time_spec = true;
    about.time_spec = uhd::time_spec_t(time.now() + lead);
    stream.send(burst.data(), burst.size(), about, 0.5);
    if (!stream.recv_async_msg(event, lead + 0.2)) return std::nullopt;
    const bool was = event.event_code != uhd::async_metadata_t::EVENT_CODE_BURST_ACK;
    if (was) std::this_thread::sleep_for(500us);  // waits for further events about the burst
    return was;
}

// Delay from the time of a burst to its first sample received; nullopt: it was not received.
std::optional<double> path_delay(const usrp::sptr& radio, uhd::rx_streamer& in,
                                 uhd::tx_streamer& out, const device_time& time) {
    // seconds
    constexpr double before = 0.01, length = 0.03, lead = 0.06, earliest = -0.2e-3, latest = 3e-3;
    const double rate = radio->get_rx_rate(0);
    const std::vector<cf32> burst = pattern(sounding_size);
    const auto count = static_cast<std::size_t>(length * rate);
    std::vector<cf32> received(count);
    uhd::stream_cmd_t command(uhd::stream_cmd_t::STREAM_MODE_NUM_SAMPS_AND_DONE);
    command.num_samps = count;
    command.stream_now = false;
    command.time_spec = uhd::time_spec_t(time.now() + lead);
    uhd::tx_metadata_t about;
    about.start_of_burst = about.end_of_burst = about.has_time_spec = true;
    about.time_spec = command.time_spec + before;
    in.issue_stream_cmd(command);
    out.send(burst.data(), burst.size(), about, 0.5);
    for (std::size_t done = 0; done < count;) {
        uhd::rx_metadata_t read;
        done += in.recv(received.data() + done, count - done, read, 1.0);
        if (read.error_code != uhd::rx_metadata_t::ERROR_CODE_NONE) return std::nullopt;
    }
    uhd::async_metadata_t event;
    out.recv_async_msg(event, 0.2);
    double best = heard_from;
    std::optional<double> found;
    for (auto at = static_cast<std::size_t>((before + earliest) * rate);
         at < static_cast<std::size_t>((before + latest) * rate); ++at) {
        cf32 sum{};
        float energy = 0;
        for (std::size_t k = 0; k < burst.size(); ++k) {
            sum += received[at + k] * std::conj(burst[k]);
            energy += std::norm(received[at + k]);
        }
        const double correlation =
            std::norm(sum) / (2 * amplitude * amplitude * sounding_size * std::max(energy, 1e-20F));
        if (correlation > best) {
            best = correlation;
            found = static_cast<double>(at) / rate - before;
        }
    }
    return found;
}

json json_of_latencies(std::vector<double> all) {
    json j{{"slots", all.size()}};
    if (all.empty()) return j;
    std::sort(all.begin(), all.end());
    const auto n = static_cast<double>(all.size());
    const auto exceeded_by = [&](double share) {
        const auto at = static_cast<std::size_t>(std::max(0.0, std::ceil((1 - share) * n) - 1));
        return all[std::min(at, all.size() - 1)] * 1e6;
    };
    j["shortest_us"] = all.front() * 1e6;
    j["median_us"] = exceeded_by(0.5);
    j["one_in_thousand_us"] = exceeded_by(1e-3);
    // with fewer than 10,000 slots this is the longest
    j["one_in_ten_thousand_us"] = exceeded_by(1e-4);
    j["longest_us"] = all.back() * 1e6;
    return j;
}

}  // namespace

json measure_loop(const usrp::sptr& radio, double seconds) {
    device_time time(radio);
    const auto in = radio->get_rx_stream(uhd::stream_args_t("fc32"));
    const auto out = radio->get_tx_stream(uhd::stream_args_t("fc32"));
    const std::optional<double> path = path_delay(radio, *in, *out, time);

    const std::vector<cf32> burst = pattern(burst_size);
    const bool realtime = os::use_realtime();
    const std::int64_t end = os::monotonic_ns() + std::llround(seconds * 1e9);
    std::int64_t refreshed = 0;
    lead_search search;
    int lost = 0;
    slot_watch watch(radio, in, time);
    while (!search.shown() && (os::monotonic_ns() < end || !search.answered())) {
        if (!time.direct() && os::monotonic_ns() - refreshed > 100'000'000) {
            time.refresh();
            refreshed = os::monotonic_ns();
        }
        const auto was = late(*out, time, search.next(), burst);
        if (was)
            search.add(*was);
        else if (++lost > lost_at_most)
            throw machine_error(
                "the radio reports neither success nor failure of the bursts that it was to "
                "transmit");
    }
    json receive = json_of_latencies(watch.end());
    receive["gaps"] = watch.gaps();
    json leads = json::array();
    for (const lead_count& c : search.counts())
        if (c.bursts > 0)
            leads.push_back({{"lead_us", c.lead_s * 1e6}, {"bursts", c.bursts}, {"late", c.late}});
    const lead_count& last = search.counts().back();
    return {{"product", radio->get_mboard_name(0)},
            {"rate_hz", radio->get_rx_rate(0)},
            {"realtime_priority", realtime},
            {"time_reading_us", time.reading_s() * 1e6},
            {"path_delay_us", path ? json(*path * 1e6) : json()},
            {"receive", receive},
            {"transmit",
             {{"leads", leads},
              {"unanswered", lost},
              {"lead_us", last.lead_s * 1e6},
              {"late_at_most", share_at_most(last.late, last.bursts)}}}};
}

}  // namespace wip::radio
