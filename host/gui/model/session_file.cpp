// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/model/session_file.h"

#include <QDateTime>
#include <QJsonDocument>
#include <QtEndian>
#include <algorithm>
#include <stdexcept>

#include "gui/model/air_numbers.h"

namespace wip::gui {
namespace {

constexpr char magic[] = "OWIPSES1";
constexpr int magic_size = 8;
constexpr std::uint32_t longest_header = 1 << 16;
constexpr std::uint32_t fixed_part = 8 + 3;  // time, flags and two lengths
constexpr std::uint32_t largest_record = fixed_part + 2 * 255 + (4 << 20);
constexpr int buffer_size = 1 << 16;

[[noreturn]] void refuse(const QString& path, const QString& why) {
    throw std::runtime_error((path + ": " + why).toStdString());
}

template <typename T>
void append(QByteArray& to, T value) {
    char bytes[sizeof(T)];
    qToLittleEndian(value, bytes);
    to.append(bytes, sizeof bytes);
}

}  // namespace

session_writer::session_writer(const QString& path, const std::string& cell) : file_(path) {
    if (!file_.open(QIODevice::WriteOnly | QIODevice::Truncate | QIODevice::Unbuffered))
        refuse(path, "cannot be written: " + file_.errorString());
    const QByteArray header =
        QJsonDocument(
            QJsonObject{{"format", session_format},
                        {"cell", QString::fromStdString(cell)},
                        {"recorded", QDateTime::currentDateTimeUtc().toString(Qt::ISODate)},
                        {"slots_per_second", static_cast<qint64>(slots_per_second)}})
            .toJson(QJsonDocument::Compact);
    buffer_.append(magic, magic_size);
    append(buffer_, static_cast<quint32>(header.size()));
    buffer_.append(header);
    put();
}

session_writer::~session_writer() { put(); }

void session_writer::put() {
    if (!trouble_.isEmpty() || buffer_.isEmpty()) return;
    if (file_.write(buffer_) != buffer_.size())
        trouble_ = file_.fileName() + ": " + file_.errorString();
    bytes_ += static_cast<std::uint64_t>(buffer_.size());
    buffer_.clear();
}

void session_writer::flush() { put(); }

bool session_writer::write(const raw_message& m) {
    if (!trouble_.isEmpty()) return false;
    const auto source = std::min<std::size_t>(m.source.size(), 255);
    const auto topic = std::min<std::size_t>(m.topic.size(), 255);
    append(buffer_, static_cast<quint32>(fixed_part + source + topic + m.body.size()));
    append(buffer_, static_cast<quint64>(m.received_ns));
    append(buffer_, static_cast<quint8>(m.two_frames ? 1 : 0));
    append(buffer_, static_cast<quint8>(source));
    append(buffer_, static_cast<quint8>(topic));
    buffer_.append(m.source.data(), static_cast<qsizetype>(source));
    buffer_.append(m.topic.data(), static_cast<qsizetype>(topic));
    buffer_.append(m.body.data(), static_cast<qsizetype>(m.body.size()));
    ++messages_;
    if (buffer_.size() >= buffer_size) put();
    return trouble_.isEmpty();
}

session_reader::session_reader(const QString& path) : file_(path) {
    if (!file_.open(QIODevice::ReadOnly)) refuse(path, "cannot be read: " + file_.errorString());
    const auto size = static_cast<std::uint64_t>(file_.size());
    const QString no_session = "is not a session file of openwip monitor";
    if (size < magic_size + 4) refuse(path, no_session);
    data_ = file_.map(0, file_.size());
    if (data_ == nullptr) refuse(path, "cannot be read: " + file_.errorString());
    if (!std::equal(magic, magic + magic_size, data_)) refuse(path, no_session);
    const auto header = qFromLittleEndian<quint32>(data_ + magic_size);
    std::uint64_t at = magic_size + 4;
    if (header > longest_header || at + header > size) refuse(path, no_session);
    header_ = QJsonDocument::fromJson(QByteArray(reinterpret_cast<const char*>(data_ + at),
                                                 static_cast<qsizetype>(header)))
                  .object();
    const int format = header_.value("format").toInt(0);
    if (format < 1) refuse(path, no_session);
    if (format > session_format)
        refuse(path, QStringLiteral("is of format %1; this program reads up to %2")
                         .arg(format)
                         .arg(session_format));
    at += header;
    std::int64_t last = 0;
    while (at + 4 <= size) {
        const auto length = qFromLittleEndian<quint32>(data_ + at);
        if (length < fixed_part || length > largest_record || at + 4 + length > size) break;
        const uchar* p = data_ + at + 4;
        if (fixed_part + p[9] + p[10] > length) break;
        // Time runs forward, or a damaged record would make the slider of a replay jump.
        last = std::max(last, static_cast<std::int64_t>(qFromLittleEndian<quint64>(p)));
        records_.push_back({last, at + 4 + 8, length - 8});
        at += 4 + length;
    }
    cut_off_ = size - at;
}

raw_message session_reader::message(std::size_t i) const {
    const record& r = records_[i];
    const uchar* p = data_ + r.offset;
    raw_message m;
    m.received_ns = r.time_ns;
    m.two_frames = (p[0] & 1) != 0;
    const std::size_t source = p[1], topic = p[2];
    const char* text = reinterpret_cast<const char*>(p + 3);
    m.source.assign(text, source);
    m.topic.assign(text + source, topic);
    m.body.assign(text + source + topic, r.size - 3 - source - topic);
    return m;
}

std::int64_t session_reader::length_ns() const {
    return records_.empty() ? 0 : records_.back().time_ns - records_.front().time_ns;
}

std::size_t session_reader::at(std::int64_t ns) const {
    if (records_.empty()) return 0;
    const auto place =
        std::ranges::lower_bound(records_, records_.front().time_ns + ns, {}, &record::time_ns);
    return static_cast<std::size_t>(place - records_.begin());
}

}  // namespace wip::gui
