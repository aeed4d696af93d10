#include "counting/reach_inverses.hpp"

#include <bit>
#include <numeric>
#include <stdexcept>

#include "common/radix_sort.hpp"
#include "counting/reach_choice.hpp"
#include "counting/reach_together.hpp"

namespace casegraph {
namespace {

// All pairs, grouped by path type; within a group sorted by query relation.
class PairsByType {
 public:
  PairsByType(std::span<const RelationPathType> pairs, Steps& steps)
      : pairs_(pairs), order_(pairs.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      steps.take();
      return std::tie(pairs[a].type, pairs[a].relation) <
             std::tie(pairs[b].type, pairs[b].relation);
    });
    for (std::size_t at = 0; at < order_.size(); ++at) {
      const PathType type = pairs[order_[at]].type;
      if (types.empty() || types.back() != type) {
        types.push_back(type);
        begins_.push_back(at);
      }
    }
    begins_.push_back(order_.size());
  }

  // The places of the pairs of a path type.
  std::span<const std::size_t> of(std::size_t group) const {
    return std::span(order_).subspan(begins_[group], begins_[group + 1] - begins_[group]);
  }

  // The group of a path type, or the number of groups.
  std::size_t group_of(PathType type) const {
    const auto found = std::ranges::lower_bound(types, type);
    const bool is_known = found != types.end() && *found == type;
    return is_known ? static_cast<std::size_t>(found - types.begin()) : types.size();
  }

  // The places of the inverse pairs, parallel to those of the group; empty if one has no inverse.
  std::vector<std::size_t> inverses(std::size_t group, std::size_t inverse_group) const {
    const auto these = of(group);
    std::vector<std::size_t> those(of(inverse_group).begin(), of(inverse_group).end());
    if (these.size() != those.size())
      return {};
    std::ranges::sort(those, {}, [&](std::size_t pair) { return inverse(pairs_[pair].relation); });
    for (std::size_t at = 0; at < these.size(); ++at)
      if (pairs_[these[at]].relation != inverse(pairs_[those[at]].relation))
        return {};
    return those;
  }

  std::vector<PathType> types;  // distinct, sorted

 private:
  std::span<const RelationPathType> pairs_;
  std::vector<std::size_t> order_;
  std::vector<std::size_t> begins_;  // of groups in the order, and the end
};

// A path type and its inverse, by their groups, of which all pairs are asked for in both
// directions. They may be the same: a path type that reads alike from both of its ends.
struct Couple {
  std::size_t group;
  std::size_t inverse_group;
};

std::vector<Couple> couples_of(const PairsByType& by_type, std::span<const Count> widest,
                               int max_length, Steps& steps) {
  const Packing packing(max_length);
  const auto is_unlimited = [&](std::size_t pair) {
    return widest.empty() || widest[pair] == INT64_MAX;
  };
  std::vector<Couple> couples;
  for (std::size_t group = 0; group < by_type.types.size(); ++group) {
    steps.take(std::ssize(by_type.of(group)));
    const PathType type = by_type.types[group];
    const PathType back = backwards(type, packing);
    if (back < type || packing.length(type) == 1)
      continue;  // each couple once; a single step takes next to nothing
    const std::size_t inverse_group = by_type.group_of(back);
    if (inverse_group == by_type.types.size())
      continue;
    if (std::ranges::all_of(by_type.of(group), is_unlimited) &&
        std::ranges::all_of(by_type.of(inverse_group), is_unlimited) &&
        !by_type.inverses(group, inverse_group).empty())
      couples.push_back({group, inverse_group});
  }
  return couples;
}

// What share of the paths of a type begin at an entity that has its query relations.
struct AskingShare {
  double any = 0;  // any of them
  double sum = 0;  // the shares of each, added up
};

// Estimates it by 64 edges of the first relation, drawn from all in the order of the names of their
// heads: a word for each query relation says which of these have it. The draw is always the same
// but not even, since what is even in the order of names is often alike.
class AskingShares {
 public:
  AskingShares(const Graph& graph, Ids rank, Steps& steps)
      : graph_(graph),
        rank_(rank),
        word_of_(graph.relations.size()),
        is_known_(graph.relations.size()),
        steps_(steps) {}

