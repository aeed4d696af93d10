// Counts the distinct ends of the last step of a path type, and tells whether an entity is an end.
//
// Problem: most edges that counting looks at belong to last steps. After a last step nothing has to
// be remembered but the number of ends and which answers are among them. So it pays to choose, for
// each step, the cheapest of three ways to count:
//
//   aside     If one of few visited ends has far more edges than all others together, its row is
//             not scanned: the row is sorted and distinct, so its length is its number of ends,
//             less the few entities that its paths have passed. The tails of the other rows count
//             only if they are not in it, which is a bisection each. How many of its tails have
//             askers is counted once for all starts whose paths come by (memoization). So where
//             each entity has one class, all members of a class share one look at the others.
//   bitsets   Many edges, of a relation whose tails have been numbered (`TailBitsets`): a bitset
//             holds the ends.
//   marks     Otherwise each tail is put into a `ListedSet`.
//
// Invariant, whichever way: an end counts once, and only if a loop-free path leads there. A tail is
// not allowed where it is the start, where it is the end that the step leaves (a loop), or where
// all kept paths have passed it (see frontier.hpp).
#pragma once

#include <unordered_map>

#include "common/fetch.hpp"
#include "common/listed_set.hpp"
#include "counting/frontier.hpp"
#include "counting/tail_bitsets.hpp"

namespace casegraph {

class LastStepCounter {
 public:
  // bitsets  null if so little is counted that numbering tails would not pay
  LastStepCounter(const Graph& graph, AllTailBitsets* bitsets, Progress& progress)
      : graph_(graph),
        all_bitsets_(bitsets),
        followed_(graph.relations.size()),
        marked_(graph.entities),
        steps_(progress) {}

  // Find the rows that a step along `relation` visits, from `from`, where paths from `start` have
  // come. Returns how many edges they have.
  std::size_t look(Id start, Id relation, const Frontier& from, const KnownEnds& known) {
    start_ = start;
    relation_ = relation;
    from_ = &from;
    loops_ = all_bitsets_ == nullptr ? nullptr : all_bitsets_->made(relation);
    visits_.clear();
    width_ = 0;
    widest_ = 0;
    const Edges& edges = graph_.edges(relation);
    each_end(edges, from, known, steps_, [&](std::size_t end, std::size_t row) {
      const Ids tails = edges.row(row);
      const bool is_widest = !visits_.empty() && tails.size() > visits_[widest_].tails.size();
      if (is_widest)
        widest_ = visits_.size();
      visits_.push_back({end, row, tails});
      width_ += tails.size();
    });
    return width_;
  }

  // Count the distinct ends of the step that was looked at.
  void count() {
    ends_ = 0;
    marked_.clear();
    marked_.insert(start_);  // first, so that it never counts
    bitsets_ = nullptr;
    aside_ = nullptr;
    if (visits_.empty())
      return;
    if (leaving_one_aside_pays())
      aside_ = &visits_[widest_];
    else if (bitsets_pay())
      bitsets_ = &all_bitsets_->of(relation_, steps_);
    ends_ = bitsets_ == nullptr ? count_marks() : count_bits();
  }

  // How many were counted.
  Count ends() const { return ends_; }

  // What a counter remembers of a path type and a query relation, since finding it needs a lock.
  // There may be a million of these.
  struct Question {
    // The tails of the last relation that have askers; null until they are asked for.
    const std::vector<std::uint64_t>* tails = nullptr;
  };

  // How many of the ends are among the heads of `others`, the edges of an inverse query relation.
  //
  // question  always the same for this path type and query relation
  Count ends_among(const Edges& others, Id relation, Question& question) {
    return bitsets_ == nullptr ? marked_among(others, relation)
                               : bits_among(others, relation, question);
  }

  // What that takes, compared with looking up each of the heads among the ends.
  Count cost_of_among() const {
    if (bitsets_ == nullptr)
      return std::ssize(marked_ends()) + (aside_ == nullptr ? 0 : finding_a_row);
    if (looks_at_each_end())
      return ends_ + static_cast<Count>(bitsets_->size() / 64);
    return static_cast<Count>(bitsets_->size() / 256);  // some four words of 64 at a time
  }

