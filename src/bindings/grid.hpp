// Lines of CSV as Python objects, column by column.
#pragma once

#include <cmath>
#include <unordered_map>

#include "records.hpp"

namespace MIXABLE_ISA {
namespace {  // one translation unit includes this

struct HashOfText {
    std::size_t operator()(std::string_view text) const {
        return hashed(text.data(), text.size(), 0);
    }
};

/// The texts of a column, each once, in the order in which they came.
class Distinct {
   public:
    long code(std::string_view text) {
        const auto [at, is_new] = codes_.try_emplace(text, long(codes_.size()));
        if (is_new) texts.append(text_or_none(text));
        return at->second;
    }
    nb::list texts;  // None for the empty one

   private:
    std::unordered_map<std::string_view, long, HashOfText> codes_;
};

/// One column of some lines.
class GridColumn {
   public:
    /// 'n', 'p', 'd': numbers (mark unknown, a point, a comma), 'c': categories, 't': texts, 'l':
    /// labels, 'i': identifiers, 'x': numbers that must be plain (read_grid has them), '-':
    /// nothing.
    explicit GridColumn(char role) : role_(role) {
        if (!std::strchr("npdctlix-", role) || !role) throw nb::value_error("no such role");
        if (role == 'p' || role == 'd') {
            mark_ = role == 'p' ? Mark::point : Mark::comma;
            role_ = 'n';
        }
    }

    void add(std::string_view field, long row) {
        if (role_ == 'n') {
            double value = 0;
            const Cell cell = text_cell(field, mark_, value);
            values_.push_back(value);
            cells_.push_back(cell);
            if (cell > missing_cell) words_[nb::int_(row)] = nb::str(field.data(), field.size());
        } else if (role_ == 'c') {
            codes_.push_back(distinct_.code(field));
        } else if (role_ == 't') {
            list_.append(nb::str(field.data(), field.size()));
        } else if (role_ == 'l') {
            list_.append(distinct_.texts[std::size_t(distinct_.code(field))]);
        } else if (role_ == 'i') {
            list_.append(text_or_none(field));
        }
    }
    bool is_label() const { return role_ == 'l'; }
    bool is_id() const { return role_ == 'i'; }
    bool is_plain() const { return role_ == 'x'; }
    bool is_feature() const { return std::strchr("nct", role_); }
    const nb::list& list() const { return list_; }
    nb::object result() const {
        if (role_ == 'n') return nb::make_tuple(array_of(values_), array_of(cells_), words_);
        if (role_ == 'c') return nb::make_tuple(array_of(codes_), distinct_.texts);
        return role_ == 't' ? nb::object(list_) : nb::none();
    }

