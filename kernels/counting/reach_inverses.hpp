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
// All sums are over starts, so those of shards of the entities can still be added up, if all shards
// walk the same way and have every start among them.
//
// Invariants: which way a path type is walked changes no sum over all entities. Which way that is
// depends on the facts, the pairs and their widths alone: not on ids, nor on the entities that are
// counted from.
#pragma once

#include <vector>

#include "counting/reach.hpp"

namespace casegraph {

// For each pair, how its sums are found with the least work.
//
// widest  as in `reach`: a pair that allows only so many edges for a step is walked by itself,
//         since that depends on the direction
// rank, relation_rank  (entities), (relations)  the place of each among all in the order of names
std::vector<Way> ways_to_walk(const Graph& graph, std::span<const RelationPathType> pairs,
                              std::span<const Count> widest, Ids rank, Ids relation_rank,
                              int max_length, int threads, Progress& progress);

// The pairs that are walked, and where the sums of each belong among all pairs.
struct WalkedPairs {
  // ways  (pairs)  empty if all are walked by themselves. `std::invalid_argument` unless each pair
  //       that is counted along belongs to one that counts it
  WalkedPairs(std::span<const RelationPathType> all, std::span<const Way> ways, int max_length,
              Progress& progress);

  // The widths that these pairs allow, of those that all allow; empty for any.
  std::vector<Count> of_walked(std::span<const Count> widest) const;

  std::vector<RelationPathType> pairs;
  std::vector<std::size_t> places;
  std::vector<std::size_t> inverse_places;  // of pairs that are counted both ways; else the place
};

}  // namespace casegraph