  // Whether an entity is one of the ends that were counted.
  bool reaches(Id entity) const {
    if (entity == start_)
      return false;
    if (bitsets_ == nullptr)
      return marked_.has(entity) || (aside_ != nullptr && leads(*aside_, entity));
    const std::size_t number = bitsets_->number(entity);
    return number != bitsets_->size() && reached_.has(number);
  }

 private:
  // How many ends are among the heads of `others`, if they were marked.
  Count marked_among(const Edges& others, Id relation) {
    Count found = 0;
    for (Id end : marked_ends())
      found += is_head(others, end);
    if (aside_ != nullptr) {
      found += tails_of_row_among(*aside_, others, relation);
      each_barred(*aside_, [&](Id tail) { found -= is_head(others, tail); });
    }
    return found;
  }

  // The same, if they are bits.
  Count bits_among(const Edges& others, Id relation, Question& question) {
    Count found = 0;
    if (looks_at_each_end())
      reached_.each([&](std::size_t number) {
        found += number < bitsets_->size() && is_head(others, bitsets_->tail(number));
      });
    else
      found = reached_.count_common(tails_among(others, relation, question));
    return found - (is_head(others, start_) && bitsets_->number(start_) != bitsets_->size());
  }

  // Whether there is no room for bitsets of the heads of others.
  bool looks_at_each_end() const { return !all_bitsets_->has_room(); }

  struct Visit {
    std::size_t end;  // its place in the frontier
    std::size_t row;  // its row in the relation
    Ids tails;
  };

  // What finding a row in a hash table takes, compared with looking whether an entity is a head.
  static constexpr Count finding_a_row = 8;

  // So many visits ahead, the beginning of a row is fetched. If all were fetched at once, the first
  // would be out of the cache again before they are visited.
  static constexpr std::size_t ahead = 16;

  // Rows shorter than this are handled tail by tail; for longer ones it pays to look first whether
  // any tail needs care.
  static constexpr std::size_t short_row = 8;

  // A bitset must be cleared before it is used: a word for every 64 tails of the relation. Clearing
  // goes through memory in order, so up to eight words are allowed for each edge to follow. And
  // numbering the tails looks at every edge of the relation, so it waits until as many edges have
  // been followed.
  bool bitsets_pay() {
    if (all_bitsets_ == nullptr)
      return false;
    const std::size_t tails = graph_.edges(inverse(relation_)).heads.size();
    if (8 * 64 * width_ < tails)
      return false;
    followed_[relation_] += width_;
    return followed_[relation_] > graph_.edges(relation_).tails.size();
  }

  // A bisection is taken to cost as much as eight marks. So the widest row must have eight times as
  // many edges as all others together, and 64 more for what else there is to do.
  bool leaving_one_aside_pays() const {
    const std::size_t widest = visits_[widest_].tails.size();
    return visits_.size() <= 8 && widest >= 64 + 8 * (width_ - widest);
  }

  Count count_bits() {
    reached_.reset(bitsets_->size() + 1);
    reached_.insert(bitsets_->number(start_));  // so that it never counts; bit `size()` is free
    for (std::size_t at = 0; at < std::min(ahead, visits_.size()); ++at)
      fetch(bitsets_->numbers(visits_[at].tails));
    // Where there are more edges than words, counting all bits at the end takes less than counting
    // each when it is set.
    const bool counts_later = width_ > reached_.words();
    Count ends = 0;
    for (std::size_t at = 0; at < visits_.size(); ++at) {
      if (at + ahead < visits_.size())
        fetch(bitsets_->numbers(visits_[at + ahead].tails));
      ends += insert_bits(visits_[at], counts_later);
    }
    return counts_later ? reached_.count() - 1 : ends;  // all but the start
  }

