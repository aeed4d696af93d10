// Names and what people call them. A name is data: it is shown as text, apart from the text around
// it, whatever direction it is written in.

import { element } from "./dom.js";
import { toEntity } from "./address.js";

const SPACE = "\u00a0"; // that no line breaks at
const labels = new Map();

/** Take note of the labels in a response; returns the response. */
export function learn(response) {
  for (const [name, label] of Object.entries(response.labels ?? {})) labels.set(name, label);
  for (const hit of response.hits ?? response.largest ?? []) {
    if (hit.label) labels.set(hit.entity, hit.label);
  }
  return response;
}

/** What people call a name. */
export function label(name) {
  return labels.get(name) ?? name;
}

/** A name as text within other text. */
export function named(name, attributes = {}) {
  const shown = label(name);
  const title = shown === name ? null : name;
  return element("bdi", { title, ...attributes }, shown);
}

/** An entity, as a link to its page. */
export function entityLink(name, attributes = {}) {
  return element("a", { href: toEntity(name), ...attributes }, named(name));
}

/** A name that is not longer than so many signs, for drawings. */
export function shortened(name, most) {
  const signs = [...label(name)];
  return signs.length > most ? `${signs.slice(0, most - 1).join("")}…` : signs.join("");
}

/** A number with separators. */
export function number(value) {
  return value.toLocaleString("en");
}

/** A part of 1 in per cent; what is more than nothing is never shown as 0. */
export function percent(part) {
  if (part > 0 && part < 0.01) return `<${SPACE}1${SPACE}%`;
  if (part < 1 && part > 0.99) return `>${SPACE}99${SPACE}%`;
  return `${Math.round(100 * part)}${SPACE}%`;
}

/** A weight with its sign. */
export function signed(weight) {
  const sign = weight < 0 ? "−" : "+";
  return sign + String(Number(Math.abs(weight).toPrecision(2)));
}

/** "1 fact", "2 facts". */
export function counted(count, one, several = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : several}`;
}
