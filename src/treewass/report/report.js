"use strict";
(() => {
  const { figure, branches } = JSON.parse(document.getElementById("tree-data").textContent);
  const picture = document.getElementById("tree-picture");
  const panel = document.getElementById("branch");
  const dark = matchMedia("(prefers-color-scheme: dark)");

  // Every text goes in as text, never as markup.
  const make = (name, text, parent, properties = {}) => {
    const element = document.createElement(name);
    if (text) element.textContent = text;
    for (const [key, value] of Object.entries(properties)) element.style.setProperty(key, value);
    parent.append(element);
    return element;
  };
  const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
  const title = (id) => (branches[id].parent === null ? "All words" : branches[id].words.slice(0, 4).join(", "));

  const button = (id, label) => {
    const main = branches[id].classes[0];
    const element = make("button", label, panel, main ? { "--tag": main[2] } : {});
    element.type = "button";
    element.dataset.branch = id;
    element.addEventListener("click", () => open(id, true));
  };

  const show = (id) => {
    const branch = branches[id];
    panel.replaceChildren();
    panel.dataset.branch = id;
    const heading = make("h3", title(id), panel);
    heading.tabIndex = -1;
    make("p", `${branch.n_words} words, ${percent(branch.mass)} of the mass`, panel);
    if (branch.parent !== null) button(branch.parent, `↑ ${title(branch.parent)}`);
    if (branch.classes.length) make("h4", "Classes", panel);
    for (const [label, share, color] of branch.classes) {
      const row = make("div", "", panel, { "--tag": color, "--share": share });
      row.className = "class-row";
      make("i", "", row);
      make("span", `${label} ${percent(share)}`, row);
    }
    make("h4", "Heaviest words", panel);
    make("p", branch.words.join(", "), panel);
    if (branch.children.length) {
      make("h4", "Branches", panel);
      for (const child of branch.children.slice(0, 20)) button(child, `${title(child)} · ${percent(branches[child].mass)}`);
    }
    make("h4", "Documents with most of their mass here", panel);
    const list = make("ul", "", panel);
    for (const [number, label, name, text] of branch.documents) make("li", `${label ? `${label}, ` : ""}id ${number}: ${name || text}`, list);
    return heading;
  };

  const open = (id, focus) => {
    const heading = show(id);
    Plotly.restyle(picture, { level: [id] });
    if (focus) heading.focus({ preventScroll: true });
  };

  const colors = () => ({
    "font.color": dark.matches ? "#e7e9ec" : "#1d2126",
    "plot_bgcolor": "rgba(0,0,0,0)",
  });
  const root = Object.keys(branches)[0];
  delete figure.layout.template;
  Object.assign(figure.layout, { autosize: true, font: { color: dark.matches ? "#e7e9ec" : "#1d2126", family: "system-ui, sans-serif" } });
  figure.data[0].marker.line.color = dark.matches ? "#17191c" : "#ffffff";
  Plotly.newPlot(picture, figure.data, figure.layout, { displayModeBar: false, responsive: true }).then(() => {
    picture.on("plotly_click", (event) => {
      const id = event.points[0].id.split("/")[0];
      show(id);
    });
    dark.addEventListener("change", () => {
      Plotly.relayout(picture, colors());
      Plotly.restyle(picture, { "marker.line.color": dark.matches ? "#17191c" : "#ffffff" });
    });
    picture.dataset.ready = "true";
  });
  show(root);

  const form = document.getElementById("filter");
  const suspects = [...document.querySelectorAll("#suspects details")].map((entry) => [entry, entry.textContent.toLowerCase()]);
  const filter = () => {
    const kind = document.getElementById("filter-kind").value;
    const words = document.getElementById("filter-text").value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const [entry, text] of suspects) {
      entry.hidden = (kind && entry.dataset.kind !== kind) || !words.every((word) => text.includes(word));
      shown += !entry.hidden;
    }
    document.getElementById("filter-count").textContent = `${shown} shown`;
  };
  form?.addEventListener("input", filter);
  form?.addEventListener("submit", (event) => event.preventDefault());
})();
