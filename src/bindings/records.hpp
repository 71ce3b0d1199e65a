// Cells of records as Python objects: their keys, numbers and times.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/sparse/hashing.hpp"
#include "core/text/csv.hpp"
#include "core/text/instants.hpp"
#include "core/text/written.hpp"
#include "events.hpp"

namespace MIXABLE_ISA {
namespace {  // one translation unit includes this

/// Letters as Python has them. Its stable ABI does not say; so a str is asked, once for each letter
/// of a page of 256.
class PythonsAlphabet {
   public:
    static bool is_letter(std::uint32_t c) { return page(c).is_letter[c % size]; }
    static std::uint32_t lower(std::uint32_t c) { return page(c).lower[c % size]; }

   private:
    static constexpr std::uint32_t size = 256;
    struct Page {
        bool is_letter[size];
        std::uint32_t lower[size];
    };
    static const Page& page(std::uint32_t c) {
        static std::atomic<const Page*> pages[0x110000 / size] = {};  // for as long as Python lives
        std::atomic<const Page*>& found = pages[c / size];
        if (!found.load(std::memory_order_acquire)) {
            auto made = std::make_unique<Page>();
            for (std::uint32_t i = 0; i < size; ++i) {
                const nb::object letter = nb::steal(PyUnicode_FromOrdinal(int(c - c % size + i)));
                if (!letter.is_valid()) throw nb::python_error();
                made->is_letter[i] = nb::cast<bool>(letter.attr("isalnum")());
                made->lower[i] = PyUnicode_ReadChar(nb::object(letter.attr("lower")()).ptr(), 0);
            }
            const Page* none = nullptr;  // or another thread was quicker
            if (found.compare_exchange_strong(none, made.get())) made.release();
        }
        return *found.load(std::memory_order_acquire);
    }
};

/// The UTF-8 of a str while it lives; halves of surrogate pairs are written in the same way.
class Utf8 {
   public:
    explicit Utf8(PyObject* text) {
        if (!PyUnicode_Check(text)) throw nb::type_error("expected a str");
        Py_ssize_t size = 0;
        const char* bytes = PyUnicode_AsUTF8AndSize(text, &size);
        if (!bytes) {
            PyErr_Clear();
            kept_ = nb::steal(PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass"));
            if (!kept_.is_valid()) throw nb::python_error();
            bytes = PyBytes_AsString(kept_.ptr());
            size = PyBytes_Size(kept_.ptr());
        }
        view = {bytes, std::size_t(size)};
    }
    std::string_view view;

   private:
    nb::object kept_;
};

Key hash_string(nb::handle text, Key seed) {
    const Utf8 utf8(text.ptr());
    return hashed(utf8.view.data(), utf8.view.size(), seed);
}

/// Calls pair(key, begin, end) for each word and each pair of words of the first `most` characters,
/// where begin and end are words; says whether there were more characters.
template <class Word, class Pair>
bool words_and_pairs(PyObject* text, Key seed, std::size_t most, Word word, Pair pair) {
    if (!PyUnicode_Check(text)) throw nb::type_error("expected a str");
    const auto n = std::size_t(PyUnicode_GetLength(text));
    nb::object head = nb::borrow(text);
    if (n > most) head = nb::steal(PyUnicode_Substring(text, 0, Py_ssize_t(most)));
    thread_local std::vector<Py_UCS4> characters;
    characters.resize(std::min(n, most) + 1);
    if (!head.is_valid() ||
        !PyUnicode_AsUCS4(head.ptr(), characters.data(), Py_ssize_t(characters.size()), true))
        throw nb::python_error();
    thread_local std::vector<char> scratch;
    Key before = 0;
    bool first = true;
    for_each_word<PythonsAlphabet>([&](std::size_t i) { return characters[i]; }, std::min(n, most),
                                   scratch,
                                   [&](const char* bytes, std::size_t size) {
                                       const Key key = hashed(bytes, size, seed);
                                       if (!first) pair(joined(before, key), before, key);
                                       word(key, bytes, size);
                                       before = key;
                                       first = false;
                                   });
    return n > most;
}

/// See the stub: (ends, keys, values, cut).
Tuple<Array<std::int64_t>, Array<Key>, Array<float>, Array<bool>> hash_texts(
    const nb::typed<nb::list, nb::str>& texts, Key seed, std::size_t most) {
    std::vector<std::int64_t> ends;
    std::vector<Key> found, keys;
    std::vector<float> values;
    std::vector<char> cut;
    for (nb::handle text : texts) {
        found.clear();
        const auto put = [&](Key key, auto...) { found.push_back(key); };
        cut.push_back(words_and_pairs(text.ptr(), seed, most, put, put));
        append_text(found, keys, values);
        ends.push_back(std::int64_t(keys.size()));
    }
    return nb::make_tuple(array_of(ends), array_of(keys), array_of(values),
                          array_of<bool>(cut, {npy_intp(cut.size())}));
}

/// What stands for each key of a text.
nb::dict text_names(nb::handle text, Key seed, std::size_t most) {
    nb::dict out;
    nb::object before = nb::none();
    std::vector<std::pair<Key, nb::object>> words;
    words_and_pairs(
        text.ptr(), seed, most,
        [&](Key key, const char* bytes, std::size_t size) {
            PyObject* word = PyUnicode_DecodeUTF8(bytes, Py_ssize_t(size), "surrogatepass");
            if (!word) throw nb::python_error();
            words.emplace_back(key, nb::steal(word));
        },
        [](auto...) {});
    for (std::size_t i = 0; i < words.size(); ++i) {
        out[nb::int_(words[i].first)] = words[i].second;
        if (i)
            out[nb::int_(joined(words[i - 1].first, words[i].first))] =
                words[i - 1].second + nb::str(" ") + words[i].second;
    }
    return out;
}

// What a cell is, where a number is wanted.
enum Cell : std::int8_t {
    number_cell,
    missing_cell,
    word_cell,
    infinite_cell,
    other_cell,
    unclear_cell  // a number by the mark of its column only
};

/// "plain", "" (unknown), "." or ",".
Mark mark_of(const std::string& name) {
    if (name == "plain") return Mark::plain;
    if (name.empty()) return Mark::unknown;
    if (name != "." && name != ",") throw nb::value_error("no such mark");
    return name == "." ? Mark::point : Mark::comma;
}

/// `wanted` is +1 if the text shows that its decimal mark is a point, -1 for a comma.
Cell text_cell(std::string_view text, Mark mark, double& value, int* wanted = nullptr) {
    int own = 0;
    int& vote = wanted ? *wanted : own;
    // Where the comma is the decimal mark, 1.234 is a thousand and more.
    if (mark == Mark::comma && read_written(text, mark, value, vote) == Written::number)
        return number_cell;
    if (plain_number(text, value)) {
        double same = 0;
        if (wanted && mark != Mark::plain) read_written(text, mark, same, vote);
        return std::isnan(value) ? missing_cell : number_cell;
    }
    if (mark != Mark::plain && !std::isinf(value)) {
        const Written written = read_written(text, mark, value, vote);
        if (written == Written::number) return number_cell;
        value = std::nan("");
        if (written == Written::unclear) return unclear_cell;
    }
    const bool infinite = std::isinf(value);
    value = infinite ? value : std::nan("");
    return infinite ? infinite_cell : word_cell;
}

Cell read_cell(PyObject* cell, Mark mark, double& value, int& vote) {
    value = std::nan("");
    vote = 0;
    if (cell == Py_None) return missing_cell;
    if (PyFloat_CheckExact(cell)) {
        value = PyFloat_AsDouble(cell);
    } else if (PyLong_CheckExact(cell)) {
        value = PyLong_AsDouble(cell);
        if (value == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            value = HUGE_VAL;
        }
    } else if (PyBool_Check(cell)) {
        value = cell == Py_True ? 1 : 0;
    } else if (PyUnicode_CheckExact(cell)) {
        return text_cell(Utf8(cell).view, mark, value, &vote);
    } else {
        return other_cell;
    }
    if (std::isnan(value)) return missing_cell;
    return std::isinf(value) ? infinite_cell : number_cell;
}

/// See the stub: (values, cells, votes).
Tuple<Array<>, Array<std::int8_t>, Array<std::int8_t>> read_numbers(
    const nb::typed<nb::list, nb::object>& cells, const std::string& mark) {
    const Mark known = mark_of(mark);
    std::vector<double> values(cells.size());
    std::vector<std::int8_t> kinds(cells.size()), votes(cells.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        int vote = 0;
        kinds[i] = read_cell(nb::handle(cells[i]).ptr(), known, values[i], vote);
        votes[i] = std::int8_t(vote);
    }
    return nb::make_tuple(array_of(values), array_of(kinds), array_of(votes));
}

/// See the stub: (value, cell, vote) of one.
Tuple<double, int, int> read_number(nb::object cell, const std::string& mark) {
    double value = 0;
    int vote = 0;
    const Cell kind = read_cell(cell.ptr(), mark_of(mark), value, vote);
    return nb::make_tuple(value, int(kind), vote);
}

/// "" (unknown), "day" or "month".
Order order_of(const std::string& name) {
    if (name.empty()) return Order::unknown;
    if (name != "day" && name != "month") throw nb::value_error("no such order");
    return name == "day" ? Order::day : Order::month;
}

/// See the stub: a row (wall, utc, vote) each.
Array<> read_times(const nb::typed<nb::list, nb::str>& texts, const std::string& order) {
    const Order known = order_of(order);
    std::vector<double> out;
    for (nb::handle text : texts) {
        const Utf8 utf8(text.ptr());
        Instant instant;
        if (read_instant(utf8.view, known, instant) != Dated::time)
            instant = {std::nan(""), std::nan(""), 0};
        out.insert(out.end(), {instant.wall, instant.utc, double(instant.vote)});
    }
    return array_of<double>(out, {npy_intp(texts.size()), 3});
}

nb::object read_time(nb::handle text, const std::string& order) {
    const Utf8 utf8(text.ptr());
    Instant instant;
    const Dated found = read_instant(utf8.view, order_of(order), instant);
    if (found == Dated::no) return nb::none();
    if (found == Dated::unclear) instant = {std::nan(""), std::nan(""), 0};
    return nb::make_tuple(instant.wall, instant.utc, instant.vote);
}

/// See the stub: (ends, keys) of all pairs of each row, at most `most` of them.
Tuple<Array<std::int64_t>, Array<Key>> cross_keys(Array<std::int64_t> ends_a, Array<Key> a,
                                                  Array<std::int64_t> ends_b, Array<Key> b,
                                                  Key seed, long most) {
    const auto *end_a = checked<std::int64_t>(ends_a), *end_b = checked<std::int64_t>(ends_b);
    const auto *left = checked<Key>(a), *right = checked<Key>(b);
    const npy_intp n = length(ends_a);
    if (length(ends_b) != n) throw nb::value_error("two columns of different length");
    std::vector<std::int64_t> ends;
    std::vector<Key> keys;
    std::int64_t i = 0, j = 0;
    for (npy_intp t = 0; t < n; ++t) {
        if (end_a[t] < i || end_a[t] > length(a) || end_b[t] < j || end_b[t] > length(b))
            throw nb::value_error("ends beyond the keys");
        long count = 0;
        for (std::int64_t p = i; p < end_a[t]; ++p)
            for (std::int64_t q = j; q < end_b[t] && count < most; ++q, ++count)
                keys.push_back(joined(joined(left[p], right[q]), seed));
        i = end_a[t];
        j = end_b[t];
        ends.push_back(std::int64_t(keys.size()));
    }
    return nb::make_tuple(array_of(ends), array_of(keys));
}

void bind_records(nb::module_& m) {
    m.def("hash_string", &hash_string, nb::arg("text"), nb::arg("seed"),
          nb::sig("def hash_string(text: str, seed: int) -> int"),
          "The key of a text, 64 bits; see core/sparse/hashing.hpp.");
    m.def("join_keys", &joined, nb::arg("a"), nb::arg("b"), "The key of two keys.");
    m.def("cross_keys", &cross_keys, nb::arg("ends_a"), nb::arg("a"), nb::arg("ends_b"),
          nb::arg("b"), nb::arg("seed"), nb::arg("most"),
          "All pairs of the keys that two columns have in each row, at most `most` a row: where "
          "each row ends, and the keys.");
    m.def("hash_texts", &hash_texts, nb::arg("texts"), nb::arg("seed"), nb::arg("most"),
          "Words and pairs of words of the first `most` characters of each text: where each ends, "
          "their keys, their values, and which texts were longer.");
    m.def("text_names", &text_names, nb::arg("text"), nb::arg("seed"), nb::arg("most"),
          nb::sig("def text_names(text: str, seed: int, most: int) -> dict[int, str]"),
          "The word or pair of words behind each key that hash_texts has for a text.");
    m.def("read_numbers", &read_numbers, nb::arg("cells"), nb::arg("mark"),
          "Numbers, also from text; what each is: 0 number, 1 missing, 2 word, 3 infinite, 4 "
          "something else, 5 unclear; and +1 (-1) where a text shows that its decimal mark is a "
          "point (a comma). The mark decides on what is unclear: a point, a comma, nothing; "
          "\"plain\" reads nothing but what programs write.");
    m.def("read_number", &read_number, nb::arg("cell").none(), nb::arg("mark"),
          nb::sig("def read_number(cell: object, mark: str) -> tuple[float, int, int]"),
          "The same of one.");
    m.def("read_times", &read_times, nb::arg("texts"), nb::arg("order"),
          "Seconds since 1970 of times in ISO 8601 and of other dates, on the wall and in UTC, and "
          "+1 (-1) where a text shows that the day (the month) comes first: a row each; NaN for "
          "what is no time. The order, \"day\", \"month\" or nothing, decides on what is "
          "unclear.");
    m.def("read_time", &read_time, nb::arg("text"), nb::arg("order"),
          nb::sig("def read_time(text: str, order: str) -> tuple[float, float, int] | None"),
          "The same of one; NaN for what is unclear, None for what is no time.");
}

}  // namespace
}  // namespace MIXABLE_ISA
