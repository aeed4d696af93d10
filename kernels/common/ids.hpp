// The numbers that everything here is made of. Names stay in Python; the kernels know ids only.
#pragma once

#include <cstdint>
#include <span>

namespace casegraph {

using Id = std::int32_t;          // an entity, a relation, a cluster or a profile; -1 for none
using Count = std::int64_t;       // how many of something
using Ids = std::span<const Id>;  // a view of ids that somebody else owns

// Relation k of the facts has two ids: 2k leads from head to tail, 2k + 1 leads back.
inline Id inverse(Id relation) {
  return relation ^ 1;
}

}  // namespace casegraph
