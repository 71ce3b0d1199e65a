// Times as text: ISO 8601 and dates as people write them, by the proleptic Gregorian calendar.
#pragma once

#include <cstdint>
#include <string_view>

namespace MIXABLE_ISA {

/// Seconds since 1970: as a clock on the wall showed them, and as they were in Greenwich. `vote` is
/// +1 if the text shows that the day comes before the month, -1 if after.
struct Instant {
    double wall = 0, utc = 0;
    int vote = 0;
};

/// Whether the day or the month comes first in a column, where one date does not tell.
enum class Order : char { unknown, day, month };

/// What a text is: a time; one by a column's order only; neither.
enum class Dated : char { no, time, unclear };

namespace detail {

/// The next `digits` digits of a text; false if it has others there.
inline bool take(std::string_view& text, std::size_t digits, long& value) {
    if (text.size() < digits) return false;
    value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
        if (text[i] < '0' || text[i] > '9') return false;
        value = 10 * value + (text[i] - '0');
    }
    text.remove_prefix(digits);
    return true;
}

inline bool take(std::string_view& text, char wanted) {
    if (text.empty() || text.front() != wanted) return false;
    text.remove_prefix(1);
    return true;
}

/// Days from 1970-01-01: years begin in March, so that the leap day is the last.
inline std::int64_t days(long year, long month, long day) {
    year -= month <= 2 ? 1 : 0;
    const std::int64_t era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
    const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

inline long length_of_month(long year, long month) {
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (month == 2) return leap ? 29 : 28;
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

/// The next number of one or two digits.
inline bool take_short(std::string_view& text, long& value) {
    return take(text, 2, value) || take(text, 1, value);
}

/// The hours, minutes, seconds and their fraction of a clock.
inline bool clock(std::string_view& text, double& seconds) {
    long hour = 0, minute = 0, second = 0;
    if (!take_short(text, hour) || !take(text, ':') || !take(text, 2, minute)) return false;
    double fraction = 0, place = 0.1;
    if (take(text, ':')) {
        if (!take(text, 2, second)) return false;
        if (take(text, '.') || take(text, ',')) {
            long digit = 0;
            if (!take(text, 1, digit)) return false;
            do {
                fraction += place * double(digit);
                place /= 10;
            } while (take(text, 1, digit));
        }
    }
    std::string_view rest = text;
    while (take(rest, ' ')) {
    }
    const bool afternoon = take(rest, 'P') || take(rest, 'p');
    if ((afternoon || take(rest, 'A') || take(rest, 'a')) && (take(rest, 'M') || take(rest, 'm'))) {
        if (hour < 1 || hour > 12) return false;
        hour = hour % 12 + (afternoon ? 12 : 0);
        text = rest;
    }
    seconds = double(hour * 3600 + minute * 60 + second) + fraction;
    return hour < 24 && minute < 60 && second <= 60;  // 60: a leap second
}

/// Z, +01, +0100, +01:00, or nothing.
inline bool offset(std::string_view& text, double& seconds) {
    seconds = 0;
    if (text.empty() || take(text, 'Z') || take(text, 'z')) return text.empty();
    const bool minus = text.front() == '-';
    if (!minus && text.front() != '+') return false;
    text.remove_prefix(1);
    long hours = 0, minutes = 0;
    if (!take(text, 2, hours)) return false;
    if (!text.empty()) {
        take(text, ':');
        if (!take(text, 2, minutes)) return false;
    }
    seconds = double(hours * 3600 + minutes * 60) * (minus ? -1 : 1);
    return text.empty() && hours < 24 && minutes < 60;
}

}  // namespace detail

namespace detail {

/// A date as people write it: 31.12.2024, 12/31/2024, 2024/12/31. With points the day comes first;
/// otherwise a day above 12 tells the order, and then `order` does.
inline Dated date(std::string_view& text, Order order, long& year, long& month, long& day,
                  int& vote) {
    std::string_view rest = text;
    const auto is_separator = [](char c) { return c == '.' || c == '/' || c == '-'; };
    long first = 0, second = 0;
    bool is_unclear = false;
    if (take(rest, 4, year)) {
        const char between = rest.empty() ? ' ' : rest.front();
        if (!is_separator(between) || !take(rest, between) || !take_short(rest, month) ||
            !take(rest, between) || !take_short(rest, day))
            return Dated::no;
    } else {
        if (!take_short(rest, first)) return Dated::no;
        const char between = rest.empty() ? ' ' : rest.front();
        if (!is_separator(between) || !take(rest, between) || !take_short(rest, second) ||
            !take(rest, between))
            return Dated::no;
        const bool is_short = !take(rest, 4, year);
        if (is_short) {
            if (!take(rest, 2, year)) return Dated::no;
            year += year < 70 ? 2000 : 1900;
        }
        // Of three short numbers, the first may be the year.
        is_unclear =
            order == Order::unknown &&
            (is_short || (between != '.' && first <= 12 && second <= 12 && first != second));
        vote = is_unclear ? 0 : second > 12 ? -1 : first > 12 ? 1 : 0;
        const bool month_first = second > 12 || (first <= 12 && order == Order::month);
        month = month_first ? first : second;
        day = month_first ? second : first;
    }
    if (month < 1 || month > 12 || day < 1 || day > length_of_month(year, month)) return Dated::no;
    text = rest;
    return is_unclear ? Dated::unclear : Dated::time;
}

}  // namespace detail

/// 2024-02-29, 2024-02-29T13:05, 2024-02-29 13:05:59.25+01:00, 29.2.2024 1:05 PM.
inline Dated read_instant(std::string_view text, Order order, Instant& out) {
    using namespace detail;
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    long year = 0, month = 0, day = 0;
    out.vote = 0;
    const Dated found = date(text, order, year, month, day, out.vote);
    if (found == Dated::no) return found;
    double seconds = 0, zone = 0;
    if (!text.empty()) {
        if (take(text, ',') ? !take(text, ' ')
                            : !take(text, 'T') && !take(text, 't') && !take(text, ' '))
            return Dated::no;
        if (!clock(text, seconds) || !offset(text, zone)) return Dated::no;
    }
    out.wall = double(days(year, month, day)) * 86400 + seconds;
    out.utc = out.wall - zone;
    return found;
}

}  // namespace MIXABLE_ISA
