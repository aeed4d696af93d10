#include "counting/affected_endpoints.hpp"

#include "counting/frontier.hpp"
#include "counting/trie.hpp"

namespace casegraph {
namespace {

// A part of a path type: a changed edge, then the steps from it to one end of the path.
//
// The walk stands at the head of the edge, read in the direction of `type`'s first step; that first
// step itself is not walked. So a part leads away from the edge.
struct Part {
  PathType type;
  std::int32_t place;  // of the path type
};

using Heads = std::vector<std::vector<Id>>;  // of the changed edges, by relation, both directions

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

// Cuts path types at the changed edges.
class Cutter {
 public:
  Cutter(const Graph& graph, const Heads& heads, int max_length, Steps& steps)
      : graph_(graph), heads_(heads), packing_(max_length), steps_(steps) {}

  // Cut a path type at each of its steps that a changed edge could be.
  void cut(PathType type, std::int32_t place) {
    const int length = packing_.length(type);
    for (int at = 0; at < length; ++at) {
      if (heads_[packing_.relation(type, at)].empty())
        continue;
      if (start_is_nearer(type, length, at))
        to_starts.push_back({part_to_start(type, at), place});
      else
        to_ends.push_back({part_to_end(type, length, at), place});
    }
  }

  std::vector<Part> to_starts;
  std::vector<Part> to_ends;

 private:
  // Whether there are fewer steps before the edge than after it; if equally many, whether fewer
  // edges leave the changed edges that way.
  bool start_is_nearer(PathType type, int length, int at) const {
    const int after = length - 1 - at;
    if (at != after)
      return at < after;
    if (at == 0)
      return true;
    const Id changed = packing_.relation(type, at);
    const Id back = inverse(packing_.relation(type, at - 1));
    const Id on = packing_.relation(type, at + 1);
    return edges_leaving(changed, back) <= edges_leaving(inverse(changed), on);
  }

  Count edges_leaving(Id changed, Id next) const {
    Count sum = 0;
    steps_.take(std::ssize(heads_[changed]));
    for (Id head : heads_[changed])
      sum += static_cast<Count>(graph_.tails(head, next).size());
    return sum;
  }

  PathType part_to_start(PathType type, int at) const {
    PathType part = packing_.step(packing_.relation(type, at), 0);
    for (int step = 1; step <= at; ++step)
      part |= packing_.step(inverse(packing_.relation(type, at - step)), step);
    return part;
  }

  PathType part_to_end(PathType type, int length, int at) const {
    PathType part = packing_.step(inverse(packing_.relation(type, at)), 0);
    for (int step = 1; step < length - at; ++step)
      part |= packing_.step(packing_.relation(type, at + step), step);
    return part;
  }

  const Graph& graph_;
  const Heads& heads_;
  const Packing packing_;
  Steps& steps_;
};

// Where the parts lead, all walked as one trie. Only entities count for which `counts` holds.
template <class Counts>
std::vector<Endpoint> ends_of(const Graph& graph, const Heads& heads,
                              const std::vector<Part>& parts, int max_length, Steps& steps,
                              const Counts& counts) {
  std::vector<PathType> types;
  for (const Part& part : parts)
    types.push_back(part.type);
  const Trie trie(types, max_length, &steps);
  std::vector<std::vector<std::int32_t>> places_at(trie.nodes.size());
  for (std::size_t at = 0; at < parts.size(); ++at)
    places_at[trie.node_of_type[at]].push_back(parts[at].place);

  std::vector<Endpoint> found;
  std::vector<Frontier> frontiers(max_length + 1);  // by length; only the ends are used
  Stamps stamps(graph.entities);
  for (std::size_t node = 1; node < trie.nodes.size(); ++node) {  // parents come first
    const Trie::Node& at = trie.nodes[node];
    Frontier& into = frontiers[at.length];
    if (at.length == 1) {
      into.ends = heads[at.relation];
    } else {
      const auto any_edge = [](Id, Id) { return true; };
      const Frontier& from = frontiers[at.length - 1];
      step_walks(graph.edges(at.relation), from, stamps, into, steps, any_edge);
    }
    steps.take(1 + std::ssize(into.ends) * (1 + std::ssize(places_at[node])));
    for (Id end : into.ends) {
      if (!counts(end))
        continue;
      for (std::int32_t place : places_at[node])
        found.push_back({end, place});
    }
  }

  std::sort(found.begin(), found.end(), [&](const Endpoint& a, const Endpoint& b) {
    steps.take();
    return a < b;
  });
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace

AffectedEndpoints affected_endpoints(const Graph& graph, std::span<const Edge> edges, Id relation,
                                     std::span<const PathType> types, int max_length,
                                     Progress& progress) {
  Steps steps(progress);
  const Heads heads = heads_of(graph, edges);
  Cutter cutter(graph, heads, max_length, steps);
  for (std::size_t place = 0; place < types.size(); ++place)
    cutter.cut(types[place], static_cast<std::int32_t>(place));

  const auto has_relation = [&](Id entity) { return !graph.tails(entity, relation).empty(); };
  const auto is_any = [](Id) { return true; };
  AffectedEndpoints affected;
  affected.starts = ends_of(graph, heads, cutter.to_starts, max_length, steps, has_relation);
  affected.ends = ends_of(graph, heads, cutter.to_ends, max_length, steps, is_any);
  return affected;
}

}  // namespace casegraph
