// What all bindings share: arrays in and out, and running a kernel without the interpreter's lock.
//
// Kernels trust their arguments, so a binding first checks every array against every other and
// against the graph (`checks`). It does so inside `run`, with the interpreter released, since that
// looks at every entry.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <span>
#include <vector>

#include "common/ids.hpp"
#include "common/progress.hpp"

namespace casegraph::bindings {

namespace nb = nanobind;

template <class T>
using Contiguous = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// An array of numbers of this type, and of no other: a conversion to fewer bits would make other
// numbers of those that do not fit. One with gaps is copied.
template <class T>
struct In : Contiguous<T> {
  In() = default;
  explicit In(Contiguous<T> array) : Contiguous<T>(std::move(array)) {}
};
template <class T>
using Out = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// What is done, which the kernel writes, and whether to stop, which it reads.
using Counters = nb::ndarray<std::int64_t, nb::shape<2>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> span(const In<T>& array) {
  return {array.data(), array.shape(0)};
}

// An array that owns the values, without a copy.
template <class T>
Out<T> array(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Out<T>(kept->data(), {kept->size()}, owner);
}

// One field of all rows.
template <class T, class Row, class Field>
Out<T> column(const std::vector<Row>& rows, Field Row::* field) {
  std::vector<T> values;
  values.reserve(rows.size());
  for (const Row& row : rows)
    values.push_back(static_cast<T>(row.*field));
  return array(std::move(values));
}

// While it lives, this thread does not hold the interpreter.
class Released {
 public:
  Released() : thread_(PyEval_SaveThread()) {}
  ~Released() { PyEval_RestoreThread(thread_); }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

  // Let Python run its signal handlers, if this is the thread that does. Returns whether one of
  // them raised an exception.
  bool is_interrupted() {
    PyEval_RestoreThread(thread_);
    const bool has_raised = PyErr_CheckSignals() != 0;
    thread_ = PyEval_SaveThread();
    return has_raised;
  }

 private:
  PyThreadState* thread_;
};

// Run a kernel with the interpreter released. A signal handler that raises ends it with what it
// raised.
template <class Kernel>
auto run(std::int64_t* counters, const Kernel& kernel) {
  try {
    Released released;
    Progress progress(counters, [&released] { return released.is_interrupted(); });
    progress.check();
    return kernel(progress);
  } catch (const Stopped&) {
    if (PyErr_Occurred() != nullptr)
      throw nb::python_error();
    throw std::runtime_error("interrupted");  // by another thread
  }
}

// What no folder of kernels has: the flag that stops them.
void bind_stopping(nb::module_& m);

// One for each folder of kernels: adds its functions and classes to the module.
void bind_graph(nb::module_& m);
void bind_names(nb::module_& m);
void bind_counting(nb::module_& m);
void bind_relation_hits(nb::module_& m);
void bind_clustering(nb::module_& m);
void bind_answering(nb::module_& m);

}  // namespace casegraph::bindings

template <class T>
struct nanobind::detail::type_caster<casegraph::bindings::In<T>> {
  using Array = casegraph::bindings::Contiguous<T>;
  using WithGaps = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::device::cpu>;
  NB_TYPE_CASTER(casegraph::bindings::In<T>, make_caster<Array>::Name)

  bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    const std::uint32_t as_it_is = flags & ~static_cast<std::uint32_t>(cast_flags::convert);
    make_caster<Array> array;
    if (!array.from_python(source, as_it_is, cleanup)) {
      make_caster<WithGaps> with_gaps;
      if (!with_gaps.from_python(source, as_it_is, cleanup) ||
          !array.from_python(source, flags, cleanup))
        return false;
    }
    value = casegraph::bindings::In<T>(std::move(array.value));
    return true;
  }
};
