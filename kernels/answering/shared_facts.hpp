// Precedents by shared facts: the answers of entities that share a fact with the query entity.
//
// For a fact (relation, tail) of the query entity: of the other entities that have this fact and
// the query relation, how many answer a? At least `support` of them must, and the worth of the
// piece of evidence is count / (others + doubt).
//
// There are two ways to find out. One is to ask all sharers of a fact for their answers, which says
// it for all answers at once. The other looks a fact up for one answer: sharers that have the query
// relation are a bitset, the askers of the answer are another, and the count is what they have in
// common. With early stopping, a fact that many share is looked up, for the leaders only, as long
// as that takes less than asking (precedents.hpp). Before it is looked up, the number of sharers
// and the number of askers bound what it can be worth.
//
// Asking says something about nearly every answer, and little of it is among the best facts that
// count. So what is said is sifted: compared with the least of these (best_worths.hpp). If much is
// said, this goes through all answers in their order: memory is read one word after the other, and
// whole blocks of answers for which the fact cannot count are skipped.
//
// Asking costs as many edges as the sharers have, and looking up as many words or bits as one of
// the bitsets has.
#pragma once

#include <bit>
#include <unordered_map>

#include "answering/best_worths.hpp"
#include "answering/relation_query.hpp"
#include "answering/workspace.hpp"
#include "common/bits.hpp"
#include "common/fetch.hpp"
#include "common/radix_sort.hpp"

namespace casegraph {

class SharedFacts {
 public:
  // Facts are grouped by the bit width of their number of sharers: class w has from 2^(w-1) to
  // 2^w - 1 of them. All classes:
  static constexpr int every_class = 64;

  // keep  remember what is found for a fact that many share, for the next queries
  SharedFacts(const RelationQuery& query, Workspace& workspace, bool keep, Progress& progress)
      : query_(query),
        by_asker_(query.graph.edges(query.relation)),
        by_answer_(query.graph.edges(inverse(query.relation))),
        counts_(workspace.counts),
        worths_(workspace.worths),
        rows_of_askers_(workspace.stamps),
        best_(workspace),
        keep_(keep),
        words_(AskerBits::words_for(by_asker_)),
        steps_(progress) {
    if (!by_asker_.heads.empty())
      cost_of_sharer_ += static_cast<Count>(by_asker_.tails.size() / by_asker_.heads.size());
    const auto words_of_answers = static_cast<Count>(by_answer_.heads.size() * words_);
    const auto edges = static_cast<Count>(by_asker_.tails.size());
    cost_for_all_ = std::min(words_of_answers / words_an_edge, edges / bits_an_edge);
  }

  // Find the facts (relation, tail) of an entity for which `is_seen` holds.
  template <class IsSeen>
  void find(Id entity, const IsSeen& is_seen) {
    facts_.clear();
    const Graph& graph = query_.graph;
    steps_.take(std::ssize(graph.relations));
    for (Id relation = 0; relation < static_cast<Id>(graph.relations.size()); ++relation) {
      for (Id tail : graph.tails(entity, relation)) {
        steps_.take();
        if (!is_seen(relation, tail))
          continue;
        facts_.push_back({relation, tail, graph.tails(tail, inverse(relation))});
      }
    }
  }

  // All facts that were found: call `use(sharers)` for each.
  template <class Use>
  void each_fact(const Use& use) const {
    constexpr std::size_t ahead = 8;
    for (std::size_t at = 0; at < facts_.size(); ++at) {
      if (at + ahead < facts_.size())
        fetch(facts_[at + ahead].sharers);
      use(facts_[at].sharers);
    }
  }

  // The edges that all facts make one look at, if each sharer has as many answers as is usual.
  Count cost() const {
    Count total = 0;
    for (const Fact& fact : facts_)
      total += cost(fact);
    return total;
  }

