/* The finder on the page of errors: paste a message or a whole traceback, read what it is.
 *
 * rank(pasted, entries) is pure: it returns at most five {entry, score, exact}, best first, one per
 * sharp bit. Three signs count, in this order: the text of a known message, with its gaps filled by
 * anything; the class of the error; and words that known messages use. Words that no known message
 * uses (your names, paths and line numbers) count for nothing. */
(function (root) {
  "use strict";

  const MOST = 5;
  const GAP = 400; // letters that one gap of a message may stand for
  // Classes that say little by themselves: any Python program raises them.
  const COMMON = new Set(
    ("ArithmeticError AssertionError AttributeError Exception FloatingPointError ImportError IndexError " +
      "KeyError LookupError ModuleNotFoundError NameError NotImplementedError OverflowError " +
      "RecursionError RuntimeError SyntaxError TypeError ValueError ZeroDivisionError").split(" "));
  const BOILERPLATE = [
    /^-{8,}$/,
    /^For simplicity, JAX has removed its internal frames/,
    /^Set JAX_TRACEBACK_FILTERING/,
    /^The stack trace below excludes JAX-internal frames/,
    /^The preceding is the original exception/,
    /^(FAILED|ERROR) .*::/,
    /^={3,}.*={3,}$/,
  ];
  const HEADER = /^(?:[A-Za-z_]\w*\.)*([A-Z]\w*(?:Error|Exception|Warning|Interrupt))\b(?::|$| {2,}Traceback)/;

  /** The pasted text as clean lines: no colours, no marks of mails, pytest, boxes or notebooks. */
  function clean(pasted) {
    return pasted
      .replace(/\x1b\[[0-9;]*m/g, "")
      .split(/\r?\n/)
      .map((line) => line
        .replace(/^\s*(?:(?:>|&gt;|[│|])\s?)+/, "")
        .replace(/\s*[│|]\s*$/, "")
        .replace(/^E {2,}/, "")
        .trim())
      .filter((line) => line && !BOILERPLATE.some((known) => known.test(line)));
  }

  /** The words of a text in lower case; names in CamelCase also by their parts. */
  function words(text) {
    const found = new Set();
    for (const word of text.match(/[A-Za-z_][A-Za-z_0-9]+/g) || []) {
      const parts = word.split(/_+|(?<=[a-z0-9])(?=[A-Z])/).filter((part) => part.length > 1);
      for (const part of [word, ...parts]) found.add(part.toLowerCase());
    }
    return found;
  }

  const squeezed = (text) => text.replace(/\s+/g, "");
  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

  /** The known message as a pattern on text without white space, so that wrapped lines match. */
  function pattern(text) {
    const parts = text.split("…").map((part) => escaped(squeezed(part))).filter(Boolean);
    return parts.length ? new RegExp(parts.join(`[^]{0,${GAP}}?`)) : null;
  }

  /** What each word is worth: much when few known messages use it. */
  function worth(bags) {
    const uses = new Map();
    for (const bag of bags) for (const word of bag) uses.set(word, (uses.get(word) || 0) + 1);
    const value = new Map();
    for (const [word, count] of uses) value.set(word, Math.log(1 + bags.length / count));
    return value;
  }

  function rank(pasted, entries) {
    const lines = clean(pasted);
    if (!lines.length) return [];
    // The last line that names an error, and what follows it, is the message; the rest is the way to it.
    let start = -1;
    const named = new Set();
    lines.forEach((line, number) => {
      const header = line.match(HEADER);
      if (!header) return;
      // A wrapped link may end in the name of the class that was named before: no new message begins there.
      if (header[0].endsWith(":") || !named.has(header[1])) start = number;
      named.add(header[1]);
    });
    const raised = start < 0 ? "" : lines[start].match(HEADER)[1];
    const message = lines.slice(Math.max(start, 0)).join("\n");
    const whole = lines.join("\n");
    const [messageTight, wholeTight] = [squeezed(message), squeezed(whole)];

    const bags = entries.map((entry) => words(`${entry.error} ${entry.text}`));
    const value = worth(bags);
    const sum = (bag) => [...bag].reduce((total, word) => total + (value.get(word) || 0), 0);
    const typed = words(message);
    // While a word is being typed, its beginning counts as the known word that it may become.
    const last = (/([A-Za-z_]\w{2,})$/.exec(message) || [])[1];
    const known = new Set([...typed].filter((word) => value.has(word)));
    const short = start < 0 && typed.size <= 12;

    const scored = entries.map((entry, index) => {
      const sought = pattern(entry.text);
      const mentioned = short && typed.has(entry.error.toLowerCase());
      const sameClass = raised === entry.error || mentioned;
      // Another class was raised: then only a long message counts, as one error may carry another's text.
      const otherClass = raised && !sameClass && !named.has(entry.error);
      const letters = entry.text.replace(/[\s…]/g, "").length;
      let score = 0;
      let exact = false;
      if (sought && letters > (otherClass ? 24 : 3)) {
        if (sought.test(messageTight)) { score = (otherClass ? 60 : 100) + letters; exact = true; }
        else if (sought.test(wholeTight)) { score = (otherClass ? 30 : 60) + letters / 2; exact = true; }
      }
      if (sameClass) score += COMMON.has(entry.error) ? 10 : 45;
      const shared = new Set([...bags[index]].filter((word) => known.has(word)));
      if (short && last && !known.has(last.toLowerCase())) {
        for (const word of bags[index]) if (word.startsWith(last.toLowerCase())) { shared.add(word); break; }
      }
      // Of a few typed words most should be in the message; of a message most should be in the paste.
      const ofTyped = short
        ? sum(shared) / (sum(new Set([...known, ...shared])) || 1)
        : 0;
      const ofEntry = sum(shared) / (sum(bags[index]) || 1);
      const alike = short ? 0.75 * ofTyped + 0.25 * ofEntry : ofEntry;
      const enough = short ? ofTyped >= 0.5 : ofEntry >= (sameClass ? 0.5 : 0.65);
      if (enough && !otherClass) score += 50 * alike;
      const worthShowing = exact || (enough && !otherClass) || mentioned || (sameClass && !COMMON.has(entry.error));
      return { entry, score: worthShowing ? score : 0, exact };
    });

    scored.sort((a, b) => b.score - a.score);
    const best = scored.length ? scored[0].score : 0;
    const seen = new Set();
    return scored
      .filter(({ entry, score }) => score > 0 && score >= 0.45 * best && !seen.has(entry.id) && seen.add(entry.id))
      .slice(0, MOST);
  }

  /** Put the finder on the page: read the entries, listen, show. */
  function start() {
    const box = document.getElementById("finder");
    if (!box) return;
    const entries = JSON.parse(document.getElementById("finder-entries").textContent);
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
      message.textContent = `${entry.error}: ${entry.text}`;
      const fix = document.createElement("p");
      fix.innerHTML = `<strong>Fix</strong> ${entry.fix}`;
      line.append(title, message, fix);
      return line;
    }

    function show() {
      const empty = !text.value.trim();
      const found = empty ? [] : rank(text.value, entries);
      list.replaceChildren(...found.map(item));
      clear.hidden = empty;
      if (empty) status.textContent = "";
      else if (!found.length) {
        status.textContent = "Nothing in this book matches. Paste the last line of the traceback, the one that " +
          "begins with the error’s name; if it is there already, the error is not one of JAX’s sharp bits, or not yet.";
      } else if (found[0].exact) {
        status.textContent = found.length === 1 ? "One match." : `${found.length} matches, the best first.`;
      } else status.textContent = "No message matches exactly. The closest:";
    }

    let timer = 0;
    text.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(show, 120); });
    clear.addEventListener("click", () => { text.value = ""; show(); text.focus(); });
    box.hidden = false; // without JavaScript the page is the list alone
    show(); // the browser may have kept the text of an earlier visit
  }

  root.jaxbitsFinder = { rank };
  if (typeof document !== "undefined") {
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
    else start();
  }
})(typeof window === "undefined" ? globalThis : window);
