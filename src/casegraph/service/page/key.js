// Asking for a key, where the service wants one. It is kept for this tab only.

import { button, element } from "./dom.js";

let asking = null;

/** The key that a person gives, or null; asked once, however many requests wait for it. */
export function askForKey(why) {
  asking ??= asked(why).finally(() => {
    asking = null;
  });
  return asking;
}

function asked(why) {
  return new Promise((resolve) => {
    const field = element("input", { type: "password", autocomplete: "off", "aria-label": "key" });
    const form = element(
      "form",
      { method: "dialog", class: "stack" },
      element("h2", {}, "A key is needed"),
      element("p", {}, why),
      field,
      element(
        "p",
        { class: "row" },
        element("button", { class: "button main" }, "Use it"),
        button("Not now", () => dialog.close("no")),
      ),
    );
    const dialog = element("dialog", { class: "dialog", "aria-label": "A key is needed" }, form);
    dialog.addEventListener("close", () => {
      const isGiven = dialog.returnValue !== "no" && field.value.trim() !== "";
      dialog.remove();
      resolve(isGiven ? field.value.trim() : null);
    });
    dialog.addEventListener("cancel", () => {
      dialog.returnValue = "no";
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
