/* Reads what somebody pasted: the errors in it, their messages, and the reader's line of code.
 *
 * src/jaxbits/_pasted_error.py does the same in Python, by the same rules (src/jaxbits/matching.toml),
 * and a test compares the two. read(pasted, rules, classes) is pure. */
(function (root) {
  "use strict";

  const MAX_LINES = 20000;
  const MAX_LINE = 4000;
  const OUTSIDE_BMP = /[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]/g;
  const LISTS = ["prefixes", "suffixes", "breaks", "frames", "arrows"];

  /** The rules with their regular expressions compiled. */
  function compile(data) {
    const patterns = {};
    const lists = {};
    for (const [key, value] of Object.entries(data)) {
      if (LISTS.includes(key)) lists[key] = value.map((one) => new RegExp(one));
      else if (typeof value === "string" && key !== "common") patterns[key] = new RegExp(value);
    }
    const families = new Map();
    for (const family of data.families) {
      for (const name of family) families.set(name, new Set([...(families.get(name) || []), ...family]));
    }
    return {
      lists, families, scores: data.scores,
      clean: data.clean.map(({ find, put }) => [new RegExp(find, "g"), put]),
      telling: new Set(data.telling),
      common: new Set(data.common.split(/\s+/).filter(Boolean)),
      find: (name, text) => {
        if (patterns[name]) return patterns[name].exec(text);
        for (const pattern of lists[name]) {
          const match = pattern.exec(text);
          if (match) return match;
        }
        return null;
      },
      isSameClass: (one, other) => one === other || Boolean(families.get(one)?.has(other)),
    };
  }

  /** The line without what any of the patterns matches. */
  function remove(line, patterns) {
    let before = null;
    while (before !== line) {
      before = line;
      for (const pattern of patterns) line = line.replace(pattern, "");
    }
    return line;
  }

  function cleanLine(line, rules, isPytest) {
    const code = isPytest ? rules.find("pytest_arrow", line) : null;
    if (code) return `---> 0 ${code[1]}`.replace(/ +$/, "");
    return remove(remove(line, rules.lists.suffixes), rules.lists.prefixes);
  }

  /** The lines of a text without colors, marks of quotation, and prefixes of logs. */
  function cleanLines(text, rules) {
    text = text.replace(OUTSIDE_BMP, "?");
    for (const [pattern, replacement] of rules.clean) text = text.replace(pattern, () => replacement);
    const lines = text.split("\n").slice(-MAX_LINES).map((line) => line.slice(0, MAX_LINE));
    const isPytest = lines.some((line) => rules.find("pytest_message", line));
    return lines.map((line) => cleanLine(line, rules, isPytest)).filter(Boolean);
  }

  const textOf = (message) => message.lines.join("\n").trim();

  /** Sorts the lines of a text into messages, frames, and the rest. */
  class Reader {
    constructor(rules, classes) {
      Object.assign(this, {
        rules, classes, messages: [], open: [], loose: [], announcing: [], lastLoose: "", frames: [],
        announced: "", markedCode: "",
        isInFrames: false, expectsCode: false, isLate: false,
      });
    }

    read(line) {
      const arrow = this.rules.find("arrows", line);
      const before = this.lastLoose;
      this.lastLoose = "";
      if (this.rules.find("breaks", line)) {
        if (this.rules.find("announced", line) && this.rules.find("announcing", before)) this.announcing.push(before);
        this.open = [];
        this.isInFrames = false;
        if (this.rules.find("demoting", line)) this.isLate = true;
      } else if (arrow) this.markCode(arrow[1].trim());
      else if (this.readHeader(line) || this.readFrame(line)) return;
      else if (this.open.length) {
        const [{ lines }] = this.open;
        if (lines.length < this.rules.scores.message_lines) lines.push(line);
      } else if (this.isInFrames) {
        if (this.expectsCode && !/^\d+\b/.test(line)) this.frames[this.frames.length - 1].code = line;
        this.expectsCode = false;
      } else {
        this.loose.push(line);
        this.lastLoose = line;
      }
    }

    readHeader(line) {
      const match = this.rules.find("header", line);
      if (!match || !this.isClass(match[2])) return false;
      if (match[3] === undefined && line.includes("Traceback")) {
        Object.assign(this, { open: [], isInFrames: false, announced: match[2] });
        return true;
      }
      if (this.open.length && !match[3]) return false; // The name of a class ends a wrapped link.
      const message = {
        name: match[2], lines: match[3] ? [match[3]] : [], isNested: this.open.length > 0, isLate: this.isLate,
      };
      this.messages.push(message);
      this.open = [message];
      this.isInFrames = this.expectsCode = false;
      return true;
    }

    isClass(name) {
      return this.classes.has(name) || Boolean(this.rules.find("class_name", name));
    }

    readFrame(line) {
      const match = this.rules.find("frames", line);
      if (!match) return false;
      this.frames.push({ file: match[1], name: match[2] || "", code: this.markedCode });
      Object.assign(this, { markedCode: "", open: [], isInFrames: true, expectsCode: true });
      return true;
    }

    /** Keep a line that an arrow marks. IPython prints it after the file, and pytest before. */
    markCode(code) {
      if (this.isInFrames) {
        this.frames[this.frames.length - 1].code = code;
        this.expectsCode = false;
      } else {
        this.markedCode = code;
        this.open = [];
      }
    }

    /** The error to explain. */
    mainMessage() {
      const real = this.messages.filter(({ name }) => !this.rules.find("not_an_error", name));
      const errors = real.filter(({ name }) => !this.rules.find("warning", name));
      const groups = [
        errors.filter(({ isNested, isLate }) => !isNested && !isLate),
        errors.filter(({ isNested }) => !isNested),
        real,
      ];
      for (const found of groups) {
        if (!found.length) continue;
        const last = found[found.length - 1];
        const named = found.filter((message) => message.name === last.name && textOf(message));
        return textOf(last) || !named.length ? last : named[named.length - 1];
      }
      return { name: this.announced, lines: [] };
    }

    /** The reader's innermost line of code, or else the innermost one outside JAX. */
    readerCode() {
      const withCode = this.frames.filter(({ code }) => code);
      const own = withCode.filter(({ file }) => !this.rules.find("library", file));
      const foreign = withCode.filter(({ file }) => !this.rules.find("jax_files", file));
      const found = own.length ? own : foreign;
      return found.length ? found[found.length - 1].code : this.markedCode;
    }

    /** The package of the innermost frame outside JAX, or "" if it is the reader's. */
    caller() {
      for (const { file, code } of [...this.frames].reverse()) {
        const match = this.rules.find("package", file);
        if (match && !this.rules.find("jax_itself", match[1])) return match[1];
        // The import system and other modules of Python may stand between the two.
        if (!this.rules.find("library", file)) return this.importedPackage(code);
      }
      return this.importedPackage(this.markedCode);
    }

    /** The package that a line imports, whose frames are left out, or "". */
    importedPackage(code) {
      const match = this.rules.find("imported", code);
      return match ? match[1] : "";
    }
  }

  /** The last error that is named in the middle of a line. */
  function messageInside(lines, rules) {
    for (let number = lines.length - 1; number >= 0; number -= 1) {
      const match = rules.find("inner_header", lines[number]);
      if (match) return { name: match[1], lines: [match[2], ...lines.slice(number + 1)] };
    }
    return null;
  }

  /** Whether a whole traceback lacks the function that the message says was traced. */
  function isLeak(main, frames, lines, rules) {
    const match = rules.find("traced_function", textOf(main).replace(/\n/g, " "));
    if (!match || !frames.length || lines.some((line) => rules.find("left_out", line))) return false;
    const isWhole = [frames[0].file, frames[0].name].some((start) => rules.find("outermost", start));
    return isWhole && !frames.some(({ name }) => name === match[1]);
  }

  /** What a pasted text says. `classes` are names that a line may have apart from those that end with Error. */
  function read(text, rules, classes) {
    const lines = cleanLines(text, rules);
    const reader = new Reader(rules, classes);
    for (const line of lines) reader.read(line);
    let main = reader.mainMessage();
    let { loose } = reader;
    if (!main.name) {
      main = messageInside(lines, rules) || { name: "", lines: loose.length ? loose : lines };
      loose = [];
    }
    const others = [];
    const asides = [];
    for (const message of reader.messages) {
      if (message !== main) (rules.find("warning", message.name) ? asides : others).push(message);
    }
    if (main.name) {
      others.push(...reader.announcing.map((line) => ({ name: "", lines: [line] })));
      loose = loose.filter((line) => !reader.announcing.includes(line));
    }
    if (loose.length) asides.push({ name: "", lines: loose });
    const whole = lines.join(" ");
    const last = reader.frames.length ? rules.find("package", reader.frames[reader.frames.length - 1].file) : null;
    return {
      main, others, asides, whole,
      code: reader.readerCode(),
      library: last ? last[1] : "",
      caller: reader.caller(),
      hasFrames: reader.frames.length > 0,
      isForeign: reader.frames.length > 0 && !rules.find("mentions_jax", whole) &&
        Boolean(rules.find("mentions_others", whole)),
      isLeak: isLeak(main, reader.frames, lines, rules),
    };
  }

  root.jaxbitsErrorText = { compile, read, textOf };
})(typeof window === "undefined" ? globalThis : window);
