#include "answers.hpp"

#include <atomic>
#include <tuple>

#include "answerer.hpp"

namespace casegraph {
namespace {

template <class Use>
void ask_all(const Graph& graph, const Queries& queries, const Lists& lists, const Manner& manner, Ids rank, int threads, const Use& use) {
  const Trie trie(lists.types, manner.max_length);
  const Habit habit(graph, queries.relation, manner, rank);
  constexpr std::size_t at_once = 4;
  const std::size_t tasks = (queries.entities.size() + at_once - 1) / at_once;
  std::vector<Answerer> answerers(useful(threads, tasks), Answerer(graph, queries, lists, trie, habit, manner));
  parallel(threads, tasks, [&](int thread, std::size_t task) {
    for (std::size_t query = task * at_once; query < std::min(queries.entities.size(), (task + 1) * at_once); ++query)
      use(answerers[thread], habit, query);
  });
}

struct Scored {
  Id entity;
  double score;
};

// The candidates, and of those that have the habit only the `top` best; all of them if `top` < 0.
std::vector<Scored> with_habit(const Answerer& answerer, const Habit& habit, const std::vector<Candidate>& candidates, Count top) {
  std::vector<Scored> all;
  for (const Candidate& candidate : candidates)
    if (candidate.score > 0) all.push_back({candidate.entity, candidate.score});
  const Count others = answerer.others();
  for (const Habit::Given& given : habit.list()) {
    if (top == 0) break;
    if (answerer.find(given.answer) != nullptr || !answerer.may_answer(given.answer)) continue;
    all.push_back({given.answer, habit.score(given.count, others)});
    --top;
  }
  return all;
}

// How one target stands among the candidates and those that have the habit only, less those that are known.
class Comparison {
 public:
  Comparison(const Answerer& answerer, const Habit& habit, Id target) : answerer_(answerer), habit_(habit), target_(answerer.find(target)) {
    if (target_ != nullptr) {
      score = target_->score;
      found_ = {target_->found_by, -target_->paths, habit.rank(target)};
    } else if (!habit.empty() && answerer.asked() && answerer.in_graph(target) && answerer.may_answer(target) &&
               answerer.habit_of(target).first > 0) {
      const auto [count, others] = answerer.habit_of(target);
      score = habit.score(count, others);
      found_ = {INT32_MAX, 0, habit.rank(target)};
    }
    self_ = target;
  }

  void among(const std::vector<Candidate>& candidates, Ids known) {
    for (const Candidate& other : candidates) compare(other, 1);
    if (!habit_.empty() && answerer_.asked()) {
      count_habit();
      for (const Candidate& other : candidates) compare_habit(other.entity, -1);
      if (answerer_.find(answerer_.entity()) == nullptr && !answerer_.may_answer(answerer_.entity())) compare_habit(answerer_.entity(), -1);
    }
    for (Id entity : known) {
      if (const Candidate* other = answerer_.find(entity))
        compare(*other, -1);
      else if (!habit_.empty() && answerer_.asked() && answerer_.in_graph(entity) && answerer_.may_answer(entity))
        compare_habit(entity, -1);
    }
  }

  double score = 0;
  Count better = 0, equal = 0, earlier = 0;

 private:
  using Found = std::tuple<std::int32_t, Count, Id>;

