// The kinds of evidence, and how pieces of evidence become a score.
//
// Every piece of evidence is worth a number c from 0 to 1. Its strength is −log(1 − c), so that
// adding strengths is a noisy-or of worths. Pieces of one kind are redundant, pieces of different
// kinds are not. So the score is computed in two stages:
//
//   within a kind    sort the pieces, strongest first: Σⱼ discountʲ⁻¹ · strengthⱼ, times the weight
//                    of the kind
//   across kinds     sort the kinds, strongest first: Σₖ acrossᵏ⁻¹ · strength of the kind
//
// With discounts towards 0 the strongest piece decides and others break ties; with 1 all count.
//
// A path type that is nearly always right is a rule, and should not be outvoted by many hints: the
// part of its strength above that of a `decisive` path type counts `decisive_factor` times more.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace casegraph {

struct Kind {
  enum Number : int {
    path,          // a path type leads there
    shared_fact,   // others that share a fact with the query entity have the answer
    answers_fact,  // known answers of the query entity have a fact, and the candidate has it too
    near_answers,  // the candidate shares most with the known answers
    neighbours,    // the entities that share most with the query entity have the answer
    habit,         // many entities that have the relation have the answer
  };
  static constexpr std::size_t count = 6;

  // Whether there may be several pieces of a kind for one answer.
  static constexpr std::array<bool, count> has_several{true, true, true, false, false, false};
};

// Piece from similarity that is worth less is not used: there are very many such pieces.
constexpr double least_worth = 0.006;

// A value for each kind.
using ByKind = std::array<double, Kind::count>;

// What a piece of evidence is worth, and its strength.
struct Worth {
  explicit Worth(double value_) : value(value_), strength(0.0 - std::log1p(-value_)) {}
  Worth() = default;

  double value = 0;     // from 0 to 1
  double strength = 0;  // -log(1 - value); of a decisive path type, more
};

// How much more the strength of a path type counts beyond that of a decisive one. Of 20, 40, 60 and
// 100, tried on the validation facts of six graphs, 60 was best or within .001 of it.
constexpr double decisive_factor = 60;

// What a path type is worth if it is right in this share of cases.
inline Worth worth_of_path(double share, double decisive) {
  Worth worth(share);
  const double beyond = std::max(0.0, worth.strength - Worth(decisive).strength);
  worth.strength += decisive_factor * beyond;
  return worth;
}

// The kinds in the order of their strengths, strongest first; equal ones in their own order.
inline std::array<std::size_t, Kind::count> strongest_first(const ByKind& strength) {
  std::array<std::size_t, Kind::count> order;
  for (std::size_t kind = 0; kind < Kind::count; ++kind) {
    std::size_t at = kind;
    for (; at > 0 && strength[order[at - 1]] < strength[kind]; --at)
      order[at] = order[at - 1];
    order[at] = kind;
  }
  return order;
}

}  // namespace casegraph
