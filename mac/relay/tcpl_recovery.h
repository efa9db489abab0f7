// SPDX-License-Identifier: GPL-3.0-or-later
// A receiver's TCP that takes damaged data (Alfredsson 2012, chapter 4). A segment with a wrong
// checksum is not dropped if it surely belongs to a known connection. It gets a header that follows
// from the connection, and a right checksum. The host's unmodified TCP then takes its data, with
// the errors, and acknowledges it, so the sender sees no loss. No I/O: it is given packets in both
// directions.
//
// A connection ("flow") becomes known from intact segments: outgoing ones tell what is expected
// next (their acknowledgement number and window) and when the connection starts; incoming ones show
// the form of its segments. A damaged segment passes these steps; if one fails, it is left as it
// is, and the host drops it:
//
//   find      addresses (covered by the intact IP header) and ports name a flow. With
//             `most_port_errors` > 0: else the only flow between these addresses whose ports differ
//             in at most so many bits and that the sequence number fits
//   data      with the flow's header length there is data in it (a segment without has nothing to
//             save and errors in nothing but its header)
//   header    constant: ports, header length, reserved bits, URG = RST = SYN = FIN = 0, ACK = 1.
//             Harmless: acknowledgement number, window and options become those of the last
//             intact segment, urgent pointer 0, PSH stays as it came
//   sequence  the last acknowledged one; or later, inside the window, either the one after the last
//             accepted segment or a whole number of segments further (of the largest payload seen).
//             It is never altered
//
// Options: a template of the last intact segment, where that holds nothing but padding and
// timestamps; a flow with others is not touched. The timestamp is that of the last intact segment:
// a damaged one from the future would make the host drop all that follow (RFC 7323, PAWS). A header
// length that differs while the template's option layout is not there either looks like another
// header, not like an error: dropped.
//
// A FIN on a damaged segment is cleared with the other flags; the sender repeats it.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

namespace wip::tcpl {

enum class verdict : std::uint8_t {
    other,      // not IPv4 with an intact header, not TCP, or a fragment
    intact,     // checksum right
    recovered,  // checksum was wrong, the packet has been repaired
    no_flow,    // wrong, and no connection is known for it; as all that follow
    no_data,    // nothing to save
    header,     // header length or options do not allow it
    sequence,   // sequence number does not fit
};
inline constexpr std::array<std::string_view, 7> verdict_names{
    "other", "intact", "recovered", "no_flow", "no_data", "header", "sequence"};

struct recovery_config {
    int most_port_errors = 0;                     // bits
    int most_flows = 1024;                        // 1 .. 65536; the longest unused one makes room
    std::vector<std::uint16_t> local_ports = {};  // ports that take part; empty: all
    void check() const;  // throws std::invalid_argument naming key, value and what would be valid
};

class tcpl_recovery {
public:
    explicit tcpl_recovery(const recovery_config& config = {});

    // A packet that the host sends.
    void on_outgoing(std::span<const std::uint8_t> packet);
    // A packet for the host, repaired in place where the verdict is `recovered`.
    verdict on_incoming(std::span<std::uint8_t> packet);

    std::size_t flows() const { return flows_.size(); }
    std::uint64_t count(verdict v) const { return counts_[static_cast<std::size_t>(v)]; }
    std::uint64_t restored_headers() const { return restored_; }  // of the recovered ones

private:
    struct flow_key {
        std::uint32_t local = 0, remote = 0;
        std::uint16_t local_port = 0, remote_port = 0;
        auto operator<=>(const flow_key&) const = default;
    };
    struct flow {
        // True if the host's segments carry acknowledgements.
        bool acknowledges = false;
        std::uint32_t expected = 0;  // the host's last acknowledgement number
        std::uint32_t window = 0;    // bytes
        int shift = 0;               // scale of the window field, from the host's SYN
        bool host_scales = false, peer_scales = false;
        // True after an intact segment of the peer that was no SYN.
        bool has_received = false;
        std::uint8_t header_bytes = 20;
        std::array<std::uint8_t, 40> options{};
        bool plain_options = true;  // nothing but padding and timestamps
        std::uint32_t acknowledgement = 0;
        std::uint16_t peer_window = 0;
        std::uint32_t next = 0;     // end of the last segment taken
        std::uint32_t segment = 0;  // largest payload
        std::uint64_t used = 0;
    };
    struct segment_view;

    verdict evaluate(std::span<std::uint8_t> packet);
    verdict recover(std::span<std::uint8_t> packet, const segment_view& s);
    void learn(const segment_view& s, const flow_key& key);
    flow* find_near(const segment_view& s, flow_key& key);
    flow& open(const flow_key& key);
    bool fits(const flow& f, std::uint32_t sequence) const;
    bool takes_part(std::uint16_t local_port) const;

    recovery_config config_;
    std::map<flow_key, flow> flows_;
    std::uint64_t clock_ = 0;  // counts uses of flows; flow::used is its value at the last one
    std::array<std::uint64_t, verdict_names.size()> counts_{};
    std::uint64_t restored_ = 0;
};

}  // namespace wip::tcpl
