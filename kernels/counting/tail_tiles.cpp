#include "counting/tail_tiles.hpp"

#include <bit>
#include <cstring>

#include "common/fetch.hpp"

namespace casegraph {
namespace {

// Eight words that are joined at once, or in as few parts as the processor can. (A loop over words
// would do, if GCC did not take two rows at a time instead, word by word.)
#if defined(__GNUC__)
using EightWords = std::uint64_t __attribute__((vector_size(64), may_alias));
#else
struct EightWords {
  std::array<std::uint64_t, 8> words;
  EightWords& operator|=(const EightWords& other) {
    for (std::size_t word = 0; word < words.size(); ++word)
      words[word] |= other.words[word];
    return *this;
  }
};
#endif

// The arguments of `join_rows`, and what it returns. All of it is inlined, so that it is made of
// the instructions that the calling function may use.
struct Join {
  std::span<const TileRow> tile;
  Ids rows;
  std::size_t barred;
  std::span<const TileRow> masks;
  std::span<std::int32_t> counts;
  TileRow& joined;

  CASEGRAPH_INLINE void run() const {
    constexpr std::size_t parts = sizeof(TileRow) / sizeof(EightWords);
    EightWords all[parts] = {};
    for (Id at : rows) {
      const TileRow& row = tile[static_cast<std::size_t>(at)];
      const auto* these = reinterpret_cast<const EightWords*>(row.bits.data());
      for (std::size_t part = 0; part < parts; ++part)
        all[part] |= these[part];
    }
    std::memcpy(joined.bits.data(), &all, sizeof all);
    if (barred < TileRow::size)
      joined.erase(barred);
    counts[0] += count_common(joined, joined);
    for (std::size_t mask = 0; mask < masks.size(); ++mask)
      counts[1 + mask] += count_common(joined, masks[mask]);
  }

 private:
  CASEGRAPH_INLINE static std::int32_t count_common(const TileRow& one, const TileRow& other) {
    std::int64_t common = 0;
    for (std::size_t word = 0; word < TileRow::words; ++word)
      common += std::popcount(one.bits[word] & other.bits[word]);
    return static_cast<std::int32_t>(common);
  }
};

// Some processors join eight words at once, and count their bits; most others join four. Which one
// this is, is found at run time, so that the same module works everywhere.
#if defined(__x86_64__) && defined(__GNUC__)
#define CASEGRAPH_HAS_LONG_WORDS 1
#endif

using RunJoin = void (*)(const Join&);

void join_anywhere(const Join& join) {
  join.run();
}

#ifdef CASEGRAPH_HAS_LONG_WORDS
__attribute__((target("avx2"))) void join_four_words_at_once(const Join& join) {
  join.run();
}

__attribute__((target("avx512f,avx512vpopcntdq"))) void join_eight_words_at_once(const Join& join) {
  join.run();
}
#endif

RunJoin best_for_this_processor() {
#ifdef CASEGRAPH_HAS_LONG_WORDS
  __builtin_cpu_init();  // this runs while the module is loaded, perhaps before that is done
  if (__builtin_cpu_supports("avx512vpopcntdq"))
    return join_eight_words_at_once;
  if (__builtin_cpu_supports("avx2"))
    return join_four_words_at_once;
#endif
  return join_anywhere;
}

const RunJoin run_join = best_for_this_processor();

}  // namespace

TileRow join_rows(std::span<const TileRow> tile, Ids rows, std::size_t barred,
                  std::span<const TileRow> masks, std::span<std::int32_t> counts) {
  TileRow joined;
  run_join({tile, rows, barred, masks, counts, joined});
  return joined;
}

TailTiles::TailTiles(const Edges& edges, const Edges& back, Steps& steps)
    : back_(back), heads_(edges.heads.size()), rows_(tiles_of(back) * edges.heads.size()) {
  for (std::size_t number = 0; number < back.heads.size(); ++number) {
    const Id tail = back.heads[number];
    const Ids heads = back.row(number);
    steps.take(std::ssize(heads));
    const std::size_t first = number / TileRow::size * heads_;
    for (Id head : heads)
      if (head != tail)
        rows_[first + edges.row_of(head)].insert(number % TileRow::size);
  }
}

}  // namespace casegraph
