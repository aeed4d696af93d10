// Paths, drawn from the entity asked about at the left to the answer at the right.

import { drawn } from "../dom.js";
import { counted, label, shortened } from "../names.js";
import { curve, drawing, drawNode, nodeOf, tip, widthOf } from "./shapes.js";
import { HEIGHT, LETTERS, SMALL } from "./shapes.js";

const ROW = 50;
const LEAST_GAP = 64; // between columns
const ARCH = 46; // room above for the predicted edge
const EDGE_PADDING = 30; // around the words of an edge
const MARGIN = 4;
const TIP = 7;
export const GOAL = "goal";

/**
 * Paths as one drawing, with the edge that they speak for: dashed, unless it is a fact.
 *
 * predicted  {relation, wanted, known}
 */
export function drawPaths(paths, predicted) {
  const nodes = nodesOf(paths);
  const edges = edgesOf(paths);
  const size = place(nodes, edges);
  const start = paths[0].entities[0];
  const goal = paths[0].entities.at(-1);
  const ends = `from ${label(start)} to ${label(goal)}`;
  return drawing(
    `${counted(paths.length, "path")} ${ends}`,
    size.width,
    size.height,
    [...edges.values()].map((edge) => drawEdge(edge, nodes)),
    drawArch(nodes.get(keyOf(0, start)), nodes.get(GOAL), predicted),
    [...nodes.values()].map(drawNode),
  );
}

export function keyOf(column, entity) {
  return `${column} ${entity}`;
}

/** The nodes of all paths by key: each entity once in a column, the answer in the last one. */
export function nodesOf(paths) {
  const nodes = new Map();
  const last = Math.max(...paths.map((path) => path.steps.length));
  for (const path of paths) {
    for (const [step, entity] of path.entities.entries()) {
      const isGoal = step === path.steps.length;
      const key = isGoal ? GOAL : keyOf(step, entity);
      if (nodes.has(key)) continue;
      const between = step === 0 ? "asked" : "between";
      const node = nodeOf(entity, isGoal ? "goal" : between);
      nodes.set(key, { ...node, column: isGoal ? last : step });
    }
  }
  return nodes;
}

/** The edges of all paths, each once. */
export function edgesOf(paths) {
  const edges = new Map();
  for (const path of paths) {
    for (const [number, step] of path.steps.entries()) {
      const isLast = number === path.steps.length - 1;
      const from = keyOf(number, path.entities[number]);
      const to = isLast ? GOAL : keyOf(number + 1, path.entities[number + 1]);
      const text = shortened(step.relation, LETTERS);
      edges.set(JSON.stringify([from, text, to]), { from, to, text, isBack: step.inverse });
    }
  }
  return edges;
}

/** The nodes of each column. */
export function columnsOf(nodes) {
  const columns = [];
  for (const node of nodes.values()) {
    columns[node.column] ??= [];
    columns[node.column].push(node);
  }
  return columns;
}

/** Give every node its place; returns the size of the drawing. */
function place(nodes, edges) {
  const columns = columnsOf(nodes);
  const gaps = columns.map(() => LEAST_GAP);
  for (const edge of edges.values()) {
    const { column } = nodes.get(edge.from);
    gaps[column] = Math.max(gaps[column], widthOf(edge.text, SMALL) + EDGE_PADDING);
  }
  const rows = Math.max(...columns.map((column) => column.length));
  let x = MARGIN;
  for (const [number, column] of columns.entries()) {
    const width = Math.max(...column.map((node) => node.width));
    for (const [row, node] of column.entries()) {
      node.x = x + (width - node.width) / 2;
      node.y = ARCH + ((row + 0.5) * rows * ROW) / column.length;
    }
    const isLast = number === columns.length - 1;
    x += width + (isLast ? MARGIN : gaps[number]);
  }
  return { width: x, height: ARCH + rows * ROW };
}

function drawEdge(edge, nodes) {
  const from = nodes.get(edge.from);
  const to = nodes.get(edge.to);
  const x1 = from.x + from.width;
  const x2 = to.x;
  const line = edge.isBack
    ? [curve(x1 + TIP, from.y, x2, to.y), tip(x1, from.y, 1)]
    : [curve(x1, from.y, x2 - TIP, to.y), tip(x2, to.y, -1)];
  const middle = { x: (x1 + x2) / 2, y: (from.y + to.y) / 2 - 6 };
  return drawn("g", { class: "edge" }, line, drawn("text", middle, edge.text));
}

/** The edge that is asked for, as an arch over everything. */
function drawArch(start, goal, predicted) {
  const x1 = start.x + start.width / 2;
  const x2 = goal.x + goal.width / 2;
  const y1 = start.y - HEIGHT / 2;
  const y2 = goal.y - HEIGHT / 2;
  const top = 14;
  const bend = Math.min(90, (x2 - x1) / 3);
  const rise = `M${x1} ${y1 - 2}C${x1} ${top} ${x1 + bend / 2} ${top} ${x1 + bend} ${top}`;
  const fall = `L${x2 - bend} ${top}C${x2 - bend / 2} ${top} ${x2} ${top} ${x2} ${y2 - 6}`;
  const end = predicted.wanted === "head" ? { x: x1, y: y1 } : { x: x2, y: y2 };
  const mark = predicted.known ? "" : " ?";
  const text = `${shortened(predicted.relation, LETTERS)}${mark}`;
  const width = widthOf(text, SMALL) + 16;
  const middle = (x1 + x2) / 2;
  return drawn(
    "g",
    { class: predicted.known ? "arch known" : "arch" },
    drawn("path", { d: rise + fall, class: "predicted" }),
    drawn("path", { d: `M${end.x} ${end.y}l-4.5 -8h9z`, class: "tip" }),
    drawn("rect", { x: middle - width / 2, y: top - 10, width, height: 20 }),
    drawn("text", { x: middle, y: top + 4 }, text),
  );
}
