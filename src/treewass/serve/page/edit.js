// What who has the token may do: add a document; relabel or delete one that was found.

import { hasToken, write } from "./api.js";
import { attempt, demandToken, learnModel } from "./app.js";
import { badge, find, heading, make } from "./dom.js";

let model = null;

export function startAdd() {
  find("add-form").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(add);
  });
  find("new-text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) find("add-form").requestSubmit();
  });
}

export function knowWritable(described) {
  model = described;
  find("add-link").hidden = !model.writable;
  const chosen = find("new-label").value;
  find("new-label").replaceChildren(make("option", { value: "" }, "No label"), ...labelOptions());
  find("new-label").value = chosen;
}

export function openAdd() {
  find("added").replaceChildren();
  find("new-title").focus();
  if (!hasToken()) demandToken("The service takes documents only with its token for writing. Whoever runs the service has it.");
}

// Options whose values are places in the classes: a label may be a number.
function labelOptions() {
  return model.classes.map((label, place) => make("option", { value: String(place) }, String(label)));
}

async function add() {
  const place = find("new-label").value;
  const document = { text: find("new-text").value, title: find("new-title").value.trim(), label: place ? model.classes[place] : null };
  const { ids, known } = await write("POST", "documents", { documents: [document] });
  find("add-form").reset();
  find("new-title").focus();
  find("added").replaceChildren(
    `Document ${ids[0]} is added. `,
    known[0] ? make("a", { href: `#/similar/${ids[0]}` }, "Documents like it") : "It holds no known word: no search finds it.",
  );
  await learnModel();
}

// What a result offers to who has the token; nothing to others.
export function editing(hit) {
  if (!model.writable || !hasToken()) return [];
  const choice = make("select", { ariaLabel: `Label of ${heading(hit)}` }, ...labelOptions());
  if (hit.label === null) choice.prepend(make("option", { value: "", disabled: true }, "No label"));
  choice.value = String(hit.label === null ? "" : model.classes.indexOf(hit.label));
  choice.addEventListener("change", () => attempt(() => relabel(hit, choice)));
  const remove = make("button", { type: "button", className: "danger", ariaLabel: `Delete ${heading(hit)}` }, "Delete");
  remove.addEventListener("click", () => confirm(`Delete “${heading(hit)}”? It cannot be brought back.`) && attempt(() => erase(hit, remove)));
  return model.classes.length ? [choice, remove] : [remove];
}

async function relabel(hit, choice) {
  const before = String(hit.label === null ? "" : model.classes.indexOf(hit.label));
  try {
    hit.label = (await write("PATCH", `documents/${hit.id}`, { label: model.classes[choice.value] })).label;
  } catch (error) {
    choice.value = before;
    throw error;
  }
  const head = choice.closest("li").querySelector(".result-head");
  head.querySelector(".badge")?.remove();
  head.querySelector("h2").after(badge(hit.label));
  find("search-status").textContent = `Document ${hit.id} has the label ${hit.label} now.`;
  await learnModel();
}

async function erase(hit, button) {
  await write("DELETE", `documents/${hit.id}`);
  const item = button.closest("li");
  const next = item.nextElementSibling ?? item.previousElementSibling;
  item.remove();
  (next?.querySelector("h2 a") ?? find("query")).focus();
  find("search-status").textContent = `Document ${hit.id} is deleted.`;
  await learnModel();
}
