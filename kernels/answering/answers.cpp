#include "answering/answers.hpp"

#include <atomic>

#include "answering/answerer.hpp"
#include "answering/target_rank.hpp"

namespace casegraph {
namespace {

// For so many queries it pays to gather all edges of each entity once.
constexpr std::size_t many_queries = 16;

// Call `use(answerer, query)` for all queries, on several threads.
template <class Use>
void for_each_query(const RelationQuery& relation_query, const Queries& queries,
                    Workspaces& workspaces, int threads, Progress& progress, const Use& use) {
  const Chunks chunks(queries.entities.size(), 4);
  std::vector<std::unique_ptr<Workspace>> taken;
  std::deque<Answerer> answerers;
  const auto entities = static_cast<std::size_t>(relation_query.graph.entities);
  if (relation_query.options.precedents && queries.entities.size() >= many_queries) {
    Steps steps(progress);
    relation_query.graph.adjacency(steps);
  }
  for (std::size_t worker = 0; worker < chunks.workers(threads); ++worker) {
    taken.push_back(workspaces.take(entities));
    answerers.emplace_back(relation_query, queries, *taken.back(), progress);
  }
  chunks.each(threads, progress, [&](std::size_t thread, std::size_t begin, std::size_t end) {
    for (std::size_t query = begin; query < end; ++query)
      use(answerers[thread], query);
  });
  for (auto& workspace : taken)
    workspaces.give_back(std::move(workspace));
}

struct Scored {
  Id entity;
  double score;
};

// All candidates with a score, and the `top` best of those that have only the habit; all of them if
// `top` is negative.
std::vector<Scored> scored(const Answerer& answerer, const Habit& habit,
                           const std::vector<Candidate>& candidates, Count top) {
  std::vector<Scored> all;
  all.reserve(candidates.size());
  for (const Candidate& candidate : candidates)
    if (candidate.score > 0)
      all.push_back({candidate.entity, candidate.score});
  const Count others = answerer.at_hand.others();
  for (const Habit::Given& given : habit.list()) {
    if (top == 0)
      break;
    const bool is_candidate = answerer.find(given.answer) != nullptr;
    if (is_candidate || !answerer.at_hand.may_answer(given.answer))
      continue;
    all.push_back({given.answer, habit.score(given.count, others)});
    --top;
  }
  return all;
}

// Keep the `top` best, best first.
void keep_best(std::vector<Scored>& all, Count top, Ids rank, Steps& steps) {
  const auto kept = top < 0 ? all.size() : std::min(all.size(), static_cast<std::size_t>(top));
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(kept);
  std::partial_sort(all.begin(), end, all.end(), [&](const Scored& a, const Scored& b) {
    steps.take();
    return a.score != b.score ? a.score > b.score : rank[a.entity] < rank[b.entity];
  });
  all.resize(kept);
}

}  // namespace

Answers answers(const RelationQuery& relation_query, const Queries& queries, Workspaces& workspaces,
                Count top, bool new_only, int threads, Progress& progress) {
  std::vector<std::vector<Scored>> best(queries.entities.size());
  Answers result;
  result.exact.assign(queries.entities.size(), 1);
  std::atomic<Count> followed{0};
  const auto answer = [&](Answerer& answerer, std::size_t query) {
    const Count before = answerer.budget.followed;
    const std::vector<Candidate>& candidates = answerer.answer(query, {top, new_only});
    result.exact[query] = answerer.budget.exact;
    best[query] = scored(answerer, relation_query.habit, candidates, top);
    keep_best(best[query], top, relation_query.rank, answerer.steps);
    followed += answerer.budget.followed - before;
  };
  for_each_query(relation_query, queries, workspaces, threads, progress, answer);

  result.followed = followed;
  result.offsets.push_back(0);
  for (const auto& of_query : best) {
    for (const auto& [entity, score] : of_query) {
      result.entities.push_back(entity);
      result.scores.push_back(score);
    }
    result.offsets.push_back(static_cast<std::int64_t>(result.entities.size()));
  }
  return result;
}

Standing standings(const RelationQuery& relation_query, const Queries& queries,
                   Workspaces& workspaces, const EntitySets& targets, const EntitySets& known,
                   int threads, Progress& progress) {
  const std::size_t all = targets.entities.size();
  Standing standing;
  standing.score.resize(all);
  standing.better.resize(all);
  standing.equal.resize(all);
  standing.earlier.resize(all);
  const auto compare = [&](Answerer& answerer, std::size_t query) {
    const Goal goal{.targets = targets.of(query)};
    const std::vector<Candidate>& candidates = answerer.answer(query, goal);
    const Ids not_competing = known.of(query);
    for (std::int64_t at = targets.offsets[query]; at < targets.offsets[query + 1]; ++at) {
      answerer.steps.take(1 + std::ssize(candidates) + std::ssize(not_competing));
      TargetRank rank(answerer, relation_query.habit, targets.entities[at]);
      rank.compare(candidates, not_competing);
      standing.score[at] = rank.score;
      standing.better[at] = rank.better;
      standing.equal[at] = rank.equal;
      standing.earlier[at] = rank.earlier;
    }
  };
  for_each_query(relation_query, queries, workspaces, threads, progress, compare);
  return standing;
}

namespace {

// One number for each target: `strengths(answerer, query)` returns those of a query.
template <class Strengths>
std::vector<double> of_each_target(const RelationQuery& relation_query, const Queries& queries,
                                   Workspaces& workspaces, const EntitySets& targets, int threads,
                                   Progress& progress, const Strengths& strengths) {
  std::vector<double> all(targets.entities.size());
  const auto add = [&](Answerer& answerer, std::size_t query) {
    std::ranges::copy(strengths(answerer, query), all.begin() + targets.offsets[query]);
  };
  for_each_query(relation_query, queries, workspaces, threads, progress, add);
  return all;
}

}  // namespace

std::vector<double> path_strengths(const RelationQuery& relation_query, const Queries& queries,
                                   Workspaces& workspaces, const EntitySets& targets, int threads,
                                   Progress& progress) {
  return of_each_target(relation_query, queries, workspaces, targets, threads, progress,
                        [&](Answerer& answerer, std::size_t query) {
                          return answerer.path_strengths(query, targets.of(query));
                        });
}

std::vector<double> precedent_strengths(const RelationQuery& relation_query, const Queries& queries,
                                        Workspaces& workspaces, const EntitySets& targets,
                                        int threads, Progress& progress) {
  return of_each_target(relation_query, queries, workspaces, targets, threads, progress,
                        [&](Answerer& answerer, std::size_t query) {
                          return answerer.precedent_strengths(query, targets.of(query));
                        });
}

namespace {

// Call `use(resemblance)` with a query at hand, and sort what it returns, largest weight first.
template <class Use>
std::vector<Weighted> by_weight(const RelationQuery& query, Id entity, Id hidden,
                                Workspaces& workspaces, Progress& progress, const Use& use) {
  std::unique_ptr<Workspace> workspace =
      workspaces.take(static_cast<std::size_t>(query.graph.entities));
  Steps steps(progress);
  QueryAtHand at_hand(query, *workspace);
  at_hand.start(entity, hidden, false);
  Resemblance resemblance(query, at_hand, *workspace, steps);
  std::vector<Weighted> weighted = use(resemblance);
  workspaces.give_back(std::move(workspace));
  std::ranges::sort(weighted, [&](const Weighted& a, const Weighted& b) {
    return a.weight != b.weight ? a.weight > b.weight : query.rank[a.entity] < query.rank[b.entity];
  });
  return weighted;
}

}  // namespace

std::vector<Weighted> nearest_entities(const RelationQuery& relation_query, Id entity, Id hidden,
                                       Workspaces& workspaces, Progress& progress) {
  const auto heads = [](Resemblance& resemblance) {
    resemblance.find_heads();
    resemblance.nearest_heads();
    return resemblance.weighted_heads();
  };
  return by_weight(relation_query, entity, hidden, workspaces, progress, heads);
}

std::vector<Weighted> precedents_of(const RelationQuery& relation_query, Id entity, Id hidden,
                                    Id answer, Workspaces& workspaces, Progress& progress) {
  const auto heads_of_answer = [&](Resemblance& resemblance) {
    resemblance.find_heads();
    resemblance.nearest_heads();
    std::vector<Weighted> heads = resemblance.weighted_heads();
    const Edges& asked = relation_query.graph.edges(relation_query.relation);
    std::erase_if(heads, [&](const Weighted& head) { return !asked.holds(head.entity, answer); });
    for (Weighted& head : heads)
      head.weight *= resemblance.correction(std::ssize(heads));
    return heads;
  };
  return by_weight(relation_query, entity, hidden, workspaces, progress, heads_of_answer);
}

std::vector<Weighted> similar_answers(const RelationQuery& relation_query, Id entity, Id hidden,
                                      Id answer, Workspaces& workspaces, Progress& progress) {
  const auto known_answers = [&](Resemblance& resemblance) {
    resemblance.find_answers();
    return resemblance.known_answers_for(answer);
  };
  return by_weight(relation_query, entity, hidden, workspaces, progress, known_answers);
}

EvidenceOfEach evidence_of_each(const RelationQuery& relation_query, const Queries& queries,
                                Workspaces& workspaces, Ids answers, Progress& progress) {
  const auto entities = static_cast<std::size_t>(relation_query.graph.entities);
  std::unique_ptr<Workspace> workspace = workspaces.take(entities);
  EvidenceRecord record(answers, entities);
  Answerer answerer(relation_query, queries, *workspace, progress);
  answerer.record(record);
  answerer.answer(0);
  workspaces.give_back(std::move(workspace));
  return record.of_each();
}

}  // namespace casegraph
