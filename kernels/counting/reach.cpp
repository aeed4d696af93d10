#include "counting/reach.hpp"

#include <deque>

#include "counting/entity_rows.hpp"
#include "counting/last_step_counter.hpp"
#include "counting/reach_by_hub.hpp"
#include "counting/reach_choice.hpp"
#include "counting/reach_inverses.hpp"
#include "counting/reach_plan.hpp"
#include "counting/reach_together.hpp"

namespace casegraph {
namespace {

// Counting from the ends: who has the relation, and whose paths do not count.
struct Backwards {
  Id relation;
  std::span<const Endpoint> excluded;
};

// Which pairs count for which entity: places[offsets[i] .. offsets[i + 1]) for the i-th entity.
struct Selection {
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> places;

  std::span<const std::int32_t> of(std::size_t entity) const {
    return places.subspan(offsets[entity], offsets[entity + 1] - offsets[entity]);
  }
};

// What the counters of all threads share.
struct Shared {
  // The relations of the pairs, each once.
  std::vector<Id> asked;

  // The rows of each entity; none if looking an entity up in a few relations takes less.
  std::optional<EntityRows> rows;

  // None if little is counted.
  std::optional<AllTailBitsets> bitsets;
};

// Counts for one entity after the other, and adds up.
class alignas(own_lines) ReachCounter {
 public:
  // backwards  null if paths are walked from their starts
  ReachCounter(const Graph& graph, const ReachPlan& plan, int max_length, Shared& shared,
               const Backwards* backwards, Progress& progress)
      : graph_(graph),
        plan_(plan),
        asked_(shared.asked),
        backwards_(backwards),
        rows_(shared.rows ? &*shared.rows : nullptr),
        frontiers_(max_length + 1),
        departures_(max_length + 1),
        child_of_relation_(graph.relations.size(), -1),
        answers_(graph.relations.size()),
        all_answers_(graph.entities),
        is_selected_(plan.pairs.size()),
        leads_to_selected_(plan.trie.nodes.size()),
        ends_seen_(graph.entities),
        last_step_(graph, shared.bitsets ? &*shared.bitsets : nullptr, progress),
        steps_(progress),
        sums_(plan.pairs.size()),
        questions_(shared.bitsets ? plan.pairs.size() : 1),
        skipped_(plan.has_widths() ? plan.pairs.size() : 0) {
    const int longest = plan.trie.nodes[0].ahead;
    for (int length = 1; length < longest; ++length)
      stamps_.emplace_back(graph.entities);
    if (backwards_ == nullptr)
      return;
    is_start_.resize(graph.entities, IsStart::no);
    for (Id head : graph.edges(backwards_->relation).heads)
      is_start_[head] = IsStart::yes;
    for (const Endpoint& endpoint : backwards_->excluded)
      if (endpoint.entity < graph.entities && is_start_[endpoint.entity] == IsStart::yes)
        is_start_[endpoint.entity] = IsStart::unless_excluded;
  }

  // Count one entity, for all pairs.
  void count_all(Id entity) {
    has_selection_ = false;
    count(entity);
  }

  // Count one entity, for the selected pairs only.
  void count_selected(Id entity, std::span<const std::int32_t> selected) {
    has_selection_ = true;
    select(selected);
    count(entity);
  }

  // Add what was counted to the totals of the pairs.
  void add_sums_to(std::vector<PairSums>& total, std::vector<Count>& skipped) const {
    for (std::size_t place = 0; place < sums_.size(); ++place) {
      const auto pair = static_cast<std::size_t>(plan_.pair_at_place(place).pair);
      total[pair] += sums_[place];
      if (!skipped_.empty())
        skipped[pair] += skipped_[place];
    }
  }

 private:
  // The children of a node that are of use, and the ends of the node that have their relations.
  struct Departures {
    std::vector<std::int32_t> nodes;  // the children

    void clear() {
      nodes.clear();
      offsets_.assign(1, 0);
      found_.clear();
    }

