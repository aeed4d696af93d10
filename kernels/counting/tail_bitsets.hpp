// The tails of a relation as bitsets.
//
// Problem: counting the distinct ends of a wide last step by marking them goes to memory at random,
// once for each edge. Idea: number the tails of a relation densely. Then the ends of a step are a
// bitset that fits into the cache, and a long row of tails is joined 64 at a time by `or`, with a
// population count of what is new.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "common/bits.hpp"
#include "common/large_vector.hpp"
#include "common/parallel.hpp"
#include "graph/graph.hpp"

namespace casegraph {

// The tails of one relation, each numbered by its row among the edges of the inverse relation.
//
// A row of tails is also kept as a bitset unless that takes more than four times the memory of its
// numbers (two of them are as long as a word): words are joined many at a time, numbers one by one.
// So all of this takes at most five times the tails' memory.
class TailBitsets {
 public:
  TailBitsets(const Edges& edges, const Edges& back, Steps& steps)
      : edges_(edges),
        back_(back),
        words_((back.heads.size() + 63) / 64),
        bitset_of_row_(edges.heads.size(), -1) {
    number_tails(steps);
    make_bitsets(steps);
    find_loops(steps);
  }

  // Whether a row leads its entity to itself; or whether any does.
  bool has_loop(std::size_t row) const { return loops_.has(row); }
  bool has_loops() const { return has_loops_; }

  // How many distinct tails there are.
  std::size_t size() const { return back_.heads.size(); }

  // The tail with a number.
  Id tail(std::size_t number) const { return back_.heads[number]; }

  // The number of an entity, or `size()` if it is no tail.
  std::size_t number(Id entity) const { return back_.row_of(entity); }

  // Ask for what tells it, ahead of its use.
  CASEGRAPH_INLINE void fetch_number(Id entity) const { back_.fetch_row_of(entity); }

  // The numbers of the tails of one row, which must be a part of `edges.tails`.
  Ids numbers(Ids tails) const {
    return {numbers_.data() + (tails.data() - edges_.tails.data()), tails.size()};
  }

  // The same as a bitset; empty where the row is short.
  //
  // tails  how many the row has: for a short one, nothing needs to be fetched from memory
  std::span<const std::uint64_t> bitset(std::size_t row, std::size_t tails) const {
    if (!has_bitset(tails))
      return {};
    return std::span(bitsets_).subspan(static_cast<std::size_t>(bitset_of_row_[row]), words_);
  }

 private:
  void number_tails(Steps& steps) {
    numbers_.reserve(edges_.tails.size());
    for (Id tail : edges_.tails) {
      steps.take();
      numbers_.push_back(static_cast<Id>(back_.row_of(tail)));
    }
  }

  // Whether a row of so many tails is kept as a bitset, too.
  bool has_bitset(std::size_t tails) const { return 2 * tails >= words_; }

  void make_bitsets(Steps& steps) {
    std::size_t rows_with_bitsets = 0;
    for (std::size_t row = 0; row < edges_.heads.size(); ++row)
      rows_with_bitsets += has_bitset(edges_.row(row).size());
    bitsets_.reserve(rows_with_bitsets * words_);
    for (std::size_t row = 0; row < edges_.heads.size(); ++row) {
      const Ids tails = edges_.row(row);
      if (!has_bitset(tails.size()))
        continue;
      steps.take(static_cast<Count>(tails.size()));
      const std::size_t begin = bitsets_.size();
      bitset_of_row_[row] = static_cast<std::int64_t>(begin);
      bitsets_.resize(begin + words_);
      for (Id number : numbers(tails)) {
        std::uint64_t& word = bitsets_[begin + (static_cast<std::size_t>(number) >> 6)];
        word |= std::uint64_t{1} << (number & 63);
      }
    }
  }

