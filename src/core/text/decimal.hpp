// Numbers to text and back, exactly and in no locale: <charconv>, or what stands for it where the
// library has none of double precision (libc++, so macOS before 26).
#pragma once

#include <charconv>

#if !defined(__cpp_lib_to_chars) || defined(MIXABLE_OWN_DECIMALS)
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <string>
#include <system_error>

namespace MIXABLE_ISA {

/// While it lives, the C library's functions are in no locale, in this thread.
class NoLocale {
   public:
    NoLocale() : before_(uselocale(plain())) {}
    ~NoLocale() { uselocale(before_); }
    NoLocale(const NoLocale&) = delete;
    NoLocale& operator=(const NoLocale&) = delete;

   private:
    static locale_t plain() {
        static const locale_t made = newlocale(LC_ALL_MASK, "C", locale_t(0));
        return made;
    }
    locale_t before_;
};

/// As std::from_chars: strtod takes more, so the end of the number is found here.
inline std::from_chars_result read_decimal(const char* begin, const char* end, double& value) {
    const char* at = begin + (begin != end && *begin == '-');
    const auto word = [&](const char* name) {
        const char* next = at;
        for (; *name; ++name, ++next)
            if (next == end || (*next | 0x20) != *name) return false;
        at = next;
        return true;
    };
    bool is_zero = true;
    const auto digits = [&] {
        const char* first = at;
        for (; at != end && *at >= '0' && *at <= '9'; ++at) is_zero = is_zero && *at == '0';
        return at - first;
    };
    if (word("inf")) {
        word("inity");
        is_zero = false;
    } else if (word("nan")) {
        const char* closed = at != end && *at == '(' ? std::find(at, end, ')') : end;
        const auto fits = [](char c) { return std::isalnum((unsigned char)c) || c == '_'; };
        if (closed != end && std::all_of(at + 1, closed, fits)) at = closed + 1;
    } else {
        auto count = digits();
        if (at != end && *at == '.') {
            ++at;
            const auto fraction = digits();
            if (!count && !fraction) return {begin, std::errc::invalid_argument};
            count += fraction;
        }
        if (!count) return {begin, std::errc::invalid_argument};
        const bool nothing = is_zero;
        if (at != end && (*at | 0x20) == 'e') {
            const char* mantissa = at++;
            if (at != end && (*at == '-' || *at == '+')) ++at;
            if (!digits()) at = mantissa;
        }
        is_zero = nothing;
        const NoLocale no_locale;
        const double read = strtod(std::string(begin, at).c_str(), nullptr);
        if (std::isinf(read) || (read == 0 && !is_zero))
            return {at, std::errc::result_out_of_range};
        value = read;
        return {at, std::errc()};
    }
    value = is_zero ? std::nan("") : HUGE_VAL;
    if (*begin == '-') value = -value;
    return {at, std::errc()};
}

/// As std::to_chars: the shortest text that reads back, without an exponent if that is as short.
inline std::to_chars_result write_decimal(char* begin, char* end, double value) {
    char text[400];
    const NoLocale no_locale;
    if (!std::isfinite(value)) {
        snprintf(text, sizeof text, "%s%s", std::signbit(value) ? "-" : "",
                 std::isnan(value) ? "nan" : "inf");
    } else {
        int precision = 0;
        do snprintf(text, sizeof text, "%.*e", precision, value);
        while (strtod(text, nullptr) != value && ++precision < 17);
        const int exponent = atoi(std::strchr(text, 'e') + 1);
        char fixed[400];
        snprintf(fixed, sizeof fixed, "%.*f", std::max(precision - exponent, 0), value);
        if (std::strlen(fixed) <= std::strlen(text)) std::strcpy(text, fixed);
    }
    const std::size_t size = std::strlen(text);
    if (std::size_t(end - begin) < size) return {end, std::errc::value_too_large};
    std::memcpy(begin, text, size);
    return {begin + size, std::errc()};
}

}  // namespace MIXABLE_ISA
#else
namespace MIXABLE_ISA {

inline std::from_chars_result read_decimal(const char* begin, const char* end, double& value) {
    return std::from_chars(begin, end, value);
}
inline std::to_chars_result write_decimal(char* begin, char* end, double value) {
    return std::to_chars(begin, end, value);
}

}  // namespace MIXABLE_ISA
#endif
