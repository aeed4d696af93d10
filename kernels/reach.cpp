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
        frontiers_(max_length + 1), stamps_(max_length + 1, Stamps(graph.entities)), is_answer_(graph.entities), has_(graph.relations.size()) {}

  void count(Id entity, Progress progress) {
    progress_ = progress;
    entity_ = entity;
    relations_ = {};
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
  void descend(std::int32_t parent) {
    const auto& nodes = plan_.trie.nodes;
    const int length = nodes[parent].length;
    const Frontier& from = frontiers_[length];
    const Stamps* where = length == 0 ? nullptr : &stamps_[length];
    for (std::int32_t node = parent + 1; node < nodes[parent].after; node = nodes[node].after) {
      if (!meet(plan_.below[node], relations_)) continue;
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
      if (!has_[relation]) continue;
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
  Signature relations_{};
  Progress progress_;
  Id entity_ = -1;
};

}  // namespace

Reach reach(const Graph& graph, Ids entities, std::span<const Use> uses, int max_length, int threads, Progress progress) {
  const Plan plan(uses, max_length);
  constexpr std::size_t at_once = 8;
  const std::size_t tasks = (entities.size() + at_once - 1) / at_once;
  std::vector<Reacher> reachers(useful(threads, tasks), Reacher(graph, plan, max_length));
  parallel(threads, tasks, [&](int thread, std::size_t task) {
    const std::size_t end = std::min(entities.size(), (task + 1) * at_once);
    for (std::size_t place = task * at_once; place < end; ++place) reachers[thread].count(entities[place], progress);
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

}  // namespace casegraph
