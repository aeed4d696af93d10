// A place to drop a file of facts.

import { go } from "../address.js";
import { element } from "../dom.js";

let waiting = null;

/** The file that was dropped last and nobody has looked at, unpacked; null if there is none. */
export async function takeFile() {
  const file = waiting;
  waiting = null;
  return file?.name.endsWith(".gz") ? unpacked(file) : file;
}

async function unpacked(file) {
  const content = file.stream().pipeThrough(new DecompressionStream("gzip"));
  return new File([await new Response(content).blob()], file.name.slice(0, -3));
}

function given(file) {
  if (!file) return;
  waiting = file;
  go("add");
}

/** A place that takes a file, by the mouse or by the keyboard. */
export function dropZone() {
  const input = element("input", {
    type: "file",
    id: "file",
    class: "unseen",
    accept: ".tsv,.csv,.txt,.jsonl,.ndjson,.nt,.gz",
  });
  input.addEventListener("change", () => given(input.files[0]));
  return element(
    "div",
    { class: "drop" },
    input,
    element(
      "label",
      { for: "file" },
      element("b", {}, "Drop a file of facts here"),
      element("span", {}, " or choose one: a table with a fact in each row (TSV, CSV, JSON lines)"),
    ),
  );
}

/** Take files that are dropped anywhere on the page. */
export function takeDrops() {
  const isFile = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) document.body.classList.remove("dropping");
  });
  document.addEventListener("drop", (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    document.body.classList.remove("dropping");
    given(event.dataTransfer.files[0]);
  });
}
