#include "counting/reach_choice.hpp"

#include <cmath>

#include "counting/reach_cost.hpp"
#include "counting/reach_plan.hpp"
#include "counting/reach_together.hpp"
#include "counting/start_sets.hpp"
#include "counting/trie.hpp"

namespace casegraph {
namespace {

// What `reach_together` takes, in steps of some five nanoseconds. Measured.
constexpr Count edges_joined = 3;  // the sets of so many edges are joined in one step
constexpr Count visiting = 400;    // a step of a batch, even if it leads nowhere

// A last step from one entity looks at fewer ends and edges than there are walks: at none twice,
// and the tails of the widest rows are counted without looking at each. Measured on WN18RR, where
// both ways take about the same.
constexpr double walks_for_each_look = 4;

// Counting a row by its length and what is remembered of it takes as long as following so many
// edges that end.
constexpr Count counting_a_row = 128;

// A set of starts for each entity takes 32 bytes, four times. With more entities it would not fit
// into any cache.
constexpr Id most_entities = 1 << 21;

// The sets of more tails than this do not stay in the cache while a step adds to them: each takes
// so many steps more. Measured on graphs that look like Hetionet.
constexpr Count tails_in_cache = 1 << 15;
constexpr Count fetching_a_tail = 8;

Count batches_of(Count starts) {
  constexpr auto size = static_cast<Count>(StartSet::size);
  return (starts + size - 1) / size;
}

// What one step takes for one batch: its edges are joined, and its tails are counted.
Count cost_of_step(const Graph& graph, Id relation) {
  const Count edges = std::ssize(graph.edges(relation).tails);
  const Count tails = std::ssize(graph.edges(inverse(relation)).heads);
  return visiting + edges / edges_joined + tails;
}

// The same as an estimate, not an upper bound that holds for every machine.
double likely_cost_of_step(const Graph& graph, Id relation) {
  const Count tails = std::ssize(graph.edges(inverse(relation)).heads);
  const Count fetching = tails > tails_in_cache ? fetching_a_tail * tails : 0;
  return static_cast<double>(cost_of_step(graph, relation) + fetching);
}

Count starts_among(Ids entities, const Edges& edges) {
  return std::ranges::count_if(
      entities, [&](Id entity) { return edges.row_of(entity) != edges.heads.size(); });
}

// By node of the trie, for the step that leads there; nothing for first steps.
struct StepCosts {
  explicit StepCosts(std::size_t nodes)
      : alone_last(nodes), alone_onwards(nodes), together(nodes) {}

  std::vector<double> alone_last;     // if paths end there
  std::vector<double> alone_onwards;  // if they go on
  std::vector<double> together;       // the same in both cases
};

// Counts walks along one branch of the trie after the other.
//
// plan  the pairs that the path types of the trie belong to; null if all entities have the query
//       relation of every one of them
class alignas(own_lines) Estimator {
 public:
  Estimator(const Graph& graph, Ids entities, const Trie& trie, const ReachPlan* plan,
            SingleRow single_row, StepCosts& costs, Progress& progress)
      : graph_(graph),
        entities_(entities),
        trie_(trie),
        plan_(plan),
        single_row_(single_row),
        costs_(costs),
        after_first_(graph.entities),
        single_(graph.entities),
        after_second_(trie.nodes[0].ahead > 2 ? graph.entities : 0),
        single_second_(after_second_.size()),
        steps_(progress) {}

  // Estimate all path types that begin with one child of the root.
  void estimate(std::int32_t child) {
    const Edges& edges = graph_.edges(trie_.nodes[child].relation);
    const Edges& back = graph_.edges(inverse(trie_.nodes[child].relation));
    steps_.take(std::ssize(entities_) + std::ssize(back.heads));
    const Count starts = starts_of(child, edges);
    starts_ = static_cast<double>(starts);
    batches_ = static_cast<double>(batches_of(starts));
    if (starts == 0)
      return;

    const double share = starts_ / static_cast<double>(edges.heads.size());
    for (std::size_t row = 0; row < back.heads.size(); ++row)
      after_first_[back.heads[row]] = share * static_cast<double>(back.row(row).size());
    if (single_row_ == SingleRow::known_length)
      find_single(edges, share);
    trie_.each_child(child, [&](std::int32_t second) { estimate_below(second); });
    for (Id tail : back.heads) {
      after_first_[tail] = 0;
      single_[tail] = 0;
    }
  }

 private:
  // How many entities paths are followed from that begin with a child of the root.
  Count starts_of(std::int32_t child, const Edges& edges) {
    if (plan_ == nullptr)
      return starts_among(entities_, edges);
    const std::vector<char> asks = plan_->asks_below(graph_, child);
    return std::ranges::count_if(entities_,
                                 [&](Id entity) { return asks[entity] && edges.has(entity); });
  }

