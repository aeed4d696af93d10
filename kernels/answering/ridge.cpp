#include "answering/ridge.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace casegraph {
namespace {

// Rounds of conjugate gradients at most.
constexpr int max_rounds = 60;

// A solution is good enough when the square of the residual is this part of that of b, and so the
// residual itself a ten-thousandth. Further rounds hardly change a rank.
constexpr double tolerance = 1e-8;

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t row = 0; row < a.size(); ++row)
    sum += a[row] * b[row];
  return sum;
}

}  // namespace

void Ridge::clear(std::size_t facts) {
  const std::size_t wanted = std::bit_ceil(2 * facts + 64);
  rows_ = 0;
  slots_.assign(wanted, {});
  rows_with_.clear();
  offsets_.clear();
  columns_.clear();
}

std::size_t Ridge::place_of(std::uint64_t key) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t place = (key * 0x9E3779B97F4A7C15u >> 20) & mask;
  while (slots_[place].key != key && slots_[place].key != 0)
    place = (place + 1) & mask;
  return place;
}

void Ridge::grow() {
  std::vector<Slot> before(2 * slots_.size());
  before.swap(slots_);
  for (const Slot& slot : before)
    if (slot.key != 0)
      slots_[place_of(slot.key)] = slot;
}

void Ridge::add_fact(std::uint64_t key) {
  if (2 * (rows_with_.size() + 1) > slots_.size())
    grow();
  Slot& slot = slots_[place_of(key)];
  if (slot.key == 0) {
    slot = {key, static_cast<std::uint32_t>(rows_with_.size())};
    rows_with_.push_back(0);
  }
  ++rows_with_[slot.column];
  columns_.push_back(slot.column);
}

// Leave out the facts of one row alone, and number the others as they come.
void Ridge::finish() {
  offsets_.push_back(columns_.size());
  constexpr std::uint32_t unnumbered = UINT32_MAX;
  std::vector<std::uint32_t> number(rows_with_.size(), unnumbered);
  std::uint32_t numbered = 0;
  std::size_t kept = 0;
  for (std::size_t row = 0; row < rows_; ++row) {
    const std::size_t first = offsets_[row];
    offsets_[row] = kept;
    for (std::size_t at = first; at < offsets_[row + 1]; ++at) {
      const std::uint32_t column = columns_[at];
      if (rows_with_[column] < 2)
        continue;
      if (number[column] == unnumbered)
        number[column] = numbered++;
      columns_[kept++] = number[column];
    }
  }
  offsets_.back() = kept;
  columns_.resize(kept);
  sums_.assign(numbered, 0);
}

// product = (X Xᵀ + λI) p
void Ridge::multiply(std::span<const double> p, double lambda, std::vector<double>& product) {
  double largest = 0;
  for (double value : p)
    largest = std::max(largest, std::abs(value));
  // As fine as possible without overflow of a column's sum.
  const double scale = std::exp2(30 - std::bit_width(p.size())) / largest;
  std::ranges::fill(sums_, 0);
  for (std::size_t row = 0; row < p.size(); ++row) {
    const auto rounded = static_cast<std::int32_t>(std::lrint(p[row] * scale));
    for (std::size_t at = offsets_[row]; at < offsets_[row + 1]; ++at)
      sums_[columns_[at]] += rounded;
  }
  for (std::size_t row = 0; row < p.size(); ++row) {
    std::int64_t sum = 0;
    for (std::size_t at = offsets_[row]; at < offsets_[row + 1]; ++at)
      sum += sums_[columns_[at]];
    product[row] = static_cast<double>(sum) / scale + lambda * p[row];
  }
}

// Conjugate gradients, preconditioned by the diagonal of K + λI.
std::vector<double> Ridge::solve(std::span<const double> b, double lambda, Steps& steps) {
  const std::size_t rows = b.size();
  std::vector<double> diagonal(rows), solution(rows), residual(b.begin(), b.end()), scaled(rows),
      direction(rows), product(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    diagonal[row] = lambda + static_cast<double>(offsets_[row + 1] - offsets_[row]);
    scaled[row] = residual[row] / diagonal[row];
  }
  direction = scaled;
  double length = dot(residual, scaled);
  const double enough = tolerance * length;
  for (int round = 0; round < max_rounds && length > enough; ++round) {
    steps.take(2 * std::ssize(columns_));
    multiply(direction, lambda, product);
    const double step = length / dot(direction, product);
    for (std::size_t row = 0; row < rows; ++row) {
      solution[row] += step * direction[row];
      residual[row] -= step * product[row];
      scaled[row] = residual[row] / diagonal[row];
    }
    const double next = dot(residual, scaled);
    const double ratio = next / length;
    for (std::size_t row = 0; row < rows; ++row)
      direction[row] = scaled[row] + ratio * direction[row];
    length = next;
  }
  return solution;
}

}  // namespace casegraph
