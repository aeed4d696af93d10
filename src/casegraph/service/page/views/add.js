// Adding facts: one by one, or a file of them, which the service reads.

import { send } from "../api.js";
import { to } from "../address.js";
import { forget } from "../catalogue.js";
import { button, element, fill } from "../dom.js";
import { counted } from "../names.js";
import { dropZone, takeFile } from "../parts/dropping.js";
import { factForm } from "../parts/factform.js";
import { table } from "../parts/table.js";
import { say } from "../toasts.js";
import { histogram } from "./overview.js";

const RELATIONS_SHOWN = 12;
const ROLE_NAMES = ["head", "relation", "tail"];
const CHOOSE = "Choose which columns hold the head, the relation and the tail.";

export function addView() {
  const place = element("div", { class: "stack" });
  const node = element(
    "div",
    { class: "page" },
    element("h1", {}, "Add facts"),
    dropZone(),
    place,
    element("section", {}, element("h2", {}, "One fact"), factForm()),
  );

  async function show() {
    document.title = "Add facts – casegraph";
    const file = await takeFile();
    if (file) await showFile(place, file, {});
  }

  return { node, show, isLive: false };
}

/** A file as the service reads it: its first rows, its columns, and what would be added. */
async function showFile(node, file, chosen) {
  const asked = { name: file.name, ...chosen };
  let read;
  try {
    read = await send("preview", asked, file);
  } catch (problem) {
    const words = `${file.name} cannot be read: ${problem.message}.`;
    fill(node, element("p", { class: "notice bad", role: "alert" }, words));
    return;
  }
  const again = (changed) => showFile(node, file, { ...chosenNow(read, chosen), ...changed });
  const title = element("h2", { class: "as-is" }, file.name);
  const outcome = read.problem && !read.facts ? CHOOSE : outcomeOf(read);
  fill(
    node,
    element(
      "section",
      {},
      title,
      read.columns.length ? choices(read, chosen, again) : null,
      read.columns.length ? firstRows(read) : null,
      element("p", { class: "soft" }, outcome),
    ),
    relationsFound(read.relations),
    read.facts ? adding(file, asked, read) : null,
  );
}

/** The columns, numbered from 1, that a preview was made with. */
function chosenNow({ roles, has_header: header }, { same }) {
  const [head, relation, tail] = roles.map((place) => (place === null ? null : place + 1));
  return { head, relation, tail, same, header };
}

function choices(read, { same = "" }, again) {
  const attributes = { "aria-label": "relation of all", placeholder: "relation of all rows" };
  const word = element("input", { value: same, ...attributes });
  word.addEventListener("change", () => again({ relation: null, same: word.value }));
  const headed = () => again({ header: !read.has_header });
  return element(
    "p",
    { class: "row" },
    ROLE_NAMES.map((role, place) => roleChoice(role, read, read.roles[place], again)),
    read.roles[1] === null ? word : null,
    button("The first row names the columns", headed, { "aria-pressed": String(read.has_header) }),
  );
}

function roleChoice(role, read, own, again) {
  const options = read.columns.map((name, place) =>
    element("option", { value: place + 1, selected: place === own }, name),
  );
  if (role === "relation") {
    options.push(element("option", { value: "", selected: own === null }, "the same for all"));
  }
  const select = element("select", {}, options);
  select.addEventListener("change", () => again({ [role]: Number(select.value) || null }));
  return element("label", {}, `${role} `, select);
}

function firstRows(read) {
  const heads = read.columns.map((name, place) => {
    const role = ROLE_NAMES[read.roles.indexOf(place)];
    return { words: role ? [name, element("span", { class: "tag known" }, role)] : name };
  });
  return table("first rows", heads, read.rows);
}

function outcomeOf({ facts, skipped, labels }) {
  const parts = [counted(facts, "different fact")];
  if (labels) parts.push(counted(labels, "label"));
  if (skipped) parts.push(`${counted(skipped, "line")} without a whole fact skipped`);
  return `${parts.join(", ")}.`;
}

function relationsFound(relations) {
  if (!relations.length) return null;
  const bars = relations.map(({ relation, facts }) => ({
    words: element("bdi", {}, relation),
    count: facts,
  }));
  const title = `${counted(bars.length, "relation")} found`;
  return histogram(title, bars.slice(0, RELATIONS_SHOWN));
}

/** A button that adds the facts, all at once. */
function adding(file, asked, { facts }) {
  const node = element("div", { class: "row", "aria-live": "polite" });
  const words = `Add ${counted(facts, "fact")}`;
  const again = () => button(words, begin, { class: "button main" });
  const begin = async () => {
    fill(node, "Adding …");
    try {
      const { added } = await send("import", asked, file);
      forget();
      say(`${added} facts were added.`);
      const ask = element("a", { class: "button main", href: to("ask") }, "Ask");
      const look = element("a", { class: "button", href: to("overview") }, "Look at the graph");
      fill(node, element("b", {}, `${counted(added, "fact")} added.`), ask, look);
    } catch (problem) {
      fill(node, element("p", { class: "notice bad", role: "alert" }, problem.message), again());
    }
  };
  fill(node, again());
  return node;
}
