// A hash of a text, for tables with open addressing.
//
// The seed is random, so that nobody can prepare texts that all collide. What a table says does not
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

  static std::uint64_t mixed(std::uint64_t state, std::uint64_t word) {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio: spreads neighbours
    state = (state ^ word) * odd;
    return state ^ (state >> 29);
  }

  std::uint64_t seed_;
};

}  // namespace casegraph
