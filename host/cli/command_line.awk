# SPDX-License-Identifier: GPL-3.0-or-later
# ./openwip COMMAND ...: answers --help, and refuses a mistyped subcommand, option or value, before anything is installed or built. It needs
# nothing but a POSIX awk, which every release has before its first package. The table (command_lines.txt) is made from the parsers of the
# commands, so what is refused here is refused by them as well; what a file holds, and whatever needs another option to be judged, is left to them.
#
#   awk -f command_line.awk TABLE COMMAND [ARGUMENT...]     exit status 0: go on, 3: the help is printed, 2: it is refused
#   awk -v unknown_command=1 -f command_line.awk TABLE COMMAND     refuses a command that there is not, with the nearest ones
#
# The lines of the table have their columns between tabs:
#   command PATH BARE SUBCOMMANDS                bare: "needed": it has to have a subcommand, "itself": without one it is a command of its own
#   words LEAST MOST NAMES REST                  the arguments that are no options; MOST "any": any number; REST "rest": behind "--" is another's
#   word N CHOICES                               which values argument N may have, between "|"
#   option NAMES LEAST MOST REQUIRED TYPE LOW HIGH CHOICES ENDINGS VALID        MOST "=": one value, behind "=" alone
#   names ARGUMENT KIND ADDED ONLY NOT_BEFORE    argument N, "any", or an option names a file, a folder, either, or a file to be made: "around", or
#                                                python:FILE:CLASS and library:FILE:ARGUMENT: "code"; the columns: endings that the command adds, endings of values that are names, how other values begin
#   split NAME WHY                               an option that is now several, and why it is refused
#   earlier NAME TODAY                           the name of an option in an earlier release, behind that option
#   help TEXT                                    a line of the help
BEGIN {
    FS = "\t"
    table = ARGV[1]; path = ARGV[2]; first = 3
    while ((getline line < table) > 0) {
        nof_lines++
        lines[nof_lines] = line
        if (line ~ /^command\t/) { split(line, column, FS); at[column[2]] = nof_lines; bare[column[2]] = column[3]; inside[column[2]] = column[4] }
    }
    if (unknown_command) refuse("command is " shown(path) "; valid: " nearest_commands(path))
    if (!(path in at)) exit 0
    while (inside[path] != "" && first < ARGC) {
        if (!((path " " ARGV[first]) in at)) break
        path = path " " ARGV[first++]
    }
    read_section(path)
    if (inside[path] != "" && bare[path] != "itself") choose_subcommand()
    read_arguments()
    exit 0
}

# as_called(TEXT): an installed command is called by its name alone.
function as_called(text) {
    if (ENVIRON["OPENWIP_INSTALLED"] != "") gsub(/\.\/openwip/, "openwip", text)
    return text
}

function refuse(why) {
    printf "openwip: %s\n", as_called(why) > "/dev/stderr"
    exit 2
}

function refuse_usage(why) { refuse(why " (see ./openwip " path " --help)") }

function print_help(   n) {
    for (n = 1; n <= nof_help; n++) print as_called(help[n])
    exit 3
}

function shown(text) { return "'" (length(text) > 80 ? substr(text, 1, 77) "..." : text) "'" }

function read_section(name,   n, c, i, names, nof) {
    for (n = at[name] + 1; n <= nof_lines && lines[n] !~ /^command\t/; n++) {
        nof = split(lines[n], c, FS)
        if (c[1] == "help") help[++nof_help] = substr(lines[n], 6)
        else if (c[1] == "words") { least_words = c[2]; most_words = c[3]; split(c[4], word_name, "|"); rest = c[5] }
        else if (c[1] == "word") word_choices[c[2]] = c[3]
        else if (c[1] == "names") { kind_of[c[2]] = c[3]; added[c[2]] = c[4]; only[c[2]] = c[5]; not_before[c[2]] = c[6] }
        else if (c[1] == "earlier") option[c[2]] = option[c[3]]
        else if (c[1] == "split") split_option[c[2]] = c[3]
        else if (c[1] == "option") {
            nof_options++
            nof = split(c[2], names, " ")
            for (i = 1; i <= nof; i++) option[names[i]] = nof_options
            called[nof_options] = names[nof]; all_names[nof_options] = c[2]
            least[nof_options] = c[3]; most[nof_options] = c[4]; required[nof_options] = c[5]
            type[nof_options] = c[6]; low[nof_options] = c[7]; high[nof_options] = c[8]
            choices[nof_options] = c[9]; endings[nof_options] = c[10]; valid[nof_options] = c[11]
        }
    }
}

