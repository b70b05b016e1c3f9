/* The filter on the page of silent failures: show only the entries that fit what the reader notices.
 *
 * The choice is in the address (?noticed=nan), so that a reader can link to it. Without JavaScript,
 * the filter stays hidden and the page shows all entries. */
(function () {
  "use strict";

  function start() {
    const form = document.getElementById("notice-filter");
    if (!form) return;
    const status = document.getElementById("notice-status");
    const entries = [...document.querySelectorAll(".bit[data-noticed]")];
    // The sections of the chapters, each with its link in the page's table of contents.
    const sections = [...new Set(entries.map((entry) => entry.closest("section")))].map((section) => {
      const link = document.querySelector(`.bd-sidebar-secondary a[href="#${section.id}"]`);
      return { section, item: link && link.closest("li") };
    });

    const choice = () => form.elements.noticed.value;
    const fits = (entry, wanted) => !wanted || entry.dataset.noticed.split(" ").includes(wanted);

    function show() {
      const wanted = choice();
      for (const entry of entries) entry.hidden = !fits(entry, wanted);
      for (const { section, item } of sections) {
        section.hidden = !section.querySelector(".bit:not([hidden])");
        if (item) item.hidden = section.hidden;
      }
      const shown = entries.filter((entry) => !entry.hidden).length;
      status.textContent = wanted ? `Showing ${shown} of ${entries.length} entries.` : `Showing all ${shown} entries.`;
    }

    function choose(wanted) {
      const option = [...form.elements.noticed].find((radio) => radio.value === wanted);
      if (option) option.checked = true;
      show();
    }

    function remember() {
      const address = new URL(location.href);
      if (choice()) address.searchParams.set("noticed", choice());
      else address.searchParams.delete("noticed");
      address.hash = "";
      history.replaceState(null, "", address);
    }

    // A link to an entry must lead to it, whatever the filter shows.
    function showTarget() {
      const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (target && target.closest("[hidden]")) {
        choose("");
        target.scrollIntoView();
      }
    }

    form.addEventListener("change", () => { show(); remember(); });
    form.addEventListener("submit", (event) => event.preventDefault());
    addEventListener("hashchange", showTarget);
    form.hidden = false;
    choose(new URLSearchParams(location.search).get("noticed") || "");
    showTarget();
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
