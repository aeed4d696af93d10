// The candidates of one query, and the pieces of evidence that count for each.
//
// A score is either the sum of what all pieces are worth (the paper's equation 1), or combines the
// strongest pieces of each kind (kinds.hpp). For the second way only those pieces are kept, and
// the pieces known so far give a lower and an upper bound of the final score.
#pragma once

#include <cmath>
#include <vector>

#include "answering/answers.hpp"
#include "answering/kinds.hpp"
#include "common/bits.hpp"
#include "common/stamps.hpp"

namespace casegraph {

struct Candidate {
  Id entity;
  std::int32_t found_by;  // the place of the first path type that led here; INT32_MAX if none did
  Count paths;            // how many walks of that path type lead here
  Count given;            // how many entities have this answer, if slots or the habit count
  double score;
  std::size_t looked_up;  // how many shared facts were looked up for it so far
  double unseen;          // the most strength of those that were not
  bool is_taken;          // whether its slot is taken: another entity has it as its answer
  std::int32_t others;    // the place of its `BoundsOfOthers`, or -1 if they are not known
};

struct Bounds {
  double lower;
  double upper;
};

class Candidates {
 public:
  explicit Candidates(std::size_t entities) : places_(entities), is_final_(entities) {}

  // Remove all candidates, for the next query.
  void renew(const QueryOptions& options) {
    for (const Candidate& candidate : list_)
      is_final_.erase(static_cast<std::size_t>(candidate.entity));
    list_.clear();
    strengths_.clear();
    others_.clear();
    places_.renew();
    options_ = &options;
    best_ = static_cast<std::size_t>(options.best);
    width_ = 0;
    for (std::size_t kind = 0; kind < Kind::count; ++kind) {
      first_[kind] = width_;
      room_[kind] = is_left_out(kind) ? 0 : Kind::has_several[kind] ? best_ : 1;
      width_ += room_[kind];
      most_[kind] = options.weights[kind] * filled(kind, 1);
    }
    path_weights_.clear();
    double weight = options.weights[Kind::path];
    for (std::size_t at = 0; at < best_; ++at, weight *= discount_within(Kind::path))
      path_weights_.push_back(weight);
  }

  const std::vector<Candidate>& list() const { return list_; }
  Candidate& operator[](std::size_t place) { return list_[place]; }
  const Candidate& operator[](std::size_t place) const { return list_[place]; }
  bool has(Id entity) const { return places_.has(entity); }
  const Candidate* find(Id entity) const {
    return has(entity) ? &list_[places_.slot(entity)] : nullptr;
  }

  // The place of a candidate in the list.
  std::size_t place_of(Id entity) const { return places_.slot(entity); }

  // A new candidate; returns its place.
  //
  // given   how many entities have this answer, if slots or the habit count
  // unseen  the most strength that shared facts can have for it which will be looked up later
  std::size_t make(Id entity, Count given, bool is_taken, double unseen) {
    places_.set(entity, list_.size());
    list_.push_back({entity, INT32_MAX, 0, given, 0, 0, unseen, is_taken, -1});
    if (!options_->sum)
      strengths_.resize(strengths_.size() + width_);
    return list_.size() - 1;
  }

  void add(std::size_t place, Kind::Number kind, const Worth& worth) {
    if (options_->sum)
      list_[place].score += worth.value;
    else
      add_strength(place, kind, worth.strength);
  }

  void add_strength(std::size_t place, Kind::Number kind, double strength) {
    // Insertion sort, in place of the weakest piece.
    double* const strengths = strengths_of(place, kind);
    std::size_t at = room(kind) - 1;
    if (strength <= strengths[at])
      return;
    for (; at > 0 && strengths[at - 1] < strength; --at)
      strengths[at] = strengths[at - 1];
    strengths[at] = strength;
  }

  // Set the pieces of a kind: their strengths, strongest first, no fewer than the candidate has.
  void set_strengths(std::size_t place, Kind::Number kind, std::span<const double> strengths) {
    std::ranges::copy(strengths, strengths_of(place, kind));
  }

  // The strength of the weakest piece of a kind that counts for a candidate; 0 if there is room.
  double weakest(std::size_t place, Kind::Number kind) const {
    return strengths_of(place, kind)[room(kind) - 1];
  }