  // If there are too many sharers for the budget, facts that fewest share come first. The largest
  // class up to which the budget is enough for all facts, and what these cost. Whole classes, so
  // that it does not depend on the order of facts.
  struct Affordable {
    int largest_class;
    Count cost;
  };
  Affordable affordable(Count budget) const {
    std::array<Count, every_class + 1> cost_of_class{};
    for (const Fact& fact : facts_)
      cost_of_class[class_of(fact)] += cost(fact);
    Count total = 0;
    for (int next = 0; next <= every_class; ++next) {
      if (total + cost_of_class[next] > budget)
        return {next - 1, total};
      total += cost_of_class[next];
    }
    return {every_class, total};
  }

  // Choose the facts up to a class, all to be asked.
  void choose(int largest_class) {
    choose_up_to(largest_class);
    looked_up_.clear();
  }

  // The same, but look those up where that is cheaper for all answers.
  void choose_cheaper(int largest_class) {
    choose_up_to(largest_class);
    const auto is_asked = [&](const Fact& fact) { return cost_of_asking(fact) <= cost(fact); };
    look_up_from(std::stable_partition(chosen_.begin(), chosen_.end(), is_asked));
  }

  // Choose all facts. Those that fewest share are asked, the others looked up. Facts with the same
  // sharers are asked at once.
  void choose_rarest() {
    choose_up_to(every_class);
    const auto has_fewer_sharers = [](const Fact& a, const Fact& b) {
      return a.sharers.size() < b.sharers.size();
    };
    sort_by(chosen_, sorting_, steps_, [](const Fact& fact) { return fact.sharers.size(); });

    // Only those that are asked are sorted further.
    Count asked = 0;
    auto first = chosen_.begin();
    for (auto end = first; first != chosen_.end() && asked <= few_edges;) {
      if (first == end) {
        end = std::upper_bound(first, chosen_.end(), *first, has_fewer_sharers);
        sort_by_sharers(first, end);
      }
      asked += cost_of_asking(*first);
      if (asked <= few_edges)
        first = end_of_group(first);
    }
    look_up_from(first);
    are_sorted_ = true;
  }

  // Open the facts that are to be looked up, for a query entity: find who shares them. Returns the
  // edges looked at.
  Count open_looked_up(Id entity) {
    constexpr std::size_t ahead = 8;
    Count edges = 0;
    const std::size_t row_of_entity = by_asker_.row_of(entity);
    rows_of_askers_.renew();
    steps_.take(std::ssize(by_asker_.heads));
    for (std::size_t row = 0; row < by_asker_.heads.size(); ++row)
      rows_of_askers_.set(by_asker_.heads[row], row);
    answer_at_hand_ = -1;  // `rows_` is used for sharers here
    bits_.assign(looked_up_.size() * words_, 0);
    for (std::size_t at = 0; at < looked_up_.size(); ++at) {
      LookedUp& fact = looked_up_[at];
      if (at + ahead < looked_up_.size())
        fetch(looked_up_[at + ahead].fact.sharers);
      fact.first_word = at * words_;
      const auto bits = bits_of(fact);
      steps_.take(std::ssize(fact.fact.sharers) / 2);
      edges += std::ssize(fact.fact.sharers);
      // First all rows are found, then they are marked: whether a sharer has one is hard to guess,
      // and so no branch depends on it.
      if (rows_.size() < fact.fact.sharers.size())
        rows_.resize(fact.fact.sharers.size());
      std::size_t count = 0;
      for (Id sharer : fact.fact.sharers) {
        rows_[count] = rows_of_askers_.slot(sharer);
        count += rows_of_askers_.has(sharer);
      }
      for (std::size_t row : std::span(rows_).first(count))
        bits[row >> 6] |= std::uint64_t{1} << (row & 63);
      fact.others = static_cast<Count>(count);
      if (row_of_entity < by_asker_.heads.size())
        forget(fact, row_of_entity);
    }
    sort_by(looked_up_, sorting_looked_up_, steps_,
            [](const LookedUp& fact) { return static_cast<std::uint64_t>(fact.others); });
    most_strengths_.clear();
    return edges;
  }

