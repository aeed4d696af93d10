#include "counting/reach_together.hpp"

#include "counting/reach_plan.hpp"
#include "counting/start_batches.hpp"

namespace casegraph {
namespace {

// Whether the last of three steps can lead back along an edge of the second.
enum class Returns : char { never, somewhere, always };

// Whether two relations have an edge in common that is no loop.
bool share_an_edge(const Edges& one, const Edges& other, Steps& steps) {
  steps.take(std::ssize(one.heads));
  for (std::size_t row = 0; row < one.heads.size(); ++row) {
    const Id head = one.heads[row];
    const Ids these = one.row(row);
    const Ids those = other.of(head);
    if (those.empty())
      continue;
    steps.take(std::ssize(these) + std::ssize(those));
    for (auto a = these.begin(), b = those.begin(); a != these.end() && b != those.end();) {
      if (*a == *b && *a != head)
        return true;
      if (*a <= *b)
        ++a;
      else
        ++b;
    }
  }
  return false;
}

// The tails of a relation that some entity has as its answer to a query relation, or those that
// none has: whichever are fewer.
struct Slots {
  bool are_taken = false;
  std::vector<Id> tails;
};

Slots slots_of(const Edges& back, const Edges& askers, Steps& steps) {
  std::array<std::vector<Id>, 2> tails;
  steps.take(std::ssize(back.heads));
  for (Id tail : back.heads)
    tails[askers.row_of(tail) != askers.heads.size()].push_back(tail);
  const bool are_taken = tails[1].size() < tails[0].size();
  return {are_taken, std::move(tails[are_taken])};
}

// What all batches share: the trie of path types, and what is known of its relations beforehand.
class TogetherPlan {
 public:
  TogetherPlan(const Graph& graph, std::span<const RelationPathType> pairs, int max_length,
               int threads, Progress& progress)
      : paths(pairs, {}, max_length),
        returns(paths.trie.nodes.size(), Returns::never),
        may_return(paths.trie.nodes.size()),
        may_loop(graph.relations.size()),
        slots_of_pair(pairs.size()) {
    find_returns(graph, threads, progress);
    find_slots(graph, threads, progress);
    Steps steps(progress);
    for (const Trie::Node& node : paths.trie.nodes)
      if (node.parent >= 0 && !may_loop[node.relation])
        may_loop[node.relation] = has_loops(graph.edges(node.relation), steps);
  }

  const ReachPlan paths;
  std::vector<Returns> returns;            // by node, of its last two steps
  std::vector<char> may_return;            // by node: whether a step from there does
  std::vector<char> may_loop;              // by relation: whether it leads any entity to itself
  std::vector<Slots> slots;                // of pairs of a last and a query relation
  std::vector<std::size_t> slots_of_pair;  // parallel to the pairs: a place in `slots`

 private:
  using RelationPair = std::pair<Id, Id>;

  // Each distinct pair once, sorted.
  static std::vector<RelationPair> distinct(std::vector<RelationPair> pairs) {
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    return pairs;
  }
  static std::size_t place(const std::vector<RelationPair>& sorted, RelationPair pair) {
    return static_cast<std::size_t>(std::ranges::lower_bound(sorted, pair) - sorted.begin());
  }

  void find_returns(const Graph& graph, int threads, Progress& progress) {
    const auto& nodes = paths.trie.nodes;
    const auto steps_of = [&](const Trie::Node& last) {
      return RelationPair{nodes[last.parent].relation, last.relation};
    };
    std::vector<RelationPair> all;
    for (const Trie::Node& node : nodes)
      if (node.length == longest_together)
        all.push_back(steps_of(node));
    const std::vector<RelationPair> each = distinct(std::move(all));

    std::vector<Returns> found(each.size());
    parallel(threads, each.size(), progress, [&](int, std::size_t at) {
      Steps steps(progress);
      const auto [second, last] = each[at];
      if (last == inverse(second))
        found[at] = Returns::always;
      else if (share_an_edge(graph.edges(second), graph.edges(inverse(last)), steps))
        found[at] = Returns::somewhere;
      else
        found[at] = Returns::never;
    });

    for (std::size_t node = 0; node < nodes.size(); ++node) {
      if (nodes[node].length != longest_together)
        continue;
      returns[node] = found[place(each, steps_of(nodes[node]))];
      if (returns[node] != Returns::never)
        may_return[nodes[node].parent] = true;
    }
  }

