// Python's view of kernels/graph/name_table.hpp.
//
// Python strings become UTF-8 before the table is asked, and UTF-8 becomes Python strings after:
// while the table is locked, no Python code runs.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "bindings/checks.hpp"
#include "graph/name_table.hpp"

namespace casegraph::bindings {
namespace {

using namespace nb::literals;

constexpr const char* lenient = "surrogatepass";  // a Python string may have half a sign

// Strings as UTF-8. Most strings keep that themselves; what is made for the others is kept here.
class Utf8 {
 public:
  explicit Utf8(const nb::list& strings) {
    views_.reserve(strings.size());
    for (nb::handle string : strings)
      add(string);
  }
  explicit Utf8(const nb::str& string) { add(string); }

  std::span<const std::string_view> views() const { return views_; }

 private:
  void add(nb::handle string) {
    if (!PyUnicode_Check(string.ptr()))
      throw nb::type_error("a name is not a string");
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(string.ptr(), &size);
    if (text == nullptr) {
      PyErr_Clear();
      PyObject* encoded = PyUnicode_AsEncodedString(string.ptr(), "utf-8", lenient);
      if (encoded == nullptr)
        throw nb::python_error();
      encoded_.push_back(nb::steal<nb::bytes>(encoded));
      text = encoded_.back().c_str();
      size = static_cast<Py_ssize_t>(encoded_.back().size());
    }
    views_.emplace_back(text, static_cast<std::size_t>(size));
  }

  std::vector<std::string_view> views_;
  std::vector<nb::bytes> encoded_;
};

nb::object string_of(std::string_view name) {
  const auto size = static_cast<Py_ssize_t>(name.size());
  PyObject* string = PyUnicode_DecodeUTF8(name.data(), size, lenient);
  if (string == nullptr)
    throw nb::python_error();
  return nb::steal(string);
}

std::shared_ptr<NameTable> table_of(In<std::uint8_t> content, In<std::int64_t> offsets) {
  const auto owner = std::make_shared<In<std::uint8_t>>(content);
  return run(nullptr, [&](Progress& progress) {
    checks::require(offsets.shape(0) > 0, "offsets are missing");
    checks::offsets("offsets", span(offsets), offsets.shape(0) - 1, content.shape(0));
    const std::string_view text(reinterpret_cast<const char*>(content.data()), content.shape(0));
    return std::make_shared<NameTable>(text, span(offsets), owner, progress);
  });
}

std::shared_ptr<NameTable> first_of(const NameTable& table, Id count) {
  checks::in_range("count", count, 0, table.size());
  return std::make_shared<NameTable>(table, count);
}

nb::object name_of(const NameTable& table, Id id) {
  checks::in_range("id", id, 0, table.size() - 1);
  return string_of(table.name(id));
}

std::vector<std::string_view> views_of(const NameTable& table, Id first, Id end) {
  checks::in_range("end", end, 0, table.size());
  checks::in_range("first", first, 0, end);
  return table.names(first, end);
}

nb::list names_of(const NameTable& table, Id first, Id end) {
  nb::list strings;
  for (std::string_view name : views_of(table, first, end))
    strings.append(string_of(name));
  return strings;
}

nb::tuple encoded(const NameTable& table, Id first, Id end) {
  const std::vector<std::string_view> names = views_of(table, first, end);
  std::vector<std::int64_t> offsets{0};
  offsets.reserve(names.size() + 1);
  for (std::string_view name : names)
    offsets.push_back(offsets.back() + static_cast<std::int64_t>(name.size()));
  std::vector<std::uint8_t> content;
  content.reserve(static_cast<std::size_t>(offsets.back()));
  for (std::string_view name : names)
    content.insert(content.end(), name.begin(), name.end());
  return nb::make_tuple(array(std::move(content)), array(std::move(offsets)));
}

Id find(const NameTable& table, const nb::str& name) {
  const Utf8 encoded_name(name);
  return table.find(encoded_name.views().front());
}

Out<Id> find_all(const NameTable& table, const nb::list& names) {
  const Utf8 encoded_names(names);
  return array(table.find(encoded_names.views()));
}

void append(NameTable& table, const nb::list& names) {
  const Utf8 encoded_names(names);
  table.append(encoded_names.views());
}

Out<Id> sorted(const NameTable& table, Id count, int threads) {
  checks::in_range("count", count, 0, table.size());
  return array(run(nullptr, [&](Progress& progress) {
    return table.sorted(count, checks::threads(threads), progress);
  }));
}

}  // namespace

void bind_names(nb::module_& m) {
  nb::class_<NameTable>(m, "NameTable", "Distinct names by id, and ids by name.")
      .def(nb::init<>())
      .def_static("of", &table_of, "content"_a, "offsets"_a,
                  "Names that stand one after the other in UTF-8, and where each begins.")
      .def_prop_ro("size", &NameTable::size, "How many names there are.")
      .def("first", &first_of, "count"_a, "A table of the first names.")
      .def("name", &name_of, "place"_a, "The name with an id.")
      .def("names", &names_of, "first"_a, "end"_a, "The names with these ids.")
      .def("encoded", &encoded, "first"_a, "end"_a,
           "The names with these ids one after the other in UTF-8, and where each begins.")
      .def("find", &find, "name"_a, "The id of a name, or -1.")
      .def("find_all", &find_all, "names"_a, "The id of each name, or -1.")
      .def("append", &append, "names"_a, "Append names that are not in the table yet.")
      .def("sorted", &sorted, "count"_a, "threads"_a,
           "The first so many ids, in the order of their names.");
}

}  // namespace casegraph::bindings
