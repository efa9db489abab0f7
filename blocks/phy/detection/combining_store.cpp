// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/detection/combining_store.h"

namespace wip::phy {

template class basic_combining_store<soft_copy>;

}  // namespace wip::phy
