// An entity among its facts: those that lead to it at the left, those from it at the right.

import { drawn } from "../dom.js";
import { label, shortened } from "../names.js";
import { curve, drawing, drawNode, nodeOf, SMALL, tip, widthOf } from "./shapes.js";

const ROW = 40;
const MARGIN = 4;
const TIP = 7;
const RELATION_LETTERS = 22;
const SPREAD = 70; // between the words of an edge and the entity in the middle

/** A drawing of an entity and up to `most` facts at each side. */
export function drawNeighbourhood(entity, facts, most = 8) {
  const into = sideOf(facts.filter((fact) => fact[2] === entity && fact[0] !== entity), 0, most);
  const outOf = sideOf(facts.filter((fact) => fact[0] === entity && fact[2] !== entity), 2, most);
  const rows = Math.max(into.length, outOf.length, 1);
  const height = rows * ROW;
  const centre = nodeOf(entity, "asked");
  const left = widest(into, (spoke) => spoke.node.width);
  const leftWords = widest(into, (spoke) => spoke.width);
  const rightWords = widest(outOf, (spoke) => spoke.width);
  const right = widest(outOf, (spoke) => spoke.node.width);
  centre.x = MARGIN + left + (into.length ? leftWords + SPREAD : 0);
  centre.y = height / 2;
  const end = centre.x + centre.width;
  const rightStart = end + rightWords + SPREAD;
  const middleOf = (row, count) => ((row + 0.5) * height) / count;
  for (const [row, { node }] of into.entries()) {
    node.x = MARGIN + left - node.width;
    node.y = middleOf(row, into.length);
  }
  for (const [row, { node }] of outOf.entries()) {
    node.x = rightStart;
    node.y = middleOf(row, outOf.length);
  }
  return drawing(
    `${label(entity)} among its facts`,
    outOf.length ? rightStart + right + MARGIN : end + MARGIN,
    height,
    into.map((spoke) => drawInto(spoke, centre)),
    outOf.map((spoke) => drawOutOf(spoke, centre)),
    [centre, ...into.map((spoke) => spoke.node), ...outOf.map((spoke) => spoke.node)].map(drawNode),
  );
}

/** Some facts of one side; `other` says which end of a fact is not the entity in the middle. */
function sideOf(facts, other, most) {
  return evenly(facts, most).map((fact) => {
    const text = shortened(fact[1], RELATION_LETTERS);
    return { node: nodeOf(fact[other], "between"), text, width: widthOf(text, SMALL) };
  });
}

/** So many facts at most, and of as many relations as there is room for. */
function evenly(facts, most) {
  const byRelation = Map.groupBy?.(facts, (fact) => fact[1]) ?? new Map([["", facts]]);
  const chosen = new Set();
  for (let round = 0; chosen.size < Math.min(most, facts.length); round += 1) {
    for (const group of byRelation.values()) {
      if (round < group.length && chosen.size < most) chosen.add(group[round]);
    }
  }
  return facts.filter((fact) => chosen.has(fact));
}

function widest(spokes, width) {
  return Math.max(0, ...spokes.map(width));
}

function drawInto({ node, text, width }, centre) {
  const start = node.x + node.width;
  const words = start + 10 + width;
  return drawn(
    "g",
    { class: "edge" },
    drawn("path", { d: `M${start} ${node.y}H${words}` }),
    curve(words, node.y, centre.x - TIP, centre.y),
    tip(centre.x, centre.y, -1),
    drawn("text", { x: start + 8 + width / 2, y: node.y - 5 }, text),
  );
}

function drawOutOf({ node, text, width }, centre) {
  const start = centre.x + centre.width;
  const words = node.x - 14 - width;
  return drawn(
    "g",
    { class: "edge" },
    curve(start, centre.y, words, node.y),
    drawn("path", { d: `M${words} ${node.y}H${node.x - TIP}` }),
    tip(node.x, node.y, -1),
    drawn("text", { x: words + width / 2, y: node.y - 5 }, text),
  );
}
