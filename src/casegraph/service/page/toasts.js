// Short messages: what was done, with a way to undo it, and what a screen reader should say.

import { button, element, fill } from "./dom.js";

const SECONDS = 8;
const SECONDS_TO_UNDO = 60;

/** Show a message for a while; `undo` takes back what it tells of. */
export function toast(words, { undo = null, isBad = false } = {}) {
  const note = element("div", { class: isBad ? "toast bad" : "toast" }, element("span", {}, words));
  const close = () => note.remove();
  if (undo) {
    const undone = () => {
      close();
      undo();
    };
    note.append(button("Undo", undone));
  }
  note.append(button("×", close, { class: "plain", "aria-label": "close this message" }));
  document.getElementById("toasts").append(note);
  setTimeout(close, (undo ? SECONDS_TO_UNDO : SECONDS) * 1000);
  say(note.firstChild.textContent);
}

/** Let a screen reader say something. */
export function say(words) {
  fill(document.getElementById("status"), words);
}
