// SPDX-License-Identifier: GPL-3.0-or-later
// A recorded session: the raw messages, one after another, so that a replay shows them to the same
// code. All integers little endian.
//
//   file    "OWIPSES1"  u32 length of the header  header (JSON)  record*
//   record  u32 length of what follows  u64 time of reception, ns (steady clock of the recorder)
//           u8 flags (bit 0: had two frames)  u8 length of source  u8 length of topic  source topic
//           body
//
// The header holds "format": 1 (a reader refuses a higher one), "cell", "recorded" (ISO 8601) and
// "slots_per_second". A file whose end was cut off (the recorder was killed, the disk was full) is
// good up to its last whole record.
#pragma once

#include <QFile>
#include <QJsonObject>
#include <cstdint>
#include <string>
#include <vector>

#include "gui/model/raw_message.h"

namespace wip::gui {

inline constexpr int session_format = 1;

class session_writer {
public:
    // Throws std::runtime_error with path and reason.
    session_writer(const QString& path, const std::string& cell);
    ~session_writer();
    // False: it could not be written; trouble() says why, and nothing more is written.
    bool write(const raw_message& message);
    void flush();
    const QString& trouble() const { return trouble_; }
    std::uint64_t messages() const { return messages_; }
    std::uint64_t bytes() const { return bytes_; }
    QString path() const { return file_.fileName(); }

private:
    void put();

    QFile file_;
    QByteArray buffer_;
    QString trouble_;
    std::uint64_t messages_ = 0, bytes_ = 0;
};

class session_reader {
public:
    // Throws std::runtime_error with path and reason when it is no session file, or of a later
    // format.
    explicit session_reader(const QString& path);

    std::size_t size() const { return records_.size(); }
    std::int64_t time_ns(std::size_t i) const { return records_[i].time_ns; }
    raw_message message(std::size_t i) const;
    // From the first to the last message.
    std::int64_t length_ns() const;
    // Of the first message that came at or after `ns` past the first one.
    std::size_t at(std::int64_t ns) const;
    // Bytes at the end that are no whole record.
    std::uint64_t cut_off() const { return cut_off_; }
    const QJsonObject& header() const { return header_; }
    QString path() const { return file_.fileName(); }

private:
    struct record {
        std::int64_t time_ns;
        std::uint64_t offset;  // of the flags
        std::uint32_t size;    // from there
    };
    QFile file_;
    const uchar* data_ = nullptr;
    std::vector<record> records_;
    QJsonObject header_;
    std::uint64_t cut_off_ = 0;
};

}  // namespace wip::gui
