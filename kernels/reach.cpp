#include "reach.hpp"

#include "frontier.hpp"
#include "plan.hpp"

namespace casegraph {
namespace {

// Counting from the ends: who has the relation, and whose paths do not count.
struct Back {
  Id relation;
  std::span<const Pair> but;
};

class Reacher {
 public:
  Reacher(const Graph& graph, const Plan& plan, int max_length, const Back* back = nullptr)
      : sums{std::vector<Count>(plan.uses.size()), std::vector<Count>(plan.uses.size()), std::vector<Count>(plan.uses.size())}, graph_(graph), plan_(plan),
        frontiers_(max_length + 1), stamps_(max_length + 1, Stamps(graph.entities)), marked_(graph.entities), has_(graph.relations.size()),
        chosen_(plan.uses.size()), on_the_way_(plan.trie.nodes.size()), back_(back) {
    if (back_ != nullptr)
      for (Id head : graph.edges(back_->relation).heads) marked_[head] = true;
  }

  // Count for all uses, or for some.
  void count(Id entity, const std::span<const std::int32_t>* some, Progress progress) {
    if (entity >= graph_.entities) return;  // came after this state of the graph
    progress_ = progress;
    entity_ = entity;
    choose(some);
    if (back_ == nullptr) mark_answers(true);
    frontiers_[0].start(entity);
    descend(0);
    if (back_ == nullptr) mark_answers(false);
  }

  Reach sums;

 private:
  void mark_answers(bool answers) {
    relations_ = {};
    answers_.clear();
    for (std::size_t relation = 0; relation < graph_.relations.size(); ++relation) {
      const Ids tails = graph_.tails(entity_, static_cast<Id>(relation));
      has_[relation] = !tails.empty();
      if (tails.empty()) continue;
      mark(relations_, static_cast<Id>(relation));
      for (Id tail : tails) {
        if (answers && !marked_[tail]) answers_.push_back(tail);
        marked_[tail] = answers;
      }
    }
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
      if (!plan_.widest.empty() && !affordable(node, edges, from, where)) continue;
      right_.clear();
      if (nodes[node].ahead == 0) {
        add(node, few_answers() ? arrive(edges, from, where, stamps_[length + 1]) : arrive_and_look(edges, from, where, stamps_[length + 1]));
      } else {
        Frontier& into = frontiers_[length + 1];
        step(edges, entity_, from, where, length, nodes[node].ahead, stamps_[length + 1], into);
        if (into.ends.empty()) continue;
        for (Id end : into.ends)
          if (marked_[end]) right_.push_back(end);
        add(node, static_cast<Count>(into.ends.size()));
        descend(node);
      }
    }
  }

  struct Visit {
    std::size_t end;  // by place
    Ids tails;
  };

  bool few_answers() const { return back_ == nullptr && answers_.size() <= 64; }

  // The last step, looking at every end whether it is marked: how many distinct ends it has.
  Count arrive_and_look(const Edges& edges, const Frontier& from, const Stamps* where, Stamps& stamps) {
    Count ends = 0;
    last_step(edges, entity_, from, where, stamps, [&](Id end) {
      ++ends;
      if (marked_[end]) right_.push_back(end);
    });
    return ends;
  }

  // The same with few answers, for which one looks afterwards: so nothing but the marks is touched on the way.
  Count arrive(const Edges& edges, const Frontier& from, const Stamps* where, Stamps& stamps) {
    stamps.renew();
    stamps.set(entity_);
    if (from.ends.size() <= 8) return arrive_from_few(edges, from, stamps);
    Count ends = 0;
    each_end(edges, from, where, [&](std::size_t end, Ids tails) { ends += more_ends(from, {end, tails}, nullptr, stamps); });
    for (Id answer : answers_)
      if (answer != entity_ && stamps.has(answer)) right_.push_back(answer);
    return ends;
  }

  // From few ends, one of which may have far more edges than the others: it is not gone through. It has as many ends as edges, but for
  // those where a path has been, and of the other ends' only those count that it does not lead to.
  Count arrive_from_few(const Edges& edges, const Frontier& from, Stamps& stamps) {
    std::array<Visit, 8> visits;
    std::size_t many = 0, widest = 0, width = 0;
    each_end(edges, from, nullptr, [&](std::size_t end, Ids tails) {
      if (many > 0 && tails.size() > visits[widest].tails.size()) widest = many;
      visits[many++] = {end, tails};
      width += tails.size();
    });
    if (many == 0) return 0;
    const std::size_t others = width - visits[widest].tails.size();
    const Visit* apart = visits[widest].tails.size() >= 64 + 8 * others ? &visits[widest] : nullptr;
    Count ends = apart == nullptr ? 0 : ends_of(from, *apart);
    for (std::size_t at = 0; at < many; ++at)
      if (&visits[at] != apart) ends += more_ends(from, visits[at], apart, stamps);
    for (Id answer : answers_)
      if (answer != entity_ && (stamps.has(answer) || (apart != nullptr && leads(from, *apart, answer)))) right_.push_back(answer);
    return ends;
  }

  // Whether a path may go on from an end to one of its tails.
  bool allowed(const Frontier& from, std::size_t end, Id tail) const {
    const Frontier::Path& path = from.paths[end];
    return tail != entity_ && tail != from.ends[end] && (!passes(path.inner, tail) || from.other_path_avoids(path, tail));
  }
  static bool among(Ids tails, Id entity) { return std::binary_search(tails.begin(), tails.end(), entity); }
  bool leads(const Frontier& from, const Visit& visit, Id tail) const {
    return among(visit.tails, tail) && allowed(from, visit.end, tail);
  }

