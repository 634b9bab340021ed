// Search: this page at once, the other pages as soon as they are fetched. Needs portal.js.
"use strict";

const dialog = document.querySelector("dialog.search");
const input = dialog.querySelector("input");
const hits = dialog.querySelector(".search-hits");
const none = dialog.querySelector(".search-none");
let index;

function entriesOf(root, page, name) {
  const blocks = $$("section[id], tr[id], article[id]", root);
  return blocks.map((block) => {
    const own = block.cloneNode(true);
    for (const inner of $$("section[id], tr[id], .aside, form, svg, .anchor, select", own)) inner.remove();
    for (const part of $$("p, li, td, dt, dd, h1, h2, h3, h4, summary, span", own)) part.append(" ");
    const heading = block.matches("tr") ? own.querySelector("code") : own.querySelector("h1, h2, h3");
    return {
      title: heading ? heading.textContent.trim() : "",
      text: own.textContent.replace(/\s+/g, " ").trim(),
      address: `${page}#${block.id}`,
      place: name,
    };
  }).filter((entry) => entry.title);
}

async function buildIndex() {
  const nameOf = (doc) => doc.title.split(" | ")[0].replace(/^\[.*\] /, "");
  index = entriesOf(document.getElementById("main"), "", nameOf(document));
  await Promise.all(dialog.dataset.pages.split(" ").filter((page) => page !== location.pathname).map(async (page) => {
    try {
      const response = await fetch(page);
      if (!response.ok) return;
      const other = new DOMParser().parseFromString(await response.text(), "text/html");
      index.push(...entriesOf(other.getElementById("main"), page, nameOf(other)));
    } catch { /* offline: this page is still searched */ }
  }));
  search();
}

const starts = (text, word, from = 0) => { // where a word of the text begins with what was typed
  for (let at = text.indexOf(word, from); at >= 0; at = text.indexOf(word, at + 1)) {
    if (at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1])) return at;
  }
  return -1;
};

function score(entry, words) {
  const title = entry.title.toLowerCase();
  const text = entry.text.toLowerCase();
  let sum = 0;
  if (title.startsWith(words.join(" "))) sum += 12;
  if (text.includes(words.join(" "))) sum += 3;
  for (const word of words) {
    if (starts(title, word) >= 0) sum += 6;
    else if (starts(text, word) >= 0) sum += 1;
    else return 0;
  }
  return sum;
}

function excerpt(entry, words) {
  const text = entry.text.replace(entry.title, "").trim();
  const at = Math.max(0, starts(text.toLowerCase(), words[0]) - 40);
  const part = (at > 0 ? "…" : "") + text.slice(at, at + 120).trim();
  const line = element("span", "hit-text");
  const low = part.toLowerCase();
  let from = 0;
  for (;;) {
    const next = words.map((word) => [starts(low, word, from), word]).filter(([found]) => found >= 0).sort((a, b) => a[0] - b[0])[0];
    if (!next) break;
    line.append(part.slice(from, next[0]), element("mark", "", part.slice(next[0], next[0] + next[1].length)));
    from = next[0] + next[1].length;
  }
  line.append(part.slice(from));
  return line;
}

function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length
    ? index.map((entry) => ({ entry, points: score(entry, words) })).filter((one) => one.points).sort((a, b) => b.points - a.points).slice(0, 9)
    : [];
  hits.replaceChildren(...found.map(({ entry }) => {
    const link = element("a");
    link.href = entry.address;
    link.append(element("span", "hit-place", entry.place), element("span", "hit-title", entry.title), excerpt(entry, words));
    const item = element("li");
    item.append(link);
    return item;
  }));
  none.hidden = !words.length || found.length > 0;
  none.textContent = none.hidden ? "" : `Nothing found for “${input.value}”.`;
}

function openSearch() {
  if (dialog.open) return;
  dialog.showModal();
  input.select();
  if (!index) buildIndex();
}

input.addEventListener("input", search);
for (const button of $$(".search-open")) button.addEventListener("click", openSearch);
hits.addEventListener("click", (event) => { if (event.target.closest("a")) dialog.close(); });
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
dialog.addEventListener("keydown", (event) => {
  const links = $$("a", hits);
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
