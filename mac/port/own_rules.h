// SPDX-License-Identifier: GPL-3.0-or-later
// Rules of a user's own in the place of the built-in ones. The MAC fills a structure of
// openwip/extension.h, the rule makes its decision in it, and the MAC carries it out. An
// implementation checks the decision, and throws wip::bad_input when it is not valid or there is
// none.
#pragma once

#include <openwip/extension.h>

namespace wip {

// Which terminal gets which bins of a slot.
class scheduler_port {
public:
    virtual ~scheduler_port() = default;
    virtual void share(openwip_slot& slot) = 0;
};

// Modulation of the bins of one terminal.
class adaptation_port {
public:
    virtual ~adaptation_port() = default;
    virtual void choose(openwip_report& report) = 0;
};

}  // namespace wip
