// A double click must not send a form twice: the second response would hide the secret shown by the first.
"use strict";

const sent = new WeakSet();

document.addEventListener("submit", (event) => {
  if (event.defaultPrevented) return; // it was not sent
  if (sent.has(event.target)) {
    event.preventDefault();
  }
  sent.add(event.target);
  event.target.setAttribute("aria-busy", "true"); // the button shows that it was pressed
  const word = event.submitter?.dataset.busy;
  if (word) event.submitter.textContent = word;
});
