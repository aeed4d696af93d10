#include "counting/reach_by_hub.hpp"

#include "common/fetch.hpp"
#include "common/radix_sort.hpp"
#include "common/unset_vector.hpp"
#include "counting/tail_bitsets.hpp"

namespace casegraph {
namespace {

// The query relation of all pairs.
struct Asked {
  Asked(const Graph& graph, Id relation_)
      : relation(relation_),
        answers(graph.edges(relation)),
        askers(graph.edges(inverse(relation))) {}

  const Id relation;
  const Edges& answers;
  const Edges& askers;
};

// The steps of a path type.
struct TwoSteps {
  TwoSteps(const Graph& graph, PathType type, const Packing& packing)
      : last(packing.relation(type, packing.length(type) - 1)),
        last_edges(graph.edges(last)),
        first_edges(packing.length(type) == 1 ? nullptr : &graph.edges(packing.relation(type, 0))) {
  }

  const Id last;
  const Edges& last_edges;
  const Edges* const first_edges;  // null if the last step is the only one
};

// Counts one path type after the other from some of the starts.
//
// What has to be looked up lies anywhere in memory. So it is looked up in long loops, for many
// starts, which ask for it some places ahead.
class alignas(own_lines) HubCounter {
 public:
  HubCounter(const Graph& graph, const Asked& asked, AllTailBitsets& bitsets, Progress& progress)
      : graph_(graph), asked_(asked), all_bitsets_(bitsets), steps_(progress) {}

  // Count from some of the entities: every k-th block of them, from the first-th block on.
  PairSums count(const TwoSteps& path, Ids entities, std::size_t first, std::size_t k) {
    sums_ = {};
    last_edges_ = &path.last_edges;
    find_starts(path, entities, first, k);
    if (starts_.empty())
      return sums_;
    tails_ = &all_bitsets_.of(path.last, steps_);
    has_askers_ = all_bitsets_.tails_among(path.last, asked_.relation, asked_.askers, steps_);
    find_rows();
    find_numbers();

    by_hub_.clear();
    for (std::size_t place = 0; place < starts_.size(); ++place)
      if (choose_hub(starts_[place]))
        by_hub_.push_back({starts_[place].hub.begin, static_cast<std::uint32_t>(place)});
    sort_by(by_hub_, buffer_, steps_,
            [](const Place& place) { return static_cast<std::uint64_t>(place.hub); });

    reached_.reset(tails_->size());
    hub_numbers_.clear();
    for (std::size_t at = 0; at < by_hub_.size(); ++at) {
      if (at + ahead < by_hub_.size())
        fetch_rows(starts_[by_hub_[at + ahead].start]);
      const Start& start = starts_[by_hub_[at].start];
      if (at == 0 || by_hub_[at].hub != by_hub_[at - 1].hub)
        put_hub(start.hub);
      count_start(start);
    }
    return sums_;
  }

  static constexpr std::size_t block = 16;  // of entities that lie side by side

 private:
  static constexpr std::size_t ahead = 16;

  // The edges of an entity in the last step: a part of all its tails.
  struct Row {
    Id head;
    Id begin;
    Id size;
  };

  // An entity that paths begin at. Its rows and answers are parts of those of all starts.
  struct Start {
    Id entity;
    Row hub;          // the widest row
    std::size_t own;  // its number among the tails of the last step, which is no end
    std::size_t first_row;
    std::size_t after_rows;
    std::size_t first_answer;
    std::size_t after_answers;
    std::size_t other_edges;  // of all rows but the hub's
  };

  struct Place {
    Id hub;  // where its row begins
    std::uint32_t start;
  };

  // A number of ends, and how many of them have askers.
  struct Ends {
    Count all = 0;
    Count with_askers = 0;
  };

