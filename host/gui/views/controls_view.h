// SPDX-License-Identifier: GPL-3.0-or-later
// The settings of the running cell: an editor for each row that the table of settings has for the
// monitor, and beside it the value that the process says it runs with. A change counts when it has
// been read back, not when it was sent.
#pragma once

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/settings_table.h"
#include "gui/cell/control_client.h"
#include "gui/cell/session.h"
#include "gui/views/view.h"

namespace wip::gui {

using config::control_row;

// The settings that can be changed in a running cell. A row whose key the process does not have in
// its effective configuration is greyed out; a value that is not valid is refused by the process,
// whose message is shown.
const std::vector<control_row>& control_rows();

class controls_view : public view {
    Q_OBJECT
public:
    controls_view(session& shown, slot_axis& axis);
    void refresh(bool all) override;
    int frames_per_second() const override { return 20; }
    bool ticks() const override { return true; }
    bool is_of_terminals() const override { return false; }
    QString csv() const override;

    // Does as a person would: sets the editor of a key and applies it. For tests and scripts too.
    void apply(const std::string& station, const std::string& key, const QString& value);
    QString read_back(const std::string& station, const std::string& key) const;
    QString status() const { return status_->text(); }

    // "link.bins", "10" to the YAML of configure_yaml.
    static std::string yaml_of(const std::string& key, const std::string& value);
    // Every scalar of a YAML document by its dotted key; empty when it does not parse.
    static std::map<std::string, std::string> flat(const std::string& yaml);
    // The settings that a station runs with: its configuration, and for settings that take effect
    // later, the state of its receiver (as ./openwip get: a new predictor first learns, then takes
    // over).
    static std::map<std::string, std::string> in_use(const openwip::control::MacStatus& mac);

    QWidget* entrance() override { return search_; }

private:
    struct line {
        const control_row* row;
        QComboBox* choice = nullptr;
        QDoubleSpinBox* number = nullptr;
        QWidget* editor = nullptr;  // one of the two editors above
        QLabel *label = nullptr, *value = nullptr;
        QPushButton* button = nullptr;
        bool touched = false;  // the user is editing, so reading back must not change the editor
    };
    static QString help_of(const control_row& row);
    void show_found(const QString& words);
    void add_row(const control_row& row, QGridLayout* grid, int at);
    void send(line& l);
    // Another cell, another run, a replay: nothing is known, and nothing can be set until its
    // processes have answered. False: it is the same one.
    bool follow_subject();
    bool is_of_subject() const { return subject_ == session_.subject(); }
    void ask_status(const std::string& station);
    void show_effective(const std::string& station, std::map<std::string, std::string> in_use);
    void say(const QString& text, bool bad);
    QString wanted(const line& l) const;

    session& session_;
    control_client client_;
    std::vector<line> lines_;
    QLabel* status_;
    QLineEdit* search_;
    std::map<QString, QLabel*> headings_;
    std::map<std::string, std::map<std::string, std::string>> effective_;
    std::map<std::string, std::int64_t> next_ask_ns_;
    std::set<std::string> asked_;  // a status question is open
    std::uint64_t subject_;        // subject of the session to which the values belong
};

}  // namespace wip::gui
