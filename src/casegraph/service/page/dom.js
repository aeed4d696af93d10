// Making elements. Text is always text: nothing on this page parses HTML, so a name in the graph
// can hold anything.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; strings become text, nothing and false are left out. */
export function element(tag, attributes = {}, ...children) {
  return furnished(document.createElement(tag), attributes, children);
}

/** The same, of a drawing. */
export function drawn(tag, attributes = {}, ...children) {
  return furnished(document.createElementNS(SVG, tag), attributes, children);
}

function furnished(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else if (name === "lengths") setLengths(node, value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter(isShown));
  return node;
}

/** Custom properties of CSS: the only way in which this page says how long something is. */
function setLengths(node, lengths) {
  for (const [name, value] of Object.entries(lengths)) node.style.setProperty(`--${name}`, value);
}

function isShown(child) {
  return child !== null && child !== undefined && child !== false;
}

/** Replace what is in an element. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter(isShown));
  return node;
}

/** A button that does something. */
export function button(words, click, attributes = {}) {
  return element("button", { type: "button", class: "button", click, ...attributes }, words);
}

/** Children with a text between them. */
export function joined(children, between) {
  return children.flatMap((child, place) => (place ? [between, child] : [child]));
}

/** Replace what is in an element; what had the focus has it again, if it is still there. */
export function refill(node, ...children) {
  const focused = node.contains(document.activeElement) ? document.activeElement : null;
  const words = focused && wordsOf(focused);
  fill(node, ...children);
  if (!focused) return;
  const alike = [...node.querySelectorAll(focused.tagName)];
  alike.find((one) => wordsOf(one) === words)?.focus({ preventScroll: true });
}

/** What tells an element from others of its kind. */
function wordsOf(node) {
  return node.dataset.key ?? node.getAttribute("aria-label") ?? node.textContent;
}

let lastId = 0;

/** An id that no other element has. */
export function newId(prefix) {
  lastId += 1;
  return `${prefix}-${lastId}`;
}

/** Whether things may move. */
export function mayMove() {
  return !window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}