    // Returns the place of the child.
    std::int32_t add_child(std::int32_t node) {
      nodes.push_back(node);
      offsets_.push_back(0);
      return static_cast<std::int32_t>(nodes.size()) - 1;
    }

    // An end has a row in the relation of a child.
    void add(std::int32_t child, EndRow row) {
      ++offsets_[child + std::size_t{1}];
      found_.push_back({child, row});
    }

    // A counting sort of the rows by child; call it once, when all are added.
    void group() {
      std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
      rows_.resize(found_.size());
      for (auto at = found_.rbegin(); at != found_.rend(); ++at) {
        // From the last one on, so that the rows of a child stay in the order of the ends.
        rows_[--offsets_[at->child + std::size_t{1}]] = at->row;
      }
    }

    // Grouping has moved the end of each child's rows to their beginning.
    std::span<const EndRow> rows_of(std::size_t child) const {
      const std::size_t begin = offsets_[child + 1];
      const std::size_t end = child + 2 < offsets_.size() ? offsets_[child + 2] : rows_.size();
      return std::span(rows_).subspan(begin, end - begin);
    }

   private:
    struct Found {
      std::int32_t child;
      EndRow row;
    };
    std::vector<Found> found_;
    std::vector<std::size_t> offsets_;  // (children + 1)
    std::vector<EndRow> rows_;          // by child
  };

  void count(Id entity) {
    if (entity >= graph_.entities)
      return;  // it came after this state of the graph
    entity_ = entity;
    if (backwards_ == nullptr)
      find_answers();
    frontiers_[0].start(entity);
    walk_below(0);
    if (backwards_ == nullptr)
      forget_answers();
  }

  void find_answers() {
    if (rows_ == nullptr) {
      steps_.take(std::ssize(asked_));
      for (Id relation : asked_)
        add_answers(relation, graph_.tails(entity_, relation));
      return;
    }
    const auto rows = rows_->of(entity_);
    steps_.take(std::ssize(rows));
    for (const auto [relation, row] : rows)
      add_answers(relation, graph_.edges(relation).row(static_cast<std::size_t>(row)));
  }

  void add_answers(Id relation, Ids tails) {
    if (tails.empty())
      return;
    answers_[relation] = tails;
    answered_.push_back(relation);
    add_to(signature_, relation);
    most_answers_ = std::max(most_answers_, tails.size());
  }

  void forget_answers() {
    for (Id relation : answered_)
      answers_[relation] = {};
    answered_.clear();
    all_answers_.clear();
    signature_ = of_everyone;
    most_answers_ = 0;
  }

  // Mark the selected pairs, and all nodes on the way to them.
  void select(std::span<const std::int32_t> selected) {
    if (++epoch_ == 0) {
      std::fill(is_selected_.begin(), is_selected_.end(), 0);
      std::fill(leads_to_selected_.begin(), leads_to_selected_.end(), 0);
      epoch_ = 1;
    }
    for (std::int32_t pair : selected) {
      is_selected_[pair] = epoch_;
      std::int32_t node = plan_.trie.node_of_type[pair];
      for (; node >= 0 && leads_to_selected_[node] != epoch_; node = plan_.trie.nodes[node].parent)
        leads_to_selected_[node] = epoch_;
    }
  }

  // Take the steps to all children of a node, and to everything below them.
  void walk_below(std::int32_t parent) {
    if (rows_ != nullptr && parent == 0)
      return walk_from_start();
    if (rows_ != nullptr && finding_children_pays(parent))
      return walk_to_found_children(parent);
    const int length = plan_.trie.nodes[parent].length;
    const KnownEnds known(length == 0 ? nullptr : &stamps_at(length));
    plan_.trie.each_child(parent, [&](std::int32_t node) {
      steps_.take();
      if (is_of_use(node))
        walk_to(node, known);
    });
  }

