#include "counting/reach_together.hpp"

#include "common/bits.hpp"
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
  std::vector<Id> rows;  // of the tails in the inverse relation, sorted
};

Slots slots_of(const Edges& back, const Edges& askers, Steps& steps) {
  std::array<std::vector<Id>, 2> rows;
  steps.take(std::ssize(back.heads));
  for (std::size_t row = 0; row < back.heads.size(); ++row)
    rows[askers.has(back.heads[row])].push_back(static_cast<Id>(row));
  const bool are_taken = rows[1].size() < rows[0].size();
  return {are_taken, std::move(rows[are_taken])};
}

// Whether the sets of starts of the heads of a relation are copied to where they lie close
// together, before a step looks at all its edges. A copy takes about as long as four looks.
bool packing_pays(const Edges& edges) {
  return edges.tails.size() >= 4 * edges.heads.size();
}

// For each edge of an inverse relation, where it leads to: a row of the relation.
std::vector<Id> source_rows_of(const Edges& back, const Edges& edges, Steps& steps) {
  std::vector<Id> rows;
  rows.reserve(back.tails.size());
  for (Id source : back.tails) {
    steps.take();
    rows.push_back(static_cast<Id>(edges.row_of(source)));
  }
  return rows;
}

// What all batches share: the trie of path types, and what is known of its relations beforehand.
class TogetherPlan {
 public:
  TogetherPlan(const Graph& graph, std::span<const RelationPathType> pairs, int max_length,
               int threads, Steps& steps)
      : paths(pairs, {}, max_length, steps),
        returns(paths.trie.nodes.size(), Returns::never),
        may_return(paths.trie.nodes.size()),
        may_loop(graph.relations.size()),
        source_rows(graph.relations.size()),
        slots_of_pair(pairs.size()) {
    find_returns(graph, threads, steps.progress());
    find_slots(graph, threads, steps.progress());
    look_at_relations(graph, threads, steps.progress());
  }

  const ReachPlan paths;
  std::vector<Returns> returns;  // by node, of its last two steps
  std::vector<char> may_return;  // by node: whether a step from there does
  std::vector<char> may_loop;    // by relation: whether it leads any entity to itself
  // By relation: for each edge of its inverse, the row that it leads to; empty where packing does
  // not pay.
  std::vector<std::vector<Id>> source_rows;
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

