// SPDX-License-Identifier: GPL-3.0-or-later
// Functions that make views of which other code needs only the base class; the file of each says
// what it shows.
#pragma once

#include "gui/views/view.h"

namespace wip::gui {

view* make_bearer_view(const session_model& model, slot_axis& axis);
view* make_delay_view(const session_model& model, slot_axis& axis);
view* make_distribution_view(const session_model& model, slot_axis& axis);
view* make_event_view(const session_model& model, slot_axis& axis);
view* make_fader_view(const session_model& model, slot_axis& axis);
view* make_goodput_view(const session_model& model, slot_axis& axis);
view* make_handover_view(const session_model& model, slot_axis& axis);
view* make_injection_view(const session_model& model, slot_axis& axis);
view* make_modulation_histogram(const session_model& model, slot_axis& axis);
view* make_queue_view(const session_model& model, slot_axis& axis);
view* make_retransmission_histogram(const session_model& model, slot_axis& axis);
view* make_tcp_view(const session_model& model, slot_axis& axis);

}  // namespace wip::gui
