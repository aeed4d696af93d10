// The tree of clusters, from its root at the left to the clusters at the right.

import { to } from "../address.js";
import { drawn } from "../dom.js";
import { number, shortened } from "../names.js";
import { drawing, widthOf } from "./shapes.js";

const MOST_LEAVES = 40;
const ROW = 22;
const WIDTH = 420; // of the tree itself
const WORDS = 520; // room for the words at its right

/**
 * A drawing of a tree.
 *
 * members  some members of clusters by their numbers
 */
export function drawTree({ nodes }, members) {
  const children = Map.groupBy
    ? Map.groupBy(nodes, (node) => node.parent)
    : grouped(nodes);
  const [root] = children.get(null) ?? [];
  if (!root) return "";
  const shown = largest(root, children);
  const least = root.similarity;
  const span = Math.max(1 - least, 1e-9);
  const places = new Map();
  let row = 0;
  const lay = (node) => {
    const below = shown.has(node.node) ? children.get(node.node) : [];
    for (const child of below) lay(child);
    const isLeaf = !below.length;
    const rows = below.map((child) => places.get(child.node).y);
    const y = isLeaf ? (row + 0.5) * ROW : (Math.min(...rows) + Math.max(...rows)) / 2;
    if (isLeaf) row += 1;
    const x = isLeaf ? WIDTH : 8 + ((node.similarity - least) / span) * (WIDTH - 30);
    places.set(node.node, { x, y, isLeaf, node });
  };
  lay(root);
  return drawing(
    "tree of clusters",
    WIDTH + WORDS,
    row * ROW,
    [...places.values()].map((place) => branch(place, places.get(place.node.parent))),
    [...places.values()].filter((place) => place.isLeaf).map((place) => leaf(place, members)),
  );
}

function grouped(nodes) {
  const groups = new Map();
  for (const node of nodes) groups.set(node.parent, [...(groups.get(node.parent) ?? []), node]);
  return groups;
}

/** The nodes that are divided in the drawing: the largest ones, as long as there is room. */
function largest(root, children) {
  const divided = new Set();
  const open = [root];
  while (open.length && open.length < MOST_LEAVES) {
    open.sort((one, other) => one.size - other.size);
    const at = open.findLastIndex((node) => children.get(node.node)?.length);
    if (at < 0) break;
    const [node] = open.splice(at, 1);
    divided.add(node.node);
    open.push(...children.get(node.node));
  }
  return divided;
}

function branch({ x, y }, parent) {
  if (!parent) return null;
  return drawn("path", { class: "branch", d: `M${parent.x} ${parent.y}V${y}H${x}` });
}

function leaf({ x, y, node }, members) {
  const isCluster = node.cluster !== null;
  const names = members.get(node.cluster) ?? [];
  const fallback = isCluster ? `cluster ${node.cluster}` : "several clusters";
  const words = fitting(names) || fallback;
  const place = { x: x + 8, y: y + 4, class: "leaf" };
  const text = drawn("text", place, `${number(node.size)} · ${words}`);
  if (!isCluster) return text;
  return drawn("a", { href: to("cluster", { cluster: node.cluster }) }, text);
}

/** As many names as there is room for. */
function fitting(names) {
  let words = "";
  for (const name of names) {
    const longer = words ? `${words}, ${shortened(name, 30)}` : shortened(name, 30);
    if (widthOf(longer, 12.5) > WORDS - 80) return `${words}, …`;
    words = longer;
  }
  return words;
}