  void find_slots(const Graph& graph, int threads, Progress& progress) {
    const auto relations_of = [&](std::size_t pair) {
      const std::int32_t node = paths.trie.node_of_type[pair];
      return RelationPair{paths.trie.nodes[node].relation, paths.pairs[pair].relation};
    };
    std::vector<RelationPair> all;
    for (std::size_t pair = 0; pair < paths.pairs.size(); ++pair)
      all.push_back(relations_of(pair));
    const std::vector<RelationPair> each = distinct(std::move(all));

    slots.resize(each.size());
    parallel(threads, each.size(), progress, [&](int, std::size_t at) {
      Steps steps(progress);
      const auto [last, query] = each[at];
      slots[at] = slots_of(graph.edges(inverse(last)), graph.edges(inverse(query)), steps);
    });
    for (std::size_t pair = 0; pair < paths.pairs.size(); ++pair)
      slots_of_pair[pair] = place(each, relations_of(pair));
  }
};

// Counts one batch after the other, and adds up; one for each thread.
class BatchCounter {
 public:
  BatchCounter(const Graph& graph, const TogetherPlan& plan, Progress& progress)
      : graph_(graph),
        plan_(plan),
        nodes_(plan.paths.trie.nodes),
        first_(graph.entities),
        second_(graph.entities),
        third_(graph.entities),
        twice_(graph.entities),
        relations_(graph.relations.size()),
        steps_(progress),
        sums_(plan.paths.pairs.size()) {}

  void count(const Batch& batch) {
    starts_ = batch.starts;
    all_starts_ = {};
    for (std::size_t start = 0; start < starts_.size(); ++start)
      all_starts_.insert(start);
    for (RelationOfBatch& relation : relations_)
      relation.is_known = false;
    first_step(batch.child);
    add(batch.child, first_);
    each_child(batch.child, [&](std::int32_t second) {
      second_step(second);
      add(second, second_);
      each_child(second, [&](std::int32_t third) {
        third_step(third);
        add(third, third_);
        third_.clear();
      });
      if (plan_.may_return[second])
        for (Id entity : second_.entities)
          twice_[entity] = {};
      second_.clear();
    });
    first_.clear();
  }

  const ReachBothWays& result() const { return sums_; }

 private:
  // What the starts of the batch answer to a query relation.
  struct RelationOfBatch {
    struct Answer {
      Id answer;
      StartSet askers;
      bool is_open;  // no other entity has it as its answer, in the batch or elsewhere
    };
    bool is_known = false;
    StartSet having;      // the starts that have the relation
    StartSet having_one;  // those of them with a single answer
    std::vector<Answer> answers;
  };

  template <class Visit>
  void each_child(std::int32_t node, const Visit& visit) const {
    for (std::int32_t child = node + 1; child < nodes_[node].after; child = nodes_[child].after)
      visit(child);
  }

  void first_step(std::int32_t node) {
    const Edges& edges = graph_.edges(nodes_[node].relation);
    for (std::size_t start = 0; start < starts_.size(); ++start) {
      const Ids tails = edges.of(starts_[start]);
      steps_.take(std::ssize(tails));
      StartSet only;
      only.insert(start);
      for (Id tail : tails)
        if (tail != starts_[start])
          first_.add(tail, only);
    }
  }

  // Whether following a relation from where paths stand takes less than looking at all its edges.
  // An edge that is followed goes to a random place in memory, and back again.
  bool is_narrow(const Edges& edges, const StartSets& from) {
    constexpr std::size_t following = 2;
    std::size_t width = 0;
    steps_.take(std::ssize(from.entities));
    for (Id entity : from.entities) {
      width += edges.of(entity).size();
      if (following * width >= edges.tails.size())
        return false;
    }
    return true;
  }