  // From the root, walk to those children whose relation the entity has.
  void walk_from_start() {
    for (const auto [relation, row] : rows_->of(entity_)) {
      const std::int32_t node = plan_.first_step(relation);
      if (node < 0 || !is_of_use(node))
        continue;
      const EndRow only{0, row};
      walk_to(node, KnownEnds(std::span(&only, 1)));
    }
  }

  // Whether going through all rows of the ends of a node takes less than looking the ends up in the
  // relation of each child. A row of a list is taken to cost as much as a lookup: it has to be put
  // into the list of its child, too. With few children there is little to gain.
  bool finding_children_pays(std::int32_t parent) {
    constexpr std::size_t few_children = 4;
    const auto children = static_cast<std::size_t>(plan_.children[parent]);
    if (children <= few_children)
      return false;
    const Frontier& from = frontiers_[plan_.trie.nodes[parent].length];
    std::size_t lookups = 0;
    plan_.trie.each_child(parent, [&](std::int32_t node) {
      const Edges& edges = graph_.edges(plan_.trie.nodes[node].relation);
      lookups += std::min(from.ends.size(), edges.heads.size());
    });
    std::size_t rows = children;
    for (Id end : from.ends) {
      rows += rows_->of(end).size();
      if (rows > lookups)
        return false;
    }
    return true;
  }

  // Find the children of a node that some end has the relation of, and the rows of these ends; then
  // walk to them. (A sparse matrix product, row by row: Gustavson 1978.)
  void walk_to_found_children(std::int32_t parent) {
    const int length = plan_.trie.nodes[parent].length;
    Departures& found = departures_[length];
    found.clear();
    plan_.trie.each_child(parent, [&](std::int32_t node) {
      if (!is_of_use(node))
        return;
      child_of_relation_[plan_.trie.nodes[node].relation] = found.add_child(node);
    });
    const std::vector<Id>& ends = frontiers_[length].ends;
    for (std::size_t end = 0; end < ends.size(); ++end) {
      const auto rows = rows_->of(ends[end]);
      steps_.take(1 + std::ssize(rows) / 4);
      for (const auto [relation, row] : rows) {
        const std::int32_t child = child_of_relation_[relation];
        if (child >= 0)
          found.add(child, {static_cast<std::int32_t>(end), row});
      }
    }
    for (std::int32_t node : found.nodes)
      child_of_relation_[plan_.trie.nodes[node].relation] = -1;

    found.group();
    for (std::size_t child = 0; child < found.nodes.size(); ++child) {
      const auto rows = found.rows_of(child);
      steps_.take();
      if (!rows.empty())
        walk_to(found.nodes[child], KnownEnds(rows));
    }
  }

  bool is_of_use(std::int32_t node) const {
    if (has_selection_)
      return leads_to_selected_[node] == epoch_;
    return have_common_bits(plan_.below[node], signature_);
  }

  // Take the step that leads to a node, and everything below it.
  void walk_to(std::int32_t node, const KnownEnds& known) {
    const Trie::Node& at = plan_.trie.nodes[node];
    const int before = at.length - 1;
    const Frontier& from = frontiers_[before];
    const Edges& edges = graph_.edges(at.relation);
    if (plan_.has_widths() && !check_width(node, edges, from, known))
      return;

    // If the step is too wide for every pair that goes on from here, it is a last step.
    const bool is_too_wide_to_go_on =
        plan_.has_widths() && width_[at.length] > plan_.allowed_onwards[node];
    const int ahead = is_too_wide_to_go_on ? 0 : at.ahead;

    Frontier& into = frontiers_[at.length];
    if (ahead > 0) {
      Stamps& stamps = stamps_at(at.length);
      step(edges, entity_, from, known, before, ahead, stamps, into, steps_);
      add(node, ListedEnds{into.ends, stamps, entity_});
      if (!into.ends.empty())
        walk_below(node);
    } else if (backwards_ != nullptr || has_far_fewer_ends(at.relation, from, known)) {
      into.clear();
      last_step(edges, entity_, from, known, ends_seen_, steps_,
                [&](Id end) { into.ends.push_back(end); });
      add(node, ListedEnds{into.ends, ends_seen_, entity_});
    } else {
      last_step_.count();
      add(node, CountedEnds{last_step_});
    }
  }

