// SPDX-License-Identifier: GPL-3.0-or-later
// Marks what of a world's run happens inside the MAC, so that a test program which replaces the
// operator new (random_worlds.cpp) can tell the MAC's memory from the world's.
#pragma once

namespace wip::sim {

inline thread_local bool inside_mac = false;

// While an object lives the code is inside the MAC, or (in a packet's delivery) outside again.
class mac_scope {
public:
    explicit mac_scope(bool inside = true) : before_(inside_mac) { inside_mac = inside; }
    ~mac_scope() { inside_mac = before_; }
    mac_scope(const mac_scope&) = delete;
    mac_scope& operator=(const mac_scope&) = delete;

private:
    bool before_;
};

}  // namespace wip::sim