  // Whether path types of no more than this strength cannot change anything about the candidate:
  // neither its score, nor the path type that found it.
  bool is_final(std::size_t place, double strength) const {
    const bool is_found = list_[place].found_by != INT32_MAX;
    return !options_->sum && is_found && strength <= weakest(place, Kind::path);
  }

  // A bitset of candidates that are final, for loops that ask about every edge.
  void mark_final(Id entity) { is_final_.insert(static_cast<std::size_t>(entity)); }
  bool is_marked_final(Id entity) const { return is_final_.has(static_cast<std::size_t>(entity)); }

  // More shared facts have been looked up for a candidate.
  void set_looked_up(std::size_t place, std::size_t looked_up, double unseen) {
    list_[place].looked_up = looked_up;
    list_[place].unseen = unseen;
    if (list_[place].others >= 0)
      others_[list_[place].others] = others_of(place);
  }

  // An upper bound for an entity that is no candidate and may have the habit, if path types to come
  // have no more than the strength `next`, and shared facts no more than `unseen`.
  double upper_bound(const Worth& habit, double next, double unseen) const {
    ByKind strength{};
    strength[Kind::path] = options_->weights[Kind::path] * filled(Kind::path, next);
    strength[Kind::shared_fact] =
        options_->weights[Kind::shared_fact] * filled(Kind::shared_fact, unseen);
    strength[Kind::habit] = options_->weights[Kind::habit] * habit.strength;
    return combined(strength);
  }

  // Bounds for a candidate, if path types to come have no more than the strength `next`: it may get
  // nothing more, or every piece it has room for may be as good as `next`. From now on, kinds other
  // than paths say nothing more about it, but for facts that are looked up.
  Bounds bounds(std::size_t place, double next) {
    if (list_[place].others < 0) {
      list_[place].others = static_cast<std::int32_t>(others_.size());
      others_.push_back(others_of(place));
    }
    const auto& [others, most_of_others] = others_[list_[place].others];
    const double* const strengths = strengths_of(place, Kind::path);
    double lower = 0;
    double upper = 0;
    for (std::size_t at = 0; at < best_; ++at) {
      lower += path_weights_[at] * strengths[at];
      upper += path_weights_[at] * std::max(strengths[at], next);
    }
    return {joined(lower, others), joined(upper, most_of_others)};
  }

  // A number that is no less than the upper bound, but takes less time: all pieces of a kind are as
  // good as the best, and all kinds count in full.
  double simple_upper_bound(std::size_t place, double next) const {
    double total = 0;
    for (std::size_t kind = 0; kind < Kind::count; ++kind) {
      if (room(kind) == 0)
        continue;
      double best = *strengths_of(place, kind);
      if (kind == Kind::path)
        best = std::max(best, next);
      if (kind == Kind::shared_fact)
        best = std::max(best, list_[place].unseen);
      total += most_[kind] * best;
    }
    return total;
  }

  // Compute all scores from the pieces.
  void combine() {
    if (options_->sum)
      return;
    for (std::size_t place = 0; place < list_.size(); ++place)
      list_[place].score = score(place);
  }

  // The same for some candidates.
  void combine(std::span<const std::size_t> places) {
    for (std::size_t place : places)
      list_[place].score = score(place);
  }

 private:
  // How many pieces of a kind count.
  std::size_t room(std::size_t kind) const { return room_[kind]; }

  // Whether a kind does not count and is not looked for either, as other kinds are for the sake of
  // the candidates they find.
  bool is_left_out(std::size_t kind) const {
    const bool is_optional =
        kind == Kind::answers_fact || kind == Kind::near_answers || kind == Kind::neighbours;
    return is_optional && options_->weights[kind] == 0;
  }

  double discount_within(std::size_t kind) const {
    return kind == Kind::answers_fact ? options_->answers_discount : options_->discount;
  }

  double* strengths_of(std::size_t place, std::size_t kind) {
    return &strengths_[place * width_ + first_[kind]];
  }
  const double* strengths_of(std::size_t place, std::size_t kind) const {
    return &strengths_[place * width_ + first_[kind]];
  }