function choose_subcommand(   word, valid_words) {
    word = first < ARGC ? ARGV[first] : ""
    valid_words = inside[path]
    gsub(/ /, ", ", valid_words)
    if (word == "-h" || word == "--help" || word == "help") print_help()
    if (first >= ARGC) refuse(path " is without a command; valid: " valid_words)
    refuse("command of " path " is '" word "'; valid: " valid_words)
}

# nearest_commands(WORD): up to three commands that differ in few letters from the word or begin with it, and where all of them are listed.
function nearest_commands(word,   name, far, limit, found, nof) {
    limit = length(word) < 6 ? 2 : 3
    for (far = 0; far <= limit; far++)
        for (name in at)
            if (name !~ / / && nof < 3 && length(word) <= 20 && distance(word, name) == far) { found = found (nof ? ", " : "") name; nof++ }
    return (nof ? found " (the nearest of those that " : "those that ") "./openwip help lists" (nof ? ")" : "")
}

# distance(A, B): how many letters are to be put in, taken out, changed or exchanged with their neighbour; 1 where B begins with A.
function distance(a, b,   i, j, d, cost) {
    if (length(a) > 2 && substr(b, 1, length(a)) == a) return 1
    for (i = 0; i <= length(a); i++) d[i, 0] = i
    for (j = 0; j <= length(b); j++) d[0, j] = j
    for (i = 1; i <= length(a); i++)
        for (j = 1; j <= length(b); j++) {
            cost = substr(a, i, 1) != substr(b, j, 1)
            d[i, j] = d[i - 1, j - 1] + cost
            if (d[i - 1, j] + 1 < d[i, j]) d[i, j] = d[i - 1, j] + 1
            if (d[i, j - 1] + 1 < d[i, j]) d[i, j] = d[i, j - 1] + 1
            if (cost && i > 1 && j > 1 && substr(a, i, 1) == substr(b, j - 1, 1) && substr(a, i - 1, 1) == substr(b, j, 1) &&
                d[i - 2, j - 2] + 1 < d[i, j]) d[i, j] = d[i - 2, j - 2] + 1
        }
    return d[length(a), length(b)]
}

# has_word(LIST, TEXT): the list has its words between "|".
function has_word(list, text) { return list != "" && text != "" && index("|" list "|", "|" text "|") > 0 && index(text, "|") == 0 }

function is_number(text) { return text ~ /^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$/ }

# looks_like_option(TEXT): as argparse sees a word that begins with "-".
function looks_like_option(text) {
    if (text !~ /^-./) return 0
    if (text in option) return 1
    if (text ~ /^-([0-9]+|[0-9]*\.[0-9]+)$/) return 0
    if (text ~ /^--[^ =]+=/) return 1
    return text !~ / /
}

# check_value(N, TEXT): refuses what no reading of the value makes valid; a number in a form that is not plain is left to the command.
function check_value(n, text,   count, ending, i) {
    if (type[n] == "" && choices[n] == "") return
    if (has_word(choices[n], text)) return
    count = split(endings[n], ending, "|")
    for (i = 1; i <= count; i++)
        if (ends_so(text, ending[i])) return
    if (type[n] != "") {
        if (type[n] == "real" && is_number(text) || text ~ /^[+-]?[0-9]+$/) {
            if (text + 0 >= low[n] + 0 && text + 0 <= high[n] + 0) return
        } else if (text ~ /[_ \t]/ || text ~ /[^ -~]/) return
    }
    refuse(called[n] " is " shown(text) "; valid: " valid[n])
}

# note_name(ARGUMENT, SHOWN, VALUE): keeps a value that names something on disk, which is looked at when nothing else is wrong.
function note_name(argument, called_here, value,   count, ending, i, is_name) {
    if (!(argument in kind_of) || not_before[argument] != "" && index(value, not_before[argument]) == 1) return
    is_name = only[argument] == ""
    count = split(only[argument], ending, "|")
    for (i = 1; i <= count; i++) if (ends_so(value, ending[i])) is_name = 1
    if (!is_name) return
    if (kind_of[argument] == "code") {
        if (value ~ /^python:.+:[^:]+$/) { sub(/^python:/, "", value); sub(/:[^:]+$/, "", value) }
        else if (value ~ /^library:[^:]/) { sub(/^library:/, "", value); sub(/:.*/, "", value) }
        else return
        called_here = "the file of " called_here
    }
    nof_named++
    named[nof_named] = value; named_as[nof_named] = called_here; named_by[nof_named] = argument
}

function ends_so(text, ending) { return length(text) >= length(ending) && substr(text, length(text) - length(ending) + 1) == ending }

