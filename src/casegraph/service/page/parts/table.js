// Tables that scroll sideways where there is no room for them.

import { element } from "../dom.js";

/**
 * A table.
 *
 * name     what it holds, to a screen reader
 * columns  the head of each column; {words, isNumber}, or a text
 * rows     a list of cells each
 */
export function table(name, columns, rows) {
  const heads = columns.map((column) => (typeof column === "string" ? { words: column } : column));
  const kindOf = (place) => (heads[place].isNumber ? "number" : null);
  return element(
    "div",
    { class: "scroll", tabindex: "0", role: "group", "aria-label": name },
    element(
      "table",
      { class: "table" },
      element(
        "thead",
        {},
        element("tr", {}, heads.map((head, place) => headCell(head, kindOf(place)))),
      ),
      element(
        "tbody",
        {},
        rows.map((cells) =>
          element("tr", {}, cells.map((cell, place) => bodyCell(cell, kindOf(place)))),
        ),
      ),
    ),
  );
}

function headCell({ words }, kind) {
  return words ? element("th", { scope: "col", class: kind }, words) : element("td", {});
}

function bodyCell(cell, kind) {
  return element("td", { class: kind }, cell);
}
