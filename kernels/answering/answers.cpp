#include "answering/answers.hpp"

#include <atomic>
#include <tuple>

#include "answering/answerer.hpp"

namespace casegraph {
namespace {

template <class Use>
void ask_all(const Asking& asking, const Queries& queries, Workspaces& workspaces, int threads,
             Progress& progress, const Use& use) {
  constexpr std::size_t at_once = 4;
  const std::size_t tasks = (queries.entities.size() + at_once - 1) / at_once;
  std::vector<std::unique_ptr<Workspace>> taken;
  std::deque<Answerer> answerers;
  for (int thread = 0; thread < useful(threads, tasks); ++thread) {
    taken.push_back(workspaces.take(static_cast<std::size_t>(asking.graph.entities)));
    answerers.emplace_back(asking, queries, *taken.back(), progress);
  }
  parallel(threads, tasks, progress, [&](int thread, std::size_t task) {
    for (std::size_t query = task * at_once;
         query < std::min(queries.entities.size(), (task + 1) * at_once); ++query)
      use(answerers[thread], query);
  });
  for (auto& workspace : taken) workspaces.give_back(std::move(workspace));
}

struct Scored {
  Id entity;
  double score;
};

// The candidates, and of those that have the habit only the `top` best; all of them if `top` < 0.
std::vector<Scored> with_habit(const Answerer& answerer, const Habit& habit,
                               const std::vector<Candidate>& candidates, Count top) {
  std::vector<Scored> all;
  all.reserve(candidates.size());
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

// How one target stands among the candidates and those that have the habit only, less those that
// are known.
class Comparison {
 public:
  Comparison(const Answerer& answerer, const Habit& habit, Id target)
      : answerer_(answerer), habit_(habit), target_(answerer.find(target)) {
    if (target_ != nullptr) {
      score = target_->score;
      found_ = {target_->found_by, -target_->paths, habit.rank(target)};
    } else if (!habit.empty() && answerer.asked() && answerer.in_graph(target) &&
               answerer.may_answer(target) && answerer.habit_of(target).first > 0) {
      const auto [count, others] = answerer.habit_of(target);
      score = habit.score(count, others);
      found_ = {INT32_MAX, 0, habit.rank(target)};
    }
    self_ = target;
  }

  void among(const std::vector<Candidate>& candidates, Ids known) {
    const bool habit = !habit_.empty() && answerer_.asked();
    if (habit) count_habit();
    for (const Candidate& other : candidates) {
      compare(other, 1);
      if (habit) compare_habit(other.entity, other.given, -1);
    }
    const Id asked = answerer_.entity();
    if (habit && answerer_.find(asked) == nullptr && !answerer_.may_answer(asked))
      compare_habit(asked, answerer_.given(asked), -1);
    for (Id entity : known) {
      if (const Candidate* other = answerer_.find(entity))
        compare(*other, -1);
      else if (habit && answerer_.in_graph(entity) && answerer_.may_answer(entity))
        compare_habit(entity, answerer_.given(entity), -1);
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
    if (other.score > 0)
      compare(other.entity, other.score, {other.found_by, -other.paths, habit_.rank(other.entity)},
              sign);
  }
  // As if `other` had the habit only, and as often as the list says.
  void compare_habit(Id other, Count given, Count sign) {
    if (other != self_) count_given(other, given, sign);
  }
  void count_given(Id answer, Count given, Count sign) {
    if (given >= better_from_) {
      better += sign;
    } else if (given >= equal_from_) {
      equal += sign;
      if (score > 0 && Found{INT32_MAX, 0, habit_.rank(answer)} < found_) earlier += sign;
    }
  }
  // The whole list at once, but for the target: it is sorted by score.
  void count_habit() {
    const Count others = answerer_.others();
    const Count more = habit_.before(
        [&](const Habit::Given& given) { return habit_.score(given.count, others) <= score; });
    const Count as_much = habit_.before(
        [&](const Habit::Given& given) { return habit_.score(given.count, others) < score; });
    const Count sooner = habit_.before([&](const Habit::Given& given) {
      const double others_score = habit_.score(given.count, others);
      return others_score < score ||
             (others_score == score && !(Found{INT32_MAX, 0, habit_.rank(given.answer)} < found_));
    });
    if (more > 0) better_from_ = habit_.list()[static_cast<std::size_t>(more) - 1].count;
    if (as_much > 0) equal_from_ = habit_.list()[static_cast<std::size_t>(as_much) - 1].count;
    better += more;
    equal += as_much - more;
    earlier += score > 0 ? sooner - more : 0;
    if (answerer_.in_graph(self_)) count_given(self_, answerer_.given(self_), -1);
  }

  const Answerer& answerer_;
  const Habit& habit_;
  const Candidate* target_;
  Id self_ = -1;
  Found found_{};
  Count better_from_ = INT64_MAX,
        equal_from_ = INT64_MAX;  // of the habit: given so often, an answer scores more or as much
};

}  // namespace

void Asking::count_cost(Progress& progress) {
  Steps steps(progress);
  cost_from.resize(lists.walked.size());
  std::vector<std::size_t> counted(trie.nodes.size(),
                                   lists.offsets.size());  // the last list for which each node was
  for (std::size_t list = 0; list + 1 < lists.offsets.size(); ++list) {
    Count cost = 0;
    for (std::int64_t at = lists.offsets[list + 1] - 1; at >= lists.offsets[list]; --at) {
      steps.take();
      for (std::int32_t node = trie.node_of_type[lists.walked[at]];
           node > 0 && counted[node] != list; node = trie.nodes[node].parent) {
        counted[node] = list;
        cost += static_cast<Count>(graph.edges(trie.nodes[node].relation).tails.size());
      }
      cost_from[at] = cost;
    }
  }
}

std::unique_ptr<Workspace> Workspaces::take(std::size_t entities) {
  const std::lock_guard lock(guard_);
  if (!waiting_.empty() && waiting_.back()->tally.of.size() != entities)
    waiting_.clear();  // another graph is asked now
  if (waiting_.empty()) return std::make_unique<Workspace>(entities);
  std::unique_ptr<Workspace> next = std::move(waiting_.back());
  waiting_.pop_back();
  return next;
}

void Workspaces::give_back(std::unique_ptr<Workspace> used) {
  std::size_t held = 0;
  for (const Frontier& frontier : used->frontiers)
    held += frontier.paths.capacity() + frontier.more.capacity();
  if (held > most_held) used->frontiers.clear();
  const std::lock_guard lock(guard_);
  if (!waiting_.empty() && waiting_.back()->tally.of.size() != used->tally.of.size()) return;
  waiting_.push_back(std::move(used));
}

Answers answers(const Asking& asking, const Queries& queries, Workspaces& workspaces, Count top,
                int threads, Progress& progress) {
  std::vector<std::vector<Scored>> found(queries.entities.size());
  Answers result;
  result.exact.assign(queries.entities.size(), 1);
  std::atomic<Count> followed{0};
  ask_all(asking, queries, workspaces, threads, progress,
          [&](Answerer& answerer, std::size_t query) {
            const Count before = answerer.followed;
            const std::vector<Candidate>& candidates = answerer.ask(query, {top});
            if (!answerer.asked()) return;
            result.exact[query] = answerer.exact;
            std::vector<Scored>& best = found[query] =
                with_habit(answerer, asking.habit, candidates, top);
            const auto kept =
                top < 0 ? best.size() : std::min(best.size(), static_cast<std::size_t>(top));
            std::partial_sort(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(kept),
                              best.end(), [&](const Scored& a, const Scored& b) {
                                answerer.steps.take();
                                return a.score != b.score
                                           ? a.score > b.score
                                           : asking.rank[a.entity] < asking.rank[b.entity];
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

Standing standings(const Asking& asking, const Queries& queries, Workspaces& workspaces,
                   const Targets& targets, int threads, Progress& progress) {
  const std::size_t all = targets.entities.size();
  Standing standing{std::vector<double>(all), std::vector<Count>(all), std::vector<Count>(all),
                    std::vector<Count>(all)};
  ask_all(
      asking, queries, workspaces, threads, progress, [&](Answerer& answerer, std::size_t query) {
        const Ids asked = targets.entities.subspan(
            targets.offsets[query], targets.offsets[query + 1] - targets.offsets[query]);
        const std::vector<Candidate>& candidates = answerer.ask(query, {-1, asked});
        const Ids known =
            targets.known.subspan(targets.known_offsets[query],
                                  targets.known_offsets[query + 1] - targets.known_offsets[query]);
        for (std::int64_t at = targets.offsets[query]; at < targets.offsets[query + 1]; ++at) {
          answerer.steps.take(1 + std::ssize(candidates) + std::ssize(known));
          Comparison comparison(answerer, asking.habit, targets.entities[at]);
          comparison.among(candidates, known);
          standing.score[at] = comparison.score;
          standing.better[at] = comparison.better;
          standing.equal[at] = comparison.equal;
          standing.earlier[at] = comparison.earlier;
        }
      });
  return standing;
}

std::vector<Evidence> evidence(const Asking& asking, const Queries& queries, Workspaces& workspaces,
                               Id answer, Progress& progress) {
  std::unique_ptr<Workspace> workspace =
      workspaces.take(static_cast<std::size_t>(asking.graph.entities));
  Answerer answerer(asking, queries, *workspace, progress);
  answerer.record(answer);
  answerer.ask(0);
  workspaces.give_back(std::move(workspace));
  return answerer.record_;
}

}  // namespace casegraph
