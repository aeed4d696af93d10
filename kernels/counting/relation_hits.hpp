// Hits of one relation, found from its own edges.
//
// Problem: `cycles` finds the hits of all relations at once, which is the least work for all of
// them. But whoever asks the first question of a graph of fifty million facts needs one relation,
// and would wait for all.
//
// Idea: meet in the middle at each edge of the relation, as `closed_paths` does, but walk to the
// second half from that end of the edge where less is to be walked, and store the first halves of
// the other end, the hub, once for all of its edges. So an edge takes the smaller of both
// neighbourhoods (Chiba and Nishizeki), not that of the hub again and again. From the tail of an
// edge, a path is found in the other direction, and its type is turned round at the end.
//
// Of paths of up to two steps, which are all that a very large graph can afford, the first half is
// an edge (triangle_counter.hpp). Then most time goes into waiting for memory, so the edges of the
// next few tails are asked for ahead.
//
// Invariant: each edge belongs to one of its ends, so each path to an answer is found once.
// Cost: the first halves of each end, plus the smaller neighbourhood of each edge, plus the paths.
#pragma once

#include "counting/hit_rows.hpp"
#include "graph/graph.hpp"

namespace casegraph {

// If there are more, nothing is counted.
struct PathLimit {
  Count paths;
  Count kinds;  // distinct path types
};

struct RelationHits {
  std::vector<Hits> rows;    // sorted by type; the cluster is -1
  bool is_exceeded = false;  // the limit: then there are no rows
};

// weights     (graph.entities)  how much there is to walk from each entity
// max_length  the length that path types have room for
// longest     the length up to which paths are counted; 0 for none
RelationHits relation_hits(const Graph& graph, Id relation, std::span<const Count> weights,
                           int max_length, int longest, const PathLimit& limit, int threads,
                           Progress& progress);

}  // namespace casegraph
