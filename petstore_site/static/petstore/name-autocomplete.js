// Select2 leaves the box that it draws over a <select> without a name: give it the one of the select's label.
"use strict";

function nameBoxes() {
  for (const text of document.querySelectorAll(".select2-selection__rendered:not([aria-labelledby])")) {
    const field = text.closest(".select2").previousElementSibling;
    const label = field && document.querySelector(`label[for="${field.id}"]`);
    if (label) {
      label.id ||= `${field.id}_label`;
      text.setAttribute("aria-labelledby", label.id);
      text.parentElement.setAttribute("aria-labelledby", `${label.id} ${text.id}`);
    }
  }
}

// Select2 also adds boxes after the page has loaded.
new MutationObserver(nameBoxes).observe(document.body, { childList: true, subtree: true });
nameBoxes();
