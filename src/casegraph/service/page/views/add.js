// Adding facts: one by one, or a file of them: its rows, its columns, its relations, then built.

import { update } from "../api.js";
import { to } from "../address.js";
import { forget, info } from "../catalogue.js";
import { button, element, fill } from "../dom.js";
import { counted, number } from "../names.js";
import { dropZone, takeFile } from "../parts/dropping.js";
import { factForm } from "../parts/factform.js";
import { table } from "../parts/table.js";
import { factsOf, readTable, rolesOf } from "../reading.js";
import { say } from "../toasts.js";
import { histogram } from "./overview.js";

const ROWS_SHOWN = 6;
const RELATIONS_SHOWN = 12;
const ROLE_NAMES = ["head", "relation", "tail"];

export function addView() {
  const file = element("div", { class: "stack" });
  const node = element(
    "div",
    { class: "page" },
    element("h1", {}, "Add facts"),
    dropZone(),
    file,
    element("section", {}, element("h2", {}, "One fact"), factForm()),
  );

  async function show() {
    document.title = "Add facts – casegraph";
    const dropped = takeFile();
    if (!dropped) return;
    try {
      const read = await readTable(dropped);
      showFile(file, read, rolesOf(read), "");
    } catch (problem) {
      const words = `${dropped.name} cannot be read: ${problem.message}.`;
      fill(file, element("p", { class: "notice bad", role: "alert" }, words));
    }
  }

  return { node, show, isLive: false };
}

/** A file that was read: its first rows, which column is what, and what would be added. */
function showFile(node, read, roles, same) {
  const { facts, skipped } = factsOf(read, roles, same);
  const again = (changed) => showFile(node, read, { ...roles, ...changed }, same);
  const attributes = { "aria-label": "relation of all", placeholder: "relation of all rows" };
  const word = element("input", { value: same, ...attributes });
  word.addEventListener("change", () => showFile(node, read, roles, word.value));
  const headed = () => showFile(node, turned(read), roles, same);
  fill(
    node,
    element(
      "section",
      {},
      element("h2", { class: "as-is" }, read.name, ` · ${counted(read.rows.length, "row")}`),
      element(
        "p",
        { class: "row" },
        ROLE_NAMES.map((role) => roleChoice(role, read, roles, again)),
        roles.relation < 0 ? word : null,
        button("The first row names the columns", headed, {
          "aria-pressed": String(read.hasHeader),
        }),
      ),
      table(
        "first rows",
        read.columns.map((name, place) => headOf(name, place, roles)),
        read.rows.slice(0, ROWS_SHOWN),
      ),
      element("p", { class: "soft" }, outcome(facts, skipped)),
    ),
    relationsFound(facts),
    facts.length ? building(facts) : null,
  );
}

function roleChoice(role, read, roles, chosen) {
  const options = read.columns.map((name, place) =>
    element("option", { value: place, selected: place === roles[role] }, name),
  );
  if (role === "relation") {
    const isSame = roles.relation < 0;
    options.push(element("option", { value: -1, selected: isSame }, "the same for all"));
  }
  const select = element("select", {}, options);
  select.addEventListener("change", () => chosen({ [role]: Number(select.value) }));
  return element("label", {}, `${role} `, select);
}

function headOf(name, place, roles) {
  const role = ROLE_NAMES.find((one) => roles[one] === place);
  return { words: role ? [name, element("span", { class: "tag known" }, role)] : name };
}

/** The same rows, the first taken for names of columns, or no longer. */
function turned(read) {
  if (read.hasHeader) {
    const columns = read.columns.map((_, place) => `column ${place + 1}`);
    return { ...read, columns, rows: [read.columns, ...read.rows], hasHeader: false };
  }
  const [columns, ...rows] = read.rows;
  return { ...read, columns, rows, hasHeader: true };
}

function outcome(facts, skipped) {
  const without = skipped ? `; ${counted(skipped, "row")} without a whole fact are left out` : "";
  return `${counted(facts.length, "different fact")}${without}.`;
}

function relationsFound(facts) {
  const counts = new Map();
  for (const [, relation] of facts) counts.set(relation, (counts.get(relation) ?? 0) + 1);
  if (!counts.size) return null;
  const bars = [...counts]
    .map(([words, count]) => ({ words: element("bdi", {}, words), count }))
    .sort((one, other) => other.count - one.count);
  const title = `${counted(bars.length, "relation")} found`;
  return histogram(title, bars.slice(0, RELATIONS_SHOWN));
}

/** A button that adds the facts, part by part, and shows how far it is. */
function building(facts) {
  const node = element("div", { class: "row", "aria-live": "polite" });
  const begin = async () => {
    const bar = element("progress", { max: facts.length, value: 0, "aria-label": "progress" });
    const reached = element("span", {});
    let isEnded = false;
    const end = button("Stop", () => {
      isEnded = true;
    });
    fill(node, bar, reached, end);
    const about = await info();
    const size = about.limits.rows;
    let done = 0;
    let added = 0;
    try {
      while (done < facts.length && !isEnded) {
        const result = await update({ add: facts.slice(done, done + size) });
        added += result.added;
        done = Math.min(done + size, facts.length);
        bar.value = done;
        fill(reached, `${number(done)} of ${number(facts.length)}`);
      }
    } catch (problem) {
      const so = `After ${number(done)} facts: ${problem.message}.`;
      fill(node, element("p", { class: "notice bad", role: "alert" }, so), again());
      return;
    }
    forget();
    say(`${added} facts were added.`);
    const ask = element("a", { class: "button main", href: to("ask") }, "Ask");
    const look = element("a", { class: "button", href: to("overview") }, "Look at the graph");
    fill(node, element("b", {}, `${counted(added, "fact")} added.`), ask, look);
  };
  const words = `Add ${counted(facts.length, "fact")}`;
  const again = () => button(words, begin, { class: "button main" });
  fill(node, again());
  return node;
}
