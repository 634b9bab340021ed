// Search as you type, in a dialog: "/", Ctrl+K, or the field at the top. The field keeps the focus, the arrows choose.
"use strict";

{
  const PAUSE = 150; // milliseconds after the last key
  const palette = document.getElementById("palette");
  const form = palette?.querySelector("form"), field = palette?.querySelector("input");
  const hits = palette?.querySelector("[role=listbox]"), status = palette?.querySelector("[role=status]");
  const top = document.querySelector("[data-search]");
  let timer, shown = null, isLooking = false;

  const typed = () => field.value.trim();
  const options = () => [...hits.querySelectorAll("[role=option]")];
  const chosen = () => hits.querySelector("[aria-selected=true]");
  const choose = (option) => {
    chosen()?.setAttribute("aria-selected", "false");
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) field.setAttribute("aria-activedescendant", option.id);
    else field.removeAttribute("aria-activedescendant");
  };

  const load = async (needle) => {
    const address = `${form.action}?${new URLSearchParams({ q: needle, palette: "" })}`;
    let html = '<p class="no-hits">Not loaded. Press Enter to search on a page of its own.</p>';
    try {
      const response = await fetch(address, { signal: AbortSignal.timeout(10_000) });
      if (response.ok && !response.redirected) html = await response.text(); // else signed out, or too busy
    } catch { /* not loaded */ }
    if (typed() !== needle) return;
    hits.innerHTML = html;
    hits.scrollTop = 0;
    choose(options()[0]);
    const count = options().length;
    status.textContent = count ? `${count} ${count === 1 ? "result" : "results"}` : hits.textContent.trim();
  };

  // One request at a time: what was typed meanwhile is looked for when it has come back.
  const look = async () => {
    if (isLooking) return;
    isLooking = true;
    while (shown !== typed()) {
      const needle = typed();
      await load(needle);
      shown = needle;
    }
    isLooking = false;
  };

  const forget = () => {
    hits.replaceChildren();
    choose();
    shown = null;
  };

  const open = (needle = "") => {
    if (palette.open) return;
    palette.showModal();
    field.value = needle;
    field.focus();
    forget();
    look();
  };

  const move = (step) => {
    const all = options();
    if (all.length) choose(all[(all.indexOf(chosen()) + step + all.length) % all.length]);
  };

  if (palette) {
    document.addEventListener("palette", () => open());
    document.addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "k" || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      open();
    });
    top?.addEventListener("click", () => open(top.value));
    top?.addEventListener("input", () => open(top.value));
    palette.addEventListener("click", (event) => { if (event.target === palette) palette.close(); });
    field.addEventListener("input", () => {
      if (typed() !== shown) forget(); // they are of another word
      clearTimeout(timer);
      timer = setTimeout(look, PAUSE);
    });
    field.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        move(event.key === "ArrowDown" ? 1 : -1);
      } else if (event.key === "Enter" && !event.isComposing && shown === typed() && chosen()) {
        event.preventDefault();
        chosen().click(); // else the form goes to the page with all results
      }
    });
  }
}
