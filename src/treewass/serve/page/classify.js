// The label of a text, typed, opened or dropped on the page, and why it gets it.

import { askLatest } from "./api.js";
import { attempt, opened, report } from "./app.js";
import { badge, compareLink, find, heading, keyOf, make, marked, percent, shares } from "./dom.js";

const LONGEST = 200_000; // characters, as the service takes
const SHOWN = 14; // words

export function startClassify() {
  find("classify-form").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(classify);
  });
  find("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) find("classify-form").requestSubmit();
  });
  find("file").addEventListener("change", () => read(find("file").files[0]));
  startDropping();
}

export function openClassify() {
  find("text").focus();
}

function startDropping() {
  let depth = 0; // of elements that the file is dragged over
  const hasFile = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  const hover = (change) => {
    depth = Math.max(0, depth + change);
    find("drop").hidden = depth === 0;
  };
  document.addEventListener("dragenter", (event) => hasFile(event) && hover(1));
  document.addEventListener("dragleave", (event) => hasFile(event) && hover(-1));
  document.addEventListener("dragover", (event) => hasFile(event) && event.preventDefault());
  document.addEventListener("drop", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    hover(-depth);
    read(event.dataTransfer.files[0]);
  });
}

async function read(file) {
  if (!file) return;
  if (location.hash !== "#/classify") {
    const shown = new Promise((resolve) => addEventListener("hashchange", resolve, { once: true }));
    location.hash = "#/classify";
    await shown;
  }
  if (file.size > 4 * LONGEST) {
    report(new Error(`Expected a text of at most ${LONGEST.toLocaleString("en")} characters, but the file is larger.`));
    return;
  }
  try {
    find("text").value = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    report(new Error("Expected a text file in UTF-8."));
    return;
  }
  await attempt(classify);
}

async function classify() {
  find("prediction").replaceChildren();
  const text = find("text").value;
  await opened;
  const { predictions } = await askLatest("predict", { texts: [text], explain: true });
  const [found] = predictions;
  const unknown = make("p", { className: "hint" }, "No word of it is known to the model: these are the shares of the classes.");
  find("prediction").replaceChildren(
    make("p", { className: "figure" }, badge(found.label), found.known ? "" : unknown),
    make("div", { className: "two" }, make("section", { className: "card" }, make("h2", {}, "Probabilities"), shares(found.probabilities.slice(0, 12))), reasons(found)),
    make("div", { className: "two" }, make("section", { className: "card" }, make("h2", {}, "The text"), marked(found.pieces, "")), words(found)),
    neighbors(text, found),
  );
}

const signed = (value) => `${value >= 0 ? "+" : "−"}${Math.abs(value).toFixed(2)}`;

// What adds up to the log-odds of the label against the next one.
function reasons(found) {
  const section = make("section", { className: "card" }, make("h2", {}, found.rival === null ? "Reasons" : `Why ${found.label} and not ${found.rival}`));
  if (found.log_odds === null) {
    if (found.rival !== null) section.append(make("p", { className: "hint" }, `No neighbour votes for ${found.rival}, the next label.`));
    return section;
  }
  const row = (name, value, text) => make("tr", {}, make("th", { scope: "row" }, name), make("td", { className: "number" }, signed(value)), make("td", {}, text));
  const rows = found.addends.map((part) => row(part.name, part.log_odds, part.name === "words" ? "words and pairs, listed below" : part.made_of));
  const head = make("tr", {}, make("td", {}), make("th", { className: "number" }, "log-odds"), make("th", {}, "made of"));
  const odds = Math.exp(Math.min(Math.abs(found.log_odds), 700));
  const total = row("together", found.log_odds, `odds of ${odds.toLocaleString("en", { maximumSignificantDigits: 3 })} to 1`);
  section.append(make("table", { className: "reasons" }, make("thead", {}, head), make("tbody", {}, ...rows), make("tfoot", {}, total)));
  return section;
}

function words(found) {
  const counted = found.words.map((word) => [word.word, word.weight, signed(word.weight)]);
  const typical = found.typical.map((word) => [word.word, word.mass * (word.shares[0] - word.shares[1]), `${percent(word.shares[0])} | ${percent(word.shares[1])}`]);
  const all = [...counted, ...typical].sort((one, other) => Math.abs(other[1]) - Math.abs(one[1]));
  if (!all.length) return null;
  const shown = all.slice(0, SHOWN);
  const strongest = Math.abs(shown[0][1]) || 1e-12;
  const rest = all.slice(SHOWN);
  const unit = counted.length ? "What each adds to the log-odds; pairs are words that follow each other." : `The share of documents that hold each: of ${found.label} | of ${found.rival}.`;
  const others = counted.length && rest.length ? `${rest.length} others add ${signed(rest.reduce((sum, word) => sum + word[1], 0))}.` : "";
  const items = shown.map(([word, weight, figure]) =>
    make("li", { className: weight >= 0 ? "near" : "far", style: { "--share": `${(100 * Math.abs(weight)) / strongest}%` } }, make("span", {}, word), make("span", { className: "number" }, figure)),
  );
  return make("section", { className: "card" }, make("h2", {}, `Words for ${found.label} and against ${found.rival}`), make("p", { className: "hint" }, unit), make("ul", { className: "signed" }, ...items), make("p", { className: "hint" }, others));
}

function neighbors(text, found) {
  const items = found.neighbors.map((neighbor) =>
    make(
      "li",
      { className: "card" },
      make("div", { className: "result-head" }, make("h3", {}, make("a", { href: compareLink(text, `id:${neighbor.id}`) }, heading(neighbor))), keyOf(neighbor), badge(neighbor.label), make("span", { className: "number" }, neighbor.distance.toFixed(3))),
      make("p", { className: "text short" }, neighbor.text || ""),
    ),
  );
  return make("section", {}, make("h2", {}, "Documents that voted"), make("ol", { className: "results" }, ...items));
}
