#include "counting/reach_by_tile.hpp"

#include "counting/pair_sums.hpp"
#include "counting/reach_plan.hpp"
#include "counting/tail_bitsets.hpp"

namespace casegraph {
namespace {

// The starts of a path type, and what is asked of their ends.
struct StartsOfType {
  StartsOfType(const Graph& graph, Ids entities, const ReachPlan& plan, std::int32_t node_,
               Steps& steps)
      : node(node_), first(graph.edges(plan.trie.nodes[plan.trie.nodes[node_].parent].relation)) {
    const std::vector<char> asks = plan.asks_below(graph, node);
    for (Id entity : entities)
      if (entity < graph.entities && asks[entity] && first.has(entity))
        starts.push_back(entity);

    const Edges& back = graph.edges(inverse(plan.trie.nodes[node].relation));
    const auto pairs = plan.pairs_at(node);
    with_askers.resize(TailTiles::tiles_of(back) * pairs.size());
    for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
      const Edges& askers = graph.edges(inverse(pairs[pair].relation));
      const std::vector<std::uint64_t> bits = bitset_of_tails_among(back, askers, steps);
      for (std::size_t word = 0; word < bits.size(); ++word) {
        const std::size_t tile = word / TileRow::words;
        with_askers[tile * pairs.size() + pair].bits[word % TileRow::words] = bits[word];
      }
    }
  }

  std::int32_t node;  // where the path type ends
  const Edges& first;
  std::vector<Id> starts;
  std::vector<TileRow> with_askers;  // by tile, then by pair: the tails that have any
};

// Starts that go from tile to tile side by side.
struct Block {
  const StartsOfType* type;
  Ids starts;
};

// Large blocks use a tile often while it is in the cache; but all threads should have some, and
// what is kept of every start and pair should not take much memory.
std::size_t starts_a_block(std::size_t starts, std::size_t pairs, int threads) {
  constexpr std::size_t few_starts = 1024;
  constexpr std::size_t many_starts = 8192;
  constexpr std::size_t many_sums = 1 << 17;  // of starts and pairs
  constexpr std::size_t blocks_a_thread = 4;
  const std::size_t blocks = blocks_a_thread * static_cast<std::size_t>(std::max(threads, 1));
  const std::size_t size = std::clamp(starts / blocks, few_starts, many_starts);
  return std::clamp(many_sums / pairs, std::size_t{1}, size);
}

std::vector<Block> blocks_of(const std::vector<StartsOfType>& types, const ReachPlan& plan,
                             int threads) {
  std::vector<Block> blocks;
  for (const StartsOfType& type : types) {
    const Ids all(type.starts);
    const std::size_t pairs = plan.pairs_at(type.node).size();
    const std::size_t size = starts_a_block(all.size(), pairs, threads);
    for (std::size_t begin = 0; begin < all.size(); begin += size)
      blocks.push_back({&type, all.subspan(begin, std::min(size, all.size() - begin))});
  }
  return blocks;
}

// Counts one block after the other, and adds up; one for each thread.
class alignas(own_lines) BlockCounter {
 public:
  BlockCounter(const Graph& graph, const ReachPlan& plan, Progress& progress)
      : graph_(graph), plan_(plan), steps_(progress), sums_(plan.pairs.size()) {}

  void count(const Block& block, const TailTiles& tiles) {
    const auto& nodes = plan_.trie.nodes;
    const std::int32_t node = block.type->node;
    last_ = &graph_.edges(nodes[node].relation);
    back_ = &graph_.edges(inverse(nodes[node].relation));
    pairs_ = plan_.pairs_at(node);
    for (std::size_t begin = 0; begin < block.starts.size();) {
      begin = take_first_steps(block, begin);
      sort_answers(tiles.tiles());
      counts_.assign(starts_.size() * (1 + pairs_.size()), 0);
      right_.assign(starts_.size() * pairs_.size(), {});
      for (std::size_t tile = 0; tile < tiles.tiles(); ++tile)
        take_last_steps(block, tiles, tile);
      add_up();
    }
  }

  void put_into(ReachBothWays& total) const {
    for (std::size_t place = 0; place < sums_.size(); ++place)
      sums_[place].put_into(total, static_cast<std::size_t>(plan_.pair_at_place(place).pair));
  }

