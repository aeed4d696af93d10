#include "reach.hpp"

#include <array>
#include <numeric>

#include "frontier.hpp"
#include "trie.hpp"

namespace casegraph {
namespace {

// Which relations occur, to within a remainder: enough to see that a branch holds nothing for an entity.
using Signature = std::array<std::uint64_t, 8>;

void mark(Signature& signature, Id relation) { signature[(relation >> 6) & 7] |= std::uint64_t{1} << (relation & 63); }

bool meet(const Signature& a, const Signature& b) {
  std::uint64_t common = 0;
  for (std::size_t word = 0; word < a.size(); ++word) common |= a[word] & b[word];
  return common != 0;
}

// The tree of all path types in use, with the uses that end at each node.
struct Plan {
  Plan(std::span<const Use> given, int max_length) : uses(given), trie(types(given), max_length) {
    first_use.assign(trie.nodes.size() + 1, 0);
    for (std::int32_t node : trie.node_of_type) ++first_use[node + 1];
    std::partial_sum(first_use.begin(), first_use.end(), first_use.begin());
    by_node.resize(uses.size());
    std::vector<std::int32_t> next(first_use.begin(), first_use.end() - 1);
    below.resize(trie.nodes.size());
    for (std::size_t use = 0; use < uses.size(); ++use) {
      by_node[next[trie.node_of_type[use]]++] = static_cast<std::int32_t>(use);
      mark(below[trie.node_of_type[use]], uses[use].relation);
    }
    for (std::size_t node = trie.nodes.size() - 1; node > 0; --node)
      for (std::size_t word = 0; word < below[node].size(); ++word) below[trie.nodes[node].parent][word] |= below[node][word];
  }
  static std::vector<PathType> types(std::span<const Use> uses) {
    std::vector<PathType> types;
    for (const Use& use : uses) types.push_back(use.type);
    return types;
  }
  std::span<const std::int32_t> at(std::int32_t node) const {
    return std::span(by_node).subspan(first_use[node], first_use[node + 1] - first_use[node]);
  }

  const std::span<const Use> uses;
  const Trie trie;
  std::vector<std::int32_t> first_use, by_node;
  std::vector<Signature> below;  // the relations whose uses end at or below a node
};

class Reacher {
 public:
  Reacher(const Graph& graph, const Plan& plan, int max_length)
      : sums{std::vector<Count>(plan.uses.size()), std::vector<Count>(plan.uses.size())}, graph_(graph), plan_(plan),
        frontiers_(max_length + 1), stamps_(max_length + 1, Stamps(graph.entities)), is_answer_(graph.entities), has_(graph.relations.size()),
        chosen_(plan.uses.size()), on_the_way_(plan.trie.nodes.size()) {}

  // Count for all uses, or for some.
  void count(Id entity, const std::span<const std::int32_t>* some, Progress progress) {
    progress_ = progress;
    entity_ = entity;
    relations_ = {};
    choose(some);
    for (std::size_t relation = 0; relation < graph_.relations.size(); ++relation) {
      const Ids answers = graph_.tails(entity, static_cast<Id>(relation));
      has_[relation] = !answers.empty();
      if (answers.empty()) continue;
      mark(relations_, static_cast<Id>(relation));
      for (Id answer : answers) is_answer_[answer] = true;
    }
    frontiers_[0].start(entity);
    descend(0);
    for (std::size_t relation = 0; relation < graph_.relations.size(); ++relation)
      if (has_[relation])
        for (Id answer : graph_.tails(entity, static_cast<Id>(relation))) is_answer_[answer] = false;
  }

  Reach sums;

 private:
  void choose(const std::span<const std::int32_t>* some) {
    some_ = some != nullptr;
    if (!some_) return;
    if (++epoch_ == 0) {
      std::fill(chosen_.begin(), chosen_.end(), 0);
      std::fill(on_the_way_.begin(), on_the_way_.end(), 0);
      epoch_ = 1;
    }
    for (std::int32_t use : *some) {
      chosen_[use] = epoch_;
      for (std::int32_t node = plan_.trie.node_of_type[use]; node >= 0 && on_the_way_[node] != epoch_; node = plan_.trie.nodes[node].parent)
        on_the_way_[node] = epoch_;
    }
  }

  void descend(std::int32_t parent) {
    const auto& nodes = plan_.trie.nodes;
    const int length = nodes[parent].length;
    const Frontier& from = frontiers_[length];
    const Stamps* where = length == 0 ? nullptr : &stamps_[length];
    for (std::int32_t node = parent + 1; node < nodes[parent].after; node = nodes[node].after) {
      if (some_ ? on_the_way_[node] != epoch_ : !meet(plan_.below[node], relations_)) continue;
      if (length == 0) progress_.done(0);  // one entity can be long work
      const Edges& edges = graph_.edges(nodes[node].relation);
      right_.clear();
      if (nodes[node].ahead == 0) {
        Count ends = 0;
        sums.followed += last_step(edges, entity_, from, where, stamps_[length + 1], [&](Id end) {
          ++ends;
          if (is_answer_[end]) right_.push_back(end);
        });
        add(node, ends);
      } else {
        Frontier& into = frontiers_[length + 1];
        sums.followed += step(edges, entity_, from, where, length, nodes[node].ahead, stamps_[length + 1], into);
        if (into.ends.empty()) continue;
        for (Id end : into.ends)
          if (is_answer_[end]) right_.push_back(end);
        add(node, static_cast<Count>(into.ends.size()));
        descend(node);
      }
    }
  }