   private:
    char role_;
    Mark mark_ = Mark::unknown;
    std::vector<double> values_;
    std::vector<std::int8_t> cells_;
    std::vector<std::int64_t> codes_;
    nb::dict words_;
    nb::list list_;
    Distinct distinct_;
};

/// Why a cell is refused where a plain number is wanted.
inline std::string why_no_number(const std::string& name, std::string_view text, double value) {
    constexpr std::size_t shown = 80;
    if (text.size() > shown) {
        std::size_t end = shown;
        while ((text[end] & 0xC0) == 0x80) --end;  // not within a character of UTF-8
        text = text.substr(0, end);
    }
    return "column '" + name + "' is " + (std::isinf(value) ? "infinite: '" : "not a number: '") +
           std::string(text) + "'";
}

/// See the stub: (X, columns, labels, ids, empty, begins, lines, rejects, next, count).
nb::tuple read_grid(const nb::bytes& block, long begin, long end, long most,
                    const std::string& roles, const std::vector<std::string>& names,
                    long longest_id, char separator) {
    if (begin < 0 || end < begin || end > long(block.size()))
        throw nb::value_error("the block ends before that");
    if (names.size() != roles.size()) throw nb::value_error("roles and names do not go together");
    std::vector<GridColumn> columns;
    for (const char role : roles) columns.emplace_back(role);
    const char* text = block.c_str();
    CsvLine parts(columns.size(), separator);
    const std::vector<std::string_view>& fields = parts.fields;
    std::vector<double> X, x;
    std::vector<std::int64_t> begins, lines;
    std::vector<char> empty;
    nb::list rejects;
    // Why a line is refused; null if it is sound. Its plain numbers are in x then.
    const auto refused = [&](std::string_view line) -> const char* {
        if (const char* reason = not_text(line)) return reason;
        bool is_sound = parts.read(line);
        x.clear();
        for (std::size_t i = 0; is_sound && i < fields.size(); ++i) {
            if (columns[i].is_id() && long(fields[i].size()) > longest_id)
                return "an identifier that is too long";
            if (columns[i].is_plain() && !plain_number(fields[i], x.emplace_back())) {
                parts.reason = why_no_number(names[i], fields[i], x.back());
                is_sound = false;
            }
        }
        return is_sound ? nullptr : parts.reason.c_str();
    };
    long line = 0, events = 0;
    for (; begin < end && events < most; ++line) {
        const void* newline = std::memchr(text + begin, '\n', std::size_t(end - begin));
        const long stop = newline ? static_cast<const char*>(newline) - text : end,
                   next = newline ? stop + 1 : end;
        std::string_view view(text + begin, std::size_t(stop - begin));
        if (!view.empty() && view.back() == '\r') view.remove_suffix(1);
        if (!view.empty()) {
            ++events;
            if (const char* reason = refused(view)) {
                rejects.append(nb::make_tuple(line, begin, nb::str(reason)));
            } else {
                bool is_empty = std::all_of(x.begin(), x.end(), [](double v) { return v != v; });
                for (std::size_t i = 0; i < fields.size(); ++i) {
                    columns[i].add(fields[i], long(begins.size()));
                    if (columns[i].is_feature()) is_empty = is_empty && fields[i].empty();
                }
                X.insert(X.end(), x.begin(), x.end());
                empty.push_back(is_empty);
                begins.push_back(begin);
                lines.push_back(line);
            }
        }
        begin = next;
    }
    nb::list results;
    nb::object labels = nb::none(), ids = nb::none();
    npy_intp width = 0;
    for (const GridColumn& column : columns) {
        results.append(column.result());
        width += column.is_plain();
        if (column.is_label()) labels = column.list();
        if (column.is_id()) ids = column.list();
    }
    const auto n = npy_intp(begins.size());
    return nb::make_tuple(array_of<double>(X, {n, width}), results, labels, ids,
                          array_of<bool>(empty, {n}), array_of(begins), array_of(lines), rejects,
                          begin, line);
}

/// See the stub: (counts, codes, values), or None.
nb::object factors(const nb::list& cells, nb::handle absent, std::size_t longest) {
    std::vector<std::int64_t> counts(cells.size()), codes;
    nb::dict known;
    nb::list values;
    const auto put = [&](nb::handle value) {
        PyObject* found = PyDict_GetItemWithError(known.ptr(), value.ptr());
        if (!found && PyErr_Occurred()) throw nb::python_error();
        if (found) return codes.push_back(PyLong_AsLong(found));
        known[value] = nb::int_(values.size());
        codes.push_back(std::int64_t(values.size()));
        values.append(value);
    };
    const auto is_text = [](nb::handle cell) { return PyUnicode_CheckExact(cell.ptr()); };
    const auto is_missing = [](nb::handle cell) {  // pandas has NaN there
        return cell.is_none() ||
               (PyFloat_CheckExact(cell.ptr()) && std::isnan(PyFloat_AsDouble(cell.ptr())));
    };
    const auto is_empty = [](nb::handle text) { return PyUnicode_GetLength(text.ptr()) == 0; };
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const nb::object cell = cells[i];
        const std::size_t before = codes.size();
        if (is_missing(cell)) {
            put(nb::none());
        } else if (is_text(cell)) {
            put(is_empty(cell) ? nb::none() : cell);
        } else if (PyList_CheckExact(cell.ptr())) {
            const nb::list tags = nb::borrow<nb::list>(cell);
            if (tags.size() > longest) return nb::none();
            for (nb::handle tag : tags) {
                if (!is_text(tag)) return nb::none();
                if (is_empty(tag)) continue;
                put(tag);  // once in a list
                const auto first = codes.begin() + std::ptrdiff_t(before);
                if (std::find(first, codes.end() - 1, codes.back()) != codes.end() - 1)
                    codes.pop_back();
            }
        } else if (!cell.is(absent)) {
            return nb::none();
        }
        counts[i] = std::int64_t(codes.size() - before);
    }
    return nb::make_tuple(array_of(counts), array_of(codes), values);
}

/// See the stub.
std::size_t first_other(const nb::list& records, const nb::dict& known) {
    for (std::size_t i = 0; i < records.size(); ++i) {
        const nb::object record = records[i];
        if (!PyDict_CheckExact(record.ptr())) return i;
        PyObject *name = nullptr, *cell = nullptr;
        for (Py_ssize_t at = 0; PyDict_Next(record.ptr(), &at, &name, &cell);) {
            const int is_known = PyDict_Contains(known.ptr(), name);
            if (is_known < 0) throw nb::python_error();
            if (!is_known) return i;
        }
    }
    return records.size();
}

void bind_grid(nb::module_& m) {
    m.def("factors", &factors, nb::arg("cells"), nb::arg("absent"), nb::arg("longest"),
          nb::sig("def factors(cells: list[Any], absent: object, longest: int) -> "
                  "tuple[NDArray[np.int64], NDArray[np.int64], list[str | None]] | None"),
          "Cells as codes: how many each has, the codes, and the value of each, by first "
          "appearance. A cell is text, None, a list of at most `longest` texts, or `absent`; None "
          "if one is something else.");
    m.def("first_other", &first_other, nb::arg("records"), nb::arg("known"),
          nb::sig("def first_other(records: list[Any], known: dict[Any, Any]) -> int"),
          "The place of the first record that is no dictionary, or has a name that is not known; "
          "the number of records if there is none.");
    m.def(
        "read_grid", &read_grid, nb::arg("block"), nb::arg("begin"), nb::arg("end"),
        nb::arg("most"), nb::arg("roles"), nb::arg("names"), nb::arg("longest_id"),
        nb::arg("separator") = ',',
        nb::sig("def read_grid(block: bytes, begin: int, end: int, most: int, roles: str, names: "
                "list[str], longest_id: int, separator: str = ',') -> tuple[NDArray[np.float64], "
                "list[Any], "
                "list[str | None] | None, list[str | None] | None, NDArray[np.bool_], "
                "NDArray[np.int64], NDArray[np.int64], list[tuple[int, int, str]], int, int]"),
        "At most `most` lines of CSV that are not blank, column by column. Roles, a character for "
        "each column: x (a column of X: plain numbers, a line with something else is refused), n, "
        "p, d (values, what each is as in read_numbers with an unknown mark, a point, a comma, "
        "{row: text} of what is no number), c (codes, texts by code, None for an empty one), t "
        "(texts), l (labels), i (identifiers), - (nothing). Then labels, identifiers, whether all "
        "features are missing, where each line begins, its number from 0; (number, begin, reason) "
        "of those refused; where to go on, how many lines were passed.");
}

}  // namespace
}  // namespace MIXABLE_ISA
