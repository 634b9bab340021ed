// Search over every page: the index is made on the server with the pages. It and MiniSearch load when the search opens.
// Needs portal.js.
"use strict";

const dialog = document.querySelector("dialog.search");
const input = dialog.querySelector("input");
const hits = dialog.querySelector(".search-hits");
const none = dialog.querySelector(".search-none");
const MOST = 9;
let loading;
let index;

function loadLibrary() {
  return new Promise((resolve, reject) => {
    const script = element("script");
    script.src = dialog.dataset.library;
    script.addEventListener("load", resolve);
    script.addEventListener("error", reject);
    document.head.append(script);
  });
}

async function load() {
  try {
    const [response] = await Promise.all([fetch(dialog.dataset.index), loadLibrary()]);
    const rows = await response.json();
    index = new MiniSearch({ fields: ["title", "also", "text"], storeFields: ["title", "also", "text", "address", "page", "level"], tokenize: words, processTerm: forms, searchOptions: { processTerm: terms } });
    index.addAll(rows.map(([title, text, address, page, level, also], id) => ({ id, title, text, address, page, level, also })));
  } catch {
    loading = undefined; // the next time the dialog opens it is tried again
    none.hidden = false;
    none.textContent = "The search could not be loaded. Check your connection and try again.";
    return;
  }
  search();
}

const COMMON = new Set("a about an and any are as be by can could do does for from handle handling has have how i if implement implementing in is it me my need of on or our should the there to use using want was we what when where which who why with you your".split(" "));

const words = (text) => text.split(/[^\p{L}\p{N}]+/u);

/** Return what words such as "paginate", "paginated" and "pagination" have in common. */
const stem = (word) =>
  word
    .replace(/ies$/, "y")
    .replace(/(..[^su])s$/, "$1")
    .replace(/^(.{4,}?)(able|at|e|ed|er|ible|ing|ion|ly|or|s)+$/, "$1")
    .replace(/([^ls])\1$/, "$1");

/** Return what a word is looked up by: the stem of each part of a name such as "getPetById". A word that says nothing is left out. */
const terms = (word) =>
  word
    .replace(/(\p{Ll})(?!Script)(\p{Lu}\p{Ll})/gu, "$1 $2")
    .toLowerCase()
    .split(" ")
    .filter((part) => part && !COMMON.has(part))
    .map((part) => stem(part).replace(/^pet$/, "animal"));

const termsOf = (text) => words(text).flatMap(terms);

/** Return what a word of a page is found by: its terms, and the word as it is written. */
function forms(word) {
  const found = terms(word);
  return found.length ? [...new Set([...found, word.toLowerCase()])] : found;
}

/** Prefer a page's own title, and the API to its clients. */
const LEVELS = { 1: 2, 2: 1.5, 3: 1 };
const PAGES = { Clients: 0.5, Changelog: 0.3, Errors: 0.5 };

/** The name of the service at the end of a query, such as "Add a new pet to the store". */
const SHOP = /(\S\s+)(the|pet) ?store\b/giu;

/** What a word counts on a page that only mentions it, beside a page about it. */
const MENTIONED = 0.3;

/** Find pages with the words, some of them, or words that are written alike: the more of them and the rarer, the better. */
function find(query) {
  const shorter = query.replace(SHOP, "$1");
  const text = termsOf(shorter).length ? shorter : query;
  const typed = termsOf(text);
  const options = { prefix: true, boost: { title: 3, also: 2 } };
  const exact = new Set(index.search(text, options).flatMap((hit) => hit.queryTerms));
  const fuzzy = (word) => (exact.has(word) ? 0 : word.length > 7 ? 2 : word.length > 4 ? 1 : 0);
  const found = index.search(text, { ...options, fuzzy });
  const rarity = (term) => Math.log(1 + found.length / (1 + found.filter((hit) => hit.queryTerms.includes(term)).length));
  const rare = new Map(typed.map((term) => [term, rarity(term)]));
  const weight = (some, title, also) => some.reduce((sum, term) => sum + rare.get(term) * (title.includes(term) || also.includes(term) ? 1 : MENTIONED), 0);
  const whole = weight(typed, typed);
  const score = (hit) => {
    const title = termsOf(hit.title);
    const also = termsOf(hit.also);
    const isTitle = title.join(" ") === typed.join(" ");
    const inTitle = typed.every((term) => title.includes(term));
    const isSaid = ` ${also.join(" ")} `.includes(` ${typed.join(" ")} `);
    const isKnown = typed.every((term) => title.includes(term) || also.includes(term));
    const isError = hit.page === "Errors"; // people type its code, or its subject
    const isWritten = hit.title.toLowerCase() === text.trim().toLowerCase();
    const fit = isWritten ? 16 : isTitle && !isError ? 8 : isSaid || (inTitle && !isError) ? 3 : isKnown ? 2 : 1;
    return hit.score * fit * (weight(hit.queryTerms, title, also) / whole) ** 2 * LEVELS[hit.level] * (PAGES[hit.page] ?? 1);
  };
  return found.map((hit) => ({ ...hit, score: score(hit) })).sort((one, other) => other.score - one.score).slice(0, MOST);
}

/** Return the text around the first word that was found, with the words marked. */
function excerpt(hit) {
  const matches = Object.keys(hit.match).sort((a, b) => b.length - a.length);
  const pattern = new RegExp(`(${matches.map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("|")})`, "iu");
  const at = Math.max(0, hit.text.search(pattern) - 40);
  const part = (at > 0 ? "…" : "") + hit.text.slice(at, at + 130);
  const line = element("span", "hit-text");
  for (const piece of part.split(new RegExp(pattern, "giu"))) line.append(pattern.test(piece) ? element("mark", "", piece) : piece);
  return line;
}

function show(hit) {
  const link = element("a");
  link.href = hit.address;
  link.append(element("span", "hit-place", hit.page), element("span", "hit-title", hit.title), excerpt(hit));
  const item = element("li");
  item.append(link);
  return item;
}

function search() {
  if (!index) return;
  const found = input.value.trim() ? find(input.value) : [];
  hits.replaceChildren(...found.map(show));
  none.hidden = !input.value.trim() || found.length > 0;
  none.textContent = none.hidden ? "" : `Nothing found for “${input.value}”. Try another word, or ask your contact at the store.`;
}

function openSearch() {
  if (dialog.open) return;
  dialog.showModal();
  input.select();
  if (!loading) loading = load();
}

input.addEventListener("input", search);
for (const button of $$(".search-open")) button.addEventListener("click", openSearch);
hits.addEventListener("click", (event) => { if (event.target.closest("a")) dialog.close(); });
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
dialog.addEventListener("keydown", (event) => {
  const links = $$("a", hits);
  if (event.key === "Escape") { event.preventDefault(); dialog.close(); return; } // or the field takes the first Esc
  if (event.key === "Enter" && event.target === input) { event.preventDefault(); links[0]?.click(); return; }
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  event.preventDefault();
  const at = links.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
  (at < 0 ? input : links[Math.min(at, links.length - 1)])?.focus();
});
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select");
  if ((event.key === "/" && !typing) || (event.key === "k" && (event.ctrlKey || event.metaKey))) {
    event.preventDefault();
    openSearch();
  }
});