  void find_loops(Steps& steps) {
    loops_.reset(edges_.heads.size());
    for (std::size_t row = 0; row < edges_.heads.size(); ++row) {
      steps.take();
      const Ids tails = edges_.row(row);
      if (!std::binary_search(tails.begin(), tails.end(), edges_.heads[row]))
        continue;
      loops_.put(row);
      has_loops_ = true;
    }
  }

  const Edges& edges_;
  const Edges& back_;
  const std::size_t words_;                  // of a bitset
  LargeVector<Id> numbers_;                  // parallel to the tails
  std::vector<std::int64_t> bitset_of_row_;  // where it begins in `bitsets_`, or -1
  LargeVector<std::uint64_t> bitsets_;
  Bits loops_;  // by row
  bool has_loops_ = false;
};

// The tails of a relation that are heads of other edges, as a bitset by their numbers.
//
// back  the edges of the inverse relation
inline std::vector<std::uint64_t> bitset_of_tails_among(const Edges& back, const Edges& others,
                                                        Steps& steps) {
  std::vector<std::uint64_t> bits((back.heads.size() + 63) / 64);
  steps.take(std::ssize(back.heads));
  for (std::size_t number = 0; number < back.heads.size(); ++number)
    bits[number >> 6] |= std::uint64_t{others.has(back.heads[number])} << (number & 63);
  return bits;
}

// The bitsets of all relations. Those of a relation are made when first needed, by whichever thread
// that is; others wait for it.
class AllTailBitsets {
 public:
  // What may be asked of `tails_among`: its first two arguments.
  struct Question {
    Id relation;
    Id of;
    auto operator<=>(const Question&) const = default;
  };

  AllTailBitsets(const Graph& graph, std::vector<Question> questions)
      : graph_(graph), made_(graph.relations.size()) {
    has_room_ = words_for(std::move(questions)) <= most_words;
  }

  // Whether there is room for the answers to all questions.
  bool has_room() const { return has_room_; }

  // The tails of a relation that are heads of `others`, the edges of relation `of`, as a bitset.
  const std::vector<std::uint64_t>& tails_among(Id relation, Id of, const Edges& others,
                                                Steps& steps) {
    Made& made = made_[relation];
    const std::unique_lock lock = locked(made.guard, steps);
    std::vector<std::uint64_t>& bits = made.among[of];
    if (bits.empty())
      bits = bitset_of_tails_among(graph_.edges(inverse(relation)), others, steps);
    return bits;
  }

  // The bitsets of a relation, if they are made already; else null.
  const TailBitsets* made(Id relation) const {
    return made_[relation].ready.load(std::memory_order_acquire);
  }

  const TailBitsets& of(Id relation, Steps& steps) {
    Made& made = made_[relation];
    if (const TailBitsets* ready = this->made(relation))
      return *ready;
    const std::unique_lock lock = locked(made.guard, steps);
    if (made.owner == nullptr) {
      const Edges& back = graph_.edges(inverse(relation));
      made.owner = std::make_unique<const TailBitsets>(graph_.edges(relation), back, steps);
    }
    made.ready.store(made.owner.get(), std::memory_order_release);
    return *made.owner;
  }

 private:
  struct Made {
    std::timed_mutex guard;
    std::atomic<const TailBitsets*> ready{nullptr};
    std::unique_ptr<const TailBitsets> owner;
    std::map<Id, std::vector<std::uint64_t>> among;  // by relation: what was asked for
  };

  static constexpr std::size_t most_words = 1 << 23;  // 64 megabytes

  std::size_t words_for(std::vector<Question> questions) const {
    std::sort(questions.begin(), questions.end());
    questions.erase(std::unique(questions.begin(), questions.end()), questions.end());
    std::size_t words = 0;
    for (const Question& question : questions)
      words += graph_.edges(inverse(question.relation)).heads.size() / 64 + 1;
    return words;
  }

  const Graph& graph_;
  bool has_room_ = false;
  std::vector<Made> made_;
};

}  // namespace casegraph