  // Find the starts, the entities between that the first step leads to, and the answers.
  void find_starts(const TwoSteps& path, Ids entities, std::size_t first, std::size_t k) {
    starts_.clear();
    rows_.clear();
    answers_.clear();
    for (std::size_t from = first * block; from < entities.size(); from += k * block) {
      const std::size_t end = std::min(entities.size(), from + block);
      for (std::size_t at = from; at < end; ++at)
        find_start(path, entities[at]);
    }
  }

  void find_start(const TwoSteps& path, Id entity) {
    steps_.take();
    if (entity >= graph_.entities)
      return;  // it came after this state of the graph
    const Ids answers = asked_.answers.of(entity);
    if (answers.empty())
      return;
    const Id only[] = {entity};
    const Ids between = path.first_edges == nullptr ? Ids(only) : path.first_edges->of(entity);
    if (between.empty())
      return;
    steps_.take(std::ssize(between) + std::ssize(answers));
    Start start{entity, {}, 0, rows_.size(), 0, answers_.size(), 0, 0};
    for (Id middle : between)
      if (middle != entity || path.first_edges == nullptr)
        rows_.push_back({middle, 0, 0});
    answers_.insert(answers_.end(), answers.begin(), answers.end());
    start.after_rows = rows_.size();
    start.after_answers = answers_.size();
    starts_.push_back(start);
  }

  // Look up where the rows of the entities between begin; they are empty if there are none.
  void find_rows() {
    for (std::size_t at = 0; at < rows_.size(); ++at) {
      steps_.take();
      if (at + ahead < rows_.size())
        last_edges_->fetch_row_of(rows_[at + ahead].head);
      rows_[at].begin = static_cast<Id>(last_edges_->row_of(rows_[at].head));
    }
    const auto no_row = static_cast<Id>(last_edges_->heads.size());
    const Id* const offsets = last_edges_->offsets.data();
    for (std::size_t at = 0; at < rows_.size(); ++at) {
      steps_.take();
      if (at + ahead < rows_.size())
        fetch(offsets + rows_[at + ahead].begin);
      const Id row = rows_[at].begin;
      if (row == no_row)
        continue;
      rows_[at].begin = offsets[row];
      rows_[at].size = offsets[row + 1] - offsets[row];
    }
  }

  // Find the numbers of starts among the tails of the last step, and replace answers by theirs.
  void find_numbers() {
    for (Start& start : starts_) {
      steps_.take();
      start.own = tails_->number(start.entity);
    }
    for (std::size_t at = 0; at < answers_.size(); ++at) {
      steps_.take();
      if (at + ahead < answers_.size())
        tails_->fetch_number(answers_[at + ahead]);
      answers_[at] = static_cast<Id>(tails_->number(answers_[at]));
    }
  }

  // Returns whether there is any row.
  bool choose_hub(Start& start) {
    steps_.take(std::ssize(rows_of(start)));
    std::size_t edges = 0;
    for (const Row& row : rows_of(start)) {
      edges += static_cast<std::size_t>(row.size);
      if (row.size > start.hub.size)
        start.hub = row;
    }
    start.other_edges = edges - static_cast<std::size_t>(start.hub.size);
    return edges > 0;
  }

  std::span<const Row> rows_of(const Start& start) const {
    return std::span(rows_).subspan(start.first_row, start.after_rows - start.first_row);
  }
  std::span<const Id> answers_of(const Start& start) const {
    return std::span(answers_).subspan(start.first_answer,
                                       start.after_answers - start.first_answer);
  }

  Ids tails_of(const Row& row) const {
    return last_edges_->tails.subspan(static_cast<std::size_t>(row.begin),
                                      static_cast<std::size_t>(row.size));
  }

  // Ask for the first few rows of a start.
  void fetch_rows(const Start& start) const {
    constexpr std::size_t few = 8;
    const auto rows = rows_of(start);
    for (std::size_t at = 0; at < std::min(few, rows.size()); ++at)
      fetch(tails_->numbers(tails_of(rows[at])).data());
  }

