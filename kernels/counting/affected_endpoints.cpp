#include "counting/affected_endpoints.hpp"

#include "counting/frontier.hpp"
#include "counting/trie.hpp"

namespace casegraph {
namespace {

// A piece of a path type, beginning with a changed edge and leading away from it, and the place of
// the path type.
struct Piece {
  PathType type;
  std::int32_t place;
};

using Heads = std::vector<std::vector<Id>>;  // of the changed edges, by relation, both directions

// Where the pieces lead from the edges they begin with, as far as `counts` holds; sorted.
template <class Counts>
std::vector<Pair> ends_of(const Graph& graph, const Heads& heads, const std::vector<Piece>& pieces,
                          int max_length, Steps& steps, const Counts& counts) {
  std::vector<PathType> types;
  for (const Piece& piece : pieces) types.push_back(piece.type);
  const Trie trie(types, max_length);
  std::vector<std::vector<std::int32_t>> ending(trie.nodes.size());
  for (std::size_t at = 0; at < pieces.size(); ++at)
    ending[trie.node_of_type[at]].push_back(pieces[at].place);
  std::vector<Pair> found;
  std::vector<Frontier> frontiers(max_length + 1);
  Stamps stamps(graph.entities);
  for (std::size_t node = 1; node < trie.nodes.size();
       ++node) {  // a parent stands before its children
    const Trie::Node& at = trie.nodes[node];
    Frontier& into = frontiers[at.length];
    if (at.length == 1)
      into.ends = heads[at.relation];
    else
      step_freely(graph.edges(at.relation), frontiers[at.length - 1], stamps, into, steps,
                  [](Id, Id) { return true; });
    steps.take(1 + std::ssize(into.ends) * (1 + std::ssize(ending[node])));
    for (Id end : into.ends)
      if (counts(end))
        for (std::int32_t place : ending[node]) found.push_back({end, place});
  }
  std::sort(found.begin(), found.end(), [&](const Pair& a, const Pair& b) {
    steps.take();
    return a < b;
  });
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

Heads heads_of(const Graph& graph, std::span<const Edge> edges) {
  Heads heads(graph.relations.size());
  for (const Edge& edge : edges) {
    heads[edge.relation].push_back(edge.head);
    heads[inverse(edge.relation)].push_back(edge.tail);
  }
  for (std::vector<Id>& some : heads) {
    std::sort(some.begin(), some.end());
    some.erase(std::unique(some.begin(), some.end()), some.end());
  }
  return heads;
}

}  // namespace

Crossing crossing(const Graph& graph, std::span<const Edge> edges, Id relation,
                  std::span<const PathType> types, int max_length, Progress& progress) {
  Steps steps(progress);
  const Packing packing(max_length);
  const Heads heads = heads_of(graph, edges);
  const auto leaving = [&](Id crossed, Id next) {
    Count sum = 0;
    steps.take(std::ssize(heads[crossed]));
    for (Id head : heads[crossed]) sum += static_cast<Count>(graph.tails(head, next).size());
    return sum;
  };
  std::vector<Piece> before, after;
  for (std::size_t place = 0; place < types.size(); ++place) {
    const PathType type = types[place], back = backwards(type, packing);
    for (int at = 0, length = packing.length(type); at < length; ++at) {
      const Id crossed = packing.relation(type, at);
      if (heads[crossed].empty()) continue;
      const int rest = length - 1 - at;
      const bool from_head =
          at < rest || (at == rest &&
                        (at == 0 || leaving(crossed, packing.relation(back, rest + 1)) <=
                                        leaving(inverse(crossed), packing.relation(type, at + 1))));
      PathType piece = packing.step(from_head ? crossed : inverse(crossed), 0);
      for (int step = 1; step <= (from_head ? at : rest); ++step)
        piece |= packing.step(
            from_head ? packing.relation(back, rest + step) : packing.relation(type, at + step),
            step);
      (from_head ? before : after).push_back({piece, static_cast<std::int32_t>(place)});
    }
  }
  return {ends_of(graph, heads, before, max_length, steps,
                  [&](Id end) { return !graph.tails(end, relation).empty(); }),
          ends_of(graph, heads, after, max_length, steps, [](Id) { return true; })};
}

}  // namespace casegraph
