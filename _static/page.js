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
    // A link to a place inside a closed <details> opens it.
    const open = () => {
      const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
      for (let box = target && target.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    };
    addEventListener("hashchange", open);
    open();
    // The theme makes code and tables that scroll reachable by keyboard, measuring them when the page loads and
    // when its size changes. What lies in a closed <details> has no width until it is opened.
    document.addEventListener("toggle", () => dispatchEvent(new Event("resize")), true);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
