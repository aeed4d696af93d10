// Where the last step of a path lands, as sets of bits: for counting distinct ends where they are
// many.
#pragma once

#include "common/bits.hpp"

namespace casegraph {

// The tails of one relation, numbered: each by its row among the edges that lead back.
//
// A row of so many tails that their set of bits takes no more memory than they do is kept as one,
// too.
class Landing {
 public:
  Landing(const Edges& edges, const Edges& back, Steps& steps)
      : edges_(edges),
        back_(back),
        words_((back.heads.size() + 63) / 64),
        set_of_row_(edges.heads.size(), -1) {
    places_.reserve(edges.tails.size());
    for (Id tail : edges.tails) {
      steps.take();
      places_.push_back(static_cast<Id>(back.row_of(tail)));
    }
    for (std::size_t row = 0; row < edges.heads.size(); ++row) {
      const Ids tails = edges.row(row);
      if (tails.size() < 2 * words_) continue;
      steps.take(static_cast<Count>(tails.size()));
      set_of_row_[row] = static_cast<std::int64_t>(sets_.size());
      sets_.resize(sets_.size() + words_);
      for (Id place : places(tails))
        sets_[sets_.size() - words_ + (static_cast<std::size_t>(place) >> 6)] |= std::uint64_t{1}
                                                                                 << (place & 63);
    }
  }

  std::size_t size() const { return back_.heads.size(); }
  // The place of an entity, or `size` if nobody leads there.
  std::size_t place(Id entity) const { return back_.row_of(entity); }
  Ids places(Ids tails) const {
    return {places_.data() + (tails.data() - edges_.tails.data()), tails.size()};
  }
  // The same as a set; empty where there are few.
  std::span<const std::uint64_t> set(std::size_t row) const {
    if (set_of_row_[row] < 0) return {};
    return std::span(sets_).subspan(static_cast<std::size_t>(set_of_row_[row]), words_);
  }

 private:
  const Edges &edges_, &back_;
  const std::size_t words_;
  std::vector<Id> places_;                // parallel to the tails
  std::vector<std::int64_t> set_of_row_;  // where it begins, or -1
  std::vector<std::uint64_t> sets_;
};

// The landings of all relations, each made when first asked for, by whichever thread that is.
class Landings {
 public:
  Landings(const Graph& graph, Steps& steps) : graph_(graph), landings_(graph.relations.size()) {
    for (const auto& edges : graph.relations) loops_.push_back(leads_to_itself(*edges, steps));
  }

  // Whether a relation leads anyone to itself.
  bool loops(Id relation) const { return loops_[relation]; }

  const Landing& of(Id relation, Steps& steps) {
    Made& made = landings_[relation];
    if (const Landing* landing = made.landing.load(std::memory_order_acquire)) return *landing;
    const std::lock_guard lock(made.guard);
    if (made.owner == nullptr)
      made.owner = std::make_unique<const Landing>(graph_.edges(relation),
                                                   graph_.edges(inverse(relation)), steps);
    made.landing.store(made.owner.get(), std::memory_order_release);
    return *made.owner;
  }

 private:
  struct Made {
    std::mutex guard;
    std::atomic<const Landing*> landing{nullptr};
    std::unique_ptr<const Landing> owner;
  };

  static bool leads_to_itself(const Edges& edges, Steps& steps) {
    steps.take(static_cast<Count>(edges.heads.size()));
    for (std::size_t row = 0; row < edges.heads.size(); ++row)
      if (const Ids tails = edges.row(row);
          std::binary_search(tails.begin(), tails.end(), edges.heads[row]))
        return true;
    return false;
  }

  const Graph& graph_;
  std::vector<char> loops_;
  std::vector<Made> landings_;
};

}  // namespace casegraph
