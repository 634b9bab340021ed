// What the back office is nicer with, and works without: the theme, shortcuts, menus that close, the count of what is
// selected. It loads in <head> without `defer`, so that a chosen theme is there before the first paint.
"use strict";

{
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  const chosen = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const wear = (theme) => {
    if (theme === "light" || theme === "dark") root.setAttribute("data-theme", theme);
    else root.removeAttribute("data-theme");
  };
  wear(chosen());

  const themes = () => {
    for (const button of all("[data-theme-choice]")) {
      button.addEventListener("click", () => {
        try { localStorage.setItem("theme", button.dataset.themeChoice); } catch { /* it holds for this page */ }
        wear(button.dataset.themeChoice);
        button.closest("details")?.removeAttribute("open");
      });
    }
  };

  const menus = () => {
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      const open = event.target.closest?.("details.menu[open]") ?? document.querySelector("details.menu[open], details.drawer[open]");
      if (open) { open.open = false; open.querySelector("summary").focus(); }
    });
    document.addEventListener("click", (event) => {
      for (const menu of all("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
    });
  };

  document.addEventListener("DOMContentLoaded", () => { themes(); menus(); });
}
