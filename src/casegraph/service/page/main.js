// The page begins here: the address says which view is shown, and changes of the graph refresh it.

import { here } from "./address.js";
import { get } from "./api.js";
import { forget, info } from "./catalogue.js";
import { element, fill } from "./dom.js";
import { listen } from "./live.js";
import { counted, label, number } from "./names.js";
import { takeDrops } from "./parts/dropping.js";
import { problemPage } from "./parts/problems.js";
import { say } from "./toasts.js";
import { askView } from "./views/ask.js";

/** Views by name; those that are not needed at once are fetched when they are. */
const VIEWS = {
  ask: async () => askView(),
  overview: async () => (await import("./views/overview.js")).overviewView(),
  entity: async () => (await import("./views/entity.js")).entityView(),
  relations: async () => (await import("./views/relations.js")).relationsView(),
  relation: async () => (await import("./views/relation.js")).relationView(),
  clusters: async () => (await import("./views/clusters.js")).clustersView(),
  cluster: async () => (await import("./views/cluster.js")).clusterView(),
  proposals: async () => (await import("./views/proposals.js")).proposalsView(),
  audit: async () => (await import("./views/audit.js")).auditView(),
  add: async () => (await import("./views/add.js")).addView(),
};
const SECTIONS = { entity: "overview", relation: "relations", cluster: "clusters" };

const SOON = 400; // milliseconds; what takes longer says so
const main = document.getElementById("main");
const waiting = document.getElementById("waiting");
let present = { name: "", view: null };
let leaving = new AbortController();
let isHeard = false;
let sequence = 0;

/** Show the view of the address; one that is shown already is asked to show something else. */
async function show() {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const { view: name, parameters } = here();
  const isOther = present.name !== name;
  main.setAttribute("aria-busy", "true");
  const late = setTimeout(() => showWaiting(signal), SOON);
  try {
    if (isOther) {
      const made = await (VIEWS[name] ?? VIEWS.ask)();
      if (signal.aborted) return;
      present = { name, view: made };
      mark(name);
    }
    const { node } = present.view;
    await present.view.show(parameters, signal, () => place(node, signal));
    place(node, signal);
  } catch (problem) {
    if (problem.name === "AbortError") return;
    present = { name: "", view: null };
    fill(main, problemPage(problem));
  } finally {
    clearTimeout(late);
  }
  if (signal.aborted) return;
  waiting.hidden = true;
  main.setAttribute("aria-busy", "false");
}

/** Say that what was asked for takes a while, and why. */
async function showWaiting(signal) {
  waiting.textContent = "Working …";
  waiting.hidden = false;
  const about = await get("info").catch(() => null);
  if (signal.aborted || !about || about.ready) return;
  waiting.textContent = "Counting this graph for the first time. The answer will follow …";
}

/** Put a view on the page. Views that show their best part first call this when it is there. */
function place(node, signal) {
  if (signal.aborted || main.contains(node)) return;
  fill(main, node);
  window.scrollTo(0, 0);
}

/** Say in the navigation where we are. */
function mark(name) {
  for (const link of document.querySelectorAll("#nav a")) {
    const isHere = link.hash === `#${SECTIONS[name] ?? name}`;
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** Say in the head of the page what is served, and whether it can be heard. */
async function showStore() {
  const about = await info();
  sequence = Math.max(sequence, about.sequence);
  const state = isHeard ? "live" : "not connected";
  fill(
    document.getElementById("store"),
    element("span", { class: isHeard ? "light on" : "light", role: "img", "aria-label": state }),
    element("bdi", {}, about.name),
    ` · ${counted(about.facts, "fact")} · update ${number(about.sequence)}`,
  );
}

/** Something happened in the graph, or in a job. */
function heard(name, document) {
  if (name === "job") {
    present.view?.job?.(document);
    return;
  }
  const isNew = document.sequence > sequence;
  sequence = Math.max(sequence, document.sequence);
  if (!isNew) return;
  forget();
  showStore();
  if (name === "change") say(changeInWords(document));
  const isPast = here().parameters.as_of !== undefined;
  if (!isPast && present.view?.isLive !== false) show();
}

function changeInWords(change) {
  const { added, retracted } = change;
  const [fact] = [...added, ...retracted];
  const what = fact ? `: ${fact.map(label).join(" – ")}` : "";
  const counts = `${change.added_count} added, ${change.retracted_count} retracted`;
  return `Update ${change.sequence}${what} (${counts})`;
}

/** Put the cursor into the question when / is pressed anywhere. */
function pressed(event) {
  const isTyping = event.target.matches("input, textarea, select");
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  document.querySelector(".sentence input")?.focus();
}

window.addEventListener("hashchange", show);
document.addEventListener("keydown", pressed);
takeDrops();
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
await show();
showStore().catch(() => {});
listen(heard, (isNow) => {
  isHeard = isNow;
  showStore().catch(() => {});
  if (isHeard) present.view?.resume?.().catch(() => {}); // what happened while nothing was heard
});
