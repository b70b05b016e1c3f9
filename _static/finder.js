/* The finder on the page of errors: paste a message or a whole traceback, read what it is.
 *
 * error-text.js reads what was pasted, error-matcher.js ranks the entries, and this file shows them.
 * rank(pasted, entries, rules) is pure. Without rules, it takes those of the page. */
(function (root) {
  "use strict";

  const JAX = "https://github.com/jax-ml/jax";
  const matchers = new WeakMap();

  const embedded = (id) => JSON.parse(document.getElementById(id).textContent);

  /** The matcher for some entries, which is made only once. */
  function matcherFor(entries, rules) {
    if (!matchers.has(entries)) {
      matchers.set(entries, new root.jaxbitsMatcher.Matcher(entries, rules || embedded("finder-rules")));
    }
    return matchers.get(entries);
  }

  const rank = (pasted, entries, rules) => matcherFor(entries, rules).rank(pasted).matches;

  /** What to say about the matches. */
  function statusOf([best, ...others]) {
    const several = others.length ? "They may be:" : "It may be:";
    return {
      message: others.length ? `${others.length + 1} matches, the best first.` : "One match.",
      cut: `The message seems to be cut off. ${several}`,
      another: "The last error is not in this book, but an earlier one is:",
      aside: "There is no error in this text that is in this book, but there is this:",
      words: "No message matches exactly. The closest:",
      class: `Only the class of the error is known. Paste its message, too. ${several}`,
    }[best.how];
  }

  function linkTo(href, text) {
    const link = document.createElement("a");
    Object.assign(link, { href, textContent: text });
    return link;
  }

  /** What to do if nothing matches. */
  function advice(library) {
    return [
      "Nothing in this book matches. If you have not done so, paste the last lines of the traceback, with the error’s " +
        "name. Otherwise, search JAX’s ",
      linkTo(`${JAX}/issues`, "issues"), " and ", linkTo(`${JAX}/discussions`, "discussions"),
      library ? `, and the issues of ${library}, which raised the error.` : ".",
    ];
  }

  /** Put the finder on the page: read the entries, listen, show. */
  function start() {
    const box = document.getElementById("finder");
    if (!box) return;
    const matcher = matcherFor(embedded("finder-entries"));
    const text = document.getElementById("finder-text");
    const list = document.getElementById("finder-results");
    const status = document.getElementById("finder-status");
    const clear = document.getElementById("finder-clear");

    function item({ entry }) {
      const line = document.createElement("li");
      const title = document.createElement("a");
      title.href = entry.href;
      title.innerHTML = entry.title; // written by the generator, which escapes it
      const message = document.createElement("code");
      message.textContent = entry.error ? `${entry.error}: ${entry.text}` : entry.text;
      const fix = document.createElement("p");
      fix.innerHTML = `<strong>Fix</strong> ${entry.fix}`;
      line.append(title, message, fix);
      return line;
    }

    function show() {
      const empty = !text.value.trim();
      const { matches, pasted } = empty ? { matches: [] } : matcher.rank(text.value);
      list.replaceChildren(...matches.map(item));
      clear.hidden = empty;
      status.replaceChildren(...(empty ? [] : matches.length ? [statusOf(matches)] : advice(pasted.library)));
    }

    let timer = 0;
    text.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(show, 120); });
    clear.addEventListener("click", () => { text.value = ""; show(); text.focus(); });
    box.hidden = false; // without JavaScript the page is the list alone
    show(); // the browser may have kept the text of an earlier visit
  }

  root.jaxbitsFinder = { rank };
  if (typeof document !== "undefined") {
    // The other two files run after this one, but before the document is complete.
    if (document.readyState === "complete") start();
    else document.addEventListener("DOMContentLoaded", start);
  }
})(typeof window === "undefined" ? globalThis : window);
