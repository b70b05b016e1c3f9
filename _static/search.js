/* The search of the book: a dialog on every page, the page of results, and marks on the page that a result opens.
 *
 * The index lies in pagefind/. book_tools/website/search_index.py writes it and says what a record holds. Nothing of it is
 * fetched before a reader opens the search, and then only the pieces that the words need. */
(function (root) {
  "use strict";

  const BASE = new URL(document.documentElement.dataset.content_root || "./", location.href);
  const SHOWN = 8; // results in the dialog
  const LISTED = 30; // results on the page of results
  const EXCERPT = 26; // words
  // Words that say nothing next to others. Not "for", "if", "where", and "while", which are code.
  const EMPTY = new Set(("a an and are as at be can do does from get give given gives got has have how i in into is " +
    "it its me my of on or that the them there this to use using was what when why will with you your").split(" "));
  // How much a place counts, by its kind: a section explains, and a reference page lists what sections explain.
  const KINDS = { row: 0.9, guide: 0.8, opening: 0.7, reference: 0.6, exercise: 0.5 };
  const SYNONYM = 0.6; // what a word counts that means the same as one in the query
  const HALF = 3; // a score for which a word counts half of what it can count at most
  const RANKING = {
    termFrequency: 0.6, pageLength: 0.4, termSaturation: 1.2, termSimilarity: 1.5,
    metaWeights: { title: 6, also: 4, signs: 3, page: 1 },
  };
  const ICON = '<svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" focusable="false" fill="none" ' +
    'stroke="currentColor" stroke-width="2.2" stroke-linecap="round"><circle cx="10.5" cy="10.5" r="6.5"/><path d="m15.5 15.5 5 5"/></svg>';

  const link = (path) => new URL(path, BASE).href;
  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

  /* ---- Finding ---- */

  let engine = null;

  /** Load Pagefind, the synonyms, and the kinds of the records, once. */
  function load() {
    engine = engine || (async () => {
      const pagefind = await import(link("pagefind/pagefind.js"));
      await pagefind.options({ ranking: RANKING });
      const book = await (await fetch(link("pagefind/book.json"))).json();
      const kinds = new Map();
      for (const kind of Object.keys(KINDS)) {
        const { results } = await pagefind.search(null, { filters: { kind } });
        for (const { id } of results) kinds.set(id, kind);
      }
      return { pagefind, kinds, records: book.records, synonyms: book.synonyms };
    })().catch((error) => { engine = null; throw error; });
    return engine;
  }

  /** The words of a query in lower case, without those that say nothing. Names are split at their dots. */
  function words(query) {
    const all = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || [])];
    const telling = all.filter((word) => !EMPTY.has(word));
    return telling.length ? telling : all;
  }

  /** Whether the book has a word, or one that begins like it. Where it has none, Pagefind takes ever shorter words. */
  async function isKnown(word, result) {
    const { meta, content } = await result.data();
    const beginning = word.slice(0, Math.max(3, Math.ceil(0.6 * word.length)));
    const others = `${content} ${Object.values(meta).join(" ")}`.toLowerCase().match(/[\p{L}\p{N}]+/gu) || [];
    return word.split("_").some((part) => part && others.some((other) => other.startsWith(part.slice(0, beginning.length))));
  }

  /** The other name of a flag, which JAX's settings have with jax_ and its context managers without. */
  function flag(word) {
    if (!word.includes("_")) return [];
    return [word.startsWith("jax_") ? word.slice(4) : `jax_${word}`];
  }

  /** All records with a word of the query, best first, and the words that the book lacks. A record need not have every word. */
  async function rank(query) {
    const { pagefind, kinds, records, synonyms } = await load();
    const typed = words(query);
    const found = new Map();
    await Promise.all(typed.map(async (word, n) => {
      const others = synonyms.filter((group) => group.includes(word)).flat().filter((other) => other !== word);
      const flags = flag(word);
      for (const variant of [word, ...flags, ...new Set(others)]) {
        const { results } = await pagefind.search(variant);
        if (!results.length || !(await isKnown(variant, results[0]))) continue;
        // A rare word says more. For a word in a heading Pagefind's score is many times that of one in the
        // text, and no single word may outweigh all others.
        const most = Math.log(1 + records / results.length) * (variant === word || flags.includes(variant) ? 1 : SYNONYM);
        const half = HALF * Math.log(1 + records / results.length);
        for (const result of results) {
          const record = found.get(result.id) || { result, scores: new Array(typed.length).fill(0) };
          record.scores[n] = Math.max(record.scores[n], most * result.score / (result.score + half));
          found.set(result.id, record);
        }
      }
    }));
    const ranked = [...found.values()];
    const most = typed.map((_, n) => Math.max(0, ...ranked.map(({ scores }) => scores[n])));
    const whole = most.reduce((a, b) => a + b, 0);
    for (const record of ranked) {
      const sum = record.scores.reduce((a, b) => a + b, 0);
      const answered = most.reduce((total, score, n) => total + (record.scores[n] ? score : 0), 0) / whole;
      record.score = sum * answered ** 2 * (KINDS[kinds.get(record.result.id)] || 1);
    }
    ranked.sort((a, b) => b.score - a.score);
    const missing = typed.filter((word, n) => !most[n] && /\p{L}{3}/u.test(word));
    // Three places, because the best one may have only the rarest word.
    const best = ranked.slice(0, 3).map(({ scores }) => scores.filter(Boolean).length / typed.length);
    return { ranked, missing, isAnswered: Math.max(0, ...best) > 0.5 };
  }

  async function describe(ranked) {
    return Promise.all(ranked.map(async ({ result }) => {
      const { raw_url: path, meta, content } = await result.data();
      const [, page, anchor] = path.match(/^\/(.*?\.html)\/(.*)\.html$/); // as book_tools/website/search_index.py writes them
      return { url: anchor ? `${page}#${anchor}` : page, title: meta.title, page: meta.page, text: content };
    }));
  }

  /** The best places for a query: {url, title, page, text}, the url relative to the book's root. */
  async function find(query, limit) {
    return describe((await rank(query)).ranked.slice(0, limit));
  }

  /** How many results there are, and what the book lacks, so that no one takes the nearest section for an answer. */
  function summary(count, limit, missing, isAnswered) {
    const some = count === 1 ? "1 result" : `${count === limit ? "The first " : ""}${count} results`;
    const absent = missing.slice(0, 3).map((word) => `“${word}”`).join(", ");
    if (absent) return `The book does not contain ${absent}. ${some} for the other words`;
    return isAnswered ? some : `No section contains most of these words. ${some} for some of them`;
  }

  /* ---- Words in a text ---- */

  /** A pattern for the words of a query and their other endings, or null without words. */
  function pattern(query) {
    const stems = words(query).map((word) =>
      escaped(word.length > 4 ? word.replace(/(?:ations?|ings?|ed|es|e|s)$/, (end) => (word.length - end.length > 3 ? "" : end)) : word));
    if (!stems.length) return null;
    return new RegExp(`(?<![\\p{L}\\p{N}])(?:${stems.sort((a, b) => b.length - a.length).join("|")})[\\p{L}\\p{N}_]{0,12}`, "giu");
  }

  /** Append a text to an element, with its matches in <mark>. */
  function marked(element, text, sought) {
    let done = 0;
    for (const match of sought ? text.matchAll(sought) : []) {
      element.append(text.slice(done, match.index));
      element.appendChild(document.createElement("mark")).textContent = match[0];
      done = match.index + match[0].length;
    }
    element.append(text.slice(done));
    return element;
  }

  /** The part of a text that has the most different matches, or its beginning. */
  function excerpt(text, sought) {
    const all = text.split(/\s+/);
    const hits = all.map((word) => {
      const match = sought && word.match(sought);
      return match ? match[0].toLowerCase().slice(0, 4) : "";
    });
    let [start, most] = [0, 0];
    hits.forEach((hit, n) => {
      if (!hit) return;
      const from = Math.max(0, n - 4);
      const kinds = new Set(hits.slice(from, from + EXCERPT).filter(Boolean)).size;
      if (kinds > most) [start, most] = [from, kinds];
    });
    const part = all.slice(start, start + EXCERPT).join(" ");
    return (start ? "… " : "") + part + (start + EXCERPT < all.length ? " …" : "");
  }

  /* ---- Showing ---- */

  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  /** The address of a result, which tells the page what to mark. */
  function address(result, query) {
    const url = new URL(result.url, BASE);
    url.searchParams.set("highlight", words(query).join(" "));
    return url.href;
  }

  function shown(result, query, attributes) {
    const sought = pattern(query);
    const line = element("a", { class: "search-result", href: address(result, query), ...attributes });
    line.append(
      marked(element("span", { class: "search-title" }), result.title, sought), " ",
      element("span", { class: "search-page" }, result.page === result.title ? "" : result.page), " ",
      marked(element("span", { class: "search-excerpt" }), excerpt(result.text, sought), sought),
    );
    return line;
  }

  const advice = {
    file: ["The search needs the book to be served, because a browser does not let a file read other files. " +
      "Run “make serve” in the book’s folder, or look in the ", ["genindex.html", "index"], "."],
    broken: ["The search could not be loaded. Check the connection and type again, or look in the ", ["genindex.html", "index"], "."],
    none: ["Try fewer words or another name for it. If you have an error message, ",
      ["reference/errors.html", "paste it into the finder"], ". If you know only what you see, look it up ",
      ["reference/by-symptom.html", "by symptom"], "."],
  };

  function told(parts) {
    return parts.map((part) => (typeof part === "string" ? part : element("a", { href: link(part[0]) }, part[1])));
  }

  /** Search as a reader types into `input`, and report with show(results, query, status, advice). */
  function searchAsTyped(input, limit, show) {
    let turn = 0;
    async function search() {
      const mine = ++turn;
      const query = input.value.trim();
      if (location.protocol === "file:") return show([], query, "", advice.file);
      if (!words(query).length) return show([], query, "", null);
      try {
        const { ranked, missing, isAnswered } = await rank(query);
        const results = await describe(ranked.slice(0, limit));
        if (mine !== turn) return; // more was typed since
        if (!results.length) return show(results, query, `Nothing found for “${query}”.`, advice.none);
        show(results, query, summary(results.length, limit, missing, isAnswered), isAnswered ? null : advice.none);
      } catch (error) {
        if (mine === turn) show([], query, "", advice.broken);
      }
    }
    let timer = 0;
    input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 60); });
    return search;
  }

  /* ---- The dialog ---- */

  let dialog = null;

  function build() {
    const input = element("input", {
      type: "search", class: "search-input", role: "combobox", "aria-label": "Search the book", "aria-expanded": "false",
      "aria-controls": "search-list", "aria-autocomplete": "list", "aria-haspopup": "listbox", autocomplete: "off",
      autocapitalize: "off", spellcheck: "false", enterkeyhint: "go", placeholder: "An error, a function, a symptom …",
    });
    const close = element("button", { type: "button", class: "search-close" }, "Close");
    const field = element("div", { class: "search-field" });
    field.innerHTML = ICON;
    field.append(input, close);
    const status = element("p", { class: "search-status", role: "status" });
    const help = element("p", { class: "search-help", hidden: "" });
    const list = element("div", { class: "search-list", id: "search-list", role: "listbox", "aria-label": "Results" });
    const more = element("a", { class: "search-more", hidden: "" }, "All results");
    dialog = element("dialog", { class: "search-dialog", "aria-label": "Search" }, field, status, help, list, more);
    document.body.append(dialog);

    let active = -1;
    function choose(number) {
      const options = [...list.children];
      active = options.length ? (number + options.length) % options.length : -1;
      options.forEach((option, n) => option.setAttribute("aria-selected", String(n === active)));
      if (active < 0) return input.removeAttribute("aria-activedescendant");
      input.setAttribute("aria-activedescendant", options[active].id);
      options[active].scrollIntoView({ block: "nearest" });
    }
    const search = searchAsTyped(input, SHOWN, (results, query, say, hint) => {
      list.replaceChildren(...results.map((result, n) =>
        shown(result, query, { role: "option", id: `search-option-${n}`, tabindex: "-1", "aria-selected": "false" })));
      input.setAttribute("aria-expanded", String(results.length > 0));
      status.textContent = say;
      help.replaceChildren(...told(hint || []));
      help.hidden = !hint;
      more.hidden = results.length < SHOWN;
      more.href = link(`search.html?q=${encodeURIComponent(query)}`);
      choose(0);
    });
    input.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (event.key === "ArrowDown") choose(active + 1);
      else if (event.key === "ArrowUp") choose(active - 1);
      else if (event.key === "Enter" && active >= 0) list.children[active].click();
      else return;
      event.preventDefault();
    });
    list.addEventListener("click", (event) => {
      const option = event.target.closest("a");
      if (!option || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
      dialog.close();
      if (option.pathname !== location.pathname) return; // the browser goes there
      event.preventDefault();
      history.pushState(null, "", option.href);
      arrive();
    });
    close.addEventListener("click", () => dialog.close());
    // The Escape key would first clear a field for searching, and close the dialog only when pressed again.
    dialog.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      dialog.close();
    });
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    dialog.search = search;
    dialog.input = input;
  }

  function open() {
    if (!dialog) build();
    if (dialog.open) return;
    dialog.showModal();
    dialog.input.focus();
    dialog.input.select();
    if (location.protocol !== "file:") load().catch(() => {}); // said when something is typed
    dialog.search();
  }

  /* ---- On the page that a result opens ---- */

  const UNMARKED = "script, style, svg, .headerlink, .copybtn, .MathJax, mjx-container";
  let bar = null;

  function clear() {
    for (const mark of document.querySelectorAll("mark.search-mark")) {
      const parent = mark.parentNode;
      mark.replaceWith(...mark.childNodes);
      parent.normalize();
    }
    if (bar) bar.remove();
    bar = null;
    const url = new URL(location.href);
    if (url.searchParams.has("highlight")) {
      url.searchParams.delete("highlight");
      history.replaceState(history.state, "", url.href);
    }
  }

  /** The part of the page that an address names: a section or a row, and without one the whole article. */
  function place() {
    const id = decodeURIComponent(location.hash.slice(1));
    const target = id && document.getElementById(id);
    if (!target) return null;
    return target.tagName === "DT" ? target.parentElement : target.closest("section, tr") || target;
  }

  /** Mark the words in the place that the address names, and open what hides a word seen nowhere else. */
  function arrive() {
    const query = new URL(location.href).searchParams.get("highlight");
    for (const mark of document.querySelectorAll("mark.search-mark")) mark.replaceWith(...mark.childNodes);
    const target = place();
    const within = target || document.querySelector("article.bd-article");
    const sought = query && pattern(query);
    if (!sought || !within) return;
    const texts = document.createTreeWalker(within, NodeFilter.SHOW_TEXT);
    const nodes = [];
    while (texts.nextNode()) {
      const node = texts.currentNode;
      if (node.data.match(sought) && !node.parentElement.closest(UNMARKED)) nodes.push(node);
    }
    for (const node of nodes) {
      const box = marked(document.createElement("span"), node.data, sought);
      for (const mark of box.querySelectorAll("mark")) mark.className = "search-mark";
      node.replaceWith(...box.childNodes);
    }
    const marks = [...within.querySelectorAll("mark.search-mark")];
    // An answer or a solution stays closed as long as its words are also in sight.
    const folds = (mark) => {
      const found = [];
      for (let fold = mark.closest("details"); fold; fold = fold.parentElement.closest("details")) {
        if (!fold.open && !(mark.closest("summary") && mark.closest("details") === fold)) found.push(fold);
      }
      return found;
    };
    for (const word of words(query)) {
      const own = pattern(word);
      const those = marks.filter((mark) => mark.textContent.match(own));
      if (those.every((mark) => folds(mark).length)) those.forEach((mark) => folds(mark).forEach((fold) => { fold.open = true; }));
    }
    if (bar) bar.remove();
    bar = null;
    if (marks.length) {
      const button = element("button", { type: "button", class: "search-clear" }, "Remove the marks ", element("kbd", { "aria-hidden": "true" }, "Esc"));
      button.addEventListener("click", clear);
      bar = element("div", { class: "search-bar", role: "region", "aria-label": "Marked words" }, button);
      document.body.append(bar);
    }
    if (target) target.scrollIntoView({ behavior: "instant" });
  }

  /* ---- The page of results ---- */

  function startPage(box) {
    const input = box.querySelector("input");
    const [status, help, list] = ["search-status", "search-help", "search-found"].map((name) => box.querySelector(`.${name}`));
    const search = searchAsTyped(input, LISTED, (results, query, say, hint) => {
      list.replaceChildren(...results.map((result) => element("li", {}, shown(result, query, {}))));
      status.textContent = say;
      help.replaceChildren(...told(hint || []));
      help.hidden = !hint;
      if (location.protocol !== "file:") history.replaceState(null, "", query ? `?q=${encodeURIComponent(query)}` : location.pathname);
    });
    box.querySelector("form").addEventListener("submit", (event) => { event.preventDefault(); search(); });
    input.value = new URL(location.href).searchParams.get("q") || "";
    input.focus();
    search();
  }

  function start() {
    for (const button of document.querySelectorAll(".search-open")) button.addEventListener("click", open);
    document.addEventListener("keydown", (event) => {
      const typing = event.target.closest && event.target.closest("input, textarea, select, [contenteditable]");
      if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k") open();
      else if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) open();
      else if (event.key === "Escape" && bar && !typing) return clear();
      else return;
      event.preventDefault();
    });
    const box = document.getElementById("search-page");
    if (box) startPage(box);
    arrive();
    addEventListener("popstate", arrive);
  }

  root.jaxbitsSearch = { find, rank };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})(window);
