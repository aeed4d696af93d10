// Ridge regression over the facts of some entities.
//
// X has a row for each entity and a column for each fact (relation, tail) that at least two of them
// have. K = X Xᵀ counts the facts that two entities share. `solve` finds w with (K + λI) w = b.
//
// K is never formed: conjugate gradients only need K p = X (Xᵀ p), which takes as many additions as
// there are facts. Facts come in the order of ids, which depends on the order in which names were
// first seen, and a sum of floating-point numbers depends on its order. So p is rounded to integers
// before it is added up. Everything else is computed in the order of the rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/ids.hpp"
#include "common/progress.hpp"

namespace casegraph {

class Ridge {
 public:
  // Remove all rows.
  //
  // facts  about how many there will be
  void clear(std::size_t facts);

  // Begin the row of another entity.
  void add_row() {
    offsets_.push_back(columns_.size());
    ++rows_;
  }

  // Add a fact to the last row, each once. Its key identifies it and is not zero.
  void add_fact(std::uint64_t key);

  std::size_t rows() const { return rows_; }
  std::size_t facts() const { return columns_.size(); }

  // All rows have been added.
  void finish();

  // b  (rows)
  std::vector<double> solve(std::span<const double> b, double lambda, Steps& steps);

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t column = 0;
  };

  void grow();
  std::size_t place_of(std::uint64_t key) const;
  void multiply(std::span<const double> p, double lambda, std::vector<double>& product);

  std::size_t rows_ = 0;
  std::vector<Slot> slots_;               // a hash table with open addressing, at most half full
  std::vector<std::uint32_t> rows_with_;  // by column
  std::vector<std::size_t> offsets_;      // by row, and the end once finished
  std::vector<std::uint32_t> columns_;    // of the facts of all rows
  std::vector<std::int32_t> sums_;        // by column
};

}  // namespace casegraph
