"use strict";
(() => {
  const { figure, branches, map } = JSON.parse(document.getElementById("data").textContent);
  const picture = document.getElementById("tree-picture");
  const panel = document.getElementById("branch");
  const dark = matchMedia("(prefers-color-scheme: dark)");

  // Every text goes in as text, never as markup.
  const make = (name, text, parent, properties = {}) => {
    const element = document.createElement(name);
    if (text) element.textContent = text;
    for (const [key, value] of Object.entries(properties)) element.style.setProperty(key, value);
    parent?.append(element);
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
    if (branch.classes.length) make("h4", "Classes, each counted alike whatever its size", panel);
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
    for (const [name, label, title, text] of branch.documents) make("li", `${label ? `${label}, ` : ""}${name}: ${title || text}`, list);
    return heading;
  };

  const open = (id, focus) => {
    const heading = show(id);
    if (figure.data[0].parents.includes(id)) Plotly.restyle(picture, { level: [id] }); // a folded one has no parts
    if (focus) heading.focus({ preventScroll: true });
  };

  const ink = () => (dark.matches ? "#e7e9ec" : "#1d2126");
  const ground = () => (dark.matches ? "#17191c" : "#ffffff");
  const isNarrow = matchMedia("(max-width: 40rem)").matches;
  const root = Object.keys(branches)[0];
  const draw = (element, data, layout, recolor, clicked) => {
    Object.assign(layout, { autosize: true, font: { color: ink(), family: "system-ui, sans-serif" }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)" });
    if (isNarrow) layout.height = 420;
    Plotly.newPlot(element, data, layout, { displayModeBar: false, responsive: true }).then(() => {
      element.on("plotly_click", (event) => clicked(event.points[0]));
      dark.addEventListener("change", () => {
        Plotly.relayout(element, { "font.color": ink() });
        recolor();
      });
      element.dataset.ready = "true";
    });
  };
  delete figure.layout.template;
  figure.data[0].marker.line.color = ground();
  figure.data[0].pathbar.visible = false; // the buttons lead back; its room would be an empty strip
  figure.layout.margin.t = 0;
  draw(picture, figure.data, figure.layout, () => Plotly.restyle(picture, { "marker.line.color": ground() }), (point) => show(point.id.split("/")[0]));
  show(root);

  // What plotly shows on hovering takes some markup: a text must not be any.
  const safe = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const wrapped = (text, length = 56) => {
    const lines = [""];
    for (const word of text.split(" ")) {
      if (lines.at(-1).length + word.length > length) lines.push("");
      lines.push(`${lines.pop()} ${word}`.trim());
    }
    return lines.map(safe).join("<br>");
  };
  const plane = document.getElementById("map-picture");
  const found = document.getElementById("map-documents");
  const held = (words, text) => words.every((word) => text.includes(word));
  const typed = (input) => input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const groups = map.labels.map(([label, color]) => {
    const points = map.points.filter((point) => point[2] === label);
    return { label, color, points, texts: points.map((point) => point.slice(2).join(" ").toLowerCase()) };
  });
  const isShown = new Set(map.labels.map(([label]) => label));
  const list = (points, total) => {
    const entries = make("ul", "");
    for (const [, , label, name, title, text] of points) make("li", `${label}, ${name}: ${[title, text].filter(Boolean).join(" — ")}`, entries);
    found.replaceChildren(entries);
    if (total > points.length) make("p", `and ${total - points.length} more`, found);
  };
  const search = () => {
    const words = typed(document.getElementById("map-words"));
    const matches = groups.map(({ label, texts }) => texts.map((text) => isShown.has(label) && held(words, text)));
    const hits = groups.flatMap(({ points }, number) => points.filter((_, place) => matches[number][place]));
    document.getElementById("map-count").textContent = `${hits.length} ${hits.length === 1 ? "document" : "documents"}`;
    if (words.length) list(hits.slice(0, 20), hits.length);
    Plotly.restyle(plane, { visible: groups.map(({ label }) => isShown.has(label)), "marker.opacity": matches.map((row) => row.map((match) => (match ? 0.85 : 0.08))) });
  };
  for (const { label, color } of groups) {
    const button = make("button", label, document.getElementById("map-labels"), { "--tag": color });
    button.type = "button";
    button.ariaPressed = "true";
    button.addEventListener("click", () => {
      button.ariaPressed = String(!isShown.has(label));
      if (!isShown.delete(label)) isShown.add(label);
      search();
    });
  }
  const axis = { visible: false };
  draw(
    plane,
    groups.map(({ label, color, points }) => ({
      type: "scatter",
      mode: "markers",
      name: safe(label),
      x: points.map((point) => point[0]),
      y: points.map((point) => point[1]),
      marker: { color, size: 7, opacity: points.map(() => 0.85), line: { width: 0.5, color: ground() } },
      customdata: points,
      text: points.map(([, , , name, title, text]) => [`<b>${safe(label)}</b> ${safe(name)}`, title && `<b>${wrapped(title)}</b>`, wrapped(text)].filter(Boolean).join("<br>")),
      hovertemplate: "%{text}<extra></extra>",
      hoverlabel: { align: "left", font: { color: "#1d2126" }, bgcolor: "#ffffff", bordercolor: color },
    })),
    { height: 620, showlegend: false, hovermode: "closest", dragmode: isNarrow ? false : "zoom", margin: { l: 8, r: 8, t: 8, b: 8 }, xaxis: { ...axis }, yaxis: { ...axis, scaleanchor: "x" } },
    () => Plotly.restyle(plane, { "marker.line.color": ground() }),
    (point) => list([point.customdata], 1),
  );
  document.getElementById("map-form").addEventListener("input", search);
  document.getElementById("map-form").addEventListener("submit", (event) => event.preventDefault());

  const first = 50; // entries of a list that are shown before all are asked for
  for (const form of document.querySelectorAll("form[data-list]")) {
    const entries = [...document.getElementById(form.dataset.list).children].map((entry) => [entry, entry.textContent.toLowerCase()]);
    const more = document.querySelector(`button[data-list="${form.dataset.list}"]`);
    const filter = (most) => {
      const kind = form.querySelector("select").value;
      const words = typed(form.querySelector("input"));
      const matches = entries.filter(([entry, text]) => (!kind || entry.dataset.kind === kind) && held(words, text)).map(([entry]) => entry);
      const shown = new Set(matches.slice(0, most));
      for (const [entry] of entries) entry.hidden = !shown.has(entry);
      form.querySelector("output").textContent = shown.size < matches.length ? `${shown.size} of ${matches.length} shown` : `${matches.length} shown`;
      more.hidden = shown.size === matches.length;
      more.textContent = `Show all ${matches.length}`;
      return matches;
    };
    form.addEventListener("input", () => filter(first));
    form.addEventListener("submit", (event) => event.preventDefault());
    more.addEventListener("click", () => filter(Infinity)[first].querySelector("summary").focus());
    filter(first);
  }
})();