  // Returns how many ends of the row are new, unless they are counted later.
  Count insert_bits(const Visit& visit, bool counts_later) {
    const Ids numbers = bitsets_->numbers(visit.tails);
    Count ends = 0;
    if (numbers.size() < short_row && needs_care(visit)) {
      for (std::size_t at = 0; at < numbers.size(); ++at)
        if (is_allowed(visit, visit.tails[at]))
          ends += reached_.insert(static_cast<std::size_t>(numbers[at]));
      return ends;
    }

    // At most four entities are not allowed. Insert the whole row, then take those out again that
    // no other row had put in.
    const Inner& inner = from_->paths[visit.end].inner;
    const Id self = may_loop(visit) ? from_->ends[visit.end] : -1;
    std::array<std::size_t, 4> barred;
    std::size_t barred_count = 0;
    for (Id entity : {self, inner[0], inner[1], inner[2]}) {
      if (entity < 0 || is_allowed(visit, entity))
        continue;
      const std::size_t number = bitsets_->number(entity);
      const bool is_tail = number != bitsets_->size();
      if (is_tail && !reached_.has(number))
        barred[barred_count++] = number;
    }

    if (counts_later)
      put(visit, numbers);
    else
      ends += insert(visit, numbers);

    for (std::size_t at = 0; at < barred_count; ++at) {
      if (!reached_.has(barred[at]))
        continue;
      reached_.erase(barred[at]);
      --ends;
    }
    return ends;
  }

  // Put a whole row into the bitset of ends.
  void put(const Visit& visit, Ids numbers) {
    const auto bitset = bitsets_->bitset(visit.row, visit.tails.size());
    if (!bitset.empty())
      return reached_.put(bitset);
    for (Id number : numbers)
      reached_.put(static_cast<std::size_t>(number));
  }

  // The same. Returns how many ends are new. Counting the bits of a word takes as long as two
  // numbers.
  Count insert(const Visit& visit, Ids numbers) {
    const auto bitset = bitsets_->bitset(visit.row, visit.tails.size());
    if (!bitset.empty() && numbers.size() >= 2 * bitset.size())
      return reached_.insert(bitset);
    Count ends = 0;
    for (Id number : numbers)
      ends += reached_.insert(static_cast<std::size_t>(number));
    return ends;
  }

  Count count_marks() {
    for (std::size_t at = 0; at < std::min(ahead, visits_.size()); ++at)
      fetch(visits_[at].tails);
    for (std::size_t at = 0; at < visits_.size(); ++at) {
      if (at + ahead < visits_.size())
        fetch(visits_[at + ahead].tails);
      if (&visits_[at] != aside_)
        insert_marks(visits_[at]);
    }
    const Count of_aside = aside_ == nullptr ? 0 : ends_of_row(*aside_);
    return of_aside + std::ssize(marked_ends());
  }

  // The ends that were marked, without the start.
  Ids marked_ends() const { return Ids(marked_.members()).subspan(1); }

  void insert_marks(const Visit& visit) {
    const bool is_long = visit.tails.size() >= short_row;
    if (aside_ == nullptr && is_long && !meets_its_paths(visit)) {
      marked_.insert(visit.tails);
      return;
    }
    for (Id tail : visit.tails) {
      const bool is_counted_aside = aside_ != nullptr && leads(*aside_, tail);
      if (!is_counted_aside && is_allowed(visit, tail))
        marked_.insert(tail);
    }
  }

  // Whether a tail of the row could be one that is not allowed, other than the start.
  bool needs_care(const Visit& visit) const {
    return may_loop(visit) || from_->paths[visit.end].inner != Inner{-1, -1, -1};
  }

  // Whether a row could lead its entity to itself.
  bool may_loop(const Visit& visit) const {
    return loops_ == nullptr || loops_->has_loop(visit.row);
  }

  // Whether a tail of the row is the end itself or an inner entity of its first path.
  bool meets_its_paths(const Visit& visit) const {
    const auto is_tail = [&](Id entity) { return entity >= 0 && is_among(visit.tails, entity); };
    if (may_loop(visit) && is_tail(from_->ends[visit.end]))
      return true;
    const Inner& inner = from_->paths[visit.end].inner;
    return std::any_of(inner.begin(), inner.end(), is_tail);
  }

  // How many ends a row has by itself: its tails, less those that are not allowed.
  Count ends_of_row(const Visit& visit) const {
    auto ends = static_cast<Count>(visit.tails.size());
    each_barred(visit, [&](Id) { --ends; });
    return ends;
  }

