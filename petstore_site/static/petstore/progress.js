// Shows every second how far a change or an import came. Without script, the page reloads itself.
"use strict";

const again = async () => {
  const shown = document.getElementById("progress");
  if (!shown?.hasAttribute("data-reload")) return;
  try {
    const response = await fetch(location.href, { credentials: "same-origin" });
    if (response.ok) {
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const now = page.getElementById("progress");
      if (!now) return location.reload(); // it ended
      document.title = page.title;
      for (const selector of [".work-figure", ".work-head p", ".work > .progress", ".phases", ".facts"]) document.querySelector(selector)?.replaceWith(page.querySelector(selector) ?? "");
      if (!page.querySelector(".notice-warn") !== !document.querySelector(".notice-warn")) return location.reload(); // no process works, or one again
    }
  } catch { /* the line is away for a moment */ }
  setTimeout(again, 1000);
};

setTimeout(again, 1000);
