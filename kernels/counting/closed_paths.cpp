#include "counting/closed_paths.hpp"

#include "counting/closed_path_counter.hpp"
#include "counting/cycles.hpp"

namespace casegraph {

using namespace meeting;

std::vector<Hits> closed_paths(const Graph& graph, Ids entities, Ids clusters,
                               const std::vector<bool>& wanted, int max_length, int longest,
                               int threads, Progress& progress) {
  if (longest == 0)
    return {};
  Steps steps(progress);
  std::vector<Id> order(entities.begin(), entities.end());
  std::sort(order.begin(), order.end(), [&](Id a, Id b) {
    steps.take();
    return std::pair(clusters[a], a) < std::pair(clusters[b], b);
  });

  using Counter = ClosedPathCounter<GatheredEdges, NoteNothing>;
  const Chunks chunks(order.size(), 16);
  std::vector<Counter> counters(chunks.workers(threads),
                                Counter(graph, wanted, max_length, longest, {}, progress));
  chunks.each(threads, progress, [&](std::size_t thread, std::size_t begin, std::size_t end) {
    for (std::size_t place = begin; place < end; ++place)
      counters[thread].count(order[place], clusters[order[place]]);
    progress.done(static_cast<std::int64_t>(end - begin));
  });

  std::vector<Hits> rows;
  for (Counter& counter : counters) {
    counter.flush();
    rows.insert(rows.end(), counter.rows.begin(), counter.rows.end());
    std::vector<Hits>().swap(counter.rows);
  }
  return merged(std::move(rows), steps);
}

CyclesThrough cycles_through(const Graph& graph, const Edge& edge, int max_length, int longest,
                             std::size_t most_halves, Progress& progress) {
  const auto& [head, relation, tail] = edge;
  if (head == tail || longest == 0)
    return {};
  const std::vector<bool> all_relations;
  ClosedPathCounter<EdgesAround, NoteEntities> counter(graph, all_relations, max_length, longest,
                                                       NoteEntities(graph.entities), progress,
                                                       most_halves);
  CyclesThrough through;
  try {
    counter.count_between(head, relation, tail);
  } catch (const TooManyHalves&) {
    through.cycles = INT64_MAX;
    return through;
  }
  counter.flush();
  counter.note_passed(head);
  counter.note_passed(tail);
  through.looked_at = counter.neighbours().looked_at;
  through.entities = std::move(counter.note_passed.entities);
  std::sort(through.entities.begin(), through.entities.end());

  Steps steps(progress);
  const Packing packing(max_length);
  for (const Hits& found : counter.rows) {
    steps.take();
    through.cycles += found.hits;
    const auto add = [&](Id asked, PathType type) {
      through.rows.push_back({-1, asked, type, found.hits});
    };
    const int length = packing.length(found.type);
    const bool is_the_edge = length == 1 && packing.relation(found.type, 0) == relation;
    if (is_the_edge) {  // asked from either end
      add(relation, packing.step(relation, 0));
      add(inverse(relation), packing.step(inverse(relation), 0));
    } else {
      each_reading_both_ways(found.type, length, relation, packing, add);
    }
  }
  through.rows = merged(std::move(through.rows), steps);
  return through;
}

}  // namespace casegraph