  // Call `use(tail)` once for each tail of a row that is not allowed: at most five.
  template <class Use>
  void each_barred(const Visit& visit, const Use& use) const {
    const Inner& inner = from_->paths[visit.end].inner;
    std::array<Id, 5> passed{start_, from_->ends[visit.end], inner[0], inner[1], inner[2]};
    std::sort(passed.begin(), passed.end());
    for (std::size_t at = 0; at < passed.size(); ++at) {
      const bool is_repeated = at > 0 && passed[at] == passed[at - 1];
      if (passed[at] < 0 || is_repeated)
        continue;
      if (is_among(visit.tails, passed[at]) && !is_allowed(visit, passed[at]))
        use(passed[at]);
    }
  }

  // How many tails of a row are heads of `others`, allowed or not. Counted once: other starts come
  // by the same row.
  Count tails_of_row_among(const Visit& visit, const Edges& others, Id relation) {
    const RowQuestion question{relation_, relation, visit.row};
    const auto [known, is_new] = tails_of_row_among_.try_emplace(question, 0);
    if (!is_new)
      return known->second;
    const Ids heads = others.heads;
    const std::size_t fewer = std::min(visit.tails.size(), heads.size());
    steps_.take(static_cast<Count>(fewer));
    for (std::size_t at = 0; at < fewer; ++at)
      known->second += fewer == heads.size() ? is_among(visit.tails, heads[at])
                                             : is_head(others, visit.tails[at]);
    return known->second;
  }

  // Whether a loop-free path may go on from the visited end to a tail.
  bool is_allowed(const Visit& visit, Id tail) const {
    if (tail == start_ || tail == from_->ends[visit.end])
      return false;
    const Frontier::Path& path = from_->paths[visit.end];
    return !passes(path.inner, tail) || from_->other_path_avoids(path, tail);
  }

  bool leads(const Visit& visit, Id tail) const {
    return is_among(visit.tails, tail) && is_allowed(visit, tail);
  }

  // The tails of the step's relation that are heads of `others`.
  std::span<const std::uint64_t> tails_among(const Edges& others, Id relation, Question& question) {
    if (question.tails == nullptr)
      question.tails = &all_bitsets_->tails_among(relation_, relation, others, steps_);
    return *question.tails;
  }

  static bool is_head(const Edges& edges, Id entity) { return edges.has(entity); }

  static bool is_among(Ids sorted, Id entity) {
    return std::binary_search(sorted.begin(), sorted.end(), entity);
  }

  const Graph& graph_;
  AllTailBitsets* const all_bitsets_;
  std::vector<std::size_t> followed_;  // edges that bitsets could have served so far, by relation

  // How many tails of a row are answers to a query relation.
  struct RowQuestion {
    Id relation;  // of the row
    Id query;
    std::size_t row;
    bool operator==(const RowQuestion&) const = default;
  };
  struct HashOfRowQuestion {
    std::size_t operator()(const RowQuestion& question) const {
      const auto relation = static_cast<std::uint64_t>(question.relation);
      const auto query = static_cast<std::uint64_t>(question.query);
      std::uint64_t hash = (question.row << 32) ^ (relation << 16) ^ query;
      hash *= 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio
      return static_cast<std::size_t>(hash ^ hash >> 32);
    }
  };
  std::unordered_map<RowQuestion, Count, HashOfRowQuestion> tails_of_row_among_;

  // The step at hand.
  Id start_ = -1;
  Id relation_ = -1;
  const Frontier* from_ = nullptr;
  const TailBitsets* loops_ = nullptr;  // tells which rows have loops; null: any may
  std::vector<Visit> visits_;
  std::size_t width_ = 0;   // edges of all visits
  std::size_t widest_ = 0;  // the visit with most edges

  // How its ends were counted.
  const TailBitsets* bitsets_ = nullptr;
  const Visit* aside_ = nullptr;
  Bits reached_;      // if with bitsets: the numbers of the ends, and of the start
  ListedSet marked_;  // otherwise: the start, and the ends except for those of the row left aside
  Count ends_ = 0;

  Steps steps_;
};

}  // namespace casegraph
