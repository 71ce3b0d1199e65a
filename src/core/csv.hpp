// Lines of CSV to numbers, and numbers to lines of text: strict.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace MIXABLE_ISA {

/// Reads one line at a time. A field may be quoted, quotes in it are doubled, and it ends on its
/// line. A number is decimal, with or without an exponent; an empty field, "nan", "NA" and "?" are
/// missing.
class CsvParser {
   public:
    static constexpr long ignored = -1, label_field = -2, id_field = -3;

    /// `roles` has for each field the feature it is (0, 1, ...), or one of the above; `names` what
    /// it is called.
    CsvParser(std::vector<long> roles, std::vector<std::string> names)
        : roles_(std::move(roles)), names_(std::move(names)) {
        for (const long role : roles_) features += role >= 0;
        if (names_.size() != roles_.size() ||
            std::any_of(roles_.begin(), roles_.end(),
                        [&](long role) { return role >= features || role < id_field; }))
            throw std::invalid_argument("roles and names do not go together");
    }

    long features = 0;
    // Of the line last read, empty if there is none; they live as long as its text, and until the
    // next.
    std::string_view label, id;
    std::string reason;  // why the line last read was refused

    /// Puts the line's features in `row`, and returns whether it is sound.
    bool read(std::string_view line, double* row) {
        label = id = {};
        rest_ = line;
        bool more = true;
        for (std::size_t i = 0; i < roles_.size(); ++i) {
            if (!more) return wrong_count(long(i));
            std::string_view text;
            const long role = roles_[i];
            if (!field(text, more,
                       role == label_field ? label_text_
                       : role == id_field  ? id_text_
                                           : other_text_))
                return false;
            if (role == label_field)
                label = text;
            else if (role == id_field)
                id = text;
            else if (role >= 0 && !number(text, row[role]))
                return refuse_number(i, text, row[role]);
        }
        return more ? wrong_count(-1) : true;
    }

    /// NaN for what is missing; infinite or not, the value of what is a number; false for all that
    /// cannot be used.
    static bool number(std::string_view text, double& value) {
        while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
            text.remove_prefix(1);
        while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
        value = std::numeric_limits<double>::quiet_NaN();
        if (text.empty() || text == "?" || text == "NA") return true;
        if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        // Nan(...), -nan.
        const bool other_nan = error == std::errc() && std::isnan(value) && text.size() > 3;
        if (end != text.data() + text.size() || error == std::errc::invalid_argument || other_nan) {
            value = 0;
            return false;
        }
        if (error == std::errc::result_out_of_range) value = is_huge(text) ? HUGE_VAL : 0.0;
        return !std::isinf(value);
    }

   private:
    static constexpr std::size_t shown = 80;  // of a field in a reason

    /// The next field of `rest_`, without its quotes; `scratch` keeps a text that had quotes
    /// inside. `more` says whether another follows.
    bool field(std::string_view& text, bool& more, std::string& scratch) {
        if (!rest_.empty() && rest_.front() == '"') return quoted(text, more, scratch);
        const std::size_t comma = rest_.find(',');
        text = rest_.substr(0, comma);
        if (text.find('"') != text.npos)
            return refuse("a quote inside a field that does not begin with one");
        advance(comma, more);
        return true;
    }

    bool quoted(std::string_view& text, bool& more, std::string& scratch) {
        scratch.clear();
        std::size_t at = 1;
        for (;; at += 2) {
            const std::size_t quote = rest_.find('"', at);
            if (quote == rest_.npos) return refuse("a quote that is not closed on its line");
            scratch.append(rest_, at, quote - at);
            at = quote;
            if (at + 1 >= rest_.size() || rest_[at + 1] != '"') break;
            scratch.push_back('"');
        }
        text = scratch;
        if (at + 1 < rest_.size() && rest_[at + 1] != ',')
            return refuse("text after a closing quote");
        advance(at + 1 < rest_.size() ? at + 1 : rest_.npos, more);
        return true;
    }

    void advance(std::size_t comma, bool& more) {
        more = comma != rest_.npos;
        rest_ = more ? rest_.substr(comma + 1) : std::string_view{};
    }

    /// Whether a decimal number that double precision has no place for is so because of its size:
    /// by the power of ten of its first digit that is not 0.
    static bool is_huge(std::string_view text) {
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
        const long zeros =
            digit < point
                ? -long(point - digit)
                : long(digit -
                       point);  // not added to the exponent, which may be the largest there is
        return exponent > zeros;
    }

    bool refuse_number(std::size_t i, std::string_view text, double value) {
        if (text.size() > shown) {
            std::size_t end = shown;
            while ((text[end] & 0xC0) == 0x80) --end;  // not within a character of UTF-8
            text = text.substr(0, end);
        }
        return refuse("column '" + names_[i] + "' is " +
                      (std::isinf(value) ? "infinite: '" : "not a number: '") + std::string(text) +
                      "'");
    }

    bool wrong_count(long found) {
        long more = 0;
        if (found < 0) {
            found = long(roles_.size());
            for (bool another = true; another; ++more) {
                std::string_view text;
                if (!field(text, another, other_text_)) return false;
            }
        }
        return refuse(std::to_string(found + more) + " fields, and the header has " +
                      std::to_string(roles_.size()));
    }

    bool refuse(std::string why) {
        reason = std::move(why);
        return false;
    }

    std::vector<long> roles_;
    std::vector<std::string> names_;
    std::string_view rest_;
    std::string label_text_, id_text_, other_text_;
};

/// Appends the shortest text that reads back as the same number.
inline void append_number(std::string& out, double value) {
    char text[32];
    const auto [end, error] = std::to_chars(text, text + sizeof text, value);
    out.append(text, std::size_t(end - text));
}

}  // namespace MIXABLE_ISA