  // Faster if called for path types with the same first relation one after the other.
  AskingShare of(Id first, std::span<const std::size_t> asked,
                 std::span<const RelationPathType> pairs) {
    if (first != first_)
      begin(first);
    std::uint64_t any = 0;
    int sum = 0;
    for (std::size_t pair : asked) {
      const std::uint64_t word = word_of(pairs[pair].relation);
      any |= word;
      sum += std::popcount(word);
    }
    return {std::popcount(any) / 64.0, sum / 64.0};
  }

 private:
  void begin(Id first) {
    first_ = first;
    std::fill(is_known_.begin(), is_known_.end(), false);
    const Edges& edges = graph_.edges(first);
    if (edges.tails.empty())
      return;  // no paths, so any share is as good
    steps_.take(std::ssize(edges.heads));
    by_name_.clear();
    for (std::size_t row = 0; row < edges.heads.size(); ++row)
      by_name_.push_back({edges.heads[row], edges.row(row).size()});
    sort_by(by_name_, buffer_, steps_,
            [&](const Head& head) { return static_cast<std::uint64_t>(rank_[head.entity]); });
    auto head = by_name_.begin();
    std::size_t edges_before_next = head->edges;
    const std::array<std::size_t, 64> drawn = drawn_below(edges.tails.size());
    for (std::size_t at = 0; at < heads_.size(); ++at) {
      const std::size_t edge = drawn[at];
      while (edges_before_next <= edge)
        edges_before_next += (++head)->edges;
      heads_[at] = head->entity;
    }
  }

  // 64 numbers below a limit, sorted: one from each of as many equal parts, by a generator of
  // random numbers (splitmix64).
  static std::array<std::size_t, 64> drawn_below(std::size_t limit) {
    std::array<std::size_t, 64> drawn;
    for (std::size_t at = 0; at < drawn.size(); ++at) {
      std::uint64_t random = (at + 1) * 0x9E3779B97F4A7C15u;
      random = (random ^ random >> 30) * 0xBF58476D1CE4E5B9u;
      random = (random ^ random >> 27) * 0x94D049BB133111EBu;
      const auto within_part = static_cast<double>((random ^ random >> 31) >> 32) / 0x1p32;
      const double place = (static_cast<double>(at) + within_part) / 64;
      drawn[at] = static_cast<std::size_t>(place * static_cast<double>(limit));
    }
    return drawn;
  }

  std::uint64_t word_of(Id relation) {
    if (is_known_[relation])
      return word_of_[relation];
    is_known_[relation] = true;
    const Edges& edges = graph_.edges(relation);
    std::uint64_t word = 0;
    for (std::size_t at = 0; at < heads_.size(); ++at)
      word |= std::uint64_t{edges.has(heads_[at])} << at;
    return word_of_[relation] = word;
  }

  struct Head {
    Id entity;
    std::size_t edges;
  };

  const Graph& graph_;
  const Ids rank_;
  Id first_ = -1;
  std::array<Id, 64> heads_{};
  std::vector<Head> by_name_;
  std::vector<Head> buffer_;
  std::vector<std::uint64_t> word_of_;  // by query relation
  std::vector<char> is_known_;
  Steps& steps_;
};

// What counting each path type of a couple takes, by group, in the steps of reach_cost.hpp.
class Costs {
 public:
  Costs(const Graph& graph, Ids rank, std::span<const RelationPathType> pairs,
        const PairsByType& by_type, std::span<const Couple> couples, int max_length, int threads,
        Progress& progress)
      : by_type_(by_type), groups_(by_type.types.size()) {
    find_shares(graph, rank, pairs, couples, Packing(max_length), progress);
    find_walking(graph, couples, max_length, threads, progress);
  }

  // If it is walked by itself, from the entities that have one of its query relations.
  double one_way(std::size_t group) const {
    const OfGroup& of = groups_[group];
    return of.share.any * of.walking + of.share.sum * of.starts * of.adding;
  }