 private:
  // A start that has a row to go on from.
  struct Start {
    Id entity;
    Id number;             // among the tails of the last step
    std::size_t rows_end;  // its rows end there, and those of the next begin
  };

  // An answer of a start, if it is a tail of the last step.
  struct Answer {
    Id number;            // of the answer among these tails
    std::uint16_t start;  // the place of its start, of at most 8,192
    std::uint32_t pair;

    std::size_t tile() const { return static_cast<std::size_t>(number) / TileRow::size; }
  };

  // Gather the rows and the answers of the starts from a place on: all, or so many as fit into some
  // megabytes. Returns the place of the next.
  std::size_t take_first_steps(const Block& block, std::size_t begin) {
    constexpr std::size_t many = 1 << 20;
    starts_.clear();
    rows_.clear();
    answers_.clear();
    std::size_t at = begin;
    for (; at < block.starts.size() && rows_.size() + answers_.size() < many; ++at) {
      const Id start = block.starts[at];
      const std::size_t rows_before = rows_.size();
      const Ids tails = block.type->first.of(start);
      steps_.take(1 + std::ssize(tails));
      for (Id tail : tails) {
        const std::size_t row = last_->row_of(tail);
        if (tail != start && row != last_->heads.size())
          rows_.push_back(static_cast<Id>(row));
      }
      if (rows_.size() == rows_before)
        continue;
      find_answers(start);
      starts_.push_back({start, static_cast<Id>(back_->row_of(start)), rows_.size()});
    }
    return at;
  }

  // The answers of a start that is about to be added.
  void find_answers(Id start) {
    for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
      const Ids answers = graph_.tails(start, pairs_[pair].relation);
      steps_.take(1 + std::ssize(answers));
      for (Id answer : answers) {
        const std::size_t number = back_->row_of(answer);
        if (number != back_->heads.size())
          answers_.push_back({static_cast<Id>(number), static_cast<std::uint16_t>(starts_.size()),
                              static_cast<std::uint32_t>(pair)});
      }
    }
  }

  // A counting sort by tile: within a tile they stay in the order of the starts.
  void sort_answers(std::size_t tiles) {
    answers_end_.assign(tiles + 1, 0);
    for (const Answer& answer : answers_)
      ++answers_end_[answer.tile() + 1];
    std::partial_sum(answers_end_.begin(), answers_end_.end(), answers_end_.begin());
    steps_.take(std::ssize(answers_));
    unsorted_.swap(answers_);
    answers_.resize(unsorted_.size());
    for (const Answer& answer : unsorted_)
      answers_[answers_end_[answer.tile()]++] = answer;
  }

  void take_last_steps(const Block& block, const TailTiles& tiles, std::size_t tile) {
    const std::size_t pairs = pairs_.size();
    const auto masks = std::span(block.type->with_askers).subspan(tile * pairs, pairs);
    std::size_t next_answer = tile == 0 ? 0 : answers_end_[tile - 1];
    std::size_t rows_begin = 0;
    for (std::size_t start = 0; start < starts_.size(); ++start) {
      const auto& [entity, number, rows_end] = starts_[start];
      const Ids rows = Ids(rows_).subspan(rows_begin, rows_end - rows_begin);
      rows_begin = rows_end;
      steps_.take(1 + std::ssize(rows));
      const auto counts = std::span(counts_).subspan(start * (1 + pairs), 1 + pairs);
      const TileRow ends =
          join_rows(tiles.tile(tile), rows, TailTiles::place(number, tile), masks, counts);
      for (; next_answer < answers_end_[tile] && answers_[next_answer].start == start;
           ++next_answer) {
        const auto [answer, of_start, pair] = answers_[next_answer];
        if (ends.has(TailTiles::place(answer, tile)))
          add_right(right_[start * pairs + pair], pairs_[pair].relation, back_->heads[answer]);
      }
    }
  }

  void add_right(RightEnds& right, Id relation, Id answer) const {
    ++right.all;
    right.open += graph_.tails(answer, inverse(relation)).size() == 1;
  }