  std::size_t looked_up() const { return looked_up_.size(); }

  // The most strength that any fact to be looked up can have for an answer that so many others
  // give. No more of them can share the fact, nor can more than share it give the answer: of n
  // sharers at most min(n, given) / (n + doubt), which rises up to n = given, and falls from there.
  double most_strength(Count given) {
    if (given >= few_given)
      return most_strength_from(0, given);
    const auto place = static_cast<std::size_t>(given);
    if (most_strengths_.size() <= place)
      most_strengths_.resize(place + 1, -1);
    if (most_strengths_[place] < 0)
      most_strengths_[place] = most_strength_from(0, given);
    return most_strengths_[place];
  }

  // The same for the facts from a place on.
  double most_strength_from(std::size_t first, Count given) {
    const auto strength = [&](const LookedUp& fact) {
      const Count count = std::min(given, fact.others);
      return count < query_.options.support ? 0 : worth_of(count, fact.others).strength;
    };
    const auto rest = std::span<const LookedUp>(looked_up_).subspan(first);
    const auto at = std::ranges::lower_bound(rest, given, {}, &LookedUp::others);
    double most = 0;
    if (at != rest.end())
      most = strength(*at);
    if (at != rest.begin())
      most = std::max(most, strength(at[-1]));
    return most;
  }

  // How far facts have been looked up for an answer, and what that took, in edges.
  struct LookUp {
    std::size_t next;
    Count edges;
  };

  // Call `use(piece of evidence)` for facts that are looked up and speak for an answer.
  //
  // from   the first of them. Some are looked up at a time, since those that fewest share are
  //        likely to say most
  // best   use only so many, the strongest. If it is 0, all, and to the last
  // least  use only those that are worth more
  template <class Use>
  LookUp look_up(Id answer, std::size_t from, std::size_t best, double least, const Use& use) {
    find_askers(answer);
    const bool is_dense = has_dense_askers();
    const auto askers = static_cast<Count>(askers_);
    const Count work =
        is_dense ? static_cast<Count>(words_) / words_an_edge : askers / bits_an_edge;
    found_.clear();
    const std::size_t all = looked_up_.size();
    const std::size_t end = best == 0 ? all : std::min(all, from + std::max(few_facts, from));
    std::size_t next = from;
    for (; next < end; ++next) {
      const LookedUp& at = looked_up_[next];
      if (share_of(std::min(askers, at.others), at.others) <= least) {
        if (at.others < askers)
          continue;
        next = all;  // a fact that more entities share is worth less even if all askers share it
        break;
      }
      steps_.take(1 + work);
      const Count count =
          is_dense ? count_common_bits(bits_of(at), mask_) : count_rows(bits_of(at));
      if (count < query_.options.support)
        continue;
      if (at.fact.relation == query_.relation && at.fact.tail == answer)
        continue;
      const double worth = share_of(count, at.others);
      if (worth <= least)
        continue;
      keep({worth, count, &at}, best);
      if (found_.size() == best)
        least = found_.back().worth;  // of the weakest of the best
    }
    for (const Found& found : found_) {
      const auto& [fact, others, _] = *found.fact;
      const Worth& worth = worth_of(found.count, others);
      use(Piece{Kind::shared_fact, fact.relation, fact.tail, -1, found.count, others, worth});
    }
    return {next, static_cast<Count>(std::min(next, end) - from) * (1 + work)};
  }

  // All that anybody gives.
  Ids all_answers() const { return by_answer_.heads; }

  // From now on, the facts that were to be looked up are asked, like all others.
  void ask_looked_up() {
    for (const LookedUp& one : looked_up_)
      chosen_.push_back(one.fact);
    looked_up_.clear();
    are_sorted_ = false;
  }

