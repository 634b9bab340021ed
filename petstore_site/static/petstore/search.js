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
    index = new MiniSearch({ fields: ["title", "also", "text"], storeFields: ["title", "also", "text", "address", "page", "level"], processTerm: term });
    index.addAll(rows.map(([title, text, address, page, level, also], id) => ({ id, title, text, address, page, level, also })));
  } catch {
    loading = undefined; // the next time the dialog opens it is tried again
    none.hidden = false;
    none.textContent = "The search could not be loaded. Check your connection and try again.";
    return;
  }
  search();
}

const COMMON = new Set("a an and any api are be can could do does for from has have how i if in is it me my need of on or our should the there to want was we what when where which who why with you your".split(" "));

/** Return a word as it is looked up: in lower case and in the singular. A word that says nothing is left out. */
function term(word) {
  const lower = word.toLowerCase();
  if (COMMON.has(lower)) return null;
  if (lower.length > 4 && lower.endsWith("ies")) return `${lower.slice(0, -3)}y`;
  return lower.length > 3 && /[^su]s$/.test(lower) ? lower.slice(0, -1) : lower;
}

/** Return the words of a text as one text to compare. */
const plain = (text) => text.split(/[^\p{L}\p{N}]+/u).map(term).filter(Boolean).join(" ");

/** Prefer a title that is what was typed, then one that begins with it, then a page's own title, then the API to its clients. */
function weight(entry, typed) {
  const title = plain(entry.title);
  const said = ` ${title} ${plain(entry.also)} `.includes(` ${typed} `);
  const fit = title === typed ? 8 : title.startsWith(typed) ? 3 : said ? 2 : 1;
  return fit * { 1: 2, 2: 1.5, 3: 1 }[entry.level] * (entry.page === "Clients" ? 0.5 : 1);
}

/** Find every word as it is written, else with typos, and after that some of the words. */
function find(text) {
  const typed = plain(text);
  const options = { prefix: true, boost: { title: 3, also: 2 }, boostDocument: (_id, _term, entry) => weight(entry, typed) };
  const fuzzy = (word) => (word.length > 7 ? 2 : word.length > 3 ? 1 : 0);
  const search = (more) => index.search(text, { ...options, ...more });
  const first = (...ways) => ways.map(search).find((found) => found.length) ?? [];
  const all = [...first({ combineWith: "AND" }, { combineWith: "AND", fuzzy }), ...first({}, { fuzzy })];
  return all.filter((hit, at) => all.findIndex(({ id }) => id === hit.id) === at).slice(0, MOST);
}

/** Return the text around the first word that was found, with the words marked. */
function excerpt(hit) {
  const words = Object.keys(hit.match).sort((a, b) => b.length - a.length);
  const pattern = new RegExp(`(${words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("|")})`, "iu");
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