  // Begin with the starts of a hub.
  void put_hub(const Row& hub) {
    take_out(hub_numbers_);
    const Ids tails = tails_of(hub);
    const Ids numbers = tails_->numbers(tails);
    steps_.take(std::ssize(tails));
    hub_numbers_.clear();
    hub_ends_ = {};
    for (std::size_t at = 0; at < tails.size(); ++at) {
      if (tails[at] == hub.head)
        continue;
      const auto number = static_cast<std::size_t>(numbers[at]);
      reached_.put(number);
      hub_numbers_.push_back(numbers[at]);
      hub_ends_.with_askers += has_askers(number);
    }
    hub_ends_.all = std::ssize(hub_numbers_);
  }

  void put_only_hub() {
    reached_.reset(tails_->size());
    for (Id number : hub_numbers_)
      reached_.put(static_cast<std::size_t>(number));
  }

  void count_start(const Start& start) {
    steps_.take(1 + std::ssize(answers_of(start)));
    const bool is_wide = start.other_edges > reached_.words();
    const Ends ends = is_wide ? ends_of_wide(start) : ends_of_narrow(start);
    RightEnds right;
    for (Id answer : answers_of(start)) {
      const auto number = static_cast<std::size_t>(answer);
      if (number == start.own || number == tails_->size() || !reached_.has(number))
        continue;
      ++right.all;
      right.open += asked_.askers.of(tails_->tail(number)).size() == 1;
    }
    sums_.add_forwards(ends.all, ends.with_askers, right);

    if (is_wide)
      put_only_hub();
    else
      take_out(added_);
  }

  // Put all ends into `reached_`, and those that the hub does not have into `added_`; the start,
  // too.
  Ends ends_of_narrow(const Start& start) {
    Ends ends = hub_ends_;
    added_.resize(start.other_edges + 1);
    std::size_t added = 0;
    const bool is_tail = start.own != tails_->size();
    if (is_tail && !reached_.insert(start.own)) {
      --ends.all;
      ends.with_askers -= has_askers(start.own);
    } else if (is_tail) {
      added_[added++] = static_cast<Id>(start.own);
    }
    const std::size_t before = added;
    each_other_end(start, [&](Id number) {
      // Each is written down, and the next overwrites it if it is not new: no branch to guess.
      added_[added] = number;
      added += reached_.insert(static_cast<std::size_t>(number));
    });
    added_.resize(added);
    ends.all += static_cast<Count>(added - before);
    for (std::size_t at = before; at < added; ++at)
      ends.with_askers += has_askers(static_cast<std::size_t>(added_[at]));
    return ends;
  }

  // Put all ends into `reached_`, and the start itself.
  Ends ends_of_wide(const Start& start) {
    each_other_end(start, [&](Id number) { reached_.put(static_cast<std::size_t>(number)); });
    if (start.own == tails_->size())
      return {reached_.count(), reached_.count_common(has_askers_)};
    reached_.put(start.own);
    return {reached_.count() - 1, reached_.count_common(has_askers_) - has_askers(start.own)};
  }

  // Call `use(number)` for every tail that a path leads to by another row than that of the hub.
  template <class Use>
  void each_other_end(const Start& start, const Use& use) {
    constexpr Id many = 64;  // a step was taken for each row already
    for (const Row& row : rows_of(start)) {
      if (row.size == 0 || row.begin == start.hub.begin)
        continue;
      if (row.size >= many)
        steps_.take(row.size);
      const Ids tails = tails_of(row);
      const Ids numbers = tails_->numbers(tails);
      if (tails_->has_loops() && std::binary_search(tails.begin(), tails.end(), row.head)) {
        for (std::size_t at = 0; at < tails.size(); ++at)
          if (tails[at] != row.head)
            use(numbers[at]);
        continue;
      }
      for (Id number : numbers)
        use(number);
    }
  }

  template <class Numbers>
  void take_out(const Numbers& numbers) {
    for (Id number : numbers)
      reached_.erase(static_cast<std::size_t>(number));
  }

