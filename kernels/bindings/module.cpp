// The kernels as Python sees them: arrays in, arrays out. Only the files of this folder, and the
// module of the benchmarks, include nanobind.
#include "bindings/arrays.hpp"

NB_MODULE(kernels, m) {
  nanobind::set_leak_warnings(false);  // a graph may be held until the interpreter ends
  m.doc() = "The loops of casegraph that a profile named, as functions of arrays.";
  casegraph::bindings::bind_stopping(m);
  casegraph::bindings::bind_graph(m);
  casegraph::bindings::bind_names(m);
  casegraph::bindings::bind_counting(m);
  casegraph::bindings::bind_relation_hits(m);
  casegraph::bindings::bind_clustering(m);
  casegraph::bindings::bind_answering(m);
}
