// SPDX-License-Identifier: GPL-3.0-or-later
#include "runtime/control_socket.h"

#include <cstdint>

#include "peer/endpoint.h"

namespace wip::host {

control_socket::control_socket(zmq::context_t& context, const std::string& endpoint,
                               const std::string& key)
    : socket_(context, zmq::socket_type::rep) {
    socket_.set(zmq::sockopt::linger, 200);
    socket_.set(zmq::sockopt::maxmsgsize, std::int64_t{4 << 20});
    peer::bind_endpoint(socket_, endpoint, key);
}

control_socket::result control_socket::serve(const handler& handle) {
    zmq::message_t message;
    if (!socket_.recv(message, zmq::recv_flags::dontwait)) return result::nothing;
    bool odd = false;
    for (zmq::message_t rest; message.more() && socket_.recv(rest, zmq::recv_flags::dontwait);) {
        odd = true;
        if (!rest.more()) break;
    }
    openwip::control::Request request;
    openwip::control::Reply reply;
    reply.set_ok(true);
    const bool good = !odd &&
                      request.ParseFromArray(message.data(), static_cast<int>(message.size())) &&
                      request.what_case() != openwip::control::Request::WHAT_NOT_SET;
    if (good) {
        try {
            handle(request, reply);
        } catch (const std::exception& e) {
            reply.set_ok(false);
            reply.set_error(e.what());
        }
    } else {
        reply.set_ok(false);
        reply.set_error("the message is not a Request of control.proto");
    }
    out_.resize(reply.ByteSizeLong());
    reply.SerializeToArray(out_.data(), static_cast<int>(out_.size()));
    socket_.send(zmq::const_buffer(out_.data(), out_.size()), zmq::send_flags::dontwait);
    return good ? result::answered : result::malformed;
}

}  // namespace wip::host