  // The edges to look at if the facts that are to be looked up are asked instead.
  Count cost_of_asking_looked_up() const {
    Count cost = 0;
    for (const LookedUp& one : looked_up_)
      cost += cost_of_asking(one.fact);
    return cost;
  }

  // Call `use(piece of evidence, answer)` for what at least `support` others say, for the facts
  // that are not looked up. A fact says nothing for the answer that is this fact itself. Returns
  // the edges looked at.
  //
  // own  the known answers of the query entity, which is not asked itself
  template <class Use>
  Count ask(Id entity, Ids own, const Use& use) {
    Count edges = 0;
    for (const Fact& fact : chosen_) {
      if (is_kept(fact.sharers, own)) {
        edges += report(fact, remembered(fact), own, use);
      } else {
        count(fact.sharers, entity, sharing_);
        edges += report(fact, sharing_, {}, use);
      }
    }
    return edges;
  }

  // The same, but call `use(answer, worths)` with what the best facts are worth for each answer, at
  // most `most`, the best first.
  //
  // may_answer  whether an entity can be an answer
  //
  // Facts that fewest share come first, since they can be worth most.
  template <class MayAnswer, class Use>
  Count ask_for_best(Id entity, Ids own, std::size_t most, const MayAnswer& may_answer,
                     const Use& use) {
    if (!are_sorted_)
      sort_by_sharers(chosen_.begin(), chosen_.end());
    best_.start(most);
    Count edges = 0;
    for (auto begin = chosen_.begin(), end = begin; begin != chosen_.end(); begin = end) {
      const Ids sharers = begin->sharers;
      end = end_of_group(begin);
      const std::span<const Fact> facts(begin, end);
      Count others = 0;
      const auto offer = [&](Count count, Id answer) {
        const std::size_t times = std::min(most, facts.size() - is_among(facts, answer));
        const double worth = share_of(count, others);
        for (std::size_t time = 0; time < times; ++time)
          best_.offer(answer, worth, may_answer);
      };
      if (is_kept(sharers, own)) {
        const Sharing& sharing = remembered(facts.front());
        others = sharing.others - !own.empty();
        steps_.take(std::ssize(sharing.given));
        edges += std::ssize(facts) * (sharing.edges - std::ssize(own));
        for (const auto& [given, answer] : sharing.given) {
          const Count count = given - std::binary_search(own.begin(), own.end(), answer);
          if (count >= query_.options.support)
            offer(count, answer);
        }
        continue;
      }
      find_asked(sharers, entity);
      others = std::ssize(asked_);
      edges += std::ssize(facts) * (std::ssize(sharers) + asked_edges_);
      if (comparing_bits_takes_less()) {
        each_count_by_bits(offer);
      } else {
        for (const Counted& one : sifted())
          offer(one.count, one.answer);
      }
    }
    best_.take(steps_, use);
    return edges;
  }

 private:
  struct Fact {
    Id relation, tail;
    Ids sharers;  // all entities that have it, the query entity among them
  };

  struct LookedUp {
    Fact fact;
    Count others = 0;            // sharers that have the query relation, without the query entity
    std::size_t first_word = 0;  // in `bits_`
  };

  struct Found {
    double worth;
    Count count;
    const LookedUp* fact;
  };

  // What the sharers of a fact answer.
  struct Sharing {
    Count others = 0;  // those that have the query relation
    Count edges = 0;   // that were looked at
    std::vector<Habit::Given> given;
  };

  // How often the sharers of a fact give an answer.
  struct Counted {
    std::int32_t count;
    Id answer;
  };

  static int class_of(const Fact& fact) {
    return static_cast<int>(std::bit_width(fact.sharers.size()));
  }

  Count cost_of_asking(const Fact& fact) const {
    return std::ssize(fact.sharers) * cost_of_sharer_;
  }
  Count cost_of_looking_up(const Fact& fact) const {
    return std::ssize(fact.sharers) + cost_for_all_;
  }
  Count cost(const Fact& fact) const {
    return std::min(cost_of_asking(fact), cost_of_looking_up(fact));
  }

