#include "counting/relation_hits.hpp"

#include <atomic>

#include "common/fetch.hpp"
#include "common/parallel.hpp"
#include "counting/closed_path_counter.hpp"
#include "counting/triangle_counter.hpp"

namespace casegraph {
namespace {

using LongPathCounter = meeting::ClosedPathCounter<meeting::GatheredEdges, meeting::NoteNothing>;

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

// An edge of the relation that belongs to its head.
struct OwnEdge {
  Id head;
  Id tail;
};

// The edges of one direction of the relation that belong to their heads.
class OwnEdges {
 public:
  OwnEdges(const Graph& graph, Id relation, std::span<const Count> weights)
      : direction(relation), edges_(graph.edges(relation)), weights_(weights) {}

  std::size_t rows() const { return edges_.heads.size(); }

  // Append those of some rows.
  void append(std::size_t first_row, std::size_t after, std::vector<OwnEdge>& own,
              Steps& steps) const {
    constexpr Id ahead = 32;  // weights lie anywhere in memory
    const Id end = edges_.offsets[after];
    for (std::size_t row = first_row; row < after; ++row) {
      const Id head = edges_.heads[row];
      const Id row_end = edges_.offsets[row + 1];
      steps.take(1 + row_end - edges_.offsets[row]);
      for (Id place = edges_.offsets[row]; place < row_end; ++place) {
        if (place + ahead < end)
          fetch(&weights_[edges_.tails[place + ahead]]);
        if (belongs_to(head, edges_.tails[place]))
          own.push_back({head, edges_.tails[place]});
      }
    }
  }

  const Id direction;

 private:
  bool belongs_to(Id head, Id tail) const {
    return std::pair(weights_[tail], tail) < std::pair(weights_[head], head);
  }

  const Edges& edges_;
  const std::span<const Count> weights_;
};

// Count the paths to answers along some edges of one direction, grouped by their heads.
template <class Counter>
void count_along(std::span<const OwnEdge> edges, Id direction, const Adjacency& all,
                 Counter& counter, PathBudget& budget) {
  Count reported = counter.paths;
  const auto report = [&] {
    budget.report(counter.paths - reported, counter.kinds(direction));
    reported = counter.paths;
  };
  for (std::size_t at = 0; at < edges.size() && !budget.is_exceeded();) {
    const Id head = edges[at].head;
    counter.start_from(head);
    for (; at < edges.size() && edges[at].head == head && !budget.is_exceeded(); ++at) {
      // The edges of tails lie anywhere in memory: ask for where they begin, then for the first.
      constexpr std::size_t ahead = 8;
      if (at + 2 * ahead < edges.size())
        fetch(&all.offsets[edges[at + 2 * ahead].tail]);
      if (at + ahead < edges.size())
        fetch_start(all.tails.data() + all.offsets[edges[at + ahead].tail]);

      counter.count_answer(direction, edges[at].tail);
      constexpr Count many = 1 << 12;
      if (counter.paths - reported >= many)
        report();
    }
    counter.leave();
  }
  report();
}

// make          gives a counter, for each thread its own
// rows_a_chunk  of heads and their edges that one thread counts at a time
template <class Make>
RelationHits counted_by(const Make& make, std::size_t rows_a_chunk, const Graph& graph, Id relation,
                        std::span<const Count> weights, int max_length, const PathLimit& limit,
                        int threads, Progress& progress) {
  const OwnEdges out(graph, relation, weights);
  const OwnEdges back(graph, inverse(relation), weights);
  const Chunks chunks(out.rows() + back.rows(), rows_a_chunk);
  Steps steps(progress);
  const Adjacency& all = graph.adjacency(steps);
  PathBudget budget(limit);
  std::vector counters(chunks.workers(threads), make());
  chunks.each(threads, progress, [&](std::size_t thread, std::size_t begin, std::size_t end) {
    Steps taken(progress);
    std::vector<OwnEdge> own;
    const auto count_rows = [&](const OwnEdges& edges, std::size_t first_row, std::size_t after) {
      own.clear();
      edges.append(first_row, after, own, taken);
      count_along(std::span<const OwnEdge>(own), edges.direction, all, counters[thread], budget);
    };
    const std::size_t middle = std::clamp(out.rows(), begin, end);
    if (begin < middle)
      count_rows(out, begin, middle);
    if (middle < end)
      count_rows(back, middle - out.rows(), end - out.rows());
    progress.done(static_cast<std::int64_t>(end - begin));
  });

  RelationHits counted;
  const Packing packing(max_length);
  for (auto& counter : counters) {
    counter.flush();
    for (const Hits& row : counter.rows) {
      steps.take();
      const PathType type = row.relation == relation ? row.type : backwards(row.type, packing);
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

}  // namespace

RelationHits relation_hits(const Graph& graph, Id relation, std::span<const Count> weights,
                           int max_length, int longest, const PathLimit& limit, int threads,
                           Progress& progress) {
  if (longest == 0)
    return {};
  const auto counted = [&](std::size_t rows_a_chunk, const auto& make) {
    return counted_by(make, rows_a_chunk, graph, relation, weights, max_length, limit, threads,
                      progress);
  };
  if (longest <= TriangleCounter::most_steps) {
    constexpr std::size_t rows = 1 << 8;  // fetching ahead begins anew in each chunk
    return counted(rows, [&] { return TriangleCounter(graph, max_length, longest, progress); });
  }
  constexpr std::size_t rows = 1 << 4;  // each takes long
  const std::vector<bool> all_relations;
  return counted(rows, [&] {
    return LongPathCounter(graph, all_relations, max_length, longest, {}, progress);
  });
}

}  // namespace casegraph
