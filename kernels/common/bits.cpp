#include "common/bits.hpp"

// Some processors count the bits of eight words at once. Which one this is, is found at run time,
// so that the same module works everywhere.
#if defined(__x86_64__) && defined(__GNUC__)
#define CASEGRAPH_COUNTS_EIGHT_WORDS 1
#endif

namespace casegraph {
namespace {

#ifdef CASEGRAPH_COUNTS_EIGHT_WORDS
__attribute__((target("avx512f,avx512vpopcntdq"))) Count
count_eight_words_at_once(const std::uint64_t* one, const std::uint64_t* other, std::size_t words) {
  Count common = 0;
  for (std::size_t word = 0; word < words; ++word)
    common += __builtin_popcountll(one[word] & other[word]);
  return common;
}

const bool has_eight_words = __builtin_cpu_supports("avx512vpopcntdq");
#endif

}  // namespace

Count count_common_bits_of_many_words(std::span<const std::uint64_t> one,
                                      std::span<const std::uint64_t> other) {
#ifdef CASEGRAPH_COUNTS_EIGHT_WORDS
  if (has_eight_words)
    return count_eight_words_at_once(one.data(), other.data(), one.size());
#endif
  Count common = 0;
  for (std::size_t word = 0; word < one.size(); ++word)
    common += std::popcount(one[word] & other[word]);
  return common;
}

}  // namespace casegraph
