// Jobs: begin one, see how far it is, and show what it found.

import { get, post, remove, request } from "../api.js";
import { button, element, fill } from "../dom.js";
import { counted, learn } from "../names.js";
import { toast } from "../toasts.js";

const PAGE = 50;

/**
 * What is shown of jobs of one kind: the last one, its progress, and its rows.
 *
 * kind    complete or audit
 * rowsOf  from rows of a result to an element that shows them
 */
export function jobPanel(kind, rowsOf) {
  const progress = element("div", { class: "progress", "aria-live": "polite" });
  const result = element("div", { class: "stack" });
  const node = element("div", { class: "stack" }, progress, result);
  let present = null;
  let shown = "";
  let begun = 0;

  async function begin(wanted) {
    begun += 1;
    try {
      fill(result);
      shown = "";
      show(await post("jobs", { kind, ...wanted }));
    } catch (problem) {
      toast(`Not begun: ${problem.message}`, { isBad: true });
    }
  }

  /** The last job of this kind, if there is one, and none is begun meanwhile. */
  async function resume(signal) {
    const before = begun;
    const { jobs } = await get("jobs", {}, signal);
    const [last] = jobs.filter((job) => job.kind === kind);
    if (last && begun === before) await show(last);
  }

  async function show(job) {
    if (job.kind !== kind) return;
    const isLate = present && present.job === job.job && present.finished && !job.finished;
    if (isLate) return;
    present = job;
    fill(progress, progressShown(job));
    if (job.state === "done" && shown !== job.job) {
      shown = job.job;
      await grow(null);
    }
  }

  async function grow(cursor) {
    const page = learn(await get(`jobs/${present.job}/rows`, { limit: PAGE, cursor }));
    const next = () => {
      more.remove();
      grow(page.next);
    };
    const more = page.next ? button("More", next) : null;
    const nothing = element("p", { class: "soft" }, "It found nothing.");
    if (cursor === null) fill(result);
    result.append(page.rows.length ? rowsOf(page.rows) : nothing);
    if (more) result.append(more);
  }

  return { node, begin, resume, show };
}

function progressShown(job) {
  if (job.state === "done") {
    const at = `after update ${job.sequence}`;
    return element(
      "p",
      { class: "row" },
      element("span", { class: "grow" }, `${counted(job.rows ?? 0, "row")}, ${at}.`),
      button("Save as CSV", () => saved(job, "csv")),
      button("Save as JSON lines", () => saved(job, "jsonl")),
    );
  }
  if (job.state === "failed") return element("p", { class: "notice bad" }, job.problem);
  if (job.state === "cancelled") return element("p", { class: "soft" }, "It was ended.");
  const bar = element("progress", { "aria-label": "progress" });
  if (job.total) {
    bar.max = job.total;
    bar.value = job.done;
  }
  const words = job.doing ? `${job.doing} …` : "waiting …";
  const end = () => remove(`jobs/${job.job}`);
  const what = element("span", { class: "grow" }, words);
  return element("p", { class: "row" }, bar, what, button("End it", end));
}

/** A result as a file; it is fetched with the key, and handed to the browser. */
async function saved(job, format) {
  const response = await request(`/v1/jobs/${job.job}/result?format=${format}`);
  const address = URL.createObjectURL(await response.blob());
  element("a", { href: address, download: `${job.kind}-${job.sequence}.${format}` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
