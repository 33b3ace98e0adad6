// The tree, branch by branch: classes, words, documents, and the branches below.

import { askLatest } from "./api.js";
import { badge, compareLink, counted, find, heading, keyOf, make, percent, shares } from "./dom.js";

export async function openTree(node = "0", component = "0") {
  const branch = await askLatest(`tree?node=${encodeURIComponent(node)}&component=${encodeURIComponent(component)}`);
  showPath(branch);
  find("branch").replaceChildren(
    make("p", { className: "hint" }, `${counted(branch.n_words, "word")}, ${percent(branch.mass)} of a document's mass`, branch.path.length > 1 ? `, edge of length ${branch.edge_length.toFixed(3)}` : ""),
    branch.classes.length ? make("div", { className: "two" }, classes(branch), words(branch)) : words(branch),
    children(branch),
    documents(branch),
  );
  window.scrollTo(0, 0);
  if (location.hash.split("/").length > 2) find("tree-path").lastElementChild.focus({ preventScroll: true });
}

const address = (node, component) => `#/tree/${node}/${component}`;

function showPath(branch) {
  const names = branch.path.map((node) => (node === 0 ? "Root" : `Branch ${node}`));
  find("tree-path").replaceChildren(
    ...branch.path.flatMap((node, place) => {
      const isLast = place === branch.path.length - 1;
      const link = make("a", { href: address(node, branch.component) }, names[place]);
      if (isLast) link.setAttribute("aria-current", "location");
      return place ? [make("span", { ariaHidden: "true" }, " › "), link] : [link];
    }),
  );
  if (branch.n_components > 1) {
    for (let number = 0; number < branch.n_components; number += 1) {
      find("tree-path").prepend(make("a", { className: "chip", href: address(0, number) }, `Tree ${number + 1}`));
    }
  }
}

function classes(branch) {
  return make("section", { className: "card" }, make("h2", {}, "Classes, each counted alike whatever its size"), shares(branch.classes.slice(0, 12)));
}

function words(branch) {
  const heaviest = branch.words[0]?.weight || 1;
  const chips = branch.words.map((word) => make("span", { className: "chip word", style: { "--weight": String(Math.sqrt(word.weight / heaviest)) } }, word.word));
  return make("section", { className: "card" }, make("h2", {}, "Words"), make("p", { className: "chips" }, ...chips));
}

function children(branch) {
  const section = make("section", {}, make("h2", {}, `Branches below (${branch.n_children})`));
  if (!branch.n_children) section.append(make("p", { className: "hint" }, "None: the words hang here."));
  const mixed = branch.children.filter((child) => child.is_mixed);
  section.append(cards(branch, branch.children.filter((child) => !child.is_mixed)));
  if (mixed.length) section.append(make("details", {}, make("summary", {}, `${counted(mixed.length, "mixed branch", "mixed branches")}: no class stands out in ${mixed.length === 1 ? "it" : "them"}`), cards(branch, mixed)));
  return section;
}

function cards(branch, shown) {
  const list = make("ul", { className: "branches" });
  for (const child of shown) {
    const [first] = child.classes;
    list.append(
      make(
        "li",
        {},
        make(
          "a",
          { className: "card branch", href: address(child.node, branch.component) },
          make("strong", {}, child.words.map((word) => word.word).join(", ") || `Branch ${child.node}`),
          make("span", { className: "hint" }, first ? badge(first.label) : "", first ? ` ${percent(first.share)} · ` : "", `${counted(child.n_words, "word")} · ${percent(child.mass)} of the mass`),
        ),
      ),
    );
  }
  return list;
}

function documents(branch) {
  const items = branch.documents.map((found) =>
    make(
      "li",
      { className: "card" },
      make("div", { className: "result-head" }, make("h3", {}, make("a", { href: compareLink(`id:${found.id}`, "") }, heading(found))), keyOf(found), found.label === null ? "" : badge(found.label), make("span", { className: "number" }, percent(found.mass))),
      make("p", { className: "text short" }, found.text || ""),
    ),
  );
  return make("section", {}, make("h2", {}, "Documents that use it most"), make("ol", { className: "results" }, ...items));
}
