// SPDX-License-Identifier: GPL-3.0-or-later
// The radio link of Lundsten, appendix B, as a queue of ns-2 (lundsten_in_ns2.py builds it, ns
// loads it): packets are cut into blocks, one that has room left takes the next packet's beginning;
// one interval is in the air at a time; a lost block stands at the head of the queue retransdelay_
// after its end. in_order_: a packet waits for those before it. pdu_octets_: so many in a block, as
// many blocks in an interval as it has room for, each lost or not by itself. packets_, if not 0:
// more do not wait; what comes then is dropped.
#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "connector.h"
#include "packet.h"
#include "queue.h"
#include "random.h"
#include "scheduler.h"

namespace {

struct held_packet {
    Packet* packet;
    int blocks = 0;  // that have not arrived
    bool complete = false;
};
using held_ptr = std::shared_ptr<held_packet>;

struct radio_block {
    int room;  // octets
    bool sent = false;
    std::vector<held_ptr> of;
};
using block_ptr = std::shared_ptr<radio_block>;

struct blocks_event : Event {
    std::vector<block_ptr> blocks;
};

class radio_link final : public Queue {
public:
    radio_link() : air_(*this), again_(*this), resume_(*this) {
        bind("tti_", &tti_);
        bind("retransdelay_", &retransdelay_);
        bind("speed_", &speed_);
        bind("errorrate_", &errorrate_);
        bind("in_order_", &in_order_);
        bind("pdu_octets_", &pdu_octets_);
        bind("packets_", &packets_);
        bind("dropped_", &dropped_);
    }

    void recv(Packet* packet, Handler* /*sender*/) override {
        if (packets_ > 0 && waiting() >= packets_) {
            ++dropped_;
            drop(packet);
            return;
        }
        const auto held = std::make_shared<held_packet>(held_packet{packet});
        order_.push_back(held);
        int left = hdr_cmn::access(packet)->size();
        if (!queue_.empty() && !queue_.back()->sent) put(*queue_.back(), held, left);
        while (left > 0) {
            queue_.push_back(std::make_shared<radio_block>(radio_block{block_octets()}));
            put(*queue_.back(), held, left);
        }
        send();
    }
    void enque(Packet* /*packet*/) override {}
    Packet* deque() override { return nullptr; }

private:
    template <void (radio_link::*what)(Event*)>
    struct calls final : Handler {
        explicit calls(radio_link& l) : link(l) {}
        void handle(Event* event) override { (link.*what)(event); }
        radio_link& link;
    };

    int interval_octets() const { return static_cast<int>(speed_ * tti_ / 8 + 0.5); }
    int block_octets() const { return pdu_octets_ > 0 ? pdu_octets_ : interval_octets(); }

    // Packets with a block that has not been sent yet.
    int waiting() const {
        int n = 0;
        const held_packet* last = nullptr;
        for (const auto& block : queue_) {
            if (block->sent) continue;
            for (const auto& held : block->of) {
                n += held.get() != last;
                last = held.get();
            }
        }
        return n;
    }

    static void put(radio_block& block, const held_ptr& held, int& left) {
        const int octets = std::min(left, block.room);
        if (octets == 0) return;
        block.room -= octets;
        left -= octets;
        block.of.push_back(held);
        ++held->blocks;
    }

    void send() {
        if (busy_ || queue_.empty()) return;
        auto* interval = new blocks_event;
        for (int n = interval_octets() / block_octets(); n > 0 && !queue_.empty(); --n) {
            interval->blocks.push_back(queue_.front());
            queue_.pop_front();
        }
        busy_ = true;
        Scheduler::instance().schedule(&air_, interval, tti_);
    }

    void arrived(Event* event) {
        auto* interval = static_cast<blocks_event*>(event);
        busy_ = false;
        for (const auto& block : interval->blocks) {
            block->sent = true;
            if (Random::uniform() * 100 < errorrate_) {
                auto* lost = new blocks_event;
                lost->blocks.push_back(block);
                Scheduler::instance().schedule(&again_, lost, retransdelay_);
                continue;
            }
            for (const auto& held : block->of) {
                if (--held->blocks > 0) continue;
                held->complete = true;
                if (!in_order_) leaving_.push_back(held->packet);
            }
        }
        delete interval;
        for (; !order_.empty() && order_.front()->complete; order_.pop_front())
            if (in_order_) leaving_.push_back(order_.front()->packet);
        leave();
        send();
    }

    void again(Event* event) {
        auto* lost = static_cast<blocks_event*>(event);
        queue_.push_front(lost->blocks.front());
        delete lost;
        send();
    }

    // One at a time: the wire behind takes another when its handler is called.
    void leave() {
        if (leaving_.empty() || sending_) return;
        sending_ = true;
        Packet* packet = leaving_.front();
        leaving_.pop_front();
        target_->recv(packet, &resume_);
    }
    void resumed(Event* /*event*/) {
        sending_ = false;
        leave();
    }

    calls<&radio_link::arrived> air_;
    calls<&radio_link::again> again_;
    calls<&radio_link::resumed> resume_;
    std::deque<block_ptr> queue_;
    std::deque<held_ptr> order_;
    std::deque<Packet*> leaving_;
    bool busy_ = false, sending_ = false;
    double tti_, retransdelay_, speed_, errorrate_;  // s, s, bit/s, percent
    int in_order_, pdu_octets_, packets_, dropped_;
};

class radio_link_class final : public TclClass {
public:
    radio_link_class() : TclClass("Queue/RadioLink") {}
    void make() { bind(); }
    TclObject* create(int /*argc*/, const char* const* /*argv*/) override { return new radio_link; }
} the_class;

}  // namespace

extern "C" int Radiolink_Init(Tcl_Interp* /*interpreter*/) {
    the_class.make();
    return TCL_OK;
}
