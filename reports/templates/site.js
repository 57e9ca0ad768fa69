// What pages can do beyond being read: themes, tables that sort, turn pages and download. Without scripts all of them
// still read.
"use strict";

(() => {
  // ---- files that a page opened from disk can load: scripts that hand over their content

  const awaited = new Map();

  window.folklore = Object.assign(window.folklore ?? {}, {
    give(name, content) {
      awaited.get(name)?.(content);
    },
  });

  const loaded = new Map();

  function load(file, name) {
    if (!loaded.has(file)) {
      loaded.set(file, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        if (name) awaited.set(name, resolve);
        else script.onload = resolve;
        script.onerror = () => reject(new Error(`${file} is not there`));
        script.src = file;
        document.head.append(script);
      }));
    }
    return loaded.get(file);
  }

  const content = (file) => load(file, file.split("/").pop());

  // ---- themes: automatic, light, dark

  const themes = ["automatic", "light", "dark"];

  function remembered() {
    try { return localStorage.getItem("folklore-theme"); } catch { return null; }
  }

  function useTheme(theme) {
    const root = document.documentElement;
    if (theme === "automatic") delete root.dataset.theme;
    else root.dataset.theme = theme;
    document.getElementById("theme").textContent = `Theme: ${theme}`;
    try { localStorage.setItem("folklore-theme", theme); } catch { /* a page from disk may not remember */ }
    document.querySelectorAll(".chart").forEach((chart) => window.Plotly?.relayout(chart, colours(chart)));
  }

  function setUpThemes() {
    const button = document.getElementById("theme");
    let theme = themes.includes(remembered()) ? remembered() : "automatic";
    useTheme(theme);
    button.hidden = false;
    button.addEventListener("click", () => {
      theme = themes[(themes.indexOf(theme) + 1) % themes.length];
      useTheme(theme);
    });
  }

  // ---- charts

  function colours(chart) {
    const style = getComputedStyle(document.documentElement);
    const [ink, line] = ["--ink", "--line"].map((name) => style.getPropertyValue(name).trim());
    const found = { "font.color": ink, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)" };
    for (const axis of ["xaxis", "yaxis"]) {
      for (let index = 1; index <= Number(chart.dataset.panels); index++) found[`${axis}${index === 1 ? "" : index}.gridcolor`] = line;
    }
    return found;
  }

  async function draw(place, data, layout) {
    await load("plotly.min.js");
    place.classList.add("chart");
    const panels = Object.keys(layout).filter((name) => name.startsWith("xaxis")).length;
    place.dataset.panels = panels;
    const narrow = place.clientWidth < 600;
    const legend = { orientation: "h", yref: "container", y: 0, yanchor: "bottom", font: { size: narrow ? 10 : 12 } };
    await window.Plotly.react(
      place, data,
      { margin: { l: 60, r: 15, t: 40, b: 60 + 20 * Math.min(6, Math.ceil(data.filter((each) => each.showlegend !== false).length / 3)) }, legend, hovermode: "closest", font: { size: 12 }, ...layout },
      { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d"] },
    );
    await window.Plotly.relayout(place, colours(place));
  }

  // ---- tables that sort

  function number(text) {
    const power = text.match(/^2\^(-?[\d.]+)$/);
    return power ? 2 ** Number(power[1]) : text === "" || isNaN(text) ? null : Number(text);
  }

  function compare(a, b) {
    const [x, y] = [number(a), number(b)];
    if (x !== null && y !== null) return x - y;
    if (x !== null || y !== null) return x !== null ? -1 : 1;
    return a.localeCompare(b, "en");
  }

  // The full value of a cell, if it has one, or its text. No number (–) comes last.
  const sortedBy = (cell) => cell.dataset.value ?? cell.textContent.trim().replace(/^–$/, "");

  function setUpSorting(table) {
    table.querySelectorAll("thead th").forEach((head) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const column = [...head.parentNode.children].indexOf(head);
        const ascending = head.getAttribute("aria-sort") !== "ascending";
        table.querySelectorAll("th[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
        const keyed = [...table.tBodies[0].rows].map((row) => [sortedBy(row.cells[column]), row]);
        keyed.sort((a, b) => (ascending ? 1 : -1) * compare(a[0], b[0]));
        table.tBodies[0].append(...keyed.map((pair) => pair[1]));
        table.dispatchEvent(new Event("sorted"));
      });
    });
  }

  // ---- long tables, some rows at a time; as CSV, in print and without scripts they are whole

  const ROWS = 200;

  function setUpPaging(table) {
    const rows = table.tBodies[0].rows;
    if (rows.length <= ROWS) return;
    const tools = document.createElement("p");
    tools.className = "paging";
    tools.innerHTML = '<button type="button">Previous rows</button> <output></output> <button type="button">Next rows</button> <button type="button">All rows</button>';
    const [previous, next, all] = tools.querySelectorAll("button");
    let [start, size] = [0, ROWS];

    function show() {
      const end = Math.min(start + size, rows.length);
      [...rows].forEach((row, index) => row.classList.toggle("off", index < start || index >= end));
      tools.querySelector("output").textContent = `rows ${start + 1} to ${end} of ${rows.length}`;
      [previous.disabled, next.disabled, all.disabled] = [start === 0, end === rows.length, size > ROWS];
    }

    function go(first, count = ROWS) {
      [start, size] = [first, count];
      show();
    }

    previous.addEventListener("click", () => go(start - ROWS));
    next.addEventListener("click", () => go(start + ROWS));
    all.addEventListener("click", () => go(0, rows.length));
    table.addEventListener("sorted", show);
    (table.closest(".wide") ?? table).before(tools);
    show();
  }

  // ---- curves of chosen trials

  function setUpTrials(table) {
    const files = table.dataset.curves.split("|");
    const chosen = new Map();
    const panel = document.createElement("div");
    panel.className = "chosen";
    panel.innerHTML = '<label>Curve <select></select></label> <button type="button">Clear</button><div></div>';
    panel.hidden = true;
    const [select, clear, place] = [panel.querySelector("select"), panel.querySelector("button"), panel.querySelector("div")];
    table.parentNode.before(panel);

    const head = document.createElement("th");
    head.scope = "col";
    head.textContent = "Curves";
    table.tHead.rows[0].prepend(head);
    // A row's file of curves is that of the row before it, if it names none.
    const fileOf = new Map();
    let file;
    for (const row of table.tBodies[0].rows) {
      file = row.dataset.c ?? file;
      fileOf.set(row, files[file]);
      const box = document.createElement("input");
      box.type = "checkbox";
      const last = row.cells[row.cells.length - 1];
      const digest = last.textContent.trim();
      box.setAttribute("aria-label", `Curves of ${digest}`);
      row.insertCell(0).append(box);
      if (table.dataset.run) {
        const run = document.createElement("a");
        run.href = table.dataset.run.replace("DIGEST", digest);
        run.textContent = digest;
        last.replaceChildren(run);
      }
    }

    async function show() {
      panel.hidden = chosen.size === 0;
      if (!chosen.size) return;
      const wanted = select.value;
      const quantities = [...new Set([...chosen.values()].flatMap((each) => Object.keys(each.curves)))];
      select.replaceChildren(...quantities.map((name) => new Option(name, name)));
      select.value = quantities.includes(wanted) ? wanted : quantities[0];
      const data = [];
      for (const each of chosen.values()) {
        const curve = each.curves[select.value];
        if (curve) data.push({ type: "scatter", mode: "lines", name: each.name, x: each.steps[curve[0]], y: curve[1] });
      }
      const layout = { height: 420, xaxis: { title: { text: "step" } }, yaxis: { title: { text: select.value } } };
      await draw(place, data, layout);
    }

    table.addEventListener("change", async (event) => {
      const row = event.target.closest("tr");
      const cells = [...row.cells].map((cell) => cell.textContent.trim());
      const digest = cells[cells.length - 1];
      if (event.target.checked) {
        const found = await content(fileOf.get(row)).catch(() => null);
        if (!found) {
          event.target.disabled = true;
          event.target.closest("td").append(" not beside this page");
          return;
        }
        // The library takes some HTML in names.
        const name = cells.slice(1, -5).join(" · ").replaceAll("&", "&amp;").replaceAll("<", "&lt;");
        chosen.set(digest, { name: `${name} (${digest.slice(0, 6)})`, steps: found.steps, curves: found.trials[digest] });
      } else chosen.delete(digest);
      await show();
    });
    select.addEventListener("change", show);
    clear.addEventListener("click", async () => {
      chosen.clear();
      table.querySelectorAll("input:checked").forEach((box) => { box.checked = false; });
      await show();
    });
    setUpSorting(table);
  }

  // ---- tables as CSV: what is shown, with the full numbers of data attributes

  const CSV_FORMULA = /^[=+@\t\r-]/;

  function quoted(value) {
    // A spreadsheet would compute what begins like a formula.
    const text = CSV_FORMULA.test(value) && isNaN(value) ? `'${value}` : value;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  // A cell's values: several (data-values, split at |), one that is fuller than its text (data-value), or its text.
  function valuesOf(cell) {
    if (cell.dataset.values !== undefined) return cell.dataset.values.split("|");
    return [cell.dataset.value ?? cell.textContent.trim().replace(/\s+/g, " ")];
  }

  // A heading whose cells hold several values names them (data-fields, split at |). Rows that are hidden, or only head others
  // (class section), are left out.
  function csv(table) {
    const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
    const names = heads.map((head) => head.dataset.fields?.split("|") ?? [head.textContent.trim().replace(/\s+/g, " ")]);
    const lines = [names.flat()];
    for (const row of [...table.tBodies].flatMap((body) => [...body.rows])) {
      if (row.hidden || row.classList.contains("section")) continue;
      lines.push([...row.cells].flatMap((cell, column) => {
        const values = valuesOf(cell);
        return (names[column] ?? [""]).map((_, index) => values[index] ?? "");
      }));
    }
    return lines.map((line) => line.map(quoted).join(",")).join("\r\n") + "\r\n";
  }

  function setUpDownload(table) {
    const place = table.closest(".wide") ?? table;
    let tools = place.previousElementSibling;
    if (!tools?.classList.contains("table-tools")) {
      tools = document.createElement("p");
      tools.className = "table-tools";
      place.before(tools);
    }
    const button = document.createElement("button");
    const name = `${table.dataset.csv}.csv`;
    button.type = "button";
    button.textContent = "CSV";
    button.setAttribute("aria-label", `${name}: the rows that are shown`);
    // The file is made when it is asked for: rows may have been filtered or sorted by then.
    button.addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([csv(table)], { type: "text/csv;charset=utf-8" }));
      link.download = name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    });
    tools.append(button);
  }

  // What scripts of single pages (study.js, index.js) build on.
  Object.assign(window.folklore, { load, content, draw, csv, setUpSorting, setUpDownload });

  document.addEventListener("DOMContentLoaded", () => {
    setUpThemes();
    document.querySelectorAll("table[data-csv]").forEach(setUpDownload);
    document.querySelectorAll("table.sortable:not(.trials)").forEach(setUpSorting);
    document.querySelectorAll("table.trials").forEach(setUpTrials);
    document.querySelectorAll("table.trials").forEach(setUpPaging);
  });
})();
