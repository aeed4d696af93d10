#include "counting/relation_hits.hpp"

#include <atomic>

#include "common/parallel.hpp"
#include "counting/closed_path_counter.hpp"

namespace casegraph {
namespace {

using Counter = meeting::ClosedPathCounter<meeting::GatheredEdges, meeting::NoteNothing>;

// The same paths walked from their ends to their starts.
PathType turned(PathType type, const Packing& packing) {
  const int length = packing.length(type);
  PathType back = 0;
  for (int step = 0; step < length; ++step)
    back |= packing.step(inverse(packing.relation(type, step)), length - 1 - step);
  return back;
}

// The paths that all threads have found, and whether these are more than the limit. It is asked
// now and then: an atomic addition takes longer than many a search.
class PathBudget {
 public:
  explicit PathBudget(const PathLimit& limit) : limit_(limit) {}

  bool is_exceeded() const { return is_exceeded_.load(std::memory_order_relaxed); }

  void report(Count more_paths, std::size_t kinds) {
    const bool has_too_many_paths = (paths_ += more_paths) > limit_.paths;
    const bool has_too_many_kinds = static_cast<Count>(kinds) > limit_.kinds;
    if (has_too_many_paths || has_too_many_kinds)
      is_exceeded_ = true;
  }

 private:
  const PathLimit limit_;
  std::atomic<Count> paths_{0};
  std::atomic<bool> is_exceeded_{false};
};

// Counts the edges of one direction of the relation that belong to their heads.
class OwnEdges {
 public:
  OwnEdges(const Graph& graph, Id direction, std::span<const Count> weights)
      : edges_(graph.edges(direction)), direction_(direction), weights_(weights) {}

  std::size_t rows() const { return edges_.heads.size(); }

  void count(std::size_t row, Counter& counter, PathBudget& budget) const {
    const Id head = edges_.heads[row];
    bool has_started = false;
    Count reported = counter.paths;
    for (Id tail : edges_.row(row)) {
      if (!belongs_to(head, tail))
        continue;
      if (budget.is_exceeded())
        break;
      if (!has_started)
        counter.start_from(head);
      has_started = true;
      counter.count_answer(direction_, tail);
      constexpr Count many = 1 << 12;
      if (counter.paths - reported < many)
        continue;
      budget.report(counter.paths - reported, counter.kinds(direction_));
      reported = counter.paths;
    }
    if (has_started)
      counter.leave();
    budget.report(counter.paths - reported, counter.kinds(direction_));
  }

 private:
  bool belongs_to(Id head, Id tail) const {
    return std::pair(weights_[tail], tail) < std::pair(weights_[head], head);
  }

  const Edges& edges_;
  const Id direction_;
  const std::span<const Count> weights_;
};

}  // namespace

RelationHits relation_hits(const Graph& graph, Id relation, std::span<const Count> weights,
                           int max_length, int longest, const PathLimit& limit, int threads,
                           Progress& progress) {
  if (longest == 0)
    return {};
  const OwnEdges out(graph, relation, weights);
  const OwnEdges back(graph, inverse(relation), weights);
  const Chunks chunks(out.rows() + back.rows(), 16);
  const std::vector<bool> all_relations;
  PathBudget budget(limit);
  std::vector<Counter> counters(chunks.workers(threads),
                                Counter(graph, all_relations, max_length, longest, {}, progress));
  chunks.each(threads, progress, [&](std::size_t thread, std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end && !budget.is_exceeded(); ++row) {
      if (row < out.rows())
        out.count(row, counters[thread], budget);
      else
        back.count(row - out.rows(), counters[thread], budget);
    }
    progress.done(static_cast<std::int64_t>(end - begin));
  });

  RelationHits counted;
  const Packing packing(max_length);
  Steps steps(progress);
  for (Counter& counter : counters) {
    counter.flush();
    for (const Hits& row : counter.rows) {
      steps.take();
      const PathType type = row.relation == relation ? row.type : turned(row.type, packing);
      counted.rows.push_back({-1, relation, type, row.hits});
    }
    std::vector<Hits>().swap(counter.rows);
  }
  counted.rows = merged(std::move(counted.rows), steps);
  counted.is_exceeded =
      budget.is_exceeded() || static_cast<Count>(counted.rows.size()) > limit.kinds;
  if (counted.is_exceeded)
    counted.rows.clear();
  return counted;
}

}  // namespace casegraph
