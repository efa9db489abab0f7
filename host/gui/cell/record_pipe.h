// SPDX-License-Identifier: GPL-3.0-or-later
// Run records (docs/how-to/run-record.md), written and read by `openwip record` at the other end of
// a pipe: their format stands there and nowhere else, and libhdf5, which trusts its files, reads
// them in a process that has no rights. In both directions the pipe carries messages as they
// were received (messages/pipe.py): time of reception in ns, source, topic, body, as a QDataStream
// has them. A record that is read begins with its length in ns, and its messages come faster than
// they were recorded; a file without a name keeps them, so that a replay can go back.
#pragma once

#include <QDataStream>
#include <QProcess>
#include <QTemporaryFile>
#include <cstdint>
#include <vector>

#include "gui/model/raw_message.h"

namespace wip::gui {

class record_writer {
public:
    // Throws bad_input with one line when there can be no such file. `cell`: the name of a cell,
    // whose run is described in the record if it runs on this machine.
    record_writer(const QString& path, const std::string& cell);
    ~record_writer();
    void write(const raw_message& message);
    // Whether the recorder has ended by itself or cannot go on; then trouble() is not empty.
    bool failed();
    // The record is complete when this returns, or trouble() says why not.
    void finish();
    const QString& trouble() const { return trouble_; }
    const QString& path() const { return path_; }
    qint64 process_id() const { return recorder_.processId(); }

private:
    QProcess recorder_;
    QDataStream pipe_;
    QString path_, trouble_;
    bool over_ = false;
};

class record_reader {
public:
    // Throws bad_input with one line when the file is not a complete run record.
    explicit record_reader(const QString& path);
    ~record_reader();

    // Takes in the messages that have been read since the last call; called once per frame.
    void take_in();
    // Whether nothing more will be read: all has been, or trouble() says why not.
    bool whole() const { return ended_; }
    const QString& trouble() const { return trouble_; }
    std::size_t size() const { return entries_.size(); }
    std::int64_t time_ns(std::size_t i) const { return entries_[i].time_ns; }
    raw_message message(std::size_t i);
    // Time from the first to the last message of the record, including those that have not been
    // read yet.
    std::int64_t length_ns() const { return length_ns_; }
    // The index of the first message that came `ns` or more after the first one.
    std::size_t at(std::int64_t ns) const;
    qint64 process_id() const { return player_.processId(); }

private:
    struct entry {
        std::int64_t time_ns;
        qint64 offset;  // position in the file
    };
    void give_up(const QString& why);

    QProcess player_;
    QTemporaryFile kept_;
    QDataStream pipe_, file_;
    std::vector<entry> entries_;
    QString trouble_;
    std::int64_t length_ns_ = 0;
    bool begun_ = false, ended_ = false;  // ended_: nothing more is read, after all or an error
};

}  // namespace wip::gui
