// A study's page: a link into a fold opens it, a printed page has its folds open, and citations can be copied.
"use strict";

(() => {
  function reveal() {
    const id = decodeURIComponent(location.hash.slice(1));
    const target = id && document.getElementById(id);
    if (!target) return;
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    target.scrollIntoView();
  }

  const printed = () => document.querySelectorAll("details.fold");

  addEventListener("hashchange", reveal);
  addEventListener("DOMContentLoaded", reveal);
  // The clipboard's own interface is missing on pages that are served without TLS.
  addEventListener("DOMContentLoaded", () => document.querySelectorAll("button.copy").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", () => {
      getSelection().selectAllChildren(button.previousElementSibling);
      button.textContent = document.execCommand("copy") ? "Copied" : "Press Ctrl+C";
    });
  }));
  addEventListener("beforeprint", () => printed().forEach((fold) => {
    fold.dataset.opened = fold.open ? "" : "for print";
    fold.open = true;
  }));
  addEventListener("afterprint", () => printed().forEach((fold) => {
    if (fold.dataset.opened) fold.open = false;
    delete fold.dataset.opened;
  }));
})();