function quoted(text) { gsub(/'/, "'\\''", text); return "'" text "'" }

# look(PATH): "missing", "unreadable", "folder" or "file", which is whatever else stands there.
function look(path,   answer) {
    answer = system("f=" quoted(path) "; [ -e \"$f\" ] || exit 1; [ -r \"$f\" ] || exit 2; [ ! -d \"$f\" ] || exit 3")
    return answer == 0 ? "file" : answer == 2 ? "unreadable" : answer == 3 ? "folder" : "missing"
}

# check_name(N): refuses a name at which there is nothing, or something of another kind.
function check_name(n,   kind, found, endings_added, count, i, wrong, valid_is) {
    kind = kind_of[named_by[n]]
    if (kind == "around") {
        if (!match(named[n], /.*\//)) return
        named[n] = substr(named[n], 1, RLENGTH)
        found = look(named[n])
        if (found == "folder" || found == "unreadable") return
        refuse(path ": the folder of " named_as[n] " is " shown(named[n]) ", which is no folder; valid: an existing one")
    }
    if (kind == "code") kind = "file"
    found = look(named[n])
    count = split(added[named_by[n]], endings_added, "|")
    for (i = 1; i <= count && found != "file"; i++) if (look(named[n] endings_added[i]) == "file") found = "file"
    if (found == kind || kind == "either" && (found == "file" || found == "folder")) return
    wrong = found == "missing" ? "does not exist" : found == "unreadable" ? "this user may not read" : found == "folder" ? "is a folder" : "is no folder"
    valid_is = kind == "file" ? "a file that can be read" : kind == "folder" ? "an existing folder" : "an existing folder, or a file that can be read"
    refuse(path ": " named_as[n] " is " shown(named[n]) ", which " wrong "; valid: " valid_is)
}

# read_arguments(): walks through the words as argparse does. Errors that argparse finds at the end are kept until then.
function read_arguments(   n, word, name, value, taken, unknown, split_why, given, nof_words, only_words, equal, i) {
    for (i = first; i < ARGC; i++) {
        word = ARGV[i]
        if (word == "--" && !only_words) {
            if (rest != "") break
            only_words = 1
            continue
        }
        if (only_words || !looks_like_option(word)) {
            nof_words++
            if (most_words != "any" && nof_words > most_words) unknown = unknown (unknown == "" ? "" : " ") word
            else if ((nof_words in word_choices) && !has_word(word_choices[nof_words], word))
                refuse(word_name[nof_words] " is " shown(word) "; valid: " word_choices[nof_words])
            if (most_words == "any") note_name("any", word_name[1], word)
            else note_name(nof_words, word_name[nof_words], word)
            continue
        }
        name = word; value = ""; equal = 0
        if (!(name in option) && match(word, /=/) && word ~ /^--/) { name = substr(word, 1, RSTART - 1); value = substr(word, RSTART + 1); equal = 1 }
        if (!(name in option) && word ~ /^-[^-]./ && (substr(word, 1, 2) in option) && most[option[substr(word, 1, 2)]] != 0) {
            name = substr(word, 1, 2); value = substr(word, 3); sub(/^=/, "", value); equal = 1
        }
        if ((name in split_option) && split_why == "") split_why = split_option[name]
        if (!(name in option)) { unknown = unknown (unknown == "" ? "" : " ") word; continue }
        n = option[name]
        given[n] = 1
        if (name == "-h" || name == "--help") print_help()
        if (equal) {
            if (most[n] == 0) refuse_usage("argument " called[n] ": it takes no value, and " shown(value) " is given")
            check_value(n, value)
            note_name(called[n], called[n], value)
            continue
        }
        if (most[n] == "=") continue
        for (taken = 0; (most[n] == "any" || taken < most[n]) && i + 1 < ARGC && ARGV[i + 1] != "--" && !looks_like_option(ARGV[i + 1]); taken++) {
            check_value(n, ARGV[++i])
            note_name(called[n], called[n], ARGV[i])
        }
        if (taken < least[n]) refuse_usage("argument " called[n] ": a value is missing")
    }
    for (n = 1; n <= nof_options; n++)
        if (required[n] == "required" && !(n in given)) refuse_usage("the following arguments are required: " all_names[n])
    if (least_words != "" && nof_words < least_words) refuse_usage("the following arguments are required: " word_name[nof_words + 1])
    if (split_why != "") refuse_usage(split_why)
    if (unknown != "") refuse_usage("unrecognized arguments: " (length(unknown) > 200 ? substr(unknown, 1, 197) "..." : unknown))
    for (n = 1; n <= nof_named; n++) check_name(n)
}
