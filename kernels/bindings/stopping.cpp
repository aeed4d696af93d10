// How Python stops a kernel that runs in another of its threads.
#include "bindings/arrays.hpp"

namespace casegraph::bindings {

using namespace nb::literals;

void bind_stopping(nb::module_& m) {
  nb::class_<StopFlag>(m, "StopFlag", "Set by one thread to stop the kernels of another.")
      .def(nb::init<>())
      .def("set", &StopFlag::set, "Stop the kernels of the threads that obey it.")
      .def_prop_ro("is_set", &StopFlag::is_set);

  m.def(
      "obey", [](const StopFlag* flag) { StopFlag::of_thread = flag; }, "flag"_a.none(),
      "Let a flag, which must outlive this, stop the kernels that this thread calls; or none.");
}

}  // namespace casegraph::bindings