  // The walks of the first step that are the only one from their start.
  void find_single(const Edges& edges, double share) {
    steps_.take(std::ssize(edges.heads));
    for (std::size_t row = 0; row < edges.heads.size(); ++row) {
      const Ids tails = edges.row(row);
      if (tails.size() == 1)
        single_[tails[0]] += share;
    }
  }

  void estimate_below(std::int32_t second) {
    const Id relation = trie_.nodes[second].relation;
    const bool is_last = trie_.nodes[second].after == second + 1;
    const double walks = walk(relation, is_last);
    const double followed = std::min(walks, all_edges(relation));
    costs_.alone_last[second] = std::min(walks - walks_not_followed_, all_edges(relation)) /
                                static_cast<double>(edges_that_end);
    costs_.alone_onwards[second] = edge_that_goes_on * followed;
    costs_.together[second] = batches_ * likely_cost_of_step(graph_, relation);
    trie_.each_child(second, [&](std::int32_t third) {
      const Id last = trie_.nodes[third].relation;
      costs_.together[third] = batches_ * likely_cost_of_step(graph_, last);
      costs_.alone_last[third] = cost_alone(last, walks, costs_.together[third]);
    });
    if (is_last)
      return;
    for (Id tail : graph_.edges(inverse(relation)).heads) {
      after_second_[tail] = 0;
      single_second_[tail] = 0;
    }
  }

  // The second step: how many walks there are, and unless it is the last one, how many of them
  // stand at each entity after it.
  double walk(Id relation, bool is_last) {
    const Edges& edges = graph_.edges(relation);
    double walks = 0;
    walks_not_followed_ = 0;
    for (std::size_t row = 0; row < edges.heads.size(); ++row) {
      const double here = after_first_[edges.heads[row]];
      steps_.take();
      if (here == 0)
        continue;
      const Ids tails = edges.row(row);
      if (!is_last) {
        steps_.take(std::ssize(tails) / 4);
        for (Id tail : tails)
          after_second_[tail] += here;
        if (tails.size() == 1)
          single_second_[tails[0]] += single_[edges.heads[row]];
      }
      walks += here * static_cast<double>(tails.size());
      const Count not_followed = std::ssize(tails) - counting_a_row;
      if (not_followed > 0)
        walks_not_followed_ += single_[edges.heads[row]] * static_cast<double>(not_followed);
    }
    return walks;
  }

  // What a third step takes if paths are followed from one entity after the other. If even an upper
  // bound is less than `together`, the bound.
  double cost_alone(Id relation, double walks_before, double together) {
    const Edges& edges = graph_.edges(relation);
    const auto heads = static_cast<double>(edges.heads.size());
    const double ends_before = walks_before / walks_for_each_look;
    const double looking = looking_up * std::min(ends_before, starts_ * heads);
    const double most = looking + all_edges(relation) / edges_that_end;
    if (most < together)
      return most;
    double walks = 0;
    steps_.take(std::ssize(edges.heads) / 4);
    for (std::size_t row = 0; row < edges.heads.size(); ++row) {
      const Id head = edges.heads[row];
      const Count tails = std::ssize(edges.row(row));
      walks += after_second_[head] * static_cast<double>(tails);
      if (tails > counting_a_row)
        walks -= single_second_[head] * static_cast<double>(tails - counting_a_row);
    }
    const double followed = std::min(walks / walks_for_each_look, all_edges(relation));
    return looking + followed / edges_that_end;
  }

  // The edges of a relation, if each start looks at all of them.
  double all_edges(Id relation) const {
    return starts_ * static_cast<double>(graph_.edges(relation).tails.size());
  }

  const Graph& graph_;
  const Ids entities_;
  const Trie& trie_;
  const ReachPlan* plan_;
  const SingleRow single_row_;
  StepCosts& costs_;  // each branch is written by one thread

