// Path types that are asked for in both directions are walked in one of them.
//
// Problem: the entities that a path type connects are connected by the same path type walked
// backwards. Both are asked for, as a rule: each cycle through an edge of a relation gives a path
// type to this relation, and the inverse path type to the inverse relation. Walking both finds
// every connected pair of entities twice. And often one direction is far cheaper: where ten starts
// lead to all entities, walking from all entities leads back to the ten.
//
// Idea: all sums of the inverse can be read off the same pairs (s, t) of a start and an end. Let q
// be the query relation; an entity that has it is an asker, and its tails are its answers.
//
//                        forwards                            inverse
//   reached              pairs where s is an asker           pairs where t is an answer
//   right                pairs (s, t) that are facts of q    the same
//   slot is taken        t has an asker other than s         s has an answer other than t
//
// The price: for the inverse all starts matter, also those that are no askers. Whether that is less
// than walking both is estimated for each path type.
//
// Invariant: which way a path type is walked changes no sum.
#pragma once

#include <vector>

#include "counting/reach.hpp"

namespace casegraph {

// The pairs that are walked, and where the sums of each belong among all pairs.
struct WalkedPairs {
  WalkedPairs() = default;

  // All of them, in one direction each.
  explicit WalkedPairs(std::span<const RelationPathType> all);

  void add(const RelationPathType& pair, std::size_t place, std::size_t inverse_place) {
    pairs.push_back(pair);
    places.push_back(place);
    inverse_places.push_back(inverse_place);
  }

  // The widths that these pairs allow, of those that all allow; empty for any.
  std::vector<Count> of_walked(std::span<const Count> widest) const;

  std::vector<RelationPathType> pairs;
  std::vector<std::size_t> places;
  std::vector<std::size_t> inverse_places;  // of pairs that are counted both ways; else the place
};

// widest  as in `reach`: a pair that allows only so many edges for a step is walked by itself,
//         since that depends on the direction
WalkedPairs pairs_to_walk(const Graph& graph, Ids entities, std::span<const RelationPathType> pairs,
                          std::span<const Count> widest, int max_length, int threads,
                          Progress& progress);

}  // namespace casegraph
