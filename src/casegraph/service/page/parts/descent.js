// Paths, drawn from the entity asked about at the top to the answer below: for narrow places.

import { drawn } from "../dom.js";
import { counted, label, shortened } from "../names.js";
import { columnsOf, edgesOf, GOAL, keyOf, nodesOf } from "./paths.js";
import { drawing, drawNode, FONT, HEIGHT, SMALL, widthOf } from "./shapes.js";

const WIDTH = 310;
const MARGIN = 34; // at the left, for the predicted edge
const ROW = 74;
const TIP = 8;
const LETTER = 7.2; // the width of one, about
const PADDING = 20;

/** Paths as one drawing; `predicted` is {relation, wanted, known}. */
export function drawDescent(paths, predicted) {
  const nodes = nodesOf(paths);
  const edges = [...edgesOf(paths).values()];
  const rows = columnsOf(nodes);
  place(rows);
  spread(edges, nodes, "from", "to");
  spread(edges, nodes, "to", "from");
  const start = nodes.get(keyOf(0, paths[0].entities[0]));
  const goal = nodes.get(GOAL);
  return drawing(
    `${counted(paths.length, "path")} from ${label(start.entity)} to ${label(goal.entity)}`,
    WIDTH,
    (rows.length - 1) * ROW + HEIGHT + 4,
    edges.map((edge) => drawEdge(edge, nodes, rows)),
    drawSide(start, goal, predicted),
    [...nodes.values()].map(drawNode),
  );
}

/** Give every node its place, and a name that fits into it. */
function place(rows) {
  for (const [number, row] of rows.entries()) {
    const room = (WIDTH - MARGIN) / row.length;
    const letters = Math.floor((room - PADDING - 8) / LETTER);
    for (const [column, node] of row.entries()) {
      node.text = shortened(node.entity, letters);
      node.width = Math.min(widthOf(node.text, FONT) + PADDING, room - 4);
      node.x = MARGIN + (column + 0.5) * room - node.width / 2;
      node.y = number * ROW + HEIGHT / 2 + 2;
    }
  }
}

/** Let the edges at one end of each node stand beside each other, in the order of their others. */
function spread(edges, nodes, end, other) {
  const middle = (node) => node.x + node.width / 2;
  for (const [key, node] of nodes) {
    const own = edges.filter((edge) => edge[end] === key);
    own.sort((one, two) => middle(nodes.get(one[other])) - middle(nodes.get(two[other])));
    for (const [place, edge] of own.entries()) {
      const part = (place + 1) / (own.length + 1) - 0.5;
      edge[`${end}X`] = middle(node) + part * (node.width - 16);
    }
  }
}

function drawEdge(edge, nodes, rows) {
  const from = nodes.get(edge.from);
  const to = nodes.get(edge.to);
  const x1 = edge.fromX;
  const x2 = edge.toX;
  const y1 = from.y + HEIGHT / 2 + (edge.isBack ? TIP : 0);
  const y2 = to.y - HEIGHT / 2 - (edge.isBack ? 0 : TIP);
  const bend = (y2 - y1) / 2;
  const line = `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`;
  const tip = edge.isBack
    ? `M${x1} ${y1 - TIP}l-4.5 ${TIP}h9z`
    : `M${x2} ${y2 + TIP}l-4.5 -${TIP}h9z`;
  // The words stand by the end that is not shared with other edges.
  const isSpread = rows[to.column].length > rows[from.column].length;
  const near = isSpread ? 0.7 : 0.3;
  const crowd = Math.max(rows[from.column].length, rows[to.column].length);
  const letters = Math.floor((WIDTH - MARGIN) / crowd / 6.4);
  const words = { x: x1 + (x2 - x1) * near, y: y1 + (y2 - y1) * (0.5 + (near - 0.5) / 2) + 4 };
  return drawn(
    "g",
    { class: "edge" },
    drawn("path", { d: line }),
    drawn("path", { d: tip, class: "tip" }),
    drawn("text", words, shortened(edge.text, letters)),
  );
}

/** The edge that is asked for, at the left of everything. */
function drawSide(start, goal, predicted) {
  const x = 12;
  const y1 = start.y;
  const y2 = goal.y;
  const isBack = predicted.wanted === "head";
  const upper = start.x - (isBack ? TIP : 0);
  const lower = goal.x - (isBack ? 0 : TIP);
  const corner = x + 14;
  const fall = `M${upper} ${y1}H${corner}Q${x} ${y1} ${x} ${y1 + 14}V${y2 - 14}`;
  const line = `${fall}Q${x} ${y2} ${corner} ${y2}H${lower}`;
  const tip = isBack ? `M${start.x} ${y1}` : `M${goal.x} ${y2}`;
  const mark = predicted.known ? "" : " ?";
  const text = `${shortened(predicted.relation, 22)}${mark}`;
  const middle = (y1 + y2) / 2;
  const length = widthOf(text, SMALL) + 12;
  return drawn(
    "g",
    { class: predicted.known ? "arch known" : "arch" },
    drawn("path", { d: line, class: "predicted" }),
    drawn("path", { d: `${tip}l-${TIP} -4.5v9z`, class: "tip" }),
    drawn("rect", { x: x - 9, y: middle - length / 2, width: 18, height: length }),
    drawn("text", { transform: `translate(${x + 4} ${middle}) rotate(-90)` }, text),
  );
}
