// Numbers as people write them: 1,5 and 1.234,50, $9.99, 15 %, 1'000'000.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>

#include "decimal.hpp"

namespace MIXABLE_ISA {

/// What a comma and a point mean in a column, where one number does not tell: plain reads nothing
/// but what a program writes.
enum class Mark : char { plain, unknown, point, comma };

/// What a text is: a number; one by a column's mark only; neither.
enum class Written : char { no, number, unclear };

namespace detail {

inline bool take_text(std::string_view& text, std::string_view wanted) {
    if (text.substr(0, wanted.size()) != wanted) return false;
    text.remove_prefix(wanted.size());
    return true;
}

inline bool take_blank(std::string_view& text) {
    return take_text(text, " ") || take_text(text, "\t") || take_text(text, "\xC2\xA0") ||
           take_text(text, "\xE2\x80\xAF") || take_text(text, "\xE2\x80\x89");
}

inline bool take_sign(std::string_view& text, bool& minus) {
    minus = text.substr(0, 1) == "-" || text.substr(0, 3) == "\xE2\x88\x92";
    return take_text(text, "-") || take_text(text, "+") || take_text(text, "\xE2\x88\x92");
}

inline bool take_currency(std::string_view& text) {
    static constexpr std::string_view known[] = {
        "US$", "R$",  "A$",  "C$",  "HK$", "NZ$", "$",   "€",   "£",   "¥",   "₹",   "₽",   "₩",
        "₺",   "₪",   "₫",   "₴",   "฿",   "zł",  "kr",  "USD", "EUR", "GBP", "CHF", "JPY", "CNY",
        "INR", "CAD", "AUD", "SEK", "NOK", "DKK", "PLN", "BRL", "CZK", "MXN", "ZAR"};
    return std::any_of(std::begin(known), std::end(known),
                       [&](std::string_view each) { return take_text(text, each); });
}

/// What stands between digits: ' ' for any blank, '\'' for both apostrophes; 0 if it is none.
inline char take_separator(std::string_view& text) {
    for (const char each : {'.', ',', ' ', '\''})
        if (!text.empty() && text.front() == each) {
            text.remove_prefix(1);
            return each;
        }
    if (take_text(text, "\xE2\x80\x99")) return '\'';
    // A blank that breaks no line is no accident.
    if (take_text(text, "\xC2\xA0") || take_text(text, "\xE2\x80\xAF") ||
        take_text(text, "\xE2\x80\x89"))
        return '_';
    return 0;
}

/// The digits of a number and what stands between them.
struct Digits {
    static constexpr int most = 12, longest = 60;
    char text[longest + 2];  // all digits, one after the other
    int size = 0, groups = 0, length[most];
    char separator[most];  // after each group

    bool take(std::string_view& from) {
        for (;;) {
            int n = 0;
            for (; !from.empty() && from.front() >= '0' && from.front() <= '9'; ++n) {
                if (size == longest) return false;
                text[size++] = from.front();
                from.remove_prefix(1);
            }
            if (!n) return false;
            length[groups++] = n;
            std::string_view rest = from;
            const char found = take_separator(rest);
            if (!found || rest.empty() || rest.front() < '0' || rest.front() > '9') return true;
            if (groups == most) return false;
            separator[groups - 1] = found;
            from = rest;
        }
    }
    /// Whether the first groups are thousands: 1 to 3 digits, then 3 each, with one separator.
    bool are_thousands(int count) const {
        if (length[0] > 3 || text[0] == '0') return false;
        for (int i = 1; i < count; ++i)
            if (length[i] != 3 || separator[i - 1] != separator[0]) return false;
        return true;
    }
    /// Whether it is an address of the internet: four numbers below 256 with points between.
    bool is_address() const {
        if (groups != 4 || separator[0] != '.') return false;
        for (int i = 0, at = 0; i < 4; at += length[i++]) {
            int value = 0;
            for (int j = 0; j < length[i]; ++j) value = 10 * value + (text[at + j] - '0');
            if (length[i] > 3 || value > 255) return false;
        }
        return true;
    }
    /// Their value, the last group a fraction or not.
    double value(bool has_fraction) {
        char* end = text + size;
        if (has_fraction) {
            char* point = end - length[groups - 1];
            std::copy_backward(point, end, end + 1);
            *point = '.';
            ++end;
        }
        double out = 0;
        read_decimal(text, end, out);
        return out;
    }
};

}  // namespace detail

/// Reads a number that may have a currency or a percent sign, thousands in groups and a decimal
/// comma. `vote` is +1 if it shows that the point is the decimal mark, -1 for the comma. Three
/// digits after the only mark may be either: then the mark of the column decides.
inline Written read_written(std::string_view text, Mark mark, double& value, int& vote) {
    using namespace detail;
    vote = 0;
    while (take_blank(text)) {
    }
    bool minus = false, is_signed = take_sign(text, minus);
    bool has_currency = take_currency(text);
    if (has_currency)
        while (take_blank(text)) {
        }
    if (!is_signed) take_sign(text, minus);
    Digits digits;
    if (!digits.take(text)) return Written::no;
    while (take_blank(text)) {
    }
    if (!has_currency) has_currency = take_currency(text);
    const bool is_percent = !has_currency && take_text(text, "%");
    while (take_blank(text)) {
    }
    if (!text.empty()) return Written::no;

    const int k = digits.groups - 1;  // separators
    const char last = k ? digits.separator[k - 1] : 0;
    const bool is_mark = last == '.' || last == ',';
    bool has_fraction = false;
    if (k == 1 && is_mark && digits.length[0] > 1 && digits.text[0] == '0') return Written::no;
    if (k == 1 && is_mark) {
        const bool is_known = mark == Mark::point || mark == Mark::comma;
        if (!digits.are_thousands(2)) {
            has_fraction = true;
            vote = last == '.' ? 1 : -1;
        } else if (is_known) {
            has_fraction = (last == '.') == (mark == Mark::point);
        } else if (last == '.' && !has_currency) {  // as programs write it
            has_fraction = true;
        } else {
            return Written::unclear;
        }
    } else if (k && digits.are_thousands(k + 1)) {
        const bool is_dressed = has_currency || is_percent;
        if (digits.is_address() && !is_dressed) return Written::no;
        if (last == ' ' && !is_dressed && mark == Mark::unknown) return Written::unclear;
        if (is_mark) vote = last == '.' ? -1 : 1;
    } else if (k > 1 && is_mark && last != digits.separator[0] && digits.are_thousands(k)) {
        has_fraction = true;
        vote = last == '.' ? 1 : -1;
    } else if (k) {
        return Written::no;
    }
    value = digits.value(has_fraction) * (minus ? -1 : 1) / (is_percent ? 100 : 1);
    return Written::number;
}

}  // namespace MIXABLE_ISA
