// Filters, order and search of the index. What is asked for stands in the address (#text=…&verdict=refuted), so that it can be
// sent on and comes back with the back button.
"use strict";

(() => {
  const FIELDS = ["text", "verdict", "standing", "study", "document", "kind", "order"];
  const VERDICTS = ["supported", "partly", "refuted", "open", "out of regime", "invalid", "withdrawn", "not yet tested"];

  // What a row may be filtered by: its outcomes as pairs of verdict and standing, for "refuted and firm" means one outcome.
  function read(row) {
    const outcomes = [...row.querySelectorAll("td[data-values].verdicts")];
    return {
      row,
      outcomes: outcomes.map((cell) => cell.dataset.values.split("|")).map((values) => [values[0], values[2]]),
      study: [row.dataset.study],
      document: row.dataset.document.split("|"),
      kind: row.dataset.kind.split("|"),
      words: null,
    };
  }

  function fits(each, asked) {
    const outcomes = each.outcomes.length ? each.outcomes : [["not yet tested", ""]];
    if (!outcomes.some(([verdict, standing]) => (!asked.verdict || verdict === asked.verdict) && (!asked.standing || standing === asked.standing))) return false;
    if (!["study", "document", "kind"].every((name) => !asked[name] || each[name].includes(asked[name]))) return false;
    if (!asked.text.trim()) return true;
    each.words ??= window.folklore.search.index(`${each.row.textContent} ${each.row.dataset.words ?? ""} ${each.kind.join(" ")}`);
    return window.folklore.search.matches(each.words, asked.text);
  }

  const KEYS = {
    "": () => 0,
    surprise: (row) => -(row.dataset.surprise ?? -1),
    verdict: (row) => VERDICTS.indexOf(row.dataset.verdict),
    study: (row) => row.dataset.study,
  };

  function sort(body, order) {
    const key = KEYS[order] ?? KEYS[""];
    const register = (row) => Number(row.dataset.order);
    const compare = (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : register(a) - register(b));
    body.append(...[...body.rows].sort(compare));
  }

  function setUp(form) {
    const body = document.getElementById("register").tBodies[0];
    const rows = [...body.rows].map(read);

    const asked = () => Object.fromEntries(FIELDS.map((name) => [name, form.elements[name]?.value ?? ""]));

    function show() {
      const wanted = asked();
      let shown = 0;
      for (const each of rows) {
        each.row.hidden = !fits(each, wanted);
        shown += !each.row.hidden;
      }
      sort(body, wanted.order);
      document.getElementById("count").textContent = `${shown} of ${rows.length} claims`;
    }

    // typing: a word is one step of the history, not one for each letter.
    function remember(typing) {
      const state = new URLSearchParams(Object.entries(asked()).filter((pair) => pair[1]));
      const address = state.size ? `#${state}` : "#claims";
      if (address === location.hash || (address === "#claims" && !location.hash)) return;
      if (typing && location.hash.includes("text=")) history.replaceState(null, "", address);
      else history.pushState(null, "", address);
    }

    // An address without a state names a place on the page: everything is shown, so that the place is there.
    function restore() {
      const state = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
      for (const name of FIELDS) if (form.elements[name]) form.elements[name].value = state.get(name) ?? "";
      show();
    }

    form.addEventListener("input", (event) => {
      show();
      remember(event.target.name === "text");
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(() => {
      show();
      remember(false);
    }));
    document.querySelectorAll("[data-filter]").forEach((words) => {
      const link = document.createElement("a");
      link.href = `#${new URLSearchParams({ verdict: words.dataset.filter })}`;
      link.append(...words.childNodes);
      words.append(link);
      link.addEventListener("click", () => setTimeout(() => document.getElementById("claims").scrollIntoView()));
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
      event.preventDefault();
      form.elements.text.focus();
    });
    window.addEventListener("popstate", restore);
    form.hidden = false;
    restore();
    if (location.hash && !location.hash.includes("=")) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }

  document.addEventListener("DOMContentLoaded", () => {
    const form = document.getElementById("filters");
    if (form) setUp(form);
  });
})();