  // Whether a last step has far fewer ends than the entity has answers. Then ends are listed and
  // looked up among the answers; else they are only counted, and answers are looked up among them.
  bool has_far_fewer_ends(Id relation, const Frontier& from, const KnownEnds& known) {
    return last_step_.look(entity_, relation, from, known) + 64 < most_answers_;
  }

  // Find how wide a step is, and skip the entity for all pairs for which this is the first step
  // that is too wide. Returns whether it is narrow enough for any pair.
  bool check_width(std::int32_t node, const Edges& edges, const Frontier& from,
                   const KnownEnds& known) {
    const int length = plan_.trie.nodes[node].length;
    Count width = 0;
    each_end(edges, from, known, steps_, [&](std::size_t, std::size_t row) {
      width += static_cast<Count>(edges.row(row).size());
    });
    width_[length] = width;
    widest_so_far_[length] = std::max(widest_so_far_[length - 1], width);
    if (width <= plan_.least_allowed[node])
      return true;

    const auto pairs = plan_.pairs_at_or_below(node);
    steps_.take(std::ssize(pairs));
    for (const ReachPlan::PairAt& at : pairs) {
      const auto [pair, relation, both_ways] = at;
      const bool is_wide_enough = plan_.allowed_width(pair, node) >= width;
      const bool was_skipped_before = plan_.widest[pair] < widest_so_far_[length - 1];
      if (!counts(pair, relation) || is_wide_enough || was_skipped_before)
        continue;
      sums_[plan_.place(at)].forwards.reached += width;  // as if it had reached as many ends
      ++skipped_[plan_.place(at)];
    }
    return width <= plan_.most_allowed[node];
  }

  // Whether no step to this node, where the pair ends, was too wide for it.
  bool is_narrow_enough(std::int32_t pair, std::int32_t node) const {
    const int length = plan_.trie.nodes[node].length;
    return plan_.widest[pair] >= widest_so_far_[length - 1] &&
           plan_.allowed_width(pair, node) >= width_[length];
  }

  // Whether the entity has the relation of the pair, and the pair is selected for it.
  bool counts(std::int32_t pair, Id relation) const {
    if (answers_[relation].empty())
      return false;
    return !has_selection_ || is_selected_[pair] == epoch_;
  }

  // The ends of a step as a list.
  struct ListedEnds {
    Ids ends;
    const Marks& marks;
    Id start;

    Count count() const { return std::ssize(ends); }
    bool has(Id entity) const { return entity != start && marks.has(entity); }
    Count among(const Edges& others, Id, LastStepCounter::Question&) const {
      Count found = 0;
      for (Id end : ends)
        found += others.row_of(end) != others.heads.size();
      return found;
    }
    Count cost_of_among() const { return count(); }
  };

  // The ends of a last step, which were only counted.
  struct CountedEnds {
    LastStepCounter& last_step;

    Count count() const { return last_step.ends(); }
    bool has(Id entity) const { return last_step.reaches(entity); }
    Count among(const Edges& others, Id relation, LastStepCounter::Question& question) const {
      return last_step.ends_among(others, relation, question);
    }
    Count cost_of_among() const { return last_step.cost_of_among(); }
  };

