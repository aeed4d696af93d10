#include "bindings/graph_checks.hpp"

namespace casegraph::checks {

void edges(Ids heads, Ids offsets_, Ids tails) {
  require(tails.size() <= INT32_MAX, "a relation has more edges than offsets can count");
  offsets("offsets", offsets_, heads.size(), tails.size());
  require(heads.empty() || heads.front() >= 0, "a head is below 0");

  std::uint32_t signs = 0;  // the highest bit is set if any tail is negative
  for (Id tail : tails)
    signs |= static_cast<std::uint32_t>(tail);
  require(signs <= INT32_MAX, "a tail is below 0");

  bool heads_rise = true, each_has_tails = true;
  for (std::size_t row = 0; row < heads.size(); ++row) {
    heads_rise &= row == 0 || heads[row - 1] < heads[row];
    each_has_tails &= offsets_[row] < offsets_[row + 1];
  }
  require(heads_rise, "heads do not rise");
  require(each_has_tails, "a head has no tails");

  // Tails may fall or stay the same from one head to the next, and nowhere else. Two counts without
  // branches are faster than looking where each of these is.
  std::size_t no_rises = 0, no_rises_between_heads = 0;
  for (std::size_t at = 1; at < tails.size(); ++at)
    no_rises += tails[at - 1] >= tails[at];
  for (std::size_t row = 1; row < heads.size(); ++row)
    no_rises_between_heads += tails[offsets_[row] - 1] >= tails[offsets_[row]];
  require(no_rises == no_rises_between_heads, "the tails of a head do not rise");
}

}  // namespace casegraph::checks