  ByKind strength_by_kind(std::size_t place) const {
    ByKind strength{};
    for (std::size_t kind = 0; kind < Kind::count; ++kind)
      strength[kind] = strength_of(place, kind);
    return strength;
  }

  // The strength of a kind, if every piece that it has room for is at least as strong as `least`.
  double strength_of(std::size_t place, std::size_t kind, double least = 0) const {
    const double* const strengths = strengths_of(place, kind);
    double strength = 0;
    double weight = 1;
    for (std::size_t at = 0; at < room(kind); ++at) {
      const double next = std::max(strengths[at], least);
      if (next <= 0)
        break;
      strength += weight * next;
      weight *= discount_within(kind);
    }
    return strength * options_->weights[kind];
  }

  // Term by term, so that the shares of an explanation, added up in this order, are the score.
  double score(std::size_t place) const {
    const ByKind strength = strength_by_kind(place);
    double score = 0;
    double weight_of_kind = 1;
    for (std::size_t kind : strongest_first(strength)) {
      double weight = weight_of_kind * options_->weights[kind];
      const double* const strengths = strengths_of(place, kind);
      for (std::size_t at = 0; at < room(kind) && strengths[at] > 0; ++at) {
        score += weight * strengths[at];
        weight *= discount_within(kind);
      }
      weight_of_kind *= options_->across;
    }
    return score;
  }

  // The strengths of all kinds but paths, strongest first.
  struct Others {
    std::array<double, Kind::count - 1> strength;
    int count;
  };

  // As they are known, and as strong as they may become when shared facts are looked up.
  struct BoundsOfOthers {
    Others known, most;
  };

  BoundsOfOthers others_of(std::size_t place) const {
    ByKind strength = strength_by_kind(place);
    const Others known = sorted_others(strength);
    const double unseen = list_[place].unseen;
    if (unseen <= 0)
      return {known, known};
    strength[Kind::shared_fact] = strength_of(place, Kind::shared_fact, unseen);
    return {known, sorted_others(strength)};
  }

  static Others sorted_others(const ByKind& strength) {
    Others others{};
    for (std::size_t kind = 0; kind < Kind::count; ++kind) {
      if (kind == Kind::path || strength[kind] <= 0)
        continue;
      int at = others.count++;
      for (; at > 0 && others.strength[at - 1] < strength[kind]; --at)
        others.strength[at] = others.strength[at - 1];
      others.strength[at] = strength[kind];
    }
    return others;
  }

  // The same as `combined`, with paths of this strength.
  double joined(double path, const Others& others) const {
    double total = 0;
    double weight = 1;
    for (int at = 0; at < others.count; ++at) {
      if (path > others.strength[at]) {
        total += weight * path;
        weight *= options_->across;
        path = 0;
      }
      total += weight * others.strength[at];
      weight *= options_->across;
    }
    return total + weight * path;
  }

  double combined(const ByKind& strength) const {
    double total = 0;
    double weight = 1;
    for (std::size_t kind : strongest_first(strength)) {
      total += weight * strength[kind];
      weight *= options_->across;
    }
    return total;
  }

  // The strength of a kind that has room for nothing more, if all pieces have this strength.
  double filled(std::size_t kind, double strength) const {
    double total = 0;
    double weight = 1;
    for (std::size_t at = 0; at < room(kind); ++at, weight *= discount_within(kind))
      total += weight * strength;
    return total;
  }

  const QueryOptions* options_ = nullptr;
  std::size_t best_ = 0;
  std::array<std::size_t, Kind::count> first_{};  // where the pieces of each kind begin
  std::array<std::size_t, Kind::count> room_{};   // how many there can be
  std::size_t width_ = 0;                         // pieces of one candidate
  ByKind most_{};                                 // of the kind, if all pieces have a strength of 1
  std::vector<double> path_weights_;              // of the best path type, the next best, …
  Stamps places_;                                 // the place of each candidate in the list
  Bits is_final_;
  std::vector<Candidate> list_;
  std::vector<BoundsOfOthers> others_;  // of each candidate that has bounds
  std::vector<double> strengths_;       // of the pieces of each candidate, by kind, strongest first
};

}  // namespace casegraph
