// Compares what stands for <charconv> with it; see test_decimals.py.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <random>

#include "core/text/decimal.hpp"

int main() {
    std::mt19937_64 random(7);
    long wrong = 0;
    const auto compare = [&](const char* text, std::size_t size) {
        double a = 7, b = 7;
        const auto one = std::from_chars(text, text + size, a);
        const auto two = core::read_decimal(text, text + size, b);
        const bool same = std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
        if (one.ec == two.ec && one.ptr == two.ptr && same) return;
        ++wrong;
        std::printf("read %.*s: %a %a\n", int(size), text, a, b);
    };
    for (int i = 0; i < 20000; ++i) {
        double value;
        const std::uint64_t bits = random();
        std::memcpy(&value, &bits, sizeof value);
        if (i % 2) value = double(std::int64_t(bits >> (bits % 50))) / (i % 4 == 1 ? 1 : 1000);
        if (std::isnan(value)) continue;
        char one[64] = {}, two[64] = {};
        const auto a = std::to_chars(one, one + 64, value);
        const auto b = core::write_decimal(two, two + 64, value);
        if (a.ptr - one != b.ptr - two || std::memcmp(one, two, 64) != 0)
            ++wrong, std::printf("write %s %s\n", one, two);
        compare(one, std::size_t(a.ptr - one));
        char text[16];  // what is no number, or ends with something else
        for (char& c : text) c = "0123456789.eE+-x infa()_"[random() % 24];
        compare(text, 1 + random() % 15);
    }
    for (const std::string text :
         {"1e400",   "-1e400", "1e-400", "0e-400",   "4.9e-324", "inf",  "-INF", "infinity",
          "infinit", "nan",    "-nan",   "nan(a_1)", "nan(",     "",     "-",    ".",
          "-.",      "1.",     ".5",     "1e",       "1e+",      "0x10", "+1",   " 1"})
        compare(text.c_str(), text.size());
    return wrong > 0;
}
