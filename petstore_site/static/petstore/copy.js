// Copies the text of the element that a button names in data-copy, and says so where data-copy-feedback points.
"use strict";

function select(element) {
  const selection = window.getSelection();
  selection.removeAllRanges();
  selection.selectAllChildren(element);
}

async function copy(element) {
  try {
    await navigator.clipboard.writeText(element.textContent);
    return "Copied.";
  } catch {
    // No clipboard without HTTPS, or without permission: let the user copy.
    select(element);
    return "The text is selected. Press Ctrl+C, or ⌘C on a Mac.";
  }
}

for (const button of document.querySelectorAll("button[data-copy]")) {
  const source = document.getElementById(button.dataset.copy);
  const feedback = document.getElementById(button.dataset.copyFeedback);
  button.hidden = false;
  button.addEventListener("click", async () => {
    feedback.textContent = await copy(source);
  });
}
