// Lines of CSV to numbers, and numbers to lines of text: strict.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decimal.hpp"

namespace MIXABLE_ISA {

/// A number in plain decimal form, with or without an exponent: NaN for what is missing (an empty
/// text, "nan", "NA", "?"); infinite or not, the value of what is a number; false for all that
/// cannot be used.
inline bool plain_number(std::string_view text, double& value) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    value = std::numeric_limits<double>::quiet_NaN();
    if (text.empty() || text == "?" || text == "NA") return true;
    if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
    // Whether a number that double precision has no place for is so because of its size: by the
    // power of ten of its first digit that is not 0.
    const auto is_huge = [&] {
        const std::size_t e = std::min(text.find_first_of("eE"), text.size()),
                          point = std::min(text.find('.'), e),
                          digit = text.find_first_of("123456789");
        long exponent = 0;
        const std::size_t sign = e + 1 < text.size() && text[e + 1] == '+';
        const bool beyond =
            e < text.size() &&
            std::from_chars(text.data() + e + 1 + sign, text.data() + text.size(), exponent).ec !=
                std::errc();
        if (beyond) return text[e + 1] != '-';
        // Not added to the exponent, which may be the largest there is.
        return exponent > (digit < point ? -long(point - digit) : long(digit - point));
    };
    const auto [end, error] = read_decimal(text.data(), text.data() + text.size(), value);
    // Nan(...), -nan.
    const bool other_nan = error == std::errc() && std::isnan(value) && text.size() > 3;
    if (end != text.data() + text.size() || error == std::errc::invalid_argument || other_nan) {
        value = 0;
        return false;
    }
    if (error == std::errc::result_out_of_range) value = is_huge() ? HUGE_VAL : 0.0;
    return !std::isinf(value);
}

/// Cuts lines into fields. A field may be quoted, quotes in it are doubled, and it ends on its
/// line.
class CsvLine {
   public:
    explicit CsvLine(std::size_t n_fields, char separator = ',')
        : fields(n_fields), separator_(separator) {}

    std::vector<std::string_view> fields;  // of the latest line: views of it, or of `unquoted_`
    std::string reason;                    // why the latest line was refused

    bool read(std::string_view line) {
        std::size_t count = 0;
        std::string_view rest = line, surplus;
        for (bool more = true; more; ++count)
            if (!field(rest, count < fields.size() ? fields[count] : surplus, more)) return false;
        return count == fields.size() ||
               refuse(std::to_string(count) + " fields, and the header has " +
                      std::to_string(fields.size()));
    }

   private:
    /// The next field of the rest of a line, without its quotes; `more`: whether another follows.
    bool field(std::string_view& rest, std::string_view& text, bool& more) {
        std::size_t end = 0;
        if (rest.empty() || rest.front() != '"') {
            end = std::min(rest.find(separator_), rest.size());
            text = rest.substr(0, end);
            if (text.find('"') != text.npos)
                return refuse("a quote inside a field that does not begin with one");
        } else {
            std::string& whole = unquoted_.emplace_back();
            for (std::size_t at = 1;; at = end + 2) {
                end = rest.find('"', at);
                if (end == rest.npos) return refuse("a quote that is not closed on its line");
                whole.append(rest, at, end - at);
                if (end + 1 >= rest.size() || rest[end + 1] != '"') break;
                whole.push_back('"');
            }
            text = whole;
            if (++end < rest.size() && rest[end] != separator_)
                return refuse("text after a closing quote");
        }
        more = end < rest.size();
        rest.remove_prefix(more ? end + 1 : end);
        return true;
    }

    bool refuse(std::string why) {
        reason = std::move(why);
        return false;
    }

    char separator_;
    std::deque<std::string> unquoted_;  // fields of all lines that had quotes
};

/// Appends the shortest text that reads back as the same number.
inline void append_number(std::string& out, double value) {
    char text[32];
    const auto [end, error] = write_decimal(text, text + sizeof text, value);
    out.append(text, std::size_t(end - text));
}

}  // namespace MIXABLE_ISA
