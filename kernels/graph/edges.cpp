#include "graph/edges.hpp"

#include <atomic>

namespace casegraph {
namespace {

std::uint64_t hashed(Id entity) {
  const std::uint64_t golden = 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio
  const std::uint64_t product = (static_cast<std::uint64_t>(entity) + 1) * golden;
  return product ^ product >> 32;
}

// Two flat passes and no loop inside a loop. Most heads have a tail or two, and a wrongly predicted
// end of the inner loop would take longer than the sums.
EdgeDigest digest_of(Ids heads, Ids offsets, Ids tails) {
  EdgeDigest digest;
  for (std::size_t row = 0; row < heads.size(); ++row) {
    const auto edges = static_cast<std::uint64_t>(offsets[row + 1] - offsets[row]);
    digest.heads += hashed(heads[row]) * edges;
  }
  for (Id tail : tails)
    digest.tails += hashed(tail);
  return digest;
}

Id largest_of(Ids heads, Ids tails) {
  Id largest = heads.empty() ? -1 : heads.back();
  for (Id tail : tails)
    largest = tail > largest ? tail : largest;
  return largest;
}

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> given{0};
  return ++given;
}

}  // namespace

Edges::Edges(Ids heads_, Ids offsets_, Ids tails_, std::shared_ptr<const void> owner)
    : heads(heads_),
      offsets(offsets_),
      tails(tails_),
      largest(largest_of(heads_, tails_)),
      digest(digest_of(heads_, offsets_, tails_)),
      serial(next_serial()),
      owner_(std::move(owner)) {
  if (heads.empty())
    return;
  // A word of the bitset has 16 bytes and serves 64 entities. With more than 32 ids for each row,
  // that would be more than eight bytes a row.
  const bool is_rare = static_cast<std::size_t>(heads.back()) / 32 > heads.size();
  if (is_rare)
    index_stretches();
  else
    index_bits();
}

void Edges::index_stretches() {
  const auto last = static_cast<std::size_t>(heads.back());
  while ((last >> shift_) + 1 > 2 * heads.size())
    ++shift_;
  stretches_.resize((last >> shift_) + 2);
  for (Id head : heads)
    ++stretches_[(static_cast<std::size_t>(head) >> shift_) + 1];
  for (std::size_t at = 1; at < stretches_.size(); ++at)
    stretches_[at] += stretches_[at - 1];
}

void Edges::index_bits() {
  index_.resize((static_cast<std::size_t>(heads.back()) >> 6) + 1);
  for (Id head : heads) {
    Word& word = index_[static_cast<std::size_t>(head) >> 6];
    word.bits |= std::uint64_t{1} << (head & 63);
  }
  std::uint64_t before = 0;
  for (Word& word : index_) {
    word.before = before;
    before += static_cast<std::uint64_t>(std::popcount(word.bits));
  }
}

bool Edges::holds(Id head, Id tail) const {
  const Ids found = of(head);
  return std::binary_search(found.begin(), found.end(), tail);
}

}  // namespace casegraph
