// GRINCH (Monath et al. 2019; §2.3 b): a profile that comes later finds its place in a hierarchy of
// profiles.
#pragma once

#include "clustering/cluster_tree.hpp"

namespace casegraph {

// relations  of the new profile, sorted, not empty;  members: how many entities have it
// ranks      the place of each relation in the order of names: of several nearest profiles the one
// whose relations come
//            first in it, a relation before its inverse, is taken
//
// The leaf goes beside its nearest leaf, or beside a node above that one, as long as those below
// are nearer to each other than to it (rotations). Then every node above it, from the lowest to the
// root, may be grafted: moved beside the node that it is nearest to, if that one is no nearer to
// its own sibling.
//
// The products of a node with all leaves are those of its children, added up: what is held grows on
// the way up, so a search costs the leaves that share a relation with what is new, and one pass
// over all leaves.
//
// If it is stopped, the tree is left unfinished, and says so.
void insert(ClusterTree& tree, Id profile, Ids relations, Count members, Ids ranks,
            Progress& progress);

}  // namespace casegraph
