#include "checks.hpp"

namespace casegraph::checks {

void edges(Ids heads, Ids offsets_, Ids tails) {
  require(tails.size() <= INT32_MAX, "a relation has more edges than offsets can count");
  offsets("offsets", offsets_, heads.size(), tails.size());
  ids("heads", heads, 0);
  ids("tails", tails, 0);
  bool heads_rise = true, each_has_tails = true, tails_rise = true;
  for (std::size_t row = 0; row < heads.size(); ++row) {
    heads_rise &= row == 0 || heads[row - 1] < heads[row];
    each_has_tails &= offsets_[row] < offsets_[row + 1];
  }
  require(heads_rise, "heads do not rise");
  require(each_has_tails, "a head has no tails");
  for (std::size_t row = 0; row < heads.size(); ++row)
    for (Id at = offsets_[row] + 1; at < offsets_[row + 1]; ++at) tails_rise &= tails[at - 1] <= tails[at];
  require(tails_rise, "the tails of a head fall somewhere");
}

}  // namespace casegraph::checks
