#include "counting/reach.hpp"

#include <optional>

#include "counting/last_step_counter.hpp"
#include "counting/reach_plan.hpp"

namespace casegraph {
namespace {

// Counting from the ends: who has the relation, and whose paths do not count.
struct Back {
  Id relation;
  std::span<const Pair> but;
};

class Reacher {
 public:
  Reacher(const Graph& graph, const Plan& plan, int max_length, Landings* landings,
          const Back* back, Progress& progress)
      : sums{std::vector<Count>(plan.uses.size()), std::vector<Count>(plan.uses.size()),
             std::vector<Count>(plan.uses.size())},
        graph_(graph),
        plan_(plan),
        frontiers_(max_length + 1),
        stamps_(max_length + 1, Stamps(graph.entities)),
        answers_(graph.relations.size()),
        chosen_(plan.uses.size()),
        on_the_way_(plan.trie.nodes.size()),
        gathered_(landings != nullptr),
        steps_(progress),
        arrival_(graph, landings, progress),
        back_(back) {
    if (back_ == nullptr) return;
    marked_.resize(graph.entities);
    for (Id head : graph.edges(back_->relation).heads) marked_[head] = true;
  }

  // Count for all uses, or for some.
  void count(Id entity, const std::span<const std::int32_t>* some) {
    if (entity >= graph_.entities) return;  // came after this state of the graph
    entity_ = entity;
    choose(some);
    if (back_ == nullptr) find_answers();
    frontiers_[0].start(entity);
    descend(0);
    if (back_ == nullptr) forget_answers();
  }

  Reach sums;

 private:
  void find_answers() {
    if (gathered_) {
      const Adjacency& all = graph_.adjacency(steps_);
      for (std::int64_t begin = all.offsets[entity_], end; begin < all.offsets[entity_ + 1];
           begin = end) {
        for (end = begin;
             end < all.offsets[entity_ + 1] && all.relations[end] == all.relations[begin]; ++end) {
        }
        answer(all.relations[begin],
               {all.tails.data() + begin, static_cast<std::size_t>(end - begin)});
      }
    } else {
      steps_.take(static_cast<Count>(graph_.relations.size()));
      for (Id relation = 0; relation < static_cast<Id>(graph_.relations.size()); ++relation)
        answer(relation, graph_.tails(entity_, relation));
    }
  }
  void answer(Id relation, Ids tails) {
    if (tails.empty()) return;
    answers_[relation] = tails;
    answered_.push_back(relation);
    mark(relations_, relation);
    most_ = std::max(most_, tails.size());
  }
  void forget_answers() {
    for (Id relation : answered_) answers_[relation] = {};
    answered_.clear();
    relations_ = {};
    most_ = 0;
  }

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
      for (std::int32_t node = plan_.trie.node_of_type[use];
           node >= 0 && on_the_way_[node] != epoch_; node = plan_.trie.nodes[node].parent)
        on_the_way_[node] = epoch_;
    }
  }

  void descend(std::int32_t parent) {
    const auto& nodes = plan_.trie.nodes;
    const int length = nodes[parent].length;
    const Frontier& from = frontiers_[length];
    const Stamps* where = length == 0 ? nullptr : &stamps_[length];
    for (std::int32_t node = parent + 1; node < nodes[parent].after; node = nodes[node].after) {
      steps_.take();
      if (some_ ? on_the_way_[node] != epoch_ : !meet(plan_.below[node], relations_)) continue;
      const Edges& edges = graph_.edges(nodes[node].relation);
      if (!plan_.widest.empty() && !affordable(node, edges, from, where)) continue;
      Stamps& stamps = stamps_[length + 1];
      Frontier& into = frontiers_[length + 1];
      const bool is_end = !plan_.widest.empty() &&
                          width_[length + 1] > plan_.onward[node];  // for all that would go on
      const int ahead = is_end ? 0 : nodes[node].ahead;
      if (ahead > 0 || back_ != nullptr ||
          arrival_.look(entity_, nodes[node].relation, from, where) + 64 < most_) {
        step(edges, entity_, from, where, length, ahead, stamps, into,
             steps_);  // paths go on, or there are far fewer ends than answers
        add(node, static_cast<Count>(into.ends.size()), into.ends,
            [&](Id answer) { return stamps.has(answer); });
        if (ahead > 0 && !into.ends.empty()) descend(node);
      } else {
        add(node, arrival_.count(stamps), {},
            [&](Id answer) { return arrival_.reaches(answer, stamps); });
      }
    }
  }

  // Leave the entity out wherever this step is too wide and none before it was; whether any use
  // still wants it to be taken.
  bool affordable(std::int32_t node, const Edges& edges, const Frontier& from,
                  const Stamps* where) {
    const int length = plan_.trie.nodes[node].length;
    Count width = 0;
    each_end(edges, from, where, steps_, [&](std::size_t, std::size_t row) {
      width += static_cast<Count>(edges.row(row).size());
    });
    width_[length] = width;
    widest_[length] = std::max(widest_[length - 1], width);
    if (width <= plan_.narrowest[node]) return true;
    steps_.take(std::ssize(plan_.at_or_below(node)));
    for (std::int32_t use : plan_.at_or_below(node)) {
      if (!counts(use) || plan_.room(use, node) >= width || plan_.widest[use] < widest_[length - 1])
        continue;
      sums.reached[use] += width;
      ++sums.left_out[use];
    }
    return width <= plan_.broadest[node];
  }

