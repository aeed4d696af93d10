// A hash of a text, for tables with open addressing.
//
// The seed is random, so that nobody can prepare texts that all collide. A plain product would not
// do: a difference in its highest bits stays there under any seed, and the next word can cancel it.
// So both halves of a word are multiplied with each other, each after a secret was added (NH, Black
// and others 1999): what a difference makes of that, nobody can know. What a table says does not
// depend on it.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>

namespace casegraph {

class TextHash {
 public:
  TextHash() : seed_(random_seed()) {}

  std::uint32_t operator()(std::string_view text) const {
    std::uint64_t state = seed_ ^ text.size();
    while (text.size() >= sizeof(std::uint64_t)) {
      std::uint64_t word;
      std::memcpy(&word, text.data(), sizeof(word));
      state = mixed(state, word);
      text.remove_prefix(sizeof(word));
    }
    std::uint64_t rest = 0;
    if (!text.empty())
      std::memcpy(&rest, text.data(), text.size());
    state = mixed(state, rest);
    return static_cast<std::uint32_t>(mixed(state, seed_) >> 32);
  }

 private:
  static std::uint64_t random_seed() {
    std::random_device device;
    return (std::uint64_t{device()} << 32) | device();
  }

  std::uint64_t mixed(std::uint64_t state, std::uint64_t word) const {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio: spreads neighbours
    const std::uint64_t joined = state ^ word;
    const auto low = static_cast<std::uint32_t>(joined + seed_);
    const auto high = static_cast<std::uint32_t>((joined >> 32) + (seed_ >> 32));
    const std::uint64_t mixed = joined * odd + std::uint64_t{low} * high;
    return mixed ^ (mixed >> 29);
  }

  std::uint64_t seed_;
};

}  // namespace casegraph
