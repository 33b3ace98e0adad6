// Two documents: what stays, what moves where, and what it costs.

import { askLatest } from "./api.js";
import { attempt } from "./app.js";
import { compareLink, find, make, marked, percent } from "./dom.js";
import { textOf } from "./texts.js";

const SHOWN = 25; // moves

export function startCompare() {
  find("compare-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const target = compareLink(find("first").value.trim(), find("second").value.trim());
    if (location.hash === target) attempt(compare);
    else location.hash = target;
  });
  for (const id of ["first", "second"]) {
    find(id).addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) find("compare-form").requestSubmit();
    });
  }
}

export function openCompare(first, second) {
  if (first === undefined) {
    find("first").focus();
    return undefined;
  }
  find("first").value = textOf(first);
  find("second").value = textOf(second ?? "");
  return second ? compare() : undefined;
}

function documentOf(value) {
  const [, id, key] = /^(?:id:(-?\d{1,15})|key:(\S+))$/.exec(value.trim()) ?? [];
  if (key !== undefined) return { key };
  return id === undefined ? value : Number(id);
}

async function compare() {
  find("comparison").replaceChildren();
  const body = { first: documentOf(find("first").value), second: documentOf(find("second").value) };
  const found = await askLatest("explain", body);
  window.scrollTo(0, 0);
  find("comparison").replaceChildren(
    make(
      "p",
      { className: "figure" },
      make("strong", { className: "number" }, found.distance.toFixed(4)),
      ` is their distance (0: the same words in the same shares); they share ${percent(found.shared_mass)} of the mass.`,
    ),
    stays(found.shared),
    make("div", { className: "two" }, card("First", found.first), card("Second", found.second)),
    make("p", { className: "legend" }, make("mark", { className: "near", style: { "--weight": "0.6" } }, "shared"), " ", make("mark", { className: "far", style: { "--weight": "0.6" } }, "has to move")),
    moves(found),
    branches(found),
  );
}

function card(name, pieces) {
  const text = marked(pieces, "No text is kept.");
  text.tabIndex = 0; // a long one is scrolled
  return make("article", { className: "card" }, make("h2", {}, name), text);
}

function stays(shared) {
  if (!shared.length) return note("They share no word.");
  const words = shared.map((move) => make("span", { className: "chip" }, move.source, make("small", {}, percent(move.mass))));
  return make("section", {}, make("h2", {}, "Shared, of the mass"), make("p", { className: "chips" }, ...words));
}

function moves(found) {
  if (!found.moves.length) return note("Nothing moves.");
  const costliest = found.moves[0].cost || 1;
  const rows = found.moves.slice(0, SHOWN).map((move) =>
    make(
      "tr",
      {},
      make("td", {}, move.source),
      make("td", { className: "arrow" }, "→"),
      make("td", {}, move.target),
      make("td", { className: "number" }, percent(move.mass)),
      make("td", { className: "number" }, move.cost.toFixed(4)),
      make("td", { className: "number bar", style: { "--share": `${(100 * move.cost) / costliest}%` } }, percent(move.cost / found.distance)),
    ),
  );
  const shown = `${found.n_moves > SHOWN ? `The ${SHOWN} costliest of ${found.n_moves} moves` : "All moves"}: ${ofDistance(found.moves.slice(0, SHOWN), found)}.`;
  const head = make("tr", {}, make("th", {}, "from"), make("td", {}), make("th", {}, "to"), make("th", { className: "number" }, "moved mass"), make("th", { className: "number" }, "adds to the distance"), make("th", { className: "number" }, "of the distance"));
  return make("section", {}, make("h2", {}, "What differs"), note(shown), make("div", { className: "scroll", tabIndex: 0 }, make("table", { className: "moves" }, make("thead", {}, head), make("tbody", {}, ...rows))));
}

function branches(found) {
  if (!found.branches.length) return note("");
  const rows = found.branches.map((branch) =>
    make(
      "li",
      {},
      make("a", { href: `#/tree/${branch.node}/${branch.component}` }, `Branch ${branch.node}`),
      `: ${branch.words.join(", ")} — ${percent(branch.masses[0])} of the mass against ${percent(branch.masses[1])}; ${ofDistance([branch], found)}`,
    ),
  );
  return make("section", {}, make("h2", {}, "The same distance by branch"), note(`Those listed, which one text uses more than the other: ${ofDistance(found.branches, found)}.`), make("ul", {}, ...rows));
}

function ofDistance(parts, found) {
  return `${percent(parts.reduce((sum, part) => sum + part.cost, 0) / (found.distance || 1))} of the distance`;
}

function note(sentence) {
  return make("p", { className: "hint" }, sentence);
}