  // If all pairs of the couple are counted by walking this path type, from all entities.
  double both_ways(std::size_t group, const Couple& couple) const {
    const OfGroup& of = groups_[group];
    const auto pairs = static_cast<double>(by_type_.of(group).size());
    const double walked_pairs = couple.group == couple.inverse_group ? pairs / 2 : pairs;
    return of.walking + walked_pairs * of.starts * of.adding;
  }

 private:
  // To look for answers among the ends, for one query relation and one start. Measured.
  static constexpr double adding_alone = 20;
  static constexpr double adding_together = 2;
  // To find the row of an entity in the middle of a path, and to fetch it from memory. Measured.
  static constexpr double finding_a_row = 4;

  struct OfGroup {
    AskingShare share;
    double starts = 0;   // entities that have the first relation
    double middles = 0;  // where the first step leads each of them
    double walking = 0;  // from all of them
    double adding = adding_alone;
  };

  template <class Visit>
  static void each_group(const Couple& couple, const Visit& visit) {
    visit(couple.group);
    if (couple.inverse_group != couple.group)
      visit(couple.inverse_group);
  }

  void find_shares(const Graph& graph, Ids rank, std::span<const RelationPathType> pairs,
                   std::span<const Couple> couples, const Packing& packing, Progress& progress) {
    std::vector<std::pair<Id, std::size_t>> by_first;  // first relations, and groups
    for (const Couple& couple : couples)
      each_group(couple, [&](std::size_t group) {
        by_first.emplace_back(packing.relation(by_type_.types[group], 0), group);
      });
    std::sort(by_first.begin(), by_first.end());

    Steps steps(progress);
    AskingShares shares(graph, rank, steps);
    for (const auto& [first, group] : by_first) {
      steps.take(1 + std::ssize(by_type_.of(group)));
      groups_[group].share = shares.of(first, by_type_.of(group), pairs);
      groups_[group].starts = static_cast<double>(graph.edges(first).heads.size());
      groups_[group].middles = static_cast<double>(graph.edges(first).tails.size());
    }
  }

  void find_walking(const Graph& graph, std::span<const Couple> couples, int max_length,
                    int threads, Progress& progress) {
    const Packing packing(max_length);
    std::vector<std::size_t> short_groups;
    std::vector<PathType> types;
    for (const Couple& couple : couples) {
      const bool is_long = packing.length(by_type_.types[couple.group]) > longest_together;
      // Walks are as many in both directions, and take far longer than all else.
      constexpr double steps_a_start = 1000;
      const double walking_long = steps_a_start * std::max(groups_[couple.group].starts,
                                                           groups_[couple.inverse_group].starts);
      each_group(couple, [&](std::size_t group) {
        groups_[group].walking = walking_long;
        if (is_long)
          return;
        short_groups.push_back(group);
        types.push_back(by_type_.types[group]);
      });
    }
    std::vector<Id> everyone(graph.entities);
    std::iota(everyone.begin(), everyone.end(), 0);
    const ReachEstimates estimates = reach_estimates(graph, everyone, types, max_length, threads,
                                                     progress, SingleRow::known_length);
    for (std::size_t at = 0; at < types.size(); ++at) {
      OfGroup& of = groups_[short_groups[at]];
      const double alone = estimates.alone[at] + finding_a_row * of.middles;
      of.walking = std::min(alone, estimates.together[at]);
      if (estimates.together[at] < alone)
        of.adding = adding_together;
    }
  }

  const PairsByType& by_type_;
  std::vector<OfGroup> groups_;
};

// Whether a path type comes before another of the same length, or is the same, by the names of
// their relations. (As numbers, path types are ordered by ids.)
bool is_before(PathType one, PathType other, Ids relation_rank, const Packing& packing) {
  for (int place = 0; place < packing.length(one); ++place) {
    const Id rank = relation_rank[packing.relation(one, place)];
    const Id other_rank = relation_rank[packing.relation(other, place)];
    if (rank != other_rank)
      return rank < other_rank;
  }
  return true;
}

}  // namespace

