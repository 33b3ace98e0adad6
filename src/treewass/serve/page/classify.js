// The label of a text, typed, opened or dropped on the page, and why it gets it.

import { askLatest } from "./api.js";
import { attempt, report } from "./app.js";
import { badge, compareLink, find, heading, make, marked, shares } from "./dom.js";

const LONGEST = 200_000; // characters, as the service takes

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
  const { predictions } = await askLatest("predict", { texts: [text], explain: true });
  const [found] = predictions;
  const unknown = make("p", { className: "hint" }, "No word of it is known to the model: these are the shares of the classes.");
  find("prediction").replaceChildren(
    make("p", { className: "figure" }, badge(found.label), found.known ? "" : unknown),
    make("div", { className: "two" }, make("section", { className: "card" }, make("h2", {}, "Probabilities"), shares(found.probabilities.slice(0, 12))), words(found)),
    make("section", { className: "card" }, make("h2", {}, "The text"), marked(found.pieces, "")),
    neighbors(text, found),
  );
}

function words(found) {
  const section = make("section", { className: "card" }, make("h2", {}, found.rival === null ? "Words" : `Words for ${found.label} and against ${found.rival}`));
  const strongest = Math.max(...found.words.map((word) => Math.abs(word.weight)), 1e-12);
  const list = make("ul", { className: "signed" });
  const ordered = [...found.words].sort((one, other) => Math.abs(other.weight) - Math.abs(one.weight)).slice(0, 14);
  for (const word of ordered) {
    const share = `${(100 * Math.abs(word.weight)) / strongest}%`;
    list.append(make("li", { className: word.weight >= 0 ? "near" : "far", style: { "--share": share } }, make("span", {}, word.word), make("span", { className: "number" }, `${word.weight >= 0 ? "+" : "−"}${Math.abs(word.weight).toFixed(3)}`)));
  }
  section.append(list);
  return section;
}

function neighbors(text, found) {
  const items = found.neighbors.map((neighbor) =>
    make(
      "li",
      { className: "card" },
      make("div", { className: "result-head" }, make("h3", {}, make("a", { href: compareLink(text, `id:${neighbor.id}`) }, heading(neighbor))), badge(neighbor.label), make("span", { className: "number" }, neighbor.distance.toFixed(3))),
      make("p", { className: "text short" }, neighbor.text || ""),
    ),
  );
  return make("section", {}, make("h2", {}, "Documents that voted"), make("ol", { className: "results" }, ...items));
}