  // Add what was found at a node to every pair that ends there.
  template <class Ends>
  void add(std::int32_t node, const Ends& ends) {
    if (ends.count() == 0)
      return;
    if constexpr (std::is_same_v<Ends, ListedEnds>)
      if (backwards_ != nullptr)
        return add_starts(node, ends.ends);
    for (const ReachPlan::PairAt& at : plan_.pairs_at(node)) {
      const auto [pair, relation, both_ways] = at;
      const bool is_counted =
          counts(pair, relation) && (!plan_.has_widths() || is_narrow_enough(pair, node));
      if (!is_counted && !both_ways)
        continue;
      const std::size_t place = plan_.place(at);
      const Edges& askers = graph_.edges(inverse(relation));
      const Count with_askers = ends_with_askers(relation, askers, ends, question_at(place));
      if (!is_counted) {
        sums_[place].add_inverse(with_askers, 0, {});
        continue;
      }
      const RightEnds right = right_ends(answers_[relation], askers, ends);
      sums_[place].add_forwards(ends.count(), with_askers, right);
      if (both_ways)
        sums_[place].add_inverse(with_askers, with_askers, right);
    }
  }

  // What is remembered of a pair; without bitsets there is nothing to remember, and one serves all.
  LastStepCounter::Question& question_at(std::size_t place) {
    return questions_.size() == 1 ? questions_[0] : questions_[place];
  }

  template <class Ends>
  RightEnds right_ends(Ids answers, const Edges& askers, const Ends& ends) {
    RightEnds right;
    const auto add_right = [&](Id answer) {
      ++right.all;
      right.of_one_answer += answers.size() == 1;
      right.open += askers.of(answer).size() == 1;
    };
    steps_.take(std::ssize(answers));
    if constexpr (std::is_same_v<Ends, ListedEnds>) {
      if (ends.ends.size() < answers.size()) {
        for (Id end : ends.ends)
          if (is_any_answer(end) && std::binary_search(answers.begin(), answers.end(), end))
            add_right(end);
        return right;
      }
    }
    for (Id answer : answers)
      if (ends.has(answer))
        add_right(answer);
    return right;
  }

  // Whether an entity is an answer of the entity at hand, to any relation.
  bool is_any_answer(Id entity) {
    if (all_answers_.members().empty())
      for (Id relation : answered_)
        for (Id answer : answers_[relation])
          all_answers_.insert(answer);
    return all_answers_.has(entity);
  }

  // How many ends are the answer of any entity. Either all ends are looked at, or all answers.
  template <class Ends>
  Count ends_with_askers(Id relation, const Edges& askers, const Ends& ends,
                         LastStepCounter::Question& question) {
    const Count cost = ends.cost_of_among();
    if (cost <= std::ssize(askers.heads)) {
      steps_.take(cost / ends_per_step);
      return ends.among(askers, relation, question);
    }
    steps_.take(std::ssize(askers.heads) / ends_per_step);
    Count found = 0;
    for (Id answer : askers.heads)
      found += ends.has(answer);
    return found;
  }

  // Walking backwards: the entity is an end, and paths to it begin at `starts`.
  void add_starts(std::int32_t node, Ids starts) {
    const Ids askers = graph_.tails(entity_, inverse(backwards_->relation));
    const auto excluded = backwards_->excluded;
    for (const ReachPlan::PairAt& at : plan_.pairs_at(node)) {
      const std::int32_t pair = at.pair;
      if (is_selected_[pair] != epoch_)
        continue;
      Sums& sums = sums_[plan_.place(at)].forwards;
      steps_.take(std::ssize(starts));
      for (Id start : starts) {
        if (is_start_[start] == IsStart::no)
          continue;
        if (is_start_[start] == IsStart::unless_excluded &&
            std::binary_search(excluded.begin(), excluded.end(), Endpoint{start, pair}))
          continue;
        const bool is_right = std::binary_search(askers.begin(), askers.end(), start);
        const bool is_open = std::ssize(askers) - is_right == 0;
        sums += {1, is_right, is_open, is_right && is_open};
      }
    }
  }

  static constexpr Count ends_per_step = 4;  // a lookup in an index takes a quarter of a step

  const Graph& graph_;
  const ReachPlan& plan_;
  const Ids asked_;  // the relations of the pairs, each once
  const Backwards* backwards_;
  const EntityRows* const rows_;  // null if an entity is looked up in each relation