std::vector<Way> ways_to_walk(const Graph& graph, std::span<const RelationPathType> pairs,
                              std::span<const Count> widest, Ids rank, Ids relation_rank,
                              int max_length, int threads, Progress& progress) {
  Steps steps(progress);
  std::vector<Way> ways(pairs.size(), Way::by_itself);
  const PairsByType by_type(pairs, steps);
  const std::vector<Couple> couples = couples_of(by_type, widest, max_length, steps);
  if (couples.empty())
    return ways;

  const Costs costs(graph, rank, pairs, by_type, couples, max_length, threads, progress);
  for (const Couple& couple : couples) {
    const auto [group, inverse_group] = couple;
    const bool is_its_own_inverse = group == inverse_group;
    double apart = costs.one_way(group);
    if (!is_its_own_inverse)
      apart += costs.one_way(inverse_group);
    const double this_way = costs.both_ways(group, couple);
    const double other_way = costs.both_ways(inverse_group, couple);
    if (std::min(this_way, other_way) >= apart)
      continue;
    const bool comes_first = is_before(by_type.types[group], by_type.types[inverse_group],
                                       relation_rank, Packing(max_length));
    const bool is_this_way = this_way == other_way ? comes_first : this_way < other_way;
    const std::size_t walked = is_this_way ? group : inverse_group;
    const std::size_t other = is_this_way ? inverse_group : group;
    const auto places = by_type.of(walked);
    const std::vector<std::size_t> inverse_places = by_type.inverses(walked, other);
    for (std::size_t at = 0; at < places.size(); ++at) {
      if (ways[places[at]] == Way::by_inverse)
        continue;  // the path type is its own inverse
      ways[places[at]] = Way::both_ways;
      ways[inverse_places[at]] = Way::by_inverse;
    }
  }
  return ways;
}

WalkedPairs::WalkedPairs(std::span<const RelationPathType> all, std::span<const Way> ways,
                         int max_length, Progress& progress) {
  Steps steps(progress);
  const Packing packing(max_length);
  // Pairs that are not walked, and those that count them along, in the same order.
  using Named = std::tuple<PathType, Id, std::size_t>;  // and its place
  std::vector<Named> along;
  std::vector<Named> counted_along;
  for (std::size_t place = 0; place < ways.size(); ++place) {
    const auto [relation, type, _] = all[place];
    if (ways[place] == Way::both_ways)
      along.emplace_back(backwards(type, packing), inverse(relation), place);
    else if (ways[place] == Way::by_inverse)
      counted_along.emplace_back(type, relation, place);
  }
  const auto sort = [&](std::vector<Named>& named) {
    std::sort(named.begin(), named.end(), [&](const Named& a, const Named& b) {
      steps.take();
      return a < b;
    });
  };
  sort(along);
  sort(counted_along);
  const auto are_inverse = [](const Named& a, const Named& b) {
    return std::get<PathType>(a) == std::get<PathType>(b) && std::get<Id>(a) == std::get<Id>(b);
  };
  if (!std::ranges::equal(along, counted_along, are_inverse))
    throw std::invalid_argument("a pair is counted along with a pair that is not its inverse");

  std::vector<std::size_t> inverse_of(all.size());
  std::iota(inverse_of.begin(), inverse_of.end(), std::size_t{0});
  for (std::size_t at = 0; at < along.size(); ++at)
    inverse_of[std::get<std::size_t>(along[at])] = std::get<std::size_t>(counted_along[at]);
  for (std::size_t place = 0; place < all.size(); ++place) {
    const Way way = ways.empty() ? Way::by_itself : ways[place];
    if (way == Way::by_inverse)
      continue;
    pairs.push_back({all[place].relation, all[place].type, way == Way::both_ways});
    places.push_back(place);
    inverse_places.push_back(inverse_of[place]);
  }
}

std::vector<Count> WalkedPairs::of_walked(std::span<const Count> widest) const {
  std::vector<Count> chosen;
  if (!widest.empty())
    for (std::size_t place : places)
      chosen.push_back(widest[place]);
  return chosen;
}

}  // namespace casegraph
