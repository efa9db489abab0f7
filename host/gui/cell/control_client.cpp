// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/cell/control_client.h"

namespace wip::gui {

control_client::control_client() : context_(1) {}
control_client::~control_client() = default;

void control_client::ask(const std::string& endpoint, const curve_keys& keys,
                         const openwip::control::Request& request, answer then, double patience_s) {
    try {
        zmq::socket_t socket(context_, zmq::socket_type::req);
        socket.set(zmq::sockopt::linger, 0);
        socket.set(zmq::sockopt::maxmsgsize, std::int64_t{4 << 20});
        use_keys(socket, keys);
        socket.connect(endpoint);
        socket.send(zmq::buffer(request.SerializeAsString()), zmq::send_flags::dontwait);
        questions_.push_back({std::move(socket), std::move(then),
                              steady_ns() + static_cast<std::int64_t>(patience_s * 1e9), endpoint});
    } catch (const zmq::error_t& e) {
        then(nullptr, endpoint + ": " + e.what());
    }
}

void control_client::forget() { questions_.clear(); }

void control_client::poll() {
    for (auto q = questions_.begin(); q != questions_.end();) {
        zmq::message_t frame;
        if (q->socket.recv(frame, zmq::recv_flags::dontwait)) {
            // An answer may ask the next question: the list is in order before it is called.
            const question done = std::move(*q);
            q = questions_.erase(q);
            openwip::control::Reply reply;
            if (!reply.ParseFromArray(frame.data(), static_cast<int>(frame.size())))
                done.then(nullptr, done.endpoint + ": the answer does not parse");
            else
                done.then(&reply, reply.ok() ? "" : reply.error());
        } else if (steady_ns() > q->deadline_ns) {
            const question done = std::move(*q);
            q = questions_.erase(q);
            done.then(nullptr, done.endpoint + " does not answer");
        } else {
            ++q;
        }
    }
}

}  // namespace wip::gui