  void add_up() {
    for (std::size_t start = 0; start < starts_.size(); ++start) {
      const auto counts = std::span(counts_).subspan(start * (1 + pairs_.size()));
      steps_.take(std::ssize(pairs_));
      for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
        PairSums& sums = sums_[plan_.place(pairs_[pair])];
        const auto [number, relation, both_ways] = pairs_[pair];
        const std::size_t answers = graph_.tails(starts_[start].entity, relation).size();
        const Count with_askers = counts[1 + pair];
        if (answers > 0)
          sums.add(counts[0], with_askers, right_[start * pairs_.size() + pair], answers == 1,
                   both_ways);
        else if (both_ways)
          sums.add_backwards(with_askers);
      }
    }
  }

  const Graph& graph_;
  const ReachPlan& plan_;
  Steps steps_;

  // Some starts of the block at hand.
  const Edges* last_ = nullptr;  // of the last step
  const Edges* back_ = nullptr;  // of its inverse
  std::span<const ReachPlan::PairAt> pairs_;
  std::vector<Start> starts_;
  std::vector<Id> rows_;  // of the last relation, by start

  std::vector<Answer> answers_;           // of all starts, sorted by tile
  std::vector<Answer> unsorted_;          // before that
  std::vector<std::size_t> answers_end_;  // by tile

  // By start: how many ends it has; by start and pair: how many have askers, and which are right.
  std::vector<std::int32_t> counts_;
  std::vector<RightEnds> right_;

  std::vector<PairSums> sums_;  // by the place of each pair when they are ordered by node
};

// The nodes where path types end, by the last relation of these.
std::vector<std::vector<std::int32_t>> nodes_by_last_relation(const ReachPlan& plan) {
  const auto& nodes = plan.trie.nodes;
  std::vector<std::int32_t> ends;
  for (std::int32_t node = 0; node < std::ssize(nodes); ++node)
    if (!plan.pairs_at(node).empty())
      ends.push_back(node);
  const auto relation_of = [&](std::int32_t node) { return nodes[node].relation; };
  std::ranges::stable_sort(ends, {}, relation_of);
  std::vector<std::vector<std::int32_t>> groups;
  for (std::int32_t node : ends) {
    if (groups.empty() || relation_of(groups.back()[0]) != relation_of(node))
      groups.emplace_back();
    groups.back().push_back(node);
  }
  return groups;
}

}  // namespace

bool tiles_fit(const Graph& graph, Id relation) {
  constexpr std::size_t most_rows = 1 << 13;    // two megabytes a tile
  constexpr std::size_t most_bytes = 64 << 20;  // of all tiles
  const Edges& edges = graph.edges(relation);
  return edges.heads.size() <= most_rows &&
         TailTiles::bytes_of(edges, graph.edges(inverse(relation))) <= most_bytes;
}

ReachBothWays reach_by_tile(const Graph& graph, Ids entities,
                            std::span<const RelationPathType> pairs, int max_length, Count reported,
                            int threads, Progress& progress) {
  const ReachPlan plan(pairs, {}, max_length);
  std::vector<BlockCounter> counters(static_cast<std::size_t>(std::max(threads, 1)),
                                     BlockCounter(graph, plan, progress));
  Steps steps(progress);
  const auto groups = nodes_by_last_relation(plan);
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const Id last = plan.trie.nodes[groups[group][0]].relation;
    const TailTiles tiles(graph.edges(last), graph.edges(inverse(last)), steps);
    std::vector<StartsOfType> types;
    for (std::int32_t node : groups[group])
      types.emplace_back(graph, entities, plan, node, steps);
    const std::vector<Block> blocks = blocks_of(types, plan, threads);
    parallel(threads, blocks.size(), progress, [&](int thread, std::size_t at) {
      counters[static_cast<std::size_t>(thread)].count(blocks[at], tiles);
    });
    const auto share = [&](std::size_t done) {
      return reported * static_cast<Count>(done) / std::ssize(groups);
    };
    progress.done(share(group + 1) - share(group));
  }

  ReachBothWays total(pairs.size());
  for (const BlockCounter& counter : counters)
    counter.put_into(total);
  return total;
}

}  // namespace casegraph
