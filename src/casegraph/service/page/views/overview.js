// What the graph holds: counts, histograms, the largest entities, and what happened last.

import { get } from "../api.js";
import { go, to, toEntity } from "../address.js";
import { info, relations, types } from "../catalogue.js";
import { element, fill } from "../dom.js";
import { learn, named, number } from "../names.js";
import { combobox } from "../parts/combobox.js";
import { emptyGraph } from "../parts/emptiness.js";
import { factSentence } from "../parts/fact.js";
import { entitiesFor } from "../parts/finding.js";

const EVENTS = 12;
const BARS = 12;

export function overviewView() {
  const node = element("div", { class: "page" });

  async function show({ as_of: asOf }, signal) {
    document.title = "Overview – casegraph";
    const about = await info(asOf);
    if (!about.facts) return fill(node, emptyGraph(about));
    const [all, kinds, events] = await Promise.all([
      relations(asOf),
      types(asOf),
      latest(about, signal),
    ]);
    fill(
      node,
      element("h1", {}, named(about.name)),
      finder(asOf),
      figures(about),
      element(
        "div",
        { class: "masonry" },
        histogram("Facts per relation", all.slice(0, BARS).map(relationBar)),
        histogram("Facts per entity", about.degrees.map(degreeBar)),
        largest(about),
        kinds.length ? histogram("Types", kinds.slice(0, BARS).map(typeBar)) : null,
        lastEvents(events),
        settings(about),
      ),
    );
  }

  return { node, show };
}

function finder(asOf) {
  return element(
    "p",
    { class: "row" },
    "Find an entity ",
    combobox({
      name: "an entity",
      placeholder: "a name …",
      find: (text) => entitiesFor(text, asOf),
      choose: (option) => go("entity", { entity: option.value, as_of: asOf }),
    }),
  );
}

function figures(about) {
  const figure = (value, words) => {
    const counted = element("b", {}, number(value));
    return element("div", { class: "figure" }, counted, element("span", {}, words));
  };
  return element(
    "div",
    { class: "figures" },
    figure(about.facts, "facts"),
    figure(about.entities, "entities"),
    figure(about.relations, "relations"),
    figure(about.sequence, "updates"),
  );
}

/** Bars with words before and numbers behind them. */
export function histogram(title, bars) {
  const most = Math.max(...bars.map((bar) => bar.count), 1);
  const rows = bars.map((bar) =>
    element(
      "li",
      {},
      bar.href
        ? element("a", { href: bar.href, class: "words" }, bar.words)
        : element("span", { class: "words" }, bar.words),
      element("span", { class: "bar", lengths: { part: bar.count / most } }),
      element("span", { class: "number" }, number(bar.count)),
    ),
  );
  return element("section", {}, element("h2", {}, title), element("ul", { class: "bars" }, rows));
}

function relationBar(relation) {
  return {
    words: named(relation.relation),
    href: to("relation", { relation: relation.relation }),
    count: relation.facts,
  };
}

function degreeBar({ least, most, count }) {
  return { words: least === most ? `${least}` : `${number(least)}–${number(most)}`, count };
}

function typeBar({ type, entities }) {
  return { words: named(type), count: entities };
}

function largest(about) {
  const rows = about.largest.map((hit) => ({
    words: named(hit.entity),
    href: toEntity(hit.entity),
    count: hit.facts,
  }));
  return histogram("Entities with most facts", rows);
}

async function latest(about, signal) {
  const since = Math.max(0, about.sequence - EVENTS);
  const first = Math.max(since, about.first_sequence);
  const page = await get("history", { since: first, limit: 200 }, signal).catch(() => null);
  return page ? learn(page).events.slice(-EVENTS).reverse() : [];
}

function lastEvents(events) {
  if (!events.length) return null;
  const shown = events.map((event) => {
    const isWord = event.sign === "=";
    const what = isWord ? element("bdi", {}, event.fact.join(" · ")) : factSentence(event.fact);
    const before = to("overview", { as_of: event.sequence });
    const when = element("small", {}, element("a", { href: before }, `#${event.sequence}`));
    const sign = { "+": "added", "-": "retracted", "=": "described" }[event.sign];
    return element("li", {}, element("span", { class: `sign ${sign}` }, sign), what, " ", when);
  });
  return element(
    "section",
    {},
    element("h2", {}, "Recent changes"),
    element("ul", { class: "events" }, shown),
  );
}

function settings(about) {
  const shown = ["clustering", "max_length", "threshold", "neighbours", "combination"];
  const rows = Object.entries(about.settings).filter(
    ([name, value]) => shown.includes(name) && value !== null,
  );
  const items = rows.map(([name, value]) => [
    element("dt", {}, name.replaceAll("_", " ")),
    element("dd", {}, typeof value === "object" ? JSON.stringify(value) : String(value)),
  ]);
  return element(
    "section",
    {},
    element("h2", {}, "Settings"),
    element(
      "p",
      {},
      about.tuned
        ? "It is tuned to this graph, and so are its probabilities."
        : "It is not tuned: probabilities are judged as in other graphs. casegraph tune fits them.",
    ),
    element("dl", {}, items),
    element("p", { class: "soft small" }, `casegraph ${about.version}`),
  );
}