  Stamps& stamps_at(int length) { return stamps_[static_cast<std::size_t>(length) - 1]; }

  // By length of the path so far.
  std::vector<Frontier> frontiers_;
  std::vector<Stamps> stamps_;  // from one step on, where paths go on
  std::vector<Departures> departures_;
  std::array<Count, longest_path + 1> width_{};          // edges of the step
  std::array<Count, longest_path + 1> widest_so_far_{};  // of this step and all before it

  std::vector<std::int32_t> child_of_relation_;  // all -1 but while children are found

  // The entity at hand.
  Id entity_ = -1;
  std::vector<Ids> answers_;           // by relation
  std::vector<Id> answered_;           // the relations that it has
  ListedSet all_answers_;              // to any of them; empty until it is first needed
  Signature signature_ = of_everyone;  // of these relations
  std::size_t most_answers_ = 0;       // of one of them

  // The selection at hand: pairs and nodes stamped with the current epoch.
  bool has_selection_ = false;
  std::uint32_t epoch_ = 0;
  std::vector<std::uint32_t> is_selected_;
  std::vector<std::uint32_t> leads_to_selected_;

  // By entity, only when walking backwards: whether it has the relation, and
  // whether it is among the excluded.
  enum class IsStart : char { no, unless_excluded, yes };
  std::vector<IsStart> is_start_;
  Marks ends_seen_;  // after a last step
  LastStepCounter last_step_;
  Steps steps_;

  // By the place of each pair when they are ordered by node.
  std::vector<PairSums> sums_;
  std::vector<LastStepCounter::Question> questions_;  // or a single one
  std::vector<Count> skipped_;                        // empty if the plan has no widths
};

// The relations of the pairs, each once.
std::vector<Id> asked_relations(const ReachPlan& plan) {
  std::vector<Id> asked;
  for (const RelationPathType& pair : plan.pairs)
    asked.push_back(pair.relation);
  std::sort(asked.begin(), asked.end());
  asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
  return asked;
}

// Whether it pays to gather the rows of all entities: if there is much to count, and of more than a
// few relations.
bool gathering_pays(const Graph& graph, Ids entities, const ReachPlan& plan, Ids asked) {
  constexpr std::size_t few_relations = 8;  // looked up in the time of reading all rows
  if (asked.size() <= few_relations)
    return false;
  std::size_t edges = 0;
  for (const auto& of_relation : graph.relations)
    edges += of_relation->tails.size();
  return plan.pairs.size() * entities.size() >= edges;
}

// What will be asked of the bitsets: the last relation of each path type, and its query relation.
std::vector<AllTailBitsets::Question> questions_of(const ReachPlan& plan) {
  std::vector<AllTailBitsets::Question> questions;
  for (std::size_t pair = 0; pair < plan.pairs.size(); ++pair) {
    const Id last = plan.trie.nodes[plan.trie.node_of_type[pair]].relation;
    questions.push_back({last, plan.pairs[pair].relation});
  }
  return questions;
}

// From fewer, following paths from one after the other takes less than preparing anything.
constexpr std::size_t many_entities = 32;

// counts_all  whether all pairs count for all entities
Shared shared_by_counters(const Graph& graph, Ids entities, const ReachPlan& plan, bool counts_all,
                          Progress& progress) {
  Shared shared;
  shared.asked = asked_relations(plan);
  if (!counts_all)
    return shared;
  Steps steps(progress);
  if (gathering_pays(graph, entities, plan, shared.asked))
    shared.rows.emplace(graph, steps);
  if (entities.size() >= many_entities)
    shared.bitsets.emplace(graph, questions_of(plan));
  return shared;
}

// By pair of the plan.
struct Counted {
  explicit Counted(std::size_t pairs) : sums(pairs), skipped(pairs) {}