  // Whether no step to this node, where the use ends, was too wide for it.
  bool is_within(std::int32_t use, std::int32_t node) const {
    const int length = plan_.trie.nodes[node].length;
    return plan_.widest[use] >= widest_[length - 1] && plan_.room(use, node) >= width_[length];
  }

  bool counts(std::int32_t use) const {
    return !answers_[plan_.uses[use].relation].empty() && (!some_ || chosen_[use] == epoch_);
  }

  // Count for every use of the node that is the entity's: how many ends there are, and which of its
  // answers `has` says are among them. These are looked for among the ends themselves, where they
  // are known and fewer.
  template <class Has>
  void add(std::int32_t node, Count many, Ids ends, const Has& has) {
    if (many == 0) return;
    if (back_ != nullptr) return add_back(node, ends);
    for (std::int32_t use : plan_.at(node)) {
      if (!counts(use) || (!plan_.widest.empty() && !is_within(use, node))) continue;
      const Ids answers = answers_[plan_.uses[use].relation];
      sums.reached[use] += many;
      steps_.take(std::ssize(answers));
      if (!ends.empty() && ends.size() < answers.size())
        for (Id end : ends)
          sums.right[use] += std::binary_search(answers.begin(), answers.end(), end);
      else
        for (Id answer : answers) sums.right[use] += answer != entity_ && has(answer);
    }
  }

  void add_back(std::int32_t node, Ids starts) {
    for (std::int32_t use : plan_.at(node)) {
      if (chosen_[use] != epoch_) continue;
      steps_.take(std::ssize(starts));
      for (Id start : starts) {
        if (!marked_[start] ||
            std::binary_search(back_->but.begin(), back_->but.end(), Pair{start, use}))
          continue;
        ++sums.reached[use];
        sums.right[use] += graph_.edges(back_->relation).holds(start, entity_);
      }
    }
  }

  const Graph& graph_;
  const Plan& plan_;
  std::vector<Frontier> frontiers_;  // one for each length
  std::vector<Stamps> stamps_;
  std::vector<Ids> answers_;  // of the entity, by relation
  std::vector<Id> answered_;  // the relations that it has
  Signature relations_{};     // the same, to within a remainder
  std::size_t most_ = 0;      // answers of one of them
  std::vector<std::uint32_t> chosen_,
      on_the_way_;  // uses that count for the entity, and nodes that lead to them, by epoch
  std::uint32_t epoch_ = 0;
  bool some_ = false;
  const bool gathered_;  // whether the edges of an entity lie in one piece
  Steps steps_;
  Arrival arrival_;
  const Back* back_;
  std::array<Count, 6> width_{}, widest_{};  // of each step, and of those so far, by length
  std::vector<char> marked_;                 // counting back: who has the relation
  Id entity_ = -1;
};

// Whether there is so much to count that it pays to look at all edges once.
bool is_much(const Graph& graph, Ids entities, const Plan& plan) {
  std::size_t edges = 0;
  for (const auto& of_relation : graph.relations) edges += of_relation->tails.size();
  return plan.uses.size() * entities.size() >= edges;
}

Reach summed(const Graph& graph, Ids entities, const Plan& plan, const Only& only, const Back* back,
             int max_length, int threads, Progress& progress) {
  constexpr std::size_t at_once = 8;
  const std::size_t tasks = (entities.size() + at_once - 1) / at_once;
  const bool all = only.offsets.empty();
  std::optional<Landings> landings;
  Steps steps(progress);
  if (all && is_much(graph, entities, plan)) landings.emplace(graph, steps);
  std::vector<Reacher> reachers(
      useful(threads, tasks),
      Reacher(graph, plan, max_length, landings ? &*landings : nullptr, back, progress));
  parallel(threads, tasks, progress, [&](int thread, std::size_t task) {
    const std::size_t end = std::min(entities.size(), (task + 1) * at_once);
    for (std::size_t place = task * at_once; place < end; ++place) {
      const auto some = all ? only.places
                            : only.places.subspan(only.offsets[place],
                                                  only.offsets[place + 1] - only.offsets[place]);
      reachers[thread].count(entities[place], all ? nullptr : &some);
    }
    progress.done(static_cast<std::int64_t>(end - task * at_once));
  });
  Reach total = std::move(reachers[0].sums);
  for (std::size_t other = 1; other < reachers.size(); ++other) {
    for (std::size_t use = 0; use < plan.uses.size(); ++use) {
      total.reached[use] += reachers[other].sums.reached[use];
      total.right[use] += reachers[other].sums.right[use];
      total.left_out[use] += reachers[other].sums.left_out[use];
    }
  }
  return total;
}

std::vector<Use> uses_of(Id relation, std::span<const PathType> types) {
  std::vector<Use> uses;
  for (PathType type : types) uses.push_back({relation, type});
  return uses;
}

}  // namespace

Reach reach(const Graph& graph, Ids entities, std::span<const Use> uses, const Only& only,
            std::span<const Count> widest, int max_length, int threads, Progress& progress) {
  return summed(graph, entities, Plan(uses, widest, max_length), only, nullptr, max_length, threads,
                progress);
}

Reach reach_back(const Graph& graph, Ids ends, Id relation, std::span<const PathType> types,
                 const Only& only, std::span<const Pair> but, int max_length, int threads,
                 Progress& progress) {
  const Packing packing(max_length);
  std::vector<Use> uses = uses_of(relation, types);
  for (Use& use : uses) use.type = backwards(use.type, packing);
  const Back back{relation, but};
  return summed(graph, ends, Plan(uses, {}, max_length), only, &back, max_length, threads,
                progress);
}

}  // namespace casegraph