  // Count for every use of the node that is the entity's: what was reached, and those of `right_` that answer the relation.
  void add(std::int32_t node, Count ends) {
    if (ends == 0) return;
    for (std::int32_t use : plan_.at(node)) {
      const Id relation = plan_.uses[use].relation;
      if (!has_[relation] || (some_ && chosen_[use] != epoch_)) continue;
      sums.reached[use] += ends;
      for (Id end : right_) sums.right[use] += graph_.edges(relation).holds(entity_, end);
    }
  }

  const Graph& graph_;
  const Plan& plan_;
  std::vector<Frontier> frontiers_;  // one for each length
  std::vector<Stamps> stamps_;
  std::vector<Id> right_;            // answers that the step at hand reached
  std::vector<char> is_answer_;      // of any relation of the entity
  std::vector<char> has_;            // the relations of the entity
  std::vector<std::uint32_t> chosen_, on_the_way_;  // uses that count for the entity, and nodes that lead to them, by epoch
  std::uint32_t epoch_ = 0;
  bool some_ = false;
  Signature relations_{};
  Progress progress_;
  Id entity_ = -1;
};

}  // namespace

Reach reach(const Graph& graph, Ids entities, std::span<const Use> uses, const Only& only, int max_length, int threads, Progress progress) {
  const Plan plan(uses, max_length);
  constexpr std::size_t at_once = 8;
  const std::size_t tasks = (entities.size() + at_once - 1) / at_once;
  std::vector<Reacher> reachers(useful(threads, tasks), Reacher(graph, plan, max_length));
  parallel(threads, tasks, [&](int thread, std::size_t task) {
    const std::size_t end = std::min(entities.size(), (task + 1) * at_once);
    for (std::size_t place = task * at_once; place < end; ++place) {
      const bool all = only.offsets.empty();
      const auto some = all ? only.places : only.places.subspan(only.offsets[place], only.offsets[place + 1] - only.offsets[place]);
      reachers[thread].count(entities[place], all ? nullptr : &some, progress);
    }
    progress.done(static_cast<std::int64_t>(end - task * at_once));
  });
  Reach total = std::move(reachers[0].sums);
  for (std::size_t other = 1; other < reachers.size(); ++other) {
    for (std::size_t use = 0; use < uses.size(); ++use) {
      total.reached[use] += reachers[other].sums.reached[use];
      total.right[use] += reachers[other].sums.right[use];
    }
    total.followed += reachers[other].sums.followed;
  }
  return total;
}

std::vector<Passing> passing(const Graph& graph, std::span<const Edge> edges, Id relation, std::span<const PathType> types, int max_length) {
  const Packing packing(max_length);
  std::vector<std::array<std::vector<Id>, 2>> heads(graph.relations.size() / 2);  // of the changed edges, by relation and direction
  for (const Edge& edge : edges) {
    heads[edge.relation >> 1][edge.relation & 1].push_back(edge.head);
    heads[edge.relation >> 1][1 - (edge.relation & 1)].push_back(edge.tail);
  }
  // What comes before a changed relation in a path type, read backwards, is itself a path type, which ends with the changed one.
  std::vector<PathType> back;
  std::vector<std::int32_t> place_of;
  for (std::size_t place = 0; place < types.size(); ++place)
    for (int at = 0, length = packing.length(types[place]); at < length; ++at) {
      const Id crossed = packing.relation(types[place], at);
      if (heads[crossed >> 1][0].empty()) continue;
      PathType before = packing.step(crossed, 0);
      for (int step = 1; step <= at; ++step) before |= packing.step(inverse(packing.relation(types[place], at - step)), step);
      back.push_back(before);
      place_of.push_back(static_cast<std::int32_t>(place));
    }
  const Trie trie(back, max_length);
  std::vector<std::vector<std::int32_t>> ending(trie.nodes.size());
  for (std::size_t at = 0; at < back.size(); ++at) ending[trie.node_of_type[at]].push_back(place_of[at]);
  std::vector<Passing> found;
  std::vector<Frontier> frontiers(max_length + 1);
  Stamps stamps(graph.entities);
  for (std::size_t node = 1; node < trie.nodes.size(); ++node) {  // a parent stands before its children
    const Trie::Node& at = trie.nodes[node];
    Frontier& into = frontiers[at.length];
    if (at.length == 1) {
      into.ends = heads[at.relation >> 1][at.relation & 1];
      std::sort(into.ends.begin(), into.ends.end());
      into.ends.erase(std::unique(into.ends.begin(), into.ends.end()), into.ends.end());
    } else {
      step_freely(graph.edges(at.relation), frontiers[at.length - 1], stamps, into, [](Id, Id) { return true; });
    }
    for (Id end : into.ends)
      if (!graph.tails(end, relation).empty())
        for (std::int32_t place : ending[node]) found.push_back({end, place});
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace casegraph