  std::vector<PairSums> sums;
  std::vector<Count> skipped;
};

// selected  which pairs count for which entity; null if all do
// reported  how many entities to report as done, when all are
Counted sums_over(const Graph& graph, Ids entities, const ReachPlan& plan,
                  const Selection* selected, const Backwards* backwards, int max_length,
                  Count reported, int threads, Progress& progress) {
  Shared shared = shared_by_counters(graph, entities, plan, selected == nullptr, progress);

  // Entities differ in cost by orders of magnitude, so a chunk has only a few of them.
  const Chunks chunks(entities.size(), 8);
  std::deque<ReachCounter> counters;  // made in place: each has arrays of all entities
  while (counters.size() < chunks.workers(threads))
    counters.emplace_back(graph, plan, max_length, shared, backwards, progress);
  chunks.each(threads, progress, [&](std::size_t thread, std::size_t begin, std::size_t end) {
    for (std::size_t place = begin; place < end; ++place) {
      if (selected == nullptr)
        counters[thread].count_all(entities[place]);
      else
        counters[thread].count_selected(entities[place], selected->of(place));
    }
    const auto share = [&](std::size_t done) {
      return reported * static_cast<Count>(done) / std::ssize(entities);
    };
    progress.done(share(end) - share(begin));
  });

  Counted total(plan.pairs.size());
  for (const ReachCounter& counter : counters)
    counter.add_sums_to(total.sums, total.skipped);
  return total;
}

// Some of the pairs that are walked, and where their sums belong.
struct Part {
  std::vector<RelationPathType> pairs;
  std::vector<Count> widest;  // empty if there are no widths
  std::vector<std::size_t> places;
  std::vector<std::size_t> inverse_places;  // of those counted both ways

  bool has_pairs() const { return !pairs.empty(); }

  void put(const std::vector<PairSums>& sums, Reach& total) const {
    for (std::size_t at = 0; at < pairs.size(); ++at) {
      total.sums[places[at]] = sums[at].forwards;
      if (pairs[at].both_ways)
        total.sums[inverse_places[at]] = sums[at].inverse;
    }
  }
};

// The pairs that are walked, by the method they are counted with.
using Parts = std::array<Part, 3>;

Part& of(Parts& parts, Method method) {
  return parts[static_cast<std::size_t>(method)];
}

Parts parts_of(const Graph& graph, Ids entities, std::span<const RelationPathType> pairs,
               std::span<const Way> ways, std::span<const Count> widest,
               std::optional<Method> method, int max_length, int threads, Progress& progress) {
  const WalkedPairs walked(pairs, ways, max_length, progress);
  std::vector<Method> methods(walked.pairs.size(), method.value_or(Method::alone));
  if (!method && entities.size() >= many_entities) {
    const std::vector<Count> widths = walked.of_walked(widest);
    methods = best_methods(graph, entities, walked.pairs, widths, max_length, threads, progress,
                           SingleRow::known_length);
    const std::vector<char> is_by_hub =
        better_by_hub(graph, entities, walked.pairs, widths, max_length);
    for (std::size_t at = 0; at < methods.size(); ++at)
      if (methods[at] == Method::alone && is_by_hub[at])
        methods[at] = Method::by_hub;
  }

  Parts parts;
  for (std::size_t at = 0; at < walked.pairs.size(); ++at) {
    Part& part = of(parts, methods[at]);
    part.pairs.push_back(walked.pairs[at]);
    part.places.push_back(walked.places[at]);
    part.inverse_places.push_back(walked.inverse_places[at]);
    if (!widest.empty())
      part.widest.push_back(widest[walked.places[at]]);
  }
  return parts;
}

// The distinct entities of endpoints, and the places of path types of each.
struct ByEntity {
  explicit ByEntity(std::span<const Endpoint> endpoints) {
    for (const Endpoint& endpoint : endpoints) {
      if (entities.empty() || entities.back() != endpoint.entity) {
        entities.push_back(endpoint.entity);
        offsets.push_back(std::ssize(places));
      }
      places.push_back(endpoint.place);
    }
    offsets.push_back(std::ssize(places));
  }
  // Which pairs count for which entity.
  Selection selection() const { return {offsets, places}; }