  void compare(Id other, double others_score, const Found& found, Count sign) {
    if (other == self_ || others_score < score) return;
    if (others_score > score) {
      better += sign;
    } else {
      equal += sign;
      if (score > 0 && found < found_) earlier += sign;
    }
  }
  void compare(const Candidate& other, Count sign) {
    if (other.score > 0) compare(other.entity, other.score, {other.found_by, -other.paths, habit_.rank(other.entity)}, sign);
  }
  // As if `other` had the habit only, and as often as the list says.
  void compare_habit(Id other, Count sign) {
    const auto count = answerer_.given(other);
    if (count > 0) compare(other, habit_.score(count, answerer_.others()), {INT32_MAX, 0, habit_.rank(other)}, sign);
  }
  // The whole list at once: it is sorted by score.
  void count_habit() {
    const Count others = answerer_.others();
    const Count more = habit_.before([&](const Habit::Given& given) { return habit_.score(given.count, others) <= score; });
    const Count as_much = habit_.before([&](const Habit::Given& given) { return habit_.score(given.count, others) < score; });
    const Count sooner = score > 0 ? habit_.before([&](const Habit::Given& given) {
      const double others_score = habit_.score(given.count, others);
      return others_score < score || (others_score == score && !(Found{INT32_MAX, 0, habit_.rank(given.answer)} < found_));
    }) : as_much;
    better += more;
    equal += as_much - more;
    earlier += score > 0 ? sooner - more : 0;
    if (answerer_.in_graph(self_) && answerer_.given(self_) > 0) {  // the target itself is in the list
      const double own = habit_.score(answerer_.given(self_), others);
      if (own > score) {
        --better;
      } else if (own == score) {
        --equal;
        if (score > 0 && Found{INT32_MAX, 0, habit_.rank(self_)} < found_) --earlier;
      }
    }
  }

  const Answerer& answerer_;
  const Habit& habit_;
  const Candidate* target_;
  Id self_ = -1;
  Found found_{};
};

}  // namespace

Answers answers(const Graph& graph, const Queries& queries, const Lists& lists, const Manner& manner, Ids rank, Count top, int threads) {
  std::vector<std::vector<Scored>> found(queries.entities.size());
  Answers result;
  result.exact.assign(queries.entities.size(), 1);
  std::atomic<Count> followed{0};
  ask_all(graph, queries, lists, manner, rank, threads, [&](Answerer& answerer, const Habit& habit, std::size_t query) {
    const Count before = answerer.followed;
    const std::vector<Candidate>& candidates = answerer.ask(query);
    if (!answerer.asked()) return;
    result.exact[query] = answerer.exact;
    std::vector<Scored>& best = found[query] = with_habit(answerer, habit, candidates, top);
    const auto kept = top < 0 ? best.size() : std::min(best.size(), static_cast<std::size_t>(top));
    std::partial_sort(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(kept), best.end(), [&](const Scored& a, const Scored& b) {
      return a.score != b.score ? a.score > b.score : rank[a.entity] < rank[b.entity];
    });
    best.resize(kept);
    followed += answerer.followed - before;
  });
  result.offsets.push_back(0);
  for (const auto& best : found) {
    for (const auto& [entity, score] : best) {
      result.entities.push_back(entity);
      result.scores.push_back(score);
    }
    result.offsets.push_back(static_cast<std::int64_t>(result.entities.size()));
  }
  result.followed = followed;
  return result;
}

Standing standings(const Graph& graph, const Queries& queries, const Lists& lists, const Manner& manner, Ids rank,
                   const Targets& targets, int threads) {
  const std::size_t all = targets.entities.size();
  Standing standing{std::vector<double>(all), std::vector<Count>(all), std::vector<Count>(all), std::vector<Count>(all)};
  ask_all(graph, queries, lists, manner, rank, threads, [&](Answerer& answerer, const Habit& habit, std::size_t query) {
    const std::vector<Candidate>& candidates = answerer.ask(query);
    const Ids known = targets.known.subspan(targets.known_offsets[query], targets.known_offsets[query + 1] - targets.known_offsets[query]);
    for (std::int64_t at = targets.offsets[query]; at < targets.offsets[query + 1]; ++at) {
      Comparison comparison(answerer, habit, targets.entities[at]);
      comparison.among(candidates, known);
      standing.score[at] = comparison.score;
      standing.better[at] = comparison.better;
      standing.equal[at] = comparison.equal;
      standing.earlier[at] = comparison.earlier;
    }
  });
  return standing;
}

std::vector<Evidence> evidence(const Graph& graph, const Queries& queries, const Lists& lists, const Manner& manner, Ids rank, Id answer) {
  const Trie trie(lists.types, manner.max_length);
  const Habit habit(graph, queries.relation, manner, rank);
  Answerer answerer(graph, queries, lists, trie, habit, manner);
  answerer.record(answer);
  answerer.ask(0);
  return answerer.record_;
}

}  // namespace casegraph
