// Walks the path types of one query from its entity, every common beginning once.
//
// The path types of a relation are a trie (counting/trie.hpp). A node that was walked keeps its
// frontier, the ends of its paths (counting/frontier.hpp), until the next query begins; so a path
// type costs only the steps that no path type before it has taken. Path types are walked in the
// order of what they are worth, not of the trie: nodes are walked when they are first needed.
#pragma once

#include "answering/edge_budget.hpp"
#include "answering/query_at_hand.hpp"

namespace casegraph {

class PathWalker {
 public:
  PathWalker(const RelationQuery& query, const QueryAtHand& at_hand, EdgeBudget& budget,
             Workspace& workspace, Steps& steps)
      : query_(query),
        graph_(query.graph),
        options_(query.options),
        at_hand_(at_hand),
        budget_(budget),
        workspace_(workspace),
        steps_(steps) {
    const std::size_t nodes = query.trie.nodes.size();
    if (workspace.visits.size() < nodes)
      workspace.visits.resize(nodes);
    if (!options_.loop_free)
      workspace.walks.resize(graph_.entities);
  }

  // Forget what was walked, for the next query.
  void renew() {
    frontiers_in_use_ = 0;
    if (++workspace_.epoch != 0)
      return;
    std::fill(workspace_.visits.begin(), workspace_.visits.end(), Workspace::Visit{});
    workspace_.epoch = 1;
  }

  // Whether the paths to a node of the trie were walked far enough to see that they lead nowhere.
  // If so, that is remembered for the node.
  bool is_known_to_lead_nowhere(std::int32_t node) {
    for (std::int32_t at = node; at >= 0; at = query_.trie.nodes[at].parent) {
      const Workspace::Visit visit = workspace_.visits[at];
      if (visit.epoch != workspace_.epoch)
        continue;
      const bool leads_nowhere = visit.frontier < 0;
      if (leads_nowhere)
        workspace_.visits[node] = visit;
      return leads_nowhere;
    }
    return false;
  }

  // Where the paths to a node of the trie end, or null if they lead nowhere. Every node is walked
  // once in a query.
  Frontier* frontier(std::int32_t node) {
    Workspace::Visit& visit = workspace_.visits[node];
    if (visit.epoch == workspace_.epoch)
      return visit.frontier < 0 ? nullptr : &workspace_.frontiers[visit.frontier];
    visit = {workspace_.epoch, -1};

    const Trie::Node& at = query_.trie.nodes[node];
    const bool is_root = at.parent < 0;
    const Frontier* from = is_root ? nullptr : frontier(at.parent);
    if (!is_root && (from == nullptr || !is_within_budget(graph_.edges(at.relation), *from)))
      return nullptr;

    if (frontiers_in_use_ == workspace_.frontiers.size())
      workspace_.frontiers.emplace_back();
    Frontier& into = workspace_.frontiers[frontiers_in_use_];
    if (is_root)
      into.start(at_hand_.entity);
    else
      take_step(at, *from, into);
    if (into.ends.empty())
      return nullptr;
    visit.frontier = static_cast<std::int32_t>(frontiers_in_use_++);
    return &into;
  }

  // Whether a step keeps within the budget. That does not depend on any order of ids.
  bool is_within_budget(const Edges& edges, const Frontier& from) {
    const Count left = budget_.left();
    if (static_cast<Count>(edges.tails.size()) <= left)
      return true;  // each edge is looked at once
    steps_.take(std::ssize(from.ends));
    return budget_.allows(cost_of(edges, from));
  }

  // How many edges leave the ends of `from`, or an upper bound if there are too many ends to look
  // at each.
  Count most_cost(const Edges& edges, const Frontier& from) const {
    constexpr std::size_t few_ends = 64;
    if (from.ends.size() > few_ends)
      return static_cast<Count>(edges.tails.size());
    return cost_of(edges, from);
  }

  // How many walks of a type end at each entity, into `Workspace::walks`. Only the order of
  // discovery needs it.
  void count_walks(PathType type) {
    const Packing packing(options_.max_length);
    Stamps& stamps = workspace_.stamps;
    std::vector<std::pair<Id, Count>> now{{at_hand_.entity, 1}}, next;
    const int length = packing.length(type);
    for (int place = 0; place < length; ++place) {
      const Id relation = packing.relation(type, place);
      next.clear();
      stamps.renew();
      for (const auto& [end, walks] : now) {
        for (Id tail : graph_.tails(end, relation)) {
          steps_.take();
          if (at_hand_.hidden >= 0 && at_hand_.is_hidden(end, relation, tail))
            continue;
          if (!stamps.has(tail)) {
            stamps.set(tail, next.size());
            next.emplace_back(tail, 0);
          }
          Count& total = next[stamps.slot(tail)].second;
          total = total > INT64_MAX - walks ? INT64_MAX : total + walks;
        }
      }
      now.swap(next);
    }
    for (const auto& [end, walks] : now)
      workspace_.walks[end] = walks;
  }

 private:
  // How many edges leave the ends of `from`.
  Count cost_of(const Edges& edges, const Frontier& from) const {
    Count cost = 0;
    for (Id end : from.ends)
      cost += static_cast<Count>(edges.of(end).size());
    return cost;
  }

  void take_step(const Trie::Node& at, const Frontier& from, Frontier& into) {
    const Edges& edges = graph_.edges(at.relation);
    Stamps& stamps = workspace_.stamps;
    if (!options_.loop_free) {
      const auto is_allowed = [&](Id head, Id tail) {
        return at_hand_.hidden < 0 || !at_hand_.is_hidden(head, at.relation, tail);
      };
      budget_.followed += step_walks(edges, from, stamps, into, steps_, is_allowed);
      return;
    }
    budget_.followed +=
        step(edges, at_hand_.entity, from, nullptr, at.length - 1, at.ahead, stamps, into, steps_);
    // A loop-free path can use the hidden edge as its first step only.
    const bool may_be_hidden =
        at.length == 1 && at.relation == query_.relation && at_hand_.hidden >= 0;
    if (may_be_hidden)
      remove_hidden(into);
  }

  void remove_hidden(Frontier& reached) const {
    const auto at = std::find(reached.ends.begin(), reached.ends.end(), at_hand_.hidden);
    if (at == reached.ends.end())
      return;
    const auto place = at - reached.ends.begin();
    if (!reached.paths.empty())
      reached.paths.erase(reached.paths.begin() + place);
    reached.ends.erase(at);
  }

  const RelationQuery& query_;
  const Graph& graph_;
  const QueryOptions& options_;
  const QueryAtHand& at_hand_;
  EdgeBudget& budget_;
  Workspace& workspace_;
  Steps& steps_;
  std::size_t frontiers_in_use_ = 0;  // of the workspace
};

}  // namespace casegraph