  std::vector<Id> entities;
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> places;
};

}  // namespace

Reach reach(const Graph& graph, Ids entities, std::span<const RelationPathType> pairs,
            std::span<const Way> ways, std::span<const Count> widest, std::optional<Method> method,
            int max_length, int threads, Progress& progress) {
  Parts parts =
      parts_of(graph, entities, pairs, ways, widest, method, max_length, threads, progress);

  // Each part that has pairs reports as many entities as any other.
  Count left = std::ssize(entities);
  Count parts_left =
      std::ranges::count_if(parts, [](const Part& part) { return part.has_pairs(); });
  const auto share_of_next = [&] {
    const Count share = left / parts_left--;
    left -= share;
    return share;
  };

  Steps steps(progress);
  Reach total{std::vector<Sums>(pairs.size()), std::vector<Count>(pairs.size())};
  const Part& together = of(parts, Method::together);
  if (together.has_pairs())
    together.put(reach_together(graph, entities, together.pairs, max_length, share_of_next(),
                                threads, progress),
                 total);
  const Part& by_hub = of(parts, Method::by_hub);
  if (by_hub.has_pairs()) {
    std::vector<PathType> types;
    for (const RelationPathType& pair : by_hub.pairs)
      types.push_back(pair.type);
    by_hub.put(reach_by_hub(graph, entities, by_hub.pairs[0].relation, types, max_length,
                            share_of_next(), threads, progress),
               total);
  }
  const Part& alone = of(parts, Method::alone);
  if (alone.has_pairs()) {
    const ReachPlan plan(alone.pairs, alone.widest, max_length, steps);
    const Counted counted = sums_over(graph, entities, plan, nullptr, nullptr, max_length,
                                      share_of_next(), threads, progress);
    alone.put(counted.sums, total);
    for (std::size_t at = 0; at < alone.places.size(); ++at)
      total.skipped[alone.places[at]] = counted.skipped[at];
  }
  return total;
}

bool can_count(Method method, std::span<const RelationPathType> pairs, std::span<const Way> ways,
               std::span<const Count> widest, int max_length) {
  if (method == Method::alone)
    return true;
  const Packing packing(max_length);
  const int longest = method == Method::together ? longest_together : longest_by_hub;
  const bool are_short = std::ranges::all_of(
      pairs, [&](const RelationPathType& pair) { return packing.length(pair.type) <= longest; });
  const bool are_of_one_relation = std::ranges::all_of(
      pairs, [&](const RelationPathType& pair) { return pair.relation == pairs[0].relation; });
  const bool is_any = method == Method::together || (are_of_one_relation && ways.empty());
  return are_short && is_any && widest.empty();
}

std::vector<Sums> reach_around(const Graph& graph, Id relation, std::span<const PathType> types,
                               std::span<const Endpoint> starts, std::span<const Endpoint> ends,
                               int max_length, int threads, Progress& progress) {
  std::vector<Sums> total(types.size());
  const Packing packing(max_length);
  Steps steps(progress);
  const auto count = [&](std::span<const Endpoint> endpoints, const Backwards* from_ends) {
    if (endpoints.empty())
      return;
    std::vector<RelationPathType> pairs;
    for (PathType type : types)
      pairs.push_back({relation, from_ends == nullptr ? type : backwards(type, packing)});
    const ByEntity by_entity(endpoints);
    const ReachPlan plan(pairs, {}, max_length, steps);
    const Selection selected = by_entity.selection();
    const Counted counted =
        sums_over(graph, by_entity.entities, plan, &selected, from_ends, max_length,
                  std::ssize(by_entity.entities), threads, progress);
    for (std::size_t at = 0; at < total.size(); ++at)
      total[at] += counted.sums[at].forwards;
  };
  count(starts, nullptr);
  const Backwards from_ends{relation, starts};
  count(ends, &from_ends);
  return total;
}

}  // namespace casegraph
