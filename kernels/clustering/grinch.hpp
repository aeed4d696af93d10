// GRINCH (Monath et al. 2019; §2.3 b): inserts a new profile into a hierarchy of profiles.
//
// Three steps. The leaf goes beside its nearest leaf. Rotations: it moves up, beside a node above
// that leaf, as long as the nodes below are more similar to each other than to it. Grafts: every
// node above it, from the lowest to the root, may move beside the node that it is most similar to,
// if that node is no more similar to its own sibling.
//
// Cost: the products of a node with all leaves are those of its children, added up. What is held
// grows on the way up, so a search takes the leaves that share a relation with what is new, and one
// pass over all leaves.
#pragma once

#include "clustering/cluster_tree.hpp"
#include "common/progress.hpp"

namespace casegraph {

// relations  of the new profile, sorted, not empty
// members    how many entities have it
// ranks      the place of each relation in the order of names. Of several nearest profiles, the one
//            whose relations come first in this order is taken, a relation before its inverse
//
// If it is stopped, the tree is left unfinished, and says so.
void insert(ClusterTree& tree, Id profile, Ids relations, Count members, Ids ranks,
            Progress& progress);

}  // namespace casegraph