  bool has_askers(std::size_t number) const {
    return has_askers_[number >> 6] >> (number & 63) & 1;
  }

  const Graph& graph_;
  const Asked& asked_;
  AllTailBitsets& all_bitsets_;
  Steps steps_;

  // The path type at hand.
  const Edges* last_edges_ = nullptr;
  const TailBitsets* tails_ = nullptr;
  std::span<const std::uint64_t> has_askers_;  // tails of the last step, by number
  std::vector<Start> starts_;
  std::vector<Row> rows_;
  std::vector<Id> answers_;
  std::vector<Place> by_hub_;
  std::vector<Place> buffer_;
  PairSums sums_;

  // The hub at hand: its ends, by number.
  std::vector<Id> hub_numbers_;
  Ends hub_ends_;

  Bits reached_;           // between two starts, the ends of the hub
  UnsetVector<Id> added_;  // by the start at hand, unless it is wide
};

}  // namespace

std::vector<char> better_by_hub(const Graph& graph, Ids entities,
                                std::span<const RelationPathType> pairs,
                                std::span<const Count> widest, int max_length) {
  std::vector<char> is_better(pairs.size());
  const auto is_other = [&](const RelationPathType& pair) {
    return pair.relation != pairs[0].relation || pair.both_ways;
  };
  if (pairs.empty() || std::ranges::any_of(pairs, is_other))
    return is_better;
  const Packing packing(max_length);
  for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
    const bool is_limited = !widest.empty() && widest[pair] != INT64_MAX;
    if (is_limited || packing.length(pairs[pair].type) > longest_by_hub)
      continue;
    // Numbering looks at all edges of the last relation. As many are walked if each of its heads is
    // visited once.
    const TwoSteps path(graph, pairs[pair].type, packing);
    std::size_t visits = entities.size();
    if (path.first_edges != nullptr && !path.first_edges->heads.empty())
      visits = std::min(visits, path.first_edges->heads.size()) * path.first_edges->tails.size() /
               path.first_edges->heads.size();
    is_better[pair] = visits >= path.last_edges.heads.size();
  }
  return is_better;
}

std::vector<PairSums> reach_by_hub(const Graph& graph, Ids entities, Id relation,
                                   std::span<const PathType> types, int max_length, Count reported,
                                   int threads, Progress& progress) {
  const Asked asked(graph, relation);
  const Packing packing(max_length);
  std::vector<TwoSteps> paths;
  std::vector<AllTailBitsets::Question> questions;
  for (PathType type : types) {
    paths.emplace_back(graph, type, packing);
    questions.push_back({paths.back().last, relation});
  }
  AllTailBitsets bitsets(graph, std::move(questions));

  // Starts with many edges come first, as a rule. So a task takes every k-th block of starts: all
  // tasks of a path type are alike. Each has enough starts to share hubs.
  constexpr std::size_t starts_a_task = 1 << 14;
  const std::size_t k = (entities.size() + starts_a_task - 1) / starts_a_task;
  const std::size_t tasks = paths.size() * k;
  const auto workers = static_cast<std::size_t>(useful_threads(threads, tasks));
  std::vector<HubCounter> counters(workers, HubCounter(graph, asked, bitsets, progress));
  std::vector<PairSums> sums(tasks);
  parallel(threads, tasks, progress, [&](int thread, std::size_t task) {
    sums[task] =
        counters[static_cast<std::size_t>(thread)].count(paths[task / k], entities, task % k, k);
    const auto share = [&](std::size_t done) {
      return reported * static_cast<Count>(done) / static_cast<Count>(tasks);
    };
    progress.done(share(task + 1) - share(task));
  });

  std::vector<PairSums> total(types.size());
  for (std::size_t task = 0; task < tasks; ++task)
    total[task / k] += sums[task];
  return total;
}

}  // namespace casegraph
