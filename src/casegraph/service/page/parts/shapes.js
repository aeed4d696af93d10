// Shapes of drawings: names in rounded boxes, and tips of arrows.
//
// Drawings are plain SVG: their names are text that can be read aloud, selected and followed, and
// their colours are those of the page.

import { toEntity } from "../address.js";
import { drawn } from "../dom.js";
import { label, shortened } from "../names.js";

export const FONT = 13; // of names
export const SMALL = 11.5; // of relations
export const HEIGHT = 28; // of a node
export const LETTERS = 26; // of a name, at most

const SHORT = 440; // of a drawing: still readable when a telephone makes it fit
const PADDING = 13; // of a node, at its left and right
const pen = document.createElement("canvas").getContext("2d");

/** How wide a text is. */
export function widthOf(text, size) {
  pen.font = `${size}px system-ui, sans-serif`;
  return pen.measureText(text).width;
}

/** A node for an entity; whoever lays out the drawing gives it x and y. */
export function nodeOf(entity, kind) {
  const text = shortened(entity, LETTERS);
  const width = widthOf(text, FONT) + 2 * PADDING;
  return { entity, text, kind, width, x: 0, y: 0 };
}

/** A node where it was put: x is its left side, y its middle. */
export function drawNode(node) {
  const shape = { x: node.x, y: node.y - HEIGHT / 2, width: node.width, height: HEIGHT };
  const isShort = node.text !== label(node.entity);
  return drawn(
    "a",
    { href: toEntity(node.entity), class: `node ${node.kind}` },
    isShort ? drawn("title", {}, label(node.entity)) : null,
    drawn("rect", { ...shape, rx: HEIGHT / 2 }),
    drawn("text", { x: node.x + node.width / 2, y: node.y + FONT * 0.36 }, node.text),
  );
}

/** A tip at a point; side is 1 if its line comes from the right, -1 if from the left. */
export function tip(x, y, side) {
  return drawn("path", { d: `M${x} ${y}l${side * 8} -4.5v9z`, class: "tip" });
}

/** A line between two points that leaves and arrives level. */
export function curve(x1, y1, x2, y2) {
  const bend = (x2 - x1) / 2;
  return drawn("path", { d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` });
}

/** The whole drawing. */
export function drawing(title, width, height, ...children) {
  const size = { width: Math.ceil(width), height: Math.ceil(height) };
  const viewBox = `0 0 ${size.width} ${size.height}`;
  const look = width <= SHORT ? "drawing short" : "drawing";
  const attributes = { class: look, viewBox, ...size, role: "group", "aria-label": title };
  return drawn("svg", attributes, ...children);
}