  void second_step(std::int32_t node) {
    const Id relation = nodes_[node].relation;
    const Edges& edges = graph_.edges(relation);
    const bool may_return = plan_.may_return[node];
    if (is_narrow(edges, first_))
      may_return ? follow_twice(edges) : follow(edges, first_, second_);
    else
      may_return ? gather_twice(graph_.edges(inverse(relation)))
                 : gather(relation, first_, second_);
    erase_starts(second_.of);
    if (may_return)
      erase_starts(twice_);
  }

  // No path leads back to where it began.
  void erase_starts(std::vector<StartSet>& sets) const {
    for (std::size_t start = 0; start < starts_.size(); ++start)
      sets[starts_[start]].erase(start);
  }

  // A step along a relation, from where paths stand.
  void follow(const Edges& edges, const StartSets& from, StartSets& into) {
    for (Id source : from.entities) {
      const Ids tails = edges.of(source);
      steps_.take(1 + std::ssize(tails));
      const StartSet starts = from.of[source];
      for (Id tail : tails)
        if (tail != source)
          into.add(tail, starts);
    }
  }

  void follow_twice(const Edges& edges) {
    for (Id from : first_.entities) {
      const Ids tails = edges.of(from);
      const StartSet& starts = first_.of[from];
      steps_.take(1 + std::ssize(tails));
      for (Id tail : tails) {
        if (tail == from)
          continue;
        twice_[tail] |= second_.of[tail] & starts;
        second_.add(tail, starts);
      }
    }
  }

  void gather_twice(const Edges& back) {
    for (std::size_t row = 0; row < back.heads.size(); ++row) {
      const Id tail = back.heads[row];
      const Ids sources = back.row(row);
      take_steps(sources);
      StartSet once, twice;
      for (std::size_t at = 0; at < sources.size(); ++at) {
        if (sources[at] == tail)
          continue;
        const StartSet& starts = first_.of[sources[at]];
        twice |= once & starts;
        once |= starts;
        if (is_time_to_look(at) && twice == first_.all)
          break;
      }
      second_.add(tail, once);
      twice_[tail] = twice;
    }
  }

  // A step along a relation, from the entities where it could lead.
  void gather(Id relation, const StartSets& from, StartSets& into) {
    const Edges& back = graph_.edges(inverse(relation));
    const bool may_loop = plan_.may_loop[relation];
    for (std::size_t row = 0; row < back.heads.size(); ++row) {
      const Id tail = back.heads[row];
      const Ids sources = back.row(row);
      take_steps(sources);
      StartSet joined;
      for (std::size_t at = 0; at < sources.size(); ++at) {
        if (may_loop && sources[at] == tail)
          continue;
        joined |= from.of[sources[at]];
        if (is_time_to_look(at) && joined == from.all)
          break;
      }
      into.add(tail, joined);
    }
  }

  // Looking after every edge whether all starts are found would take as long as the joining.
  static bool is_time_to_look(std::size_t at) { return (at & 7) == 7; }

  void third_step(std::int32_t node) {
    const Id relation = nodes_[node].relation;
    const Edges& edges = graph_.edges(relation);
    const Returns returns = plan_.returns[node];
    const Edges& second = graph_.edges(nodes_[nodes_[node].parent].relation);
    if (is_narrow(edges, second_))
      returns == Returns::never ? follow(edges, second_, third_)
                                : follow_third(edges, second, returns);
    else if (returns == Returns::never)
      gather(relation, second_, third_);
    else
      gather_returning(graph_.edges(inverse(relation)), second, returns);
    erase_starts(third_.of);
  }

  void follow_third(const Edges& edges, const Edges& second, Returns returns) {
    for (Id from : second_.entities) {
      const Ids tails = edges.of(from);
      steps_.take(1 + std::ssize(tails));
      for (Id tail : tails) {
        if (tail == from)
          continue;
        const bool leads_back =
            returns == Returns::always ||
            (returns == Returns::somewhere && !first_.of[tail].empty() && second.holds(tail, from));
        third_.add(tail, leads_back ? returning(from, tail) : second_.of[from]);
      }
    }
  }

