// SPDX-License-Identifier: GPL-3.0-or-later
// Reading and realising the channel of a path: the same for the configuration file and for a change
// at run time.
#pragma once

#include <string>
#include <vector>

#include "air/medium_config.h"
#include "config/typed.h"

namespace wip::air {

// The models that are valid.
std::string channel_models();

// An SNR trace, not a definition.
inline bool is_trace(const std::string& model) { return model.ends_with(".h5"); }

// The name of each path: SENDER:RECEIVER, followed by :2, :3 if it is not the first between those
// two.
std::vector<std::string> path_names(const mix::mix_config& config);

// The level of noise over the whole sample rate that is as strong as a subcarrier without fading:
// this level less that of a noise is the noise's SNR.
dbfs level_at_unit_gain(const mix::node_config& sender, const path_config& path);

template <class Word>
shadowing_request shadowing_from(const config::number_or_word<Word>& v) {
    return {.on = !v.is(Word::off), .deviation_db = v.number};
}

// A function of (request, user, seed). Throws std::invalid_argument.
sample_model::channel_config realise(const channel_request& request, std::uint32_t user,
                                     std::uint64_t seed);

}  // namespace wip::air
