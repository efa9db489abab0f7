// SPDX-License-Identifier: GPL-3.0-or-later
// Plays a run record into a session at the pace of its recording times a speed.
#pragma once

#include <memory>

#include "gui/cell/record_pipe.h"
#include "gui/cell/session.h"

namespace wip::gui {

class replayer {
public:
    // Throws as record_reader. The session shows the record from now on.
    replayer(const QString& path, session& into);

    // Advances the replay by this time of the wall clock.
    void advance(std::int64_t wall_ns);
    void set_playing(bool on) { playing_ = on; }
    bool playing() const { return playing_; }
    void set_speed(double speed) { speed_ = speed; }
    double speed() const { return speed_; }
    // Shows the run as it was at `ns` after its first message, with `history_s` seconds before it.
    void seek(std::int64_t ns, double history_s);
    std::int64_t position_ns() const { return position_; }
    std::int64_t length_ns() const { return reader_.length_ns(); }
    bool at_end() const { return reader_.whole() && next_ >= reader_.size(); }
    const record_reader& record() const { return reader_; }

private:
    void play_to(std::int64_t ns);

    record_reader reader_;
    session& session_;
    std::size_t next_ = 0;
    std::int64_t position_ = 0;
    double speed_ = 1;
    bool playing_ = true;
};

}  // namespace wip::gui