  // Those from here on are looked up, the last first, as far as there is room for them.
  void look_up_from(std::vector<Fact>::iterator first) {
    const auto room = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, most_words / words_));
    first = std::max(first, chosen_.end() - std::min(room, chosen_.end() - chosen_.begin()));
    looked_up_.clear();
    for (auto fact = first; fact != chosen_.end(); ++fact)
      looked_up_.push_back({*fact});
    chosen_.erase(first, chosen_.end());
  }

  // Keep what was found; if only the `best` are wanted, in place of the weakest.
  void keep(const Found& found, std::size_t best) {
    if (best == 0) {
      found_.push_back(found);
      return;
    }
    if (found_.size() == best)
      found_.pop_back();
    const auto at = std::ranges::upper_bound(found_, found.worth, std::greater<>(), &Found::worth);
    found_.insert(at, found);
  }

  // Find the rows of those who give an answer: they are the same in every query of the relation,
  // and one answer is often asked about several times in a row.
  void find_askers(Id answer) {
    if (answer == answer_at_hand_)
      return;
    answer_at_hand_ = answer;
    const Ids askers = by_answer_.of(answer);
    askers_ = askers.size();
    if (has_dense_askers() && !query_.asker_bits.empty()) {
      mask_ = query_.asker_bits.of(by_answer_.row_of(answer));
      return;
    }
    rows_.clear();
    for (Id asker : askers)
      rows_.push_back(by_asker_.row_of(asker));
    if (!has_dense_askers())
      return;
    own_mask_.assign(words_, 0);
    for (std::size_t row : rows_)
      own_mask_[row >> 6] |= std::uint64_t{1} << (row & 63);
    mask_ = own_mask_;
  }

  // Whether comparing whole bitsets takes less than looking for each asker of the answer at hand.
  bool has_dense_askers() const { return askers_ * words_an_edge > words_ * bits_an_edge; }

  std::span<std::uint64_t> bits_of(const LookedUp& fact) {
    return {bits_.data() + fact.first_word, words_};
  }

  // The query entity shares the fact, too, but is none of the others.
  void forget(LookedUp& fact, std::size_t row_of_entity) {
    std::uint64_t& word = bits_of(fact)[row_of_entity >> 6];
    const std::uint64_t bit = std::uint64_t{1} << (row_of_entity & 63);
    fact.others -= (word & bit) != 0;
    word &= ~bit;
  }

  Count count_rows(std::span<const std::uint64_t> bits) const {
    Count common = 0;
    for (std::size_t row : rows_)
      common += static_cast<Count>(bits[row >> 6] >> (row & 63) & 1);
    return common;
  }

  void choose_up_to(int largest_class) {
    chosen_.clear();
    are_sorted_ = false;
    for (const Fact& fact : facts_) {
      // The query entity is a sharer itself, so there must be one more than the support.
      const bool has_support = static_cast<Count>(fact.sharers.size()) > query_.options.support;
      if (has_support && class_of(fact) <= largest_class)
        chosen_.push_back(fact);
    }
  }

  // Those that fewest share first. Facts with the same sharers come together, in order.
  void sort_by_sharers(std::vector<Fact>::iterator first, std::vector<Fact>::iterator last) {
    std::sort(first, last, [&](const Fact& a, const Fact& b) {
      if (a.sharers.size() != b.sharers.size())
        return a.sharers.size() < b.sharers.size();
      steps_.take(1 + std::ssize(a.sharers));  // they are compared as far as they agree
      const auto order = std::lexicographical_compare_three_way(a.sharers.begin(), a.sharers.end(),
                                                                b.sharers.begin(), b.sharers.end());
      if (order != 0)
        return order < 0;
      return std::pair(a.relation, a.tail) < std::pair(b.relation, b.tail);
    });
  }

  // The first fact after this one that has other sharers; they are sorted by sharers.
  std::vector<Fact>::iterator end_of_group(std::vector<Fact>::iterator first) {
    const auto has_others = [&](const Fact& next) {
      return !std::ranges::equal(next.sharers, first->sharers);
    };
    return std::find_if(first + 1, chosen_.end(), has_others);
  }

  // own  what to subtract: the answers of the query entity, if it was counted among the sharers
  template <class Use>
  Count report(const Fact& fact, const Sharing& sharing, Ids own, const Use& use) {
    const Count others = sharing.others - !own.empty();
    Piece piece{Kind::shared_fact, fact.relation, fact.tail, -1, 0, others, Worth()};
    for (const auto& [given, answer] : sharing.given) {
      const Count count = given - std::binary_search(own.begin(), own.end(), answer);
      if (count < query_.options.support || is_among({&fact, 1}, answer))
        continue;
      piece.count = count;
      piece.worth = worth_of(count, others);
      use(piece, answer);
    }
    return sharing.edges - std::ssize(own);
  }

  const Worth& worth_of(Count count, Count others) { return worths_.of(share_of(count, others)); }

  double share_of(Count count, Count others) const {
    return static_cast<double>(count) / (static_cast<double>(others) + query_.options.doubt);
  }

  // Whether (query relation, answer) is one of the facts: an answer must not be evidence for
  // itself.
  bool is_among(std::span<const Fact> facts, Id answer) const {
    const auto key = [](const Fact& fact) { return std::pair(fact.relation, fact.tail); };
    const std::pair itself(query_.relation, answer);
    const auto at = std::ranges::lower_bound(facts, itself, {}, key);
    return at != facts.end() && key(*at) == itself;
  }

  // Whether what the sharers of a fact answer is remembered for the next queries.
  bool is_kept(Ids sharers, Ids own) const {
    return keep_ && sharers.size() > std::max(own.size(), few_sharers);
  }

  // What all sharers of a fact answer, the query entity among them.
  const Sharing& remembered(const Fact& fact) {
    if (remembered_size_ > most_remembered) {
      remembered_.clear();
      remembered_size_ = 0;
    }
    const auto key =
        static_cast<std::uint64_t>(fact.relation) << 32 | static_cast<std::uint32_t>(fact.tail);
    const auto [at, is_new] = remembered_.try_emplace(key);
    if (is_new) {
      count(fact.sharers, -1, at->second);
      remembered_size_ += at->second.given.size();
    }
    return at->second;
  }

  // What the sharers of a fact answer, except for `excluded`: the answers that at least `support`
  // of them give.
  void count(Ids sharers, Id excluded, Sharing& sharing) {
    find_asked(sharers, excluded);
    sharing.others = std::ssize(asked_);
    sharing.edges = std::ssize(sharers) + asked_edges_;
    sharing.given.clear();
    const auto keep_it = [&](Count count, Id answer) { sharing.given.push_back({count, answer}); };
    if (comparing_bits_takes_less()) {
      each_count_by_bits(keep_it);
      return;
    }
    add_up();
    for (std::size_t row : asked_) {
      for (Id answer : by_asker_.row(row)) {
        const Count count = std::exchange(counts_[answer], 0);
        if (count >= query_.options.support)
          keep_it(count, answer);
      }
    }
  }

  // Find which sharers of a fact have the query relation, except for `excluded`.
  void find_asked(Ids sharers, Id excluded) {
    steps_.take(std::ssize(sharers));
    asked_.clear();
    asked_edges_ = 0;
    for (Id other : sharers) {
      const std::size_t row = by_asker_.row_of(other);
      if (other == excluded || row == by_asker_.heads.size())
        continue;
      asked_.push_back(row);
      asked_edges_ += std::ssize(by_asker_.row(row));
    }
  }

  // Whether comparing those who are asked with the askers of every answer, as bitsets, takes less
  // than looking at their edges.
  bool comparing_bits_takes_less() const {
    const auto answers = by_answer_.heads.size();
    const auto cost =
        static_cast<Count>(answers / answers_an_edge + answers * words_ / words_an_edge);
    return !query_.asker_bits.empty() && asked_edges_ >= cost;
  }

  // Call `use(count, answer)` for the answers that at least `support` of those who are asked give.
  template <class Use>
  void each_count_by_bits(const Use& use) {
    asked_bits_.assign(words_, 0);
    for (std::size_t row : asked_)
      asked_bits_[row >> 6] |= std::uint64_t{1} << (row & 63);
    const std::size_t answers = by_answer_.heads.size();
    steps_.take(static_cast<Count>(answers * words_) / words_an_edge);
    for (std::size_t row = 0; row < answers; ++row) {
      const Count count = count_common_bits(query_.asker_bits.of(row), asked_bits_);
      if (count >= query_.options.support)
        use(count, by_answer_.heads[row]);
    }
  }

  // Add up how often those who are asked give each answer, into `counts_`.
  void add_up() {
    constexpr std::size_t ahead = 4;
    std::int32_t* const counts = counts_.data();
    for (std::size_t at = 0; at < asked_.size(); ++at) {
      if (at + ahead < asked_.size())
        fetch(by_asker_.row(asked_[at + ahead]));
      const Ids given = by_asker_.row(asked_[at]);
      steps_.take(std::ssize(given));
      for (Id answer : given)
        ++counts[answer];
    }
  }

  // The answers for which the fact at hand counts: at least `support` of those who are asked give
  // them, and that is worth more than the least of their best facts.
  //
  // Which answers these are is hard to guess, and so no branch depends on a single one.
  std::span<const Counted> sifted() {
    add_up();
    const Count others = std::ssize(asked_);
    shares_.clear();
    for (Count count = 0; count <= others; ++count)
      shares_.push_back(count < query_.options.support ? 0 : share_of(count, others));
    const bool is_much_said = asked_edges_ * counts_an_edge > std::ssize(counts_of_answers());
    return is_much_said ? sifted_by_answer(others) : sifted_by_asker();
  }

  // By looking at the edges once more. An answer has its count at the first of its edges, and 0 at
  // the others, which is worth nothing.
  std::span<const Counted> sifted_by_asker() {
    if (std::ssize(sifted_) < asked_edges_)
      sifted_.resize(static_cast<std::size_t>(asked_edges_));
    const double* const least = best_.least();
    const double* const shares = shares_.data();
    std::int32_t* const counts = counts_.data();
    Counted* const sifted = sifted_.data();
    std::size_t end = 0;
    for (std::size_t row : asked_) {
      const Ids given = by_asker_.row(row);
      steps_.take(std::ssize(given));
      for (Id answer : given) {
        const std::int32_t count = std::exchange(counts[answer], 0);
        sifted[end] = {count, answer};
        end += shares[count] > least[answer];
      }
    }
    return std::span(sifted_).first(end);
  }

  // By looking at all entities from the first answer to the last, in blocks.
  std::span<const Counted> sifted_by_answer(Count others) {
    const std::span<std::int32_t> counts = counts_of_answers();
    const Id first = by_answer_.heads.front();
    const double* const least = best_.least() + first;
    if (sifted_.size() < counts.size())
      sifted_.resize(counts.size());
    steps_.take(std::ssize(counts) / 2);

    // A block is skipped if no count in it can be worth more than the least. Multiplying takes less
    // than looking up what a count is worth, and is rounded otherwise: so what is nearly as much
    // passes here, and is compared exactly below.
    const double scale = (static_cast<double>(others) + query_.options.doubt) * (1 - 1e-9);
    const double too_few = static_cast<double>(query_.options.support) - 0.5;
    constexpr std::size_t block = 64;
    std::size_t end = 0;
    for (std::size_t begin = 0; begin < counts.size(); begin += block) {
      const std::size_t size = std::min(block, counts.size() - begin);
      std::int64_t may_count = 0;
      for (std::size_t at = begin; at < begin + size; ++at)
        may_count |= static_cast<double>(counts[at]) > std::max(least[at] * scale, too_few);
      for (std::size_t at = begin; may_count != 0 && at < begin + size; ++at) {
        sifted_[end] = {counts[at], first + static_cast<Id>(at)};
        end += shares_[static_cast<std::size_t>(counts[at])] > least[at];
      }
      std::fill_n(counts.begin() + static_cast<std::ptrdiff_t>(begin), size, 0);
    }
    return std::span(sifted_).first(end);
  }

  // The counts of all entities from the first answer to the last.
  std::span<std::int32_t> counts_of_answers() {
    const Ids answers = by_answer_.heads;
    if (answers.empty())
      return {};
    const auto size = static_cast<std::size_t>(answers.back() - answers.front()) + 1;
    return std::span(counts_).subspan(static_cast<std::size_t>(answers.front()), size);
  }

  static constexpr std::size_t few_sharers = 16;  // counting them again is as fast as a lookup
  static constexpr std::size_t most_remembered = 1 << 20;  // answers: 16 megabytes

  static constexpr Count few_given = 1 << 16;
  static constexpr std::size_t few_facts = 16;
  static constexpr Count few_edges = 1 << 15;         // some tenths of a millisecond
  static constexpr std::size_t most_words = 1 << 22;  // of facts that are looked up: 32 megabytes
  // What takes as long as looking at an edge:
  static constexpr int words_an_edge = 8;
  static constexpr int bits_an_edge = 4;
  static constexpr int answers_an_edge = 2;  // each with its words
  static constexpr int counts_an_edge = 4;   // one after the other

  const RelationQuery& query_;
  const Edges& by_asker_;              // the edges of the query relation
  const Edges& by_answer_;             // the same edges, by answer
  std::vector<std::int32_t>& counts_;  // of each answer, for the fact at hand; all 0 between facts
  KnownWorths& worths_;
  Stamps& rows_of_askers_;
  BestWorths best_;  // the facts that count for each answer
  const bool keep_;
  const std::size_t words_;  // of a bitset of the rows of `by_asker_`
  Steps steps_;
  Count cost_of_sharer_ = 1;  // a lookup, and the answers that an entity has on average
  Count cost_for_all_ = 0;    // of looking a fact up for all answers
  std::vector<Fact> facts_, chosen_;
  std::vector<Fact> sorting_;                // while those that are chosen are sorted
  std::vector<LookedUp> sorting_looked_up_;  // and while those that are looked up are
  bool are_sorted_ = false;                  // those that are chosen, by sharers
  std::vector<LookedUp> looked_up_;          // those that fewest share first
  std::vector<std::uint64_t> bits_;          // who shares each of them: rows of `by_asker_`
  std::vector<double> most_strengths_;       // by how many give an answer; -1 where it is not known
  Id answer_at_hand_ = -1;                   // that was looked up last
  std::size_t askers_ = 0;                   // how many give it
  std::vector<std::size_t> rows_;          // of those who give it, if they are few, or share a fact
  std::span<const std::uint64_t> mask_;    // those who give it as bits, if they are many
  std::vector<std::uint64_t> own_mask_;    // the same, if it is not at hand for the relation
  std::vector<std::size_t> asked_;         // the rows of those who share the fact at hand
  Count asked_edges_ = 0;                  // and how many edges they have
  std::vector<std::uint64_t> asked_bits_;  // the same as bits
  std::vector<double> shares_;             // what each count of the fact at hand is worth
  std::vector<Counted> sifted_;            // the answers for which it counts
  std::vector<Found> found_;               // what speaks for the answer at hand
  Sharing sharing_;                        // of the facts at hand
  std::unordered_map<std::uint64_t, Sharing> remembered_;  // by fact
  std::size_t remembered_size_ = 0;                        // answers
};

}  // namespace casegraph