  void gather_returning(const Edges& back, const Edges& second, Returns returns) {
    for (std::size_t row = 0; row < back.heads.size(); ++row) {
      const Id tail = back.heads[row];
      const Ids sources = back.row(row);
      take_steps(sources);
      const bool is_first_step = !first_.of[tail].empty();
      const Ids leads_to = is_first_step ? second.of(tail) : Ids{};
      auto next = leads_to.begin();
      StartSet joined;
      for (std::size_t at = 0; at < sources.size(); ++at) {
        const Id source = sources[at];
        if (source == tail)
          continue;
        bool leads_back = is_first_step;
        if (is_first_step && returns == Returns::somewhere) {
          while (next != leads_to.end() && *next < source)
            ++next;
          leads_back = next != leads_to.end() && *next == source;
        }
        joined |= leads_back ? returning(source, tail) : second_.of[source];
        if (is_time_to_look(at) && joined == second_.all)
          break;
      }
      third_.add(tail, joined);
    }
  }

  // The starts that may go on from an entity to a tail which the second relation leads to it.
  StartSet returning(Id from, Id tail) const {
    return second_.of[from].without(first_.of[tail]) | twice_[from];
  }

  void take_steps(Ids sources) {
    steps_.take(1 + std::ssize(sources) / 4);  // joining a set takes about a nanosecond
  }

  // Add what was found at a node to every pair that ends there.
  void add(std::int32_t node, const StartSets& ends) {
    bool are_tallied = false;
    for (const auto [pair, query, both_ways] : plan_.paths.pairs_at(node)) {
      const RelationOfBatch& relation = relation_of_batch(query);
      if (relation.having.empty() && !both_ways)
        continue;
      if (!are_tallied)
        tally(ends);
      are_tallied = true;
      if (all_reached_ == 0)
        return;
      Count reached = 0;
      relation.having.each([&](std::size_t start) { reached += tallies_[start]; });
      RightEnds right;
      Count with_askers = 0;
      if (reached > 0) {
        right = right_ends(relation, ends);
        with_askers = ends_with_askers(pair, relation.having, ends, reached);
        add_forwards(pair, reached, with_askers, right);
      }
      if (both_ways)
        add_inverse(pair, relation, ends, right, with_askers);
    }
  }

  // Ends that are answers of their start.
  struct RightEnds {
    Count all = 0;
    Count open = 0;           // whose only asker is the start
    Count of_one_answer = 0;  // that are the only answer of the start
  };

  RightEnds right_ends(const RelationOfBatch& relation, const StartSets& ends) {
    RightEnds right;
    steps_.take(std::ssize(relation.answers) / 2);
    for (const auto& [answer, askers, is_open] : relation.answers) {
      const StartSet& starts = ends.of[answer];
      const Count found = starts.count_common(askers);
      right.all += found;
      right.open += is_open ? found : 0;
      if (found > 0)
        right.of_one_answer += (starts & askers).count_common(relation.having_one);
    }
    return right;
  }

  void add_forwards(std::int32_t pair, Count reached, Count with_askers, const RightEnds& right) {
    // A right end whose only asker is this entity has an open slot.
    const Count taken = with_askers - right.open;
    sums_.forwards.reached[pair] += reached;
    sums_.forwards.right[pair] += right.all;
    sums_.forwards.reached_open[pair] += reached - taken;
    sums_.forwards.right_open[pair] += right.open;
  }