  // What there is to know of each relation by itself.
  void look_at_relations(const Graph& graph, int threads, Progress& progress) {
    std::vector<Id> relations;
    for (const Trie::Node& node : paths.trie.nodes)
      if (node.length > 1)
        relations.push_back(node.relation);
    std::sort(relations.begin(), relations.end());
    relations.erase(std::unique(relations.begin(), relations.end()), relations.end());
    parallel(threads, relations.size(), progress, [&](int, std::size_t at) {
      Steps steps(progress);
      const Id relation = relations[at];
      const Edges& edges = graph.edges(relation);
      may_loop[relation] = has_loops(edges, steps);
      if (packing_pays(edges))
        source_rows[relation] = source_rows_of(graph.edges(inverse(relation)), edges, steps);
    });
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

// What the starts of a batch answer to a query relation.
struct RelationOfBatch {
  struct Answer {
    Id answer;
    StartSet askers;
    bool is_open;  // no other entity has it as its answer, in the batch or elsewhere
  };
  bool is_known = false;
  StartSet having;              // the starts that have the relation
  StartSet having_one;          // those of them with a single answer
  std::vector<Answer> answers;  // sorted
};

// Where a step has led, as sets by entity.
struct EndsByEntity {
  const Edges& back;  // of the step
  const StartSets& sets;

  std::size_t size() const { return sets.entities.size(); }
  const StartSet& at(std::size_t place) const { return sets.of[sets.entities[place]]; }
  const StartSet& of(Id entity) const { return sets.of[entity]; }
  const StartSet& of_row(Id row) const { return sets.of[back.heads[row]]; }

  // What could be among the ends.
  Ids rows_of(const Slots& slots) const { return slots.rows; }
  std::span<const RelationOfBatch::Answer> answers_of(const RelationOfBatch& relation) const {
    return relation.answers;
  }
};

// Where a step has led, as far as it is to some consecutive tails of its relation.
//
// Sums over ends can be added up part by part. If a last step is taken that way, its sets are close
// together in memory, and still in the cache when they are counted.
struct EndsByRow {
  static constexpr std::size_t most_rows = 1024;  // of 32 bytes each

  const Edges& back;  // of the step
  const std::size_t begin;
  const std::span<StartSet> sets;

  std::size_t size() const { return sets.size(); }
  const StartSet& at(std::size_t place) const { return sets[place]; }
  const StartSet& of_row(Id row) const { return sets[static_cast<std::size_t>(row) - begin]; }
  const StartSet& of(Id entity) const {
    static constexpr StartSet none;
    const std::size_t row = back.row_of(entity);
    return row == back.heads.size() ? none : sets[row - begin];
  }

  // No path leads back to where it began.
  void erase_starts(Ids starts) const {
    for (std::size_t start = 0; start < starts.size(); ++start) {
      if (starts[start] < first() || starts[start] > last())
        continue;
      const std::size_t row = back.row_of(starts[start]);
      if (row != back.heads.size())
        sets[row - begin].erase(start);
    }
  }

  // What could be among the ends.
  Ids rows_of(const Slots& slots) const {
    const auto end = begin + sets.size();
    return {std::ranges::lower_bound(slots.rows, static_cast<Id>(begin)),
            std::ranges::lower_bound(slots.rows, static_cast<Id>(end))};
  }
  std::span<const RelationOfBatch::Answer> answers_of(const RelationOfBatch& relation) const {
    const auto answer = &RelationOfBatch::Answer::answer;
    return {std::ranges::lower_bound(relation.answers, first(), {}, answer),
            std::ranges::upper_bound(relation.answers, last(), {}, answer)};
  }

 private:
  Id first() const { return back.heads[begin]; }
  Id last() const { return back.heads[begin + sets.size() - 1]; }
};

// Counts one batch after the other, and adds up; one for each thread.
class alignas(own_lines) BatchCounter {
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
    add(batch.child, EndsByEntity{back_of(batch.child), first_});
    plan_.paths.trie.each_child(batch.child, [&](std::int32_t second) { second_step(second); });
    first_.clear();
  }

  const std::vector<PairSums>& result() const { return sums_; }

 private:
  void first_step(std::int32_t node) {
    const Edges& edges = graph_.edges(nodes_[node].relation);
    for (std::size_t start = 0; start < starts_.size(); ++start) {
      const Ids tails = edges.of(starts_[start]);
      steps_.take(std::ssize(tails));
      first_.add(tails, start);
    }
    erase_starts(first_.of);
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
    const bool is_last = nodes_[node].after == node + 1;
    if (is_narrow(edges, first_)) {
      may_return ? follow_twice(edges) : follow(edges, first_, second_);
    } else {
      const Sources sources = sources_of(relation, first_);
      if (is_last)
        return count_ends(node, [&](std::size_t row) { return joined(sources, row); });
      gather(sources, may_return);
    }
    erase_starts(second_.of);
    if (may_return)
      erase_starts(twice_);
    add(node, EndsByEntity{back_of(node), second_});
    plan_.paths.trie.each_child(node, [&](std::int32_t third) { third_step(third); });
    if (may_return)
      for (Id entity : second_.entities)
        twice_[entity] = {};
    second_.clear();
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

  // A step along a relation, seen from where it could lead: where the sets of its heads are.
  struct Sources {
    const Edges& back;       // the edges of the inverse relation
    const Id* places;        // for each of these edges, the place of the set where it leads to
    const StartSet* sets;    // either by entity, or packed: row by row
    const Edges* packed_by;  // the edges of the relation, if packed; else null
    const StartSet& all;     // at least the starts that are in any set
    bool may_loop;           // whether the relation leads any entity to itself

    Ids places_of(std::size_t row) const {
      const Ids sources = back.row(row);
      return {places + (sources.data() - back.tails.data()), sources.size()};
    }

    // The place of the set of a tail itself, from which no path goes on to it; -1 for none.
    Id own_place(std::size_t row) const {
      if (!may_loop)
        return -1;
      const Id tail = back.heads[row];
      return packed_by == nullptr ? tail : static_cast<Id>(packed_by->row_of(tail));
    }
  };

  Sources sources_of(Id relation, const StartSets& from) {
    const Edges& edges = graph_.edges(relation);
    const Edges& back = graph_.edges(inverse(relation));
    const std::vector<Id>& rows = plan_.source_rows[relation];
    const bool may_loop = plan_.may_loop[relation];
    if (rows.empty())
      return {back, back.tails.data(), from.of.data(), nullptr, from.all, may_loop};
    steps_.take(std::ssize(edges.heads));
    packed_.clear();
    for (Id head : edges.heads)
      packed_.push_back(from.of[head]);
    return {back, rows.data(), packed_.data(), &edges, from.all, may_loop};
  }

  // The starts that a step leads to one tail.
  StartSet joined(const Sources& sources, std::size_t row) {
    const Ids places = sources.places_of(row);
    const Id own = sources.own_place(row);
    take_steps(places);
    StartSet found;
    for (std::size_t at = 0; at < places.size(); ++at) {
      if (places[at] == own)
        continue;
      found |= sources.sets[places[at]];
      if (is_time_to_look(at) && found == sources.all)
        break;
    }
    return found;
  }

  // The same, and the starts that come by at least two of the sources.
  std::pair<StartSet, StartSet> joined_twice(const Sources& sources, std::size_t row) {
    const Ids places = sources.places_of(row);
    const Id own = sources.own_place(row);
    take_steps(places);
    StartSet once, twice;
    for (std::size_t at = 0; at < places.size(); ++at) {
      if (places[at] == own)
        continue;
      const StartSet& starts = sources.sets[places[at]];
      twice |= once & starts;
      once |= starts;
      if (is_time_to_look(at) && twice == sources.all)
        break;
    }
    return {once, twice};
  }

  // A second step, from the entities where it could lead.
  void gather(const Sources& sources, bool may_return) {
    for (std::size_t row = 0; row < sources.back.heads.size(); ++row) {
      const Id tail = sources.back.heads[row];
      if (!may_return) {
        second_.add(tail, joined(sources, row));
        continue;
      }
      const auto [once, twice] = joined_twice(sources, row);
      second_.add(tail, once);
      twice_[tail] = twice;
    }
  }

  // A last step, from the entities where it could lead, some at a time; `joined(row)` are the
  // starts that lead to the tail of a row.
  template <class Joined>
  void count_ends(std::int32_t node, const Joined& joined) {
    const Edges& back = back_of(node);
    for (std::size_t begin = 0; begin < back.heads.size(); begin += EndsByRow::most_rows) {
      const std::size_t rows = std::min(EndsByRow::most_rows, back.heads.size() - begin);
      for (std::size_t row = 0; row < rows; ++row)
        ends_[row] = joined(begin + row);
      const EndsByRow ends{back, begin, std::span(ends_).first(rows)};
      ends.erase_starts(starts_);
      add(node, ends);
    }
  }

  // The edges that lead back along the last step to a node.
  const Edges& back_of(std::int32_t node) const {
    return graph_.edges(inverse(nodes_[node].relation));
  }

  // Looking after every edge whether all starts are found would take as long as the joining.
  static bool is_time_to_look(std::size_t at) { return (at & 7) == 7; }

  void third_step(std::int32_t node) {
    const Id relation = nodes_[node].relation;
    const Edges& edges = graph_.edges(relation);
    const Returns returns = plan_.returns[node];
    const Edges& second = graph_.edges(nodes_[nodes_[node].parent].relation);
    if (is_narrow(edges, second_)) {
      returns == Returns::never ? follow(edges, second_, third_)
                                : follow_third(edges, second, returns);
      erase_starts(third_.of);
      add(node, EndsByEntity{back_of(node), third_});
      third_.clear();
      return;
    }
    const Sources sources = sources_of(relation, second_);
    if (returns == Returns::never)
      count_ends(node, [&](std::size_t row) { return joined(sources, row); });
    else
      count_ends(node,
                 [&](std::size_t row) { return joined_returning(sources, row, second, returns); });
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

  // The starts that a third step leads to one tail, if it can lead back along the second.
  StartSet joined_returning(const Sources& sources, std::size_t row, const Edges& second,
                            Returns returns) {
    const Id tail = sources.back.heads[row];
    const bool is_first_step = !first_.of[tail].empty();
    if (!is_first_step)
      return joined(sources, row);
    const Ids entities = sources.back.row(row);
    const Ids places = sources.places_of(row);
    take_steps(entities);
    const Ids leads_to = second.of(tail);
    auto next = leads_to.begin();
    StartSet found;
    for (std::size_t at = 0; at < entities.size(); ++at) {
      const Id source = entities[at];
      if (source == tail)
        continue;
      bool leads_back = true;
      if (returns == Returns::somewhere) {
        while (next != leads_to.end() && *next < source)
          ++next;
        leads_back = next != leads_to.end() && *next == source;
      }
      found |= leads_back ? returning(source, tail) : sources.sets[places[at]];
      if (is_time_to_look(at) && found == sources.all)
        break;
    }
    return found;
  }

  // The starts that may go on from an entity to a tail which the second relation leads to it.
  StartSet returning(Id from, Id tail) const {
    return second_.of[from].without(first_.of[tail]) | twice_[from];
  }

  void take_steps(Ids sources) {
    steps_.take(1 + std::ssize(sources) / 4);  // joining a set takes about a nanosecond
  }

  // Add what was found at a node, or some of it, to every pair that ends there.
  template <class Ends>
  void add(std::int32_t node, const Ends& ends) {
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
        sums_[pair].add_forwards(reached, with_askers, right);
      }
      if (both_ways)
        add_inverse(pair, relation, ends, right, with_askers);
    }
  }

  template <class Ends>
  RightEnds right_ends(const RelationOfBatch& relation, const Ends& ends) {
    RightEnds right;
    const auto answers = ends.answers_of(relation);
    steps_.take(std::ssize(answers) / 2);
    for (const auto& [answer, askers, is_open] : answers) {
      const StartSet& starts = ends.of(answer);
      const Count found = starts.count_common(askers);
      right.all += found;
      right.open += is_open ? found : 0;
      if (found > 0)
        right.of_one_answer += (starts & askers).count_common(relation.having_one);
    }
    return right;
  }

  // with_askers_having  how many such ends the starts have that have the relation
  template <class Ends>
  void add_inverse(std::int32_t pair, const RelationOfBatch& relation, const Ends& ends,
                   const RightEnds& right, Count with_askers_having) {
    const bool all_have = relation.having == all_starts_;
    const Count with_askers =
        all_have ? with_askers_having : ends_with_askers(pair, all_starts_, ends, all_reached_);
    sums_[pair].add_inverse(with_askers, with_askers_having, right);
  }

  template <class Ends>
  void tally(const Ends& ends) {
    steps_.take(static_cast<Count>(ends.size()) / 2);
    tallies_.count(ends.size(),
                   [&](std::size_t place) -> const StartSet& { return ends.at(place); });
    all_reached_ = 0;
    for (std::size_t start = 0; start < starts_.size(); ++start)
      all_reached_ += tallies_[start];
  }

  // How many ends of these starts are the answer of any entity.
  //
  // reached  how many ends these starts have
  template <class Ends>
  Count ends_with_askers(std::int32_t pair, const StartSet& starts, const Ends& ends,
                         Count reached) {
    const Slots& slots = plan_.slots[plan_.slots_of_pair[pair]];
    const Ids rows = ends.rows_of(slots);
    steps_.take(std::ssize(rows) / 2);
    Count listed = 0;
    for (Id row : rows)
      listed += ends.of_row(row).count_common(starts);
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
      askers_.add(tails, start);
    }
    const Edges& askers = graph_.edges(inverse(relation));
    is_answer_.reset(askers_.of.size());
    for (Id answer : askers_.entities)
      is_answer_.put(static_cast<std::size_t>(answer));
    is_answer_.each([&](std::size_t number) {  // in the order of their ids
      const auto answer = static_cast<Id>(number);
      found.answers.push_back({answer, askers_.of[answer], askers.of(answer).size() == 1});
    });
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
  std::vector<StartSet> twice_;   // by entity: those of `second_` with two different first steps
  std::vector<StartSet> packed_;  // of the heads of a relation, row by row
  std::array<StartSet, EndsByRow::most_rows> ends_;

  std::vector<RelationOfBatch> relations_;                       // found when first needed
  StartSets askers_{static_cast<std::size_t>(graph_.entities)};  // empty but while they are found
  Bits is_answer_;                                               // likewise
  StartTallies tallies_;
  Count all_reached_ = 0;  // the sum of the tallies
  Steps steps_;
  std::vector<PairSums> sums_;  // by pair
};

}  // namespace

std::vector<PairSums> reach_together(const Graph& graph, Ids entities,
                                     std::span<const RelationPathType> pairs, int max_length,
                                     Count reported, int threads, Progress& progress) {
  Steps steps(progress);
  const TogetherPlan plan(graph, pairs, max_length, threads, steps);
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
  std::vector<PairSums> total(pairs.size());
  for (const BatchCounter& counter : counters)
    add_to(total, counter.result());
  return total;
}

}  // namespace casegraph
