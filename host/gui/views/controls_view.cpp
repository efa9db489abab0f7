// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/controls_view.h"

#include <yaml-cpp/yaml.h>

#include <QGridLayout>
#include <QPushButton>
#include <QScrollArea>
#include <QTextStream>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "gui/plot/editors.h"

namespace wip::gui {
namespace {

constexpr std::int64_t ask_every_ns = 1'000'000'000;
constexpr int most_decimals = 12;  // a loss of 1e-5 is not 0

void flatten(const YAML::Node& node, const std::string& prefix,
             std::map<std::string, std::string>& into) {
    if (node.IsScalar()) into[prefix] = node.Scalar();
    if (!node.IsMap()) return;
    for (const auto& pair : node)
        flatten(pair.second,
                prefix.empty() ? pair.first.Scalar() : prefix + "." + pair.first.Scalar(), into);
}

QString plain(const std::string& value) {
    if (value == "true" || value == "yes") return "on";
    if (value == "false" || value == "no") return "off";
    return QString::fromStdString(value);
}

bool same(const QString& a, const QString& b) {
    bool number_a = false, number_b = false;
    const double x = a.toDouble(&number_a), y = b.toDouble(&number_b);
    return number_a && number_b ? std::abs(x - y) <= 1e-9 * std::abs(x) : a == b;
}

QString text(const std::string& s) { return QString::fromStdString(s); }

}  // namespace

const std::vector<control_row>& control_rows() { return config::controls(); }

controls_view::controls_view(session& shown, slot_axis& axis)
    : view("controls", "Controls",
           "Settings of the running cell. Right: the value that the process says it runs with. "
           "Grey: this cell "
           "does not have the setting.",
           shown.model(), axis),
      session_(shown),
      subject_(shown.subject()) {
    auto* box = new QWidget;
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(4, 2, 4, 2);
    search_ = new QLineEdit;
    search_->setObjectName("control_search");
    search_->setPlaceholderText("find a setting, such as bins or base");
    search_->setClearButtonEnabled(true);
    search_->setToolTip(
        "Shows the settings whose name, process or key has these words; Tab goes on");
    connect(search_, &QLineEdit::textChanged, this, &controls_view::show_found);
    auto* area = new QScrollArea;
    area->setFocusPolicy(Qt::NoFocus);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    auto* rows = new QWidget;
    auto* grid = new QGridLayout(rows);
    grid->setContentsMargins(2, 2, 2, 2);
    grid->setVerticalSpacing(2);
    QString group;
    int at = 0;
    for (const auto& row : control_rows()) {
        if (group != text(row.group)) {
            group = text(row.group);
            headings_[group] = new QLabel("<b>" + group + "</b>");
            grid->addWidget(headings_[group], at++, 0, 1, 4);
        }
        add_row(row, grid, at++);
    }
    grid->setRowStretch(at, 1);
    grid->setColumnStretch(1, 1);
    area->setWidget(rows);
    status_ = new QLabel;
    status_->setWordWrap(true);
    status_->setTextFormat(Qt::PlainText);
    status_->setObjectName("control_status");
    column->addWidget(search_);
    column->addWidget(area, 1);
    column->addWidget(status_);
    setWidget(box);
}

// The help of a row: its effect, unit, valid values, and the process that it belongs to.
QString controls_view::help_of(const control_row& row) {
    QString valid;
    if (row.type == control_row::kind::choice) {
        for (const auto& c : row.choices) valid += (valid.isEmpty() ? "" : ", ") + text(c);
    } else {
        valid = QStringLiteral("%1 to %2").arg(row.low, 0, 'g', 10).arg(row.high, 0, 'g', 10);
    }
    const QString unit = row.unit.empty() ? QStringLiteral("no unit") : text(row.unit);
    return QStringLiteral("%1.\nUnit: %2. Valid: %3.\n%4 of %5; Return sends it.")
        .arg(text(row.help), unit, valid, text(row.key), text(row.station));
}

void controls_view::add_row(const control_row& row, QGridLayout* grid, int at) {
    line l{&row};
    const QString help = help_of(row);
    l.label = new QLabel(text(row.label));
    l.label->setToolTip(help);
    const std::size_t index = lines_.size();
    if (row.type == control_row::kind::choice) {
        auto* choice = new choice_editor;
        l.choice = choice;
        for (const auto& c : row.choices) l.choice->addItem(text(c));
        l.editor = l.choice;
        // `activated` and not `currentIndexChanged`: only what a person chose is sent.
        connect(l.choice, &QComboBox::activated, this, [this, index] { send(lines_[index]); });
    } else {
        auto* number = new number_editor;
        l.number = number;
        l.number->setDecimals(row.type == control_row::kind::whole ? 0 : most_decimals);
        l.number->setRange(row.low, row.high);
        l.number->setKeyboardTracking(false);
        l.number->setSuffix(row.unit.empty() ? QString() : " " + text(row.unit));
        if (row.high <= 1) l.number->setSingleStep(0.01);
        l.editor = l.number;
        connect(l.number, &QDoubleSpinBox::valueChanged, this,
                [this, index] { lines_[index].touched = true; });
        connect(number, &number_editor::taken, this, [this, index] { send(lines_[index]); });
    }
    l.editor->setFocusPolicy(Qt::StrongFocus);
    l.editor->setObjectName(text("edit " + row.station + " " + row.key));
    l.editor->setToolTip(help);
    l.editor->setAccessibleName(text(row.label));
    l.label->setBuddy(l.editor);
    l.button = new own_keys<QPushButton>("Set");
    l.button->setObjectName(text("set " + row.station + " " + row.key));
    l.button->setMaximumWidth(44);
    l.button->setToolTip("Send to the cell\n" + help);
    l.button->setAutoDefault(true);  // Return presses it, as Space does
    connect(l.button, &QPushButton::clicked, this, [this, index] { send(lines_[index]); });
    l.value = new QLabel("-");
    l.value->setObjectName(text("value " + row.station + " " + row.key));
    l.value->setMinimumWidth(70);
    l.value->setToolTip("What the process says it runs with\n" + help);
    grid->addWidget(l.label, at, 0);
    grid->addWidget(l.editor, at, 1);
    grid->addWidget(l.button, at, 2);
    grid->addWidget(l.value, at, 3);
    for (QWidget* w : {l.editor, static_cast<QWidget*>(l.button)}) w->setEnabled(false);
    lines_.push_back(l);
}

// Every word has to be in the group, the label, the process or the key.
void controls_view::show_found(const QString& words) {
    std::set<QString> groups;
    for (auto& l : lines_) {
        const QString about = QStringLiteral("%1 %2 %3 %4")
                                  .arg(text(l.row->group), text(l.row->label), text(l.row->station),
                                       text(l.row->key));
        const auto parts = words.split(' ', Qt::SkipEmptyParts);
        const bool found = std::ranges::all_of(
            parts, [&](const QString& w) { return about.contains(w, Qt::CaseInsensitive); });
        if (found) groups.insert(text(l.row->group));
        for (QWidget* w : {static_cast<QWidget*>(l.label), l.editor,
                           static_cast<QWidget*>(l.button), static_cast<QWidget*>(l.value)})
            w->setVisible(found);
    }
    for (auto& [group, heading] : headings_) heading->setVisible(groups.contains(group));
}

QString controls_view::wanted(const line& l) const {
    if (l.choice != nullptr) return l.choice->currentText();
    return QString::number(l.number->value(), 'f', QLocale::FloatingPointShortest);
}

std::string controls_view::yaml_of(const std::string& key, const std::string& value) {
    std::string text;
    std::size_t from = 0, depth = 0;
    for (std::size_t dot; (dot = key.find('.', from)) != std::string::npos; from = dot + 1, ++depth)
        text += std::string(2 * depth, ' ') + key.substr(from, dot - from) + ":\n";
    return text + std::string(2 * depth, ' ') + key.substr(from) + ": " + value + "\n";
}

std::map<std::string, std::string> controls_view::flat(const std::string& yaml) {
    std::map<std::string, std::string> found;
    try {
        flatten(YAML::Load(yaml), "", found);
    } catch (const YAML::Exception&) {
        found.clear();
    }
    return found;
}

std::map<std::string, std::string> controls_view::in_use(const openwip::control::MacStatus& mac) {
    auto found = flat(mac.effective_yaml());
    const auto& receiver = mac.radio();
    // there is no receiver, or no status of it has come yet
    if (receiver.predictor().empty()) return found;
    for (const auto& [key, value] :
         {std::pair{"phy.predictor", receiver.predictor()},
          std::pair{"link.combining", std::string(receiver.combining() ? "on" : "off")}})
        if (const auto at = found.find(key); at != found.end()) at->second = value;
    return found;
}

void controls_view::say(const QString& text, bool bad) {
    status_->setText(text);
    status_->setStyleSheet(bad ? "color:#b03000" : "color:#005080");
}

void controls_view::apply(const std::string& station, const std::string& key,
                          const QString& value) {
    for (auto& l : lines_) {
        if (station != l.row->station || key != l.row->key) continue;
        if (l.choice != nullptr)
            l.choice->setCurrentText(value);
        else
            l.number->setValue(value.toDouble());
        send(l);
    }
}

bool controls_view::follow_subject() {
    if (is_of_subject()) return false;
    subject_ = session_.subject();
    client_.forget();
    effective_.clear();
    asked_.clear();
    next_ask_ns_.clear();
    for (auto& l : lines_) {
        l.touched = false;
        l.editor->setEnabled(false);
        l.button->setEnabled(false);
        l.value->setText("-");
    }
    say(session_.replaying() ? "A replay has no controls" : "", false);
    return true;
}

void controls_view::send(line& l) {
    if (session_.replaying()) {
        follow_subject();
        say("Not sent: a replay has no controls", true);
        return;
    }
    if (follow_subject()) {
        say("Not sent: the cell is another one, or has ended", true);
        return;
    }
    const auto endpoint = session_.control_endpoints().find(l.row->station);
    if (endpoint == session_.control_endpoints().end()) {
        say(QStringLiteral("%1: no control socket").arg(text(l.row->station)), true);
        return;
    }
    const QString value = wanted(l);
    openwip::control::Request request;
    request.set_configure_yaml(yaml_of(l.row->key, value.toStdString()));
    l.touched = true;
    say(QStringLiteral("%1 = %2: sent").arg(text(l.row->key), value), false);
    const std::string station = l.row->station;
    line* const edited = &l;
    client_.ask(
        endpoint->second, session_.keys(), request,
        [this, edited, value, station](const openwip::control::Reply* reply,
                                       const std::string& why) {
            edited->touched = false;
            if (reply == nullptr || !reply->ok()) {
                say(QStringLiteral("%1 = %2: %3").arg(text(edited->row->key), value, text(why)),
                    true);
            } else {
                say(QStringLiteral("%1 = %2: taken").arg(text(edited->row->key), value), false);
            }
            next_ask_ns_[station] = 0;  // the value is read back at once
        });
}

void controls_view::ask_status(const std::string& station) {
    const auto endpoint = session_.control_endpoints().find(station);
    if (endpoint == session_.control_endpoints().end() || asked_.contains(station)) return;
    openwip::control::Request request;
    request.mutable_status();
    asked_.insert(station);
    client_.ask(endpoint->second, session_.keys(), request,
                [this, station](const openwip::control::Reply* reply, const std::string& why) {
                    asked_.erase(station);
                    if (reply != nullptr && reply->has_mac())
                        show_effective(station, in_use(reply->mac()));
                    else if (reply != nullptr && reply->has_air())
                        show_effective(station, flat(reply->air().effective_yaml()));
                    else if (reply == nullptr)
                        say(QString::fromStdString(why), true);
                });
}

void controls_view::show_effective(const std::string& station,
                                   std::map<std::string, std::string> in_use) {
    const auto& values = effective_[station] = std::move(in_use);
    for (auto& l : lines_) {
        if (station != l.row->station) continue;
        const auto at = values.find(l.row->key);
        const bool there = at != values.end();
        l.editor->setEnabled(there);
        l.button->setEnabled(there);
        if (!there) {
            l.value->setText("-");
            continue;
        }
        const QString now = plain(at->second);
        bool number = false;
        now.toDouble(&number);
        const bool unit = number && !l.row->unit.empty();
        l.value->setText(unit ? now + " " + text(l.row->unit) : now);
        if (l.touched || l.editor->hasFocus()) continue;
        const QSignalBlocker quiet(l.editor);
        if (l.choice != nullptr) {
            if (l.choice->findText(now) < 0) l.choice->addItem(now);
            l.choice->setCurrentText(now);
        } else if (!same(now, wanted(l))) {
            l.number->setValue(now.toDouble());
        }
    }
}

QString controls_view::read_back(const std::string& station, const std::string& key) const {
    if (!is_of_subject()) return {};
    const auto values = effective_.find(station);
    if (values == effective_.end()) return {};
    const auto at = values->second.find(key);
    return at == values->second.end() ? QString() : plain(at->second);
}

void controls_view::refresh(bool) {
    follow_subject();
    client_.poll();
    if (session_.replaying()) return;
    std::set<std::string> stations;
    for (const auto& row : control_rows()) stations.insert(row.station);
    for (const auto& station : stations) {
        if (steady_ns() < next_ask_ns_[station]) continue;
        next_ask_ns_[station] = steady_ns() + ask_every_ns;
        ask_status(station);
    }
}

QString controls_view::csv() const {
    QString text;
    QTextStream out(&text);
    out << "station,key,value\n";
    if (!is_of_subject()) return text;
    for (const auto& [station, values] : effective_)
        for (const auto& [key, value] : values)
            out << QString::fromStdString(station) << ',' << QString::fromStdString(key) << ",\""
                << QString::fromStdString(value) << "\"\n";
    return text;
}

}  // namespace wip::gui
