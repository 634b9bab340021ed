// Theme, language tabs, copy buttons and the side navigation. Without scripts, each page reads from top to bottom.
"use strict";

const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const live = document.getElementById("live");
const remember = (name, value) => { try { localStorage.setItem(name, value); } catch { /* storage is off */ } };
const recall = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
// biome-ignore lint/correctness/noUnusedVariables: search.js and try-it.js use it
const element = (tag, className, text) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};

/* --- Light and dark ------------------------------------------------------------------------- */

for (const button of $$(".theme-toggle")) {
  button.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    remember("theme", root.dataset.theme);
    live.textContent = dark ? "Light theme" : "Dark theme";
  });
}

/* --- Language tabs: a choice holds for every sample and for the next visit ---------------------- */

const shown = document.querySelector("[data-shown]"); // the page of the clients: text in each language too

function showLanguage(language, focused) {
  if (shown?.querySelector(`[data-language="${language}"]`)) shown.dataset.shown = language;
  for (const group of $$("[data-tabs]")) {
    const tabs = $$("[role=tab]", group);
    if (!tabs.some((tab) => tab.dataset.value === language)) continue;
    for (const tab of tabs) {
      const on = tab.dataset.value === language;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      if (on && focused && group.contains(focused)) tab.focus();
    }
    for (const panel of $$("[role=tabpanel]", group)) panel.classList.toggle("is-on", panel.dataset.value === language);
  }
}

function chooseLanguage(language, tab) {
  const before = tab.getBoundingClientRect().top;
  showLanguage(language, tab);
  scrollBy({ top: tab.getBoundingClientRect().top - before, behavior: "instant" }); // samples above changed height
  remember("petstore.language", language);
}

for (const list of $$("[role=tablist]")) {
  const tabs = $$("[role=tab]", list);
  list.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (tab) chooseLanguage(tab.dataset.value, tab);
  });
  list.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(event.target);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (next === undefined || at < 0) return;
    event.preventDefault();
    const tab = tabs[(next + tabs.length) % tabs.length];
    chooseLanguage(tab.dataset.value, tab);
  });
}
showLanguage(recall("petstore.language"));

/** Show what an address leads to, in whatever language it is. */
function showTarget() {
  const part = document.getElementById(location.hash.slice(1))?.closest("[data-language]");
  if (!part || part.dataset.language === shown.dataset.shown) return;
  showLanguage(part.dataset.language);
  part.closest("section").scrollIntoView();
}
addEventListener("hashchange", showTarget);
showTarget();

for (const group of $$("[data-select]")) {
  const select = group.querySelector("select");
  const show = () => {
    for (const panel of $$(".panel", group)) panel.classList.toggle("is-on", panel.dataset.value === select.value);
  };
  select.addEventListener("change", show);
  show();
}

/* --- Copy ------------------------------------------------------------------------------------ */

for (const button of $$(".copy")) {
  button.addEventListener("click", async () => {
    const code = button.closest(".code").querySelector(".panel.is-on code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.classList.add("is-done");
      live.textContent = "Copied";
      setTimeout(() => { button.classList.remove("is-done"); live.textContent = ""; }, 1600);
    } catch {
      getSelection().selectAllChildren(code); // no permission: leave the last step to the reader
      live.textContent = "Selected. Press Ctrl+C to copy.";
    }
  });
}

/* --- Status: asked for when the footer is seen -------------------------------------------------- */

const state = document.querySelector(".foot-status");

function showState(name, text) {
  state.dataset.state = name;
  state.textContent = text;
}

async function ask() {
  try {
    const response = await fetch(state.href);
    const { checks, message } = await response.json();
    if (response.status === 503) { showState("down", message); return; }
    const degraded = Object.keys(checks).filter((name) => checks[name] !== "ok");
    if (degraded.length) showState("degraded", `Working, without: ${degraded.join(", ")}`);
    else showState("ok", "All systems work");
  } catch {
    // a proxy can keep the probe to itself: the link is left as it is
  }
}

new IntersectionObserver((entries, observer) => {
  if (!entries.some((entry) => entry.isIntersecting)) return;
  observer.disconnect();
  ask();
}).observe(state);

/* --- Side navigation -------------------------------------------------------------------------- */

const side = document.querySelector(".side");
if (side) {
  const toggle = side.querySelector(".side-toggle");
  const label = toggle.querySelector("span");
  const title = label.textContent;
  const open = (yes) => { side.classList.toggle("is-open", yes); toggle.setAttribute("aria-expanded", String(yes)); };
  toggle.addEventListener("click", () => open(!side.classList.contains("is-open")));
  side.addEventListener("click", (event) => { if (event.target.closest("a")) open(false); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") open(false); });
  addEventListener("hashchange", () => open(false));

  const links = new Map($$("nav a[href^='#']", side).map((link) => [link.hash.slice(1), link]));
  const targets = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
  let current;
  const mark = () => {
    const line = innerHeight * 0.28;
    const atEnd = scrollY + innerHeight > document.documentElement.scrollHeight - 4;
    const seen = targets.filter((target) => target.getClientRects().length); // not those in another language
    const passed = seen.filter((target) => target.getBoundingClientRect().top < line);
    const now = links.get((atEnd ? seen.at(-1) : passed.at(-1) ?? seen[0]).id);
    if (now === current) return;
    current?.removeAttribute("aria-current");
    now.setAttribute("aria-current", "location");
    current = now;
    label.textContent = `${title} / ${(now.querySelector("span") ?? now).textContent}`;
    const box = side.getBoundingClientRect();
    const place = now.getBoundingClientRect();
    if (place.top < box.top || place.bottom > box.bottom) side.scrollTop += place.top - box.top - box.height / 2;
  };
  let waiting = false;
  if (targets.length) addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; mark(); });
  }, { passive: true });
  if (targets.length) mark();
}
