/* Small repairs of the theme, for readers who use a keyboard or a screen reader. */
(function () {
  "use strict";

  function name(selector, role, label) {
    for (const element of document.querySelectorAll(selector)) {
      element.setAttribute("role", role);
      element.setAttribute("aria-label", label);
    }
  }

  function start() {
    // What one sees must be part of what is read out (WCAG 2.5.3).
    for (const element of document.querySelectorAll(
      "summary[aria-label], .search-button-field[aria-label], .theme-switch-button[aria-label]",
    )) element.removeAttribute("aria-label");
    // The book's title stands outside every landmark.
    name(".sidebar-primary-items__start > .sidebar-primary-item:first-child", "region", "Book");
    // Tables written as HTML scroll in a box of their own, as the theme makes for those written as Markdown.
    for (const table of document.querySelectorAll("article.bd-article table:not(.indextable)")) {
      if (table.closest(".pst-scrollable-table-container, .text_html")) continue;
      const box = document.createElement("div");
      box.className = "pst-scrollable-table-container";
      table.replaceWith(box);
      box.append(table);
    }
    // Code in a table may break between the parts of a name or of a call, but not inside a word.
    const places = /(?<=[\w)\]]{4}\.)(?=[A-Za-z_])|(?<=\w[([])(?=[\w"'][^)\]]{5})|(?<=[,=/])(?=\S)/;
    for (const code of document.querySelectorAll("article.bd-article table :not(pre) > code")) {
      const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
      const long = [];
      while (texts.nextNode()) if (texts.currentNode.data.length > 12) long.push(texts.currentNode);
      for (const text of long) {
        const parts = text.data.split(places)
          .flatMap((part) => (part.length > 16 ? part.split(/(?<=\w_)(?=\w)/) : [part]));
        text.replaceWith(...parts.flatMap((part, n) => (n ? [document.createElement("wbr"), part] : [part])));
      }
    }
    // A figure that scrolls must be reachable by keyboard, as code is.
    const reachFigures = () => {
      for (const box of document.querySelectorAll(".figure-box")) {
        if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
        else box.removeAttribute("tabindex");
      }
    };
    addEventListener("resize", reachFigures);
    reachFigures();
    // On a phone a row becomes a card, each cell under the name of its column. The roles keep it a table for
    // screen readers, which would lose it with the display property.
    for (const table of document.querySelectorAll("article.bd-article table:not(.indextable)")) {
      table.querySelectorAll("thead br").forEach((end) => end.after(" "));
      const names = [...table.querySelectorAll("thead th")].map((cell) => cell.textContent.trim());
      const twin = table.classList.contains("twin");
      if (names.length < 3 && !twin) continue;
      if (!twin) table.classList.add("cards");
      table.setAttribute("role", "table");
      table.querySelectorAll("thead, tbody").forEach((part) => part.setAttribute("role", "rowgroup"));
      table.querySelectorAll("thead th").forEach((cell) => cell.setAttribute("role", "columnheader"));
      for (const row of table.querySelectorAll("tr")) {
        row.setAttribute("role", "row");
        [...row.querySelectorAll("tbody :is(th, td)")].forEach((cell, n) => {
          cell.setAttribute("role", cell.tagName === "TH" ? "rowheader" : "cell");
          cell.dataset.column = names[n] || "";
        });
      }
    }
    // A link to a place inside a closed <details> opens it.
    const open = () => {
      const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
      for (let box = target && target.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    };
    addEventListener("hashchange", open);
    open();
    // On paper nothing is folded, and the ground is white. Afterwards everything is as the reader had it.
    let closed = [];
    let theme;
    addEventListener("beforeprint", () => {
      closed = [...document.querySelectorAll("details:not([open])")];
      closed.forEach((box) => { box.open = true; });
      theme = document.documentElement.dataset.theme;
      document.documentElement.dataset.theme = "light";
    });
    addEventListener("afterprint", () => {
      closed.forEach((box) => { box.open = false; });
      if (theme) document.documentElement.dataset.theme = theme;
    });
    // The theme makes code and tables that scroll reachable by keyboard, measuring them when the page loads and
    // when its size changes. What lies in a closed <details> has no width until it is opened.
    document.addEventListener("toggle", () => dispatchEvent(new Event("resize")), true);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
