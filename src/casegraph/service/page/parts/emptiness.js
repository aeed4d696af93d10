// What the page says when the graph holds nothing.

import { element } from "../dom.js";
import { to } from "../address.js";
import { factForm } from "./factform.js";
import { dropZone } from "./dropping.js";

/** An explanation of the empty graph, and the two ways to fill it. */
export function emptyGraph(about) {
  return element(
    "div",
    { class: "page empty" },
    element("h1", {}, "This graph is empty"),
    element(
      "p",
      { class: "lead" },
      "A graph is made of facts: a head, a relation and a tail, such as ",
      element("em", {}, "Marie Curie – born in – Warsaw"),
      ". Give it some, and ask for those that are missing. Every answer comes with its reasons.",
    ),
    dropZone(),
    element("section", {}, element("h2", {}, "Or type a first fact"), factForm()),
    element(
      "p",
      { class: "soft" },
      "From a terminal: ",
      element("code", {}, `casegraph add ${about.name || "FOLDER"} facts.tsv`),
      " while this service is stopped, or ",
      element("code", {}, "casegraph serve world"),
      " to try the graph that comes with casegraph. ",
      element("a", { href: to("add") }, "More about adding facts"),
    ),
  );
}