  Count ends_of(const Frontier& from, const Visit& visit) const {
    const Inner& inner = from.paths[visit.end].inner;
    std::array<Id, 5> been{entity_, from.ends[visit.end], inner[0], inner[1], inner[2]};
    std::sort(been.begin(), been.end());
    auto ends = static_cast<Count>(visit.tails.size());
    for (std::size_t at = 0; at < been.size(); ++at)
      if (been[at] >= 0 && (at == 0 || been[at] != been[at - 1])) ends -= among(visit.tails, been[at]) && !allowed(from, visit.end, been[at]);
    return ends;
  }

  // How many ends one visit adds to those before, and to those of a visit that is not gone through.
  Count more_ends(const Frontier& from, const Visit& visit, const Visit* apart, Stamps& stamps) {
    const Frontier::Path& path = from.paths[visit.end];
    const auto met = [&](Id entity) { return entity >= 0 && among(visit.tails, entity); };
    Count ends = 0;
    if (apart == nullptr && visit.tails.size() >= 8 && !met(from.ends[visit.end]) && std::none_of(path.inner.begin(), path.inner.end(), met)) {
      for (Id tail : visit.tails) ends += stamps.take(tail);  // nothing to decide on the way
      return ends;
    }
    for (Id tail : visit.tails)
      if (allowed(from, visit.end, tail) && stamps.take(tail)) ends += apart == nullptr || !leads(from, *apart, tail);
    return ends;
  }

  // Leave the entity out wherever this step is too wide and none before it was; whether any use still wants it to be taken.
  bool affordable(std::int32_t node, const Edges& edges, const Frontier& from, const Stamps* where) {
    const int length = plan_.trie.nodes[node].length;
    Count width = 0;
    each_end(edges, from, where, [&](std::size_t, Ids tails) { width += static_cast<Count>(tails.size()); });
    widest_[length] = std::max(widest_[length - 1], width);
    if (width <= plan_.narrowest[node]) return true;
    for (std::int32_t use : plan_.at_or_below(node)) {
      if (!counts(use) || plan_.widest[use] >= width || plan_.widest[use] < widest_[length - 1]) continue;
      sums.reached[use] += width;
      ++sums.left_out[use];
    }
    return width <= plan_.broadest[node];
  }

  bool counts(std::int32_t use) const { return has_[plan_.uses[use].relation] && (!some_ || chosen_[use] == epoch_); }

  // Count for every use of the node that is the entity's: what was reached, and those of `right_` that answer the relation.
  void add(std::int32_t node, Count ends) {
    if (ends == 0) return;
    if (back_ != nullptr) return add_back(node);
    for (std::int32_t use : plan_.at(node)) {
      const Id relation = plan_.uses[use].relation;
      if (!counts(use) || (!plan_.widest.empty() && plan_.widest[use] < widest_[plan_.trie.nodes[node].length])) continue;
      sums.reached[use] += ends;
      for (Id end : right_) sums.right[use] += graph_.edges(relation).holds(entity_, end);
    }
  }

  void add_back(std::int32_t node) {
    for (std::int32_t use : plan_.at(node)) {
      if (chosen_[use] != epoch_) continue;
      for (Id start : right_) {
        if (std::binary_search(back_->but.begin(), back_->but.end(), Pair{start, use})) continue;
        ++sums.reached[use];
        sums.right[use] += graph_.edges(back_->relation).holds(start, entity_);
      }
    }
  }

  const Graph& graph_;
  const Plan& plan_;
  std::vector<Frontier> frontiers_;  // one for each length
  std::vector<Stamps> stamps_;
  std::vector<Id> right_;            // of what the step at hand reached, what is marked
  std::vector<Id> answers_;          // of any relation of the entity
  std::vector<char> marked_;         // answers of any relation of the entity; counting back, who has the relation
  std::vector<char> has_;            // the relations of the entity
  std::vector<std::uint32_t> chosen_, on_the_way_;  // uses that count for the entity, and nodes that lead to them, by epoch
  std::uint32_t epoch_ = 0;
  bool some_ = false;
  const Back* back_;
  std::array<Count, 6> widest_{};  // of the steps so far, by length
  Signature relations_{};
  Progress progress_;
  Id entity_ = -1;
};

Reach summed(const Graph& graph, Ids entities, const Plan& plan, const Only& only, const Back* back, int max_length, int threads,
             Progress progress) {
  constexpr std::size_t at_once = 8;
  const std::size_t tasks = (entities.size() + at_once - 1) / at_once;
  std::vector<Reacher> reachers(useful(threads, tasks), Reacher(graph, plan, max_length, back));
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

Reach reach(const Graph& graph, Ids entities, std::span<const Use> uses, const Only& only, std::span<const Count> widest, int max_length,
            int threads, Progress progress) {
  return summed(graph, entities, Plan(uses, widest, max_length), only, nullptr, max_length, threads, progress);
}

Reach reach_back(const Graph& graph, Ids ends, Id relation, std::span<const PathType> types, const Only& only, std::span<const Pair> but,
                 int max_length, int threads, Progress progress) {
  const Packing packing(max_length);
  std::vector<Use> uses = uses_of(relation, types);
  for (Use& use : uses) use.type = backwards(use.type, packing);
  const Back back{relation, but};
  return summed(graph, ends, Plan(uses, {}, max_length), only, &back, max_length, threads, progress);
}

}  // namespace casegraph
