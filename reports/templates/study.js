// A study's page: a link into a fold opens it, and a printed page has its folds open.
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
  addEventListener("beforeprint", () => printed().forEach((fold) => {
    fold.dataset.opened = fold.open ? "" : "for print";
    fold.open = true;
  }));
  addEventListener("afterprint", () => printed().forEach((fold) => {
    if (fold.dataset.opened) fold.open = false;
    delete fold.dataset.opened;
  }));
})();
