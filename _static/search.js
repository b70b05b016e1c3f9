/* The search of the book: a dialog that any page can open, marks on the page that a result leads to,
 * and the page of results. The index (Pagefind, in pagefind/) is fetched in pieces, and only once a
 * reader searches. tools/search_index.py writes it and says what a record holds. */
(function (root) {
  "use strict";

  const BASE = new URL(document.documentElement.dataset.content_root || "./", location.href);
  // Words that say nothing beside others. "for", "if", "where", and "while" are missing, since they are code.
  const EMPTY = new Set(("a an and are as at be can do does from get give given gives got has have how i in " +
    "into is it its me my of on or that the them there this to use using was what when why will with you your").split(" "));
  // How much a place counts, by its kind. A section explains; a reference page lists what sections explain.
  const KINDS = { row: 0.9, opening: 0.7, exercise: 0.5, reference: 0.6 };
  const SYNONYM = 0.6;
  const SIZE = 900;
  const T = root.T || { half: 3, cover: 2 };

  let engine = null;

  /** Load Pagefind, the synonyms, and the kinds of the records, once. */
  function load() {
    engine = engine || (async () => {
      const pagefind = await import(new URL("pagefind/pagefind.js", BASE).href);
      await pagefind.options({
        ranking: { ...(T.bm || { termFrequency: 0.6, pageLength: 0.4, termSaturation: 1.2, termSimilarity: 1.5 }),
          metaWeights: T.meta || { title: 6, signs: 3, also: 4, page: 1 } },
      });
      const groups = await (await fetch(new URL("pagefind/synonyms.json", BASE))).json();
      const kinds = new Map();
      for (const kind of Object.keys(KINDS)) {
        const { results } = await pagefind.search(null, { filters: { kind } });
        for (const { id } of results) kinds.set(id, kind);
      }
      return { pagefind, groups, kinds };
    })().catch((error) => { engine = null; throw error; });
    return engine;
  }

  /** The words of a query, in lower case. Names are split where Pagefind splits them. */
  function words(query) {
    const all = query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || [];
    const unique = [...new Set(all)];
    const telling = unique.filter((word) => !EMPTY.has(word));
    return telling.length ? telling : unique;
  }

  async function rank(query) {
    const { pagefind, groups, kinds } = await load();
    const typed = words(query);
    const found = new Map();
    await Promise.all(typed.map(async (word, n) => {
      const others = groups.filter((group) => group.includes(word)).flat().filter((other) => other !== word);
      const best = new Map();
      for (const variant of [word, ...others]) {
        const { results } = await pagefind.search(variant);
        const rare = Math.log(1 + SIZE / results.length);
        const worth = variant === word ? 1 : SYNONYM;
        for (const result of results) {
          // Of a word in a heading Pagefind makes many times what it makes of one in the text: level that.
          const often = result.score / rare;
          const score = worth * rare * often / (often + T.half);
          const old = best.get(result.id);
          if (!old || old.score < score) best.set(result.id, { score, result });
        }
      }
      for (const [id, { score, result }] of best) {
        const record = found.get(id) || { id, scores: new Array(typed.length).fill(0), results: [] };
        record.scores[n] = score;
        record.results.push(result);
        found.set(id, record);
      }
    }));
    const ranked = [...found.values()];
    // What each word is worth at most, from which follows how much of the query a record answers.
    const most = typed.map((_, n) => Math.max(...ranked.map((record) => record.scores[n]), 0));
    const all = most.reduce((a, b) => a + b, 0);
    for (const record of ranked) {
      const sum = record.scores.reduce((total, score) => total + score, 0);
      const matched = most.reduce((total, score, n) => total + (record.scores[n] > 0 ? score : 0), 0) / all;
      record.score = sum * matched ** T.cover * (KINDS[kinds.get(record.id)] || 1);
    }
    return ranked.sort((a, b) => b.score - a.score);
  }

  async function find(query, limit) {
    const ranked = (await rank(query)).slice(0, limit);
    return Promise.all(ranked.map(async (record) => {
      const data = await record.results[0].data();
      const [, page, anchor] = data.raw_url.match(/^\/(.*?\.html)\/(.*)\.html$/);
      return { url: anchor ? `${page}#${anchor}` : page, title: data.meta.title, page: data.meta.page, score: record.score, scores: record.scores };
    }));
  }

  root.jaxbitsSearch = { find };
})(window);
