/* Ranks the symptoms of sharp bits by how well they match what somebody pasted.
 *
 * src/jaxbits/_matching.py does the same in Python, by the same rules (src/jaxbits/matching.toml), and a
 * test compares the two. rank(pasted, entries, rules) is pure. It returns at most five {entry, score, how},
 * best first, one per sharp bit. `how` says what matches: the whole "message", its beginning ("cut"), the
 * message of "another" error, a warning or a line "aside" from the error, only "words", or only the "class". */
(function (root) {
  "use strict";

  const MOST = 5;
  const WORD = /[A-Za-z_][A-Za-z_0-9]+/g;
  const PARTS = /_+|(?<=[a-z0-9])(?=[A-Z])/;
  const NO_MESSAGE = /https?:\/\/\S*|\S*[/\\]\S+\.\w+\S*/g;

  /** The letters that count: ASCII in lowercase, without whitespace and quotation marks. */
  const squeeze = (text) => text.replace(/[^!-~]|['"`\\]/g, "").toLowerCase();
  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  const allWords = (text) => (text.match(WORD) || []).map((word) => word.toLowerCase());

  /** The words of a text in lowercase, and the parts of names such as ArrayImpl. */
  function wordsOf(text) {
    const found = new Set();
    for (const word of text.match(WORD) || []) {
      const parts = word.split(PARTS).filter((part) => part.length > 1);
      for (const part of [word, ...parts]) found.add(part.toLowerCase());
    }
    return found;
  }

  /** An entry, and what the matcher needs of its symptom. */
  class Known {
    constructor(entry, gap) {
      this.entry = entry;
      this.parts = entry.text.split("…").map(squeeze).filter(Boolean);
      this.letters = this.parts.reduce((total, part) => total + part.length, 0);
      this.joint = `[\\s\\S]{0,${gap}}?`;
      this.pattern = new RegExp(this.parts.map(escaped).join(this.joint));
      this.words = wordsOf(`${entry.error} ${entry.text}`);
      this.order = allWords(entry.text);
      this.line = entry.line ? new RegExp(entry.line) : null;
      this.context = entry.context ? new RegExp(entry.context) : null;
      this.caller = entry.caller ? new RegExp(entry.caller) : null;
    }

    isIn(text) {
      return this.parts.length > 0 && text.includes(this.parts[0]) && this.pattern.test(text);
    }

    /** How many letters of the symptom stand at the end of a text, which was cut off. After a gap, more than `least` must. */
    lettersBeforeCut(text, least) {
      const count = (parts) => parts.reduce((total, part) => total + part.length, 0);
      for (let last = this.parts.length - 1; last >= 0; last -= 1) {
        let rest = text;
        if (last) {
          const match = new RegExp(this.parts.slice(0, last).map(escaped).join(this.joint)).exec(text);
          if (!match) continue;
          rest = text.slice(match.index + match[0].length);
        }
        for (let length = Math.min(this.parts[last].length, rest.length); length > (last ? least : 0); length -= 1) {
          if (rest.endsWith(this.parts[last].slice(0, length))) return count(this.parts.slice(0, last)) + length;
        }
      }
      return 0;
    }

    /** How well the reader's line fits. A symptom without a line comes before one whose line is unknown. */
    lineScore(code) {
      if (!this.line) return 0.5;
      if (!code) return 0;
      return this.line.test(code) ? 1 : -1;
    }
  }

  /** Entries and rules, ready to be compared with many pasted texts. */
  class Matcher {
    constructor(entries, rules) {
      this.rules = root.jaxbitsErrorText.compile(rules);
      this.known = entries.map((entry) => new Known(entry, this.rules.scores.gap));
      this.classes = new Set(entries.map(({ error }) => error));
      const uses = new Map();
      for (const { entry, words } of this.known) {
        for (const word of words) uses.set(word, (uses.get(word) || new Set()).add(entry.id));
      }
      this.uses = new Map([...uses].map(([word, ids]) => [word, ids.size]));
    }

    /** How much a word says: less if many sharp bits or other programs use it. */
    worth(word) {
      const value = this.uses.has(word) ? 20 / (19 + this.uses.get(word)) : this.rules.scores.short_unknown;
      return this.rules.common.has(word) ? value / 4 : value;
    }

    rank(text) {
      const pasted = root.jaxbitsErrorText.read(text, this.rules, this.classes);
      const lookUp = new LookUp(this, pasted);
      const found = [];
      for (const known of this.known) {
        const { score, how } = lookUp.match(known);
        if (score) found.push({ entry: known.entry, score, how, line: known.lineScore(pasted.code) });
      }
      found.sort((a, b) => b.score - a.score || b.line - a.line);
      const [best] = found;
      const first = new Map();
      for (const { entry, score, how } of found) {
        const isClose = score >= this.rules.scores.keep * best.score;
        if (isClose && (how === best.how || best.how !== "message") && !first.has(entry.id)) {
          first.set(entry.id, { entry, score, how });
        }
      }
      return { matches: [...first.values()].slice(0, MOST), pasted };
    }
  }

  /** One pasted text, compared with one entry after the other. */
  class LookUp {
    constructor(matcher, pasted) {
      const { rules } = matcher;
      const { textOf } = root.jaxbitsErrorText;
      const said = textOf(pasted.main);
      const tight = (message) => ({ name: message.name, tight: squeeze(textOf(message)) });
      Object.assign(this, { matcher, pasted, rules, scores: rules.scores });
      this.tight = squeeze(said);
      this.cut = squeeze(said.replace(/[ …]+$/, "").replace(/\.{2,}$/, ""));
      this.others = pasted.others.map(tight);
      const isError = pasted.main.name && !rules.find("warning", pasted.main.name);
      this.asides = isError ? [] : pasted.asides.map(tight);
      const message = said.replace(NO_MESSAGE, " ");
      this.typed = wordsOf(message);
      this.order = allWords(message);
      this.isQuestion = !pasted.main.name && !pasted.hasFrames &&
        this.order.length > 0 && this.order.length <= this.scores.short_words;
      const last = /([A-Za-z_]\w{2,})$/.exec(message);
      const ends = last ? [last[1], last[1].split(PARTS).pop()] : [];
      // The last word, or the last part of a name, may be one that is still being typed.
      this.started = [...new Set(ends.map((end) => end.toLowerCase()))]
        .filter((end) => end && !matcher.uses.has(end));
    }

    match(known) {
      return this.mayBe(known.entry, known) ? this.score(known) : { score: 0, how: "" };
    }

    /** Whether what else was pasted allows a symptom. */
    mayBe(entry, known) {
      if (entry.leaked && !this.pasted.isLeak) return false;
      if (entry.generic && this.pasted.isForeign) return false;
      if (known.caller && !known.caller.test(this.pasted.caller)) return false;
      return !known.context || known.context.test(this.pasted.whole);
    }

    /** The best score of an entry, and what matches. */
    score(known) {
      const { scores } = this;
      const { name } = this.pasted.main;
      const agrees = this.classAgrees(known, name);
      const isLine = name && !known.entry.error; // A line of a log is no part of an error's message.
      if (!isLine && known.isIn(this.tight) && this.isLongEnough(known, agrees, true)) {
        const extra = agrees > 0 ? scores.same_class : agrees < 0 ? scores.other_class : 0;
        const foundWhere = (known.entry.leaked ? 1000 : 0) + (known.caller ? scores.caller : 0);
        return { score: scores.exact + known.letters + extra + foundWhere, how: "message" };
      }
      for (const [messages, base, how] of [[this.others, scores.chained, "another"], [this.asides, scores.aside, "aside"]]) {
        for (const message of messages) {
          const alsoAgrees = this.classAgrees(known, message.name);
          const isWhole = !message.name && !known.entry.error; // Only a line of a log is compared with a whole line.
          if (known.isIn(message.tight) && this.isLongEnough(known, alsoAgrees, isWhole)) {
            return { score: base + known.letters / 2 + scores.same_class * alsoAgrees, how };
          }
        }
      }
      if (isLine || (agrees < 0 && !this.isQuestion)) return { score: 0, how: "" };
      if (!this.tight) {
        const isKnown = name === known.entry.error && this.rules.telling.has(name);
        return { score: isKnown ? scores.class_only : 0, how: "class" };
      }
      if (known.entry.generic && !this.isQuestion) return { score: 0, how: "" };
      const cut = this.cutScore(known, agrees);
      if (cut) return { score: cut, how: "cut" };
      return { score: this.isQuestion ? this.questionScore(known) : this.wordsScore(known, agrees), how: "words" };
    }

    /** 1 if the class of the error fits, 0 if it is unknown, and -1 if it is another. */
    classAgrees(known, name) {
      if (!known.entry.error || !name) return 0;
      return this.rules.isSameClass(name, known.entry.error) ? 1 : -1;
    }

    /** Whether a symptom's text is too long to be in a message by chance. */
    isLongEnough(known, agrees, isMain) {
      if (agrees > 0 && (isMain || known.letters >= this.scores.min_letters)) return true;
      return known.letters >= (agrees === 0 && isMain ? this.scores.min_letters : this.scores.min_letters_other);
    }

    /** The score of a message that ends in the middle of a symptom's text, or 0. */
    cutScore(known, agrees) {
      const letters = known.lettersBeforeCut(this.cut, this.scores.min_letters_part - 1);
      const isAll = letters === this.cut.length && agrees > 0;
      const isTelling = isAll && this.rules.telling.has(this.pasted.main.name);
      const least = isTelling ? this.scores.min_letters_telling : this.scores.min_letters_cut;
      if (letters < least || (letters < 0.4 * known.letters && !isTelling)) return 0;
      return this.scores.cut + 40 * letters / known.letters;
    }

    /** The score of a few words that somebody typed, most of which must be known. */
    questionScore(known) {
      const { scores } = this;
      const shared = [...this.typed].filter((word) => known.words.has(word));
      const typed = [...this.typed].filter((word) => !this.started.includes(word));
      for (const start of this.started) {
        const becomes = [...known.words].find((word) => word.startsWith(start)) || "";
        if (becomes && !shared.includes(becomes)) shared.push(becomes);
        typed.push(becomes || start);
      }
      const ofTyped = this.sum(shared) / this.sum(new Set(typed));
      const ofEntry = this.sum(shared) / this.sum(known.words);
      const isClear = shared.some((word) => this.matcher.worth(word) > scores.clear_word);
      if (!isClear || ofTyped < scores.short_share) return 0;
      return scores.words * (0.75 * ofTyped + 0.25 * ofEntry);
    }

    /** The score of a message that says the same as a symptom in similar words. */
    wordsScore(known, agrees) {
      const { scores } = this;
      const total = this.sum(known.order);
      const shared = known.order.filter((word) => this.typed.has(word));
      // The word that says most is what distinguishes the symptom from others.
      if (known.order.length && !this.typed.has(this.clearest(known.order))) return 0;
      const isTelling = agrees > 0 && this.rules.telling.has(this.pasted.main.name);
      const least = isTelling ? scores.min_share_telling : agrees > 0 ? scores.min_share_same : scores.min_share;
      if (!shared.length || this.sum(shared) < least * total) return 0;
      const inOrder = this.inOrder(known.order);
      const enough = scores.min_worth / (isTelling ? 2 : 1);
      return inOrder < least * total || inOrder < enough ? 0 : scores.words * inOrder / total;
    }

    /** What the words in common are worth that are in the same order in both texts. */
    inOrder(wanted) {
      const best = new Array(wanted.length + 1).fill(0);
      for (const word of this.order) {
        let diagonal = 0;
        for (let number = 1; number <= wanted.length; number += 1) {
          const above = best[number];
          const value = word === wanted[number - 1] ? diagonal + this.matcher.worth(word) : 0;
          best[number] = Math.max(above, best[number - 1], value);
          diagonal = above;
        }
      }
      return best[wanted.length];
    }

    clearest(words) {
      return words.reduce((best, word) => (this.matcher.worth(word) > this.matcher.worth(best) ? word : best));
    }

    sum(words) {
      let total = 0;
      for (const word of words) total += this.matcher.worth(word);
      return total;
    }
  }

  root.jaxbitsMatcher = { Matcher };
})(typeof window === "undefined" ? globalThis : window);