  double starts_ = 0;
  double batches_ = 0;
  double walks_not_followed_ = 0;      // of the second step: their row is counted by its length
  std::vector<double> after_first_;    // walks by entity; all 0 between calls
  std::vector<double> single_;         // those of them that are the only one from their start
  std::vector<double> after_second_;   // the same
  std::vector<double> single_second_;  // the same
  Steps steps_;
};

StepCosts step_costs(const Graph& graph, Ids entities, const Trie& trie, const ReachPlan* plan,
                     SingleRow single_row, int threads, Progress& progress) {
  std::vector<Id> known;  // not those that came after this state of the graph
  for (Id entity : entities)
    if (entity < graph.entities)
      known.push_back(entity);
  StepCosts costs(trie.nodes.size());
  const std::vector<std::int32_t> children = trie.children_of_root();
  threads =
      threads_with_room(threads, 4 * sizeof(double) * static_cast<std::size_t>(graph.entities));
  const auto workers = static_cast<std::size_t>(useful_threads(threads, children.size()));
  std::vector<Estimator> estimators(
      workers, Estimator(graph, known, trie, plan, single_row, costs, progress));
  parallel(threads, children.size(), progress, [&](int thread, std::size_t at) {
    estimators[static_cast<std::size_t>(thread)].estimate(children[at]);
  });
  return costs;
}

// By node, for the path type that ends there. The steps before the last one are shared, so counting
// together pays for all path types with a common beginning or for none of them.
std::vector<Method> best_methods_of_nodes(const Trie& trie, const StepCosts& costs) {
  std::vector<Method> methods(trie.nodes.size(), Method::alone);
  std::vector<std::int32_t> chosen;
  for (std::int32_t second = 0; second < std::ssize(trie.nodes); ++second) {
    if (trie.nodes[second].length != 2)
      continue;
    double gain = -costs.together[second];
    bool are_all_chosen = true;
    chosen.clear();
    trie.each_child(second, [&](std::int32_t third) {
      const double less = costs.alone_last[third] - costs.together[third];
      if (less > 0) {
        gain += less;
        chosen.push_back(third);
      } else {
        are_all_chosen = false;
      }
    });
    if (are_all_chosen)
      gain += chosen.empty() ? costs.alone_last[second] : costs.alone_onwards[second];
    if (gain <= 0)
      continue;
    for (std::int32_t third : chosen)
      methods[third] = Method::together;
    if (are_all_chosen)
      methods[second] = Method::together;
  }
  return methods;
}

}  // namespace

std::vector<Method> best_methods(const Graph& graph, Ids entities,
                                 std::span<const RelationPathType> pairs,
                                 std::span<const Count> widest, int max_length, int threads,
                                 Progress& progress, SingleRow single_row) {
  const Packing packing(max_length);
  std::vector<Method> methods(pairs.size(), Method::alone);
  std::vector<std::size_t> eligible;
  std::vector<RelationPathType> eligible_pairs;
  for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
    const bool is_limited = !widest.empty() && widest[pair] != INT64_MAX;
    if (is_limited || packing.length(pairs[pair].type) > longest_together)
      continue;
    eligible.push_back(pair);
    eligible_pairs.push_back(pairs[pair]);
  }
  if (graph.entities > most_entities || eligible.empty())
    return methods;

  Steps steps(progress);
  const ReachPlan plan(eligible_pairs, {}, max_length, steps);
  const StepCosts costs =
      step_costs(graph, entities, plan.trie, &plan, single_row, threads, progress);
  const std::vector<Method> of_nodes = best_methods_of_nodes(plan.trie, costs);
  for (std::size_t at = 0; at < eligible.size(); ++at)
    methods[eligible[at]] = of_nodes[plan.trie.node_of_type[at]];
  return methods;
}

ReachEstimates reach_estimates(const Graph& graph, Ids entities, std::span<const PathType> types,
                               int max_length, int threads, Progress& progress,
                               SingleRow single_row) {
  const bool is_small = graph.entities <= most_entities;
  Steps steps(progress);
  const Trie trie(types, max_length, &steps);
  const StepCosts costs = step_costs(graph, entities, trie, nullptr, single_row, threads, progress);
  ReachEstimates estimates;
  for (std::int32_t node : trie.node_of_type) {
    const Trie::Node& at = trie.nodes[node];
    double alone = costs.alone_last[node];
    double together = costs.together[node];
    if (at.length == longest_together) {
      alone += costs.alone_onwards[at.parent];
      together += costs.together[at.parent];
    }
    const bool can_be_together = is_small && at.length <= longest_together;
    estimates.alone.push_back(alone);
    estimates.together.push_back(can_be_together ? together : INFINITY);
  }
  return estimates;
}

Count cost_together(const Graph& graph, Id relation, std::span<const PathType> types,
                    int max_length) {
  const Packing packing(max_length);
  for (PathType type : types)
    if (packing.length(type) > longest_together)
      return INT64_MAX;
  if (graph.entities > most_entities)
    return INT64_MAX;

  const Trie trie(types, max_length);
  const Ids heads = graph.edges(relation).heads;
  Count cost = 0;
  for (std::int32_t child : trie.children_of_root()) {
    const Edges& first = graph.edges(trie.nodes[child].relation);
    const Count batches = batches_of(starts_among(heads, first));
    for (std::int32_t node = child; node < trie.nodes[child].after; ++node)
      cost += batches * cost_of_step(graph, trie.nodes[node].relation);
  }
  return cost;
}

}  // namespace casegraph