  // Walked backwards, each end that has askers reaches the start. The slot of a start is open if it
  // does not have the relation, or has this one answer.
  //
  // with_askers_having  how many such ends the starts have that have the relation
  void add_inverse(std::int32_t pair, const RelationOfBatch& relation, const StartSets& ends,
                   const RightEnds& right, Count with_askers_having) {
    const bool all_have = relation.having == all_starts_;
    const Count with_askers =
        all_have ? with_askers_having : ends_with_askers(pair, all_starts_, ends, all_reached_);
    sums_.inverse.reached[pair] += with_askers;
    sums_.inverse.right[pair] += right.all;
    sums_.inverse.reached_open[pair] += with_askers - with_askers_having + right.of_one_answer;
    sums_.inverse.right_open[pair] += right.of_one_answer;
  }

  void tally(const StartSets& ends) {
    steps_.take(std::ssize(ends.entities) / 2);
    tallies_.count(ends);
    all_reached_ = 0;
    for (std::size_t start = 0; start < starts_.size(); ++start)
      all_reached_ += tallies_[start];
  }

  // How many ends of these starts are the answer of any entity.
  //
  // reached  how many ends these starts have
  Count ends_with_askers(std::int32_t pair, const StartSet& starts, const StartSets& ends,
                         Count reached) {
    const Slots& slots = plan_.slots[plan_.slots_of_pair[pair]];
    steps_.take(std::ssize(slots.tails) / 2);
    Count listed = 0;
    for (Id tail : slots.tails)
      listed += ends.of[tail].count_common(starts);
    return slots.are_taken ? listed : reached - listed;
  }

  const RelationOfBatch& relation_of_batch(Id relation) {
    RelationOfBatch& known = relations_[relation];
    if (!known.is_known)
      find_answers(relation, known);
    return known;
  }

  void find_answers(Id relation, RelationOfBatch& found) {
    found.is_known = true;
    found.having = {};
    found.having_one = {};
    found.answers.clear();
    const Edges& answers = graph_.edges(relation);
    for (std::size_t start = 0; start < starts_.size(); ++start) {
      const Ids tails = answers.of(starts_[start]);
      steps_.take(1 + std::ssize(tails));
      if (tails.empty())
        continue;
      found.having.insert(start);
      if (tails.size() == 1)
        found.having_one.insert(start);
      StartSet only;
      only.insert(start);
      for (Id tail : tails)
        askers_.add(tail, only);
    }
    const Edges& askers = graph_.edges(inverse(relation));
    for (Id answer : askers_.entities)
      found.answers.push_back({answer, askers_.of[answer], askers.of(answer).size() == 1});
    askers_.clear();
  }

  const Graph& graph_;
  const TogetherPlan& plan_;
  const std::vector<Trie::Node>& nodes_;

  // Where paths of the batch stand, by their length.
  Ids starts_;
  StartSet all_starts_;
  StartSets first_;
  StartSets second_;
  StartSets third_;
  std::vector<StartSet> twice_;  // by entity: those of `second_` with two different first steps

  std::vector<RelationOfBatch> relations_;                       // found when first needed
  StartSets askers_{static_cast<std::size_t>(graph_.entities)};  // empty but while they are found
  StartTallies tallies_;
  Count all_reached_ = 0;  // the sum of the tallies
  Steps steps_;
  ReachBothWays sums_;
};

}  // namespace

ReachBothWays reach_together(const Graph& graph, Ids entities,
                             std::span<const RelationPathType> pairs, int max_length,
                             Count reported, int threads, Progress& progress) {
  const TogetherPlan plan(graph, pairs, max_length, threads, progress);
  const StartBatches batches(graph, entities, plan.paths);
  const auto workers = static_cast<std::size_t>(useful_threads(threads, batches.list.size()));
  std::vector<BatchCounter> counters(workers, BatchCounter(graph, plan, progress));
  parallel(threads, batches.list.size(), progress, [&](int thread, std::size_t at) {
    counters[static_cast<std::size_t>(thread)].count(batches.list[at]);
    const auto share = [&](std::size_t done) {
      return reported * static_cast<Count>(done) / std::ssize(batches.list);
    };
    progress.done(share(at + 1) - share(at));
  });
  ReachBothWays total = counters[0].result();
  for (std::size_t other = 1; other < counters.size(); ++other)
    total.add(counters[other].result());
  return total;
}

}  // namespace casegraph
