// What the back office is nicer with, and works without: the theme, shortcuts, menus that close, drafts, selects that
// can be searched. It loads in <head> without `defer`, so that a chosen theme is there before the first paint.
"use strict";

{
  const root = document.documentElement;
  root.dataset.script = "";
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

  const shortcuts = () => {
    document.addEventListener("keydown", (event) => {
      const save = event.target.closest?.(".main-form")?.querySelector("[name=_save]"); // never what confirms a change of many
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && save) {
        event.preventDefault();
        save.form.requestSubmit(save);
        return;
      }
      const typing = event.target.closest?.("input:not([type=checkbox]), textarea, select, dialog, [contenteditable]");
      if (typing || event.ctrlKey || event.metaKey || event.altKey || event.key !== "/") return;
      event.preventDefault();
      document.dispatchEvent(new Event("palette"));
    });
  };

  // A form that was typed into warns before it is left, and keeps what was typed in this tab until it is sent: after a
  // sign-in in between, or when the line was lost while it was sent, it is there again. Passwords, files and hidden
  // fields are never kept. A draft goes when its form was sent, which the page after it knows, or when its user signs
  // out.
  const drafts = () => {
    const form = document.querySelector(".main-form");
    const door = document.getElementById("login-form");
    let interrupted = false;
    try {
      const sent = sessionStorage.getItem("sent");
      sessionStorage.removeItem("sent");
      const answered = !door && (document.querySelector(".messagelist, .errornote, .notice-warn[role=alert]")
        || (!form && sent === `draft:${location.pathname}`)); // else no response to it came
      if (sent?.endsWith("/add/") && document.querySelector(".messagelist .success")) sessionStorage.setItem("added", sent);
      if (sent && answered) sessionStorage.removeItem(sent);
      else if (sent) sessionStorage.setItem("interrupted", "yes");
      if (door) sessionStorage.setItem("interrupted", "yes");
      interrupted = form !== null && sessionStorage.getItem("interrupted") === "yes";
      if (form) sessionStorage.removeItem("interrupted");
    } catch { /* nothing is kept */ }
    document.getElementById("logout-form")?.addEventListener("submit", () => sessionStorage.clear());
    if (!form) return;
    const place = `draft:${location.pathname}`;
    const offline = Object.assign(document.createElement("p"), {
      className: "notice notice-warn", hidden: true, tabIndex: -1, role: "alert",
      textContent: "Not saved. You are offline. What you typed is still in the form. Save again when you are back online.",
    });
    form.prepend(offline);
    window.addEventListener("online", () => { offline.hidden = true; });
    const fields = () => all("input, select, textarea", form).filter((field) => field.name && !field.readOnly
      && !["password", "hidden", "file", "submit", "button"].includes(field.type));
    const value = (field) => ["checkbox", "radio"].includes(field.type) ? field.checked : field.value;
    let typed = false;
    const keep = () => {
      const draft = fields().map((field) => [field.name, field.type === "checkbox" || field.type === "radio" ? field.value : "", value(field)]);
      try { sessionStorage.setItem(place, JSON.stringify(draft)); } catch { /* then it is not kept */ }
    };
    const restore = () => {
      let draft = [];
      try { draft = JSON.parse(sessionStorage.getItem(place) ?? "[]"); } catch { /* none */ }
      for (const [name, which, kept] of draft) {
        const field = fields().find((each) => each.name === name && (which === "" || each.value === which));
        if (!field || value(field) === kept) continue;
        if (typeof kept === "boolean") field.checked = kept;
        else if (field.tagName !== "SELECT" || [...field.options].some((option) => option.value === kept)) field.value = kept;
        typed = true;
      }
      if (typed) form.prepend(Object.assign(document.createElement("p"), { className: "notice notice-info", textContent: "What you typed before is in the form again. It is not saved yet." }));
    };
    if (interrupted) restore();
    else try { sessionStorage.removeItem(place); } catch { /* none */ }
    if (form.querySelector(".errornote")) keep();
    form.addEventListener("input", () => { typed = true; keep(); });
    form.addEventListener("submit", (event) => {
      if (!navigator.onLine) {
        event.preventDefault();
        offline.hidden = false;
        offline.focus();
        return;
      }
      typed = false;
      try { sessionStorage.setItem("sent", place); } catch { /* nothing is kept */ }
    });
    window.addEventListener("beforeunload", (event) => { if (typed) event.preventDefault(); });
    // Back after an addition: browsers fill in what was sent, and Save would add it twice.
    window.addEventListener("pageshow", (event) => {
      const isBack = event.persisted || performance.getEntriesByType("navigation")[0]?.type === "back_forward";
      let isAdded = false;
      try {
        isAdded = sessionStorage.getItem("added") === place;
        if (isAdded) sessionStorage.removeItem("added");
      } catch { /* nothing is kept */ }
      if (!isBack || !isAdded) return;
      form.reset();
      form.prepend(Object.assign(document.createElement("p"), { className: "notice notice-info", textContent: "What you sent was added. The form is empty again, for another one." }));
    });
  };

  // A select of many options is searched by typing: a field with suggestions stands in for it.
  const searchable = () => {
    for (const select of all("select[data-searchable]").filter((each) => each.options.length > 10)) {
      const choices = [...select.options].filter((option) => option.value);
      const list = Object.assign(document.createElement("datalist"), { id: `${select.id}_options` });
      list.append(...choices.map((option) => new Option(option.text)));
      const field = Object.assign(document.createElement("input"), {
        type: "search", id: `${select.id}_search`, autocomplete: "off", placeholder: "Type to search",
        value: select.value && select.selectedOptions[0].text,
      });
      field.setAttribute("list", list.id);
      for (const name of ["aria-invalid", "aria-describedby"]) if (select.hasAttribute(name)) field.setAttribute(name, select.getAttribute(name));
      field.addEventListener("input", () => {
        const typed = field.value.trim(), lower = typed.toLowerCase();
        const beginning = choices.filter((option) => lower && option.text.toLowerCase().startsWith(lower));
        const chosen = choices.find((option) => option.text === typed) ?? choices.find((option) => option.text.toLowerCase() === lower)
          ?? (beginning.length === 1 ? beginning[0] : undefined);
        select.value = chosen?.value ?? "";
        field.setCustomValidity(chosen || !typed ? "" : "Choose one of the suggestions.");
      });
      field.addEventListener("change", () => { if (select.value) field.value = select.selectedOptions[0].text; }); // all of what was begun
      field.addEventListener("focus", () => field.select()); // so that typing replaces it, and all are suggested
      select.form?.addEventListener("submit", (event) => {
        if (field.reportValidity()) return;
        event.preventDefault();
        event.stopImmediatePropagation();
      }, true);
      for (const label of [...select.labels]) label.htmlFor = field.id;
      select.hidden = true;
      select.after(field, list);
    }
  };

  // A filter applies when it is chosen; of two days, when both are there.
  const filters = () => {
    for (const form of all("form[data-applies]")) {
      const days = all('input[type="date"]', form);
      form.addEventListener("change", (event) => {
        if (event.target.matches("select") || (days.includes(event.target) && days.every((day) => day.value))) form.requestSubmit();
      });
    }
  };

  // Another sheet, row or encoding of a file is read at once; without script, by the button.
  const reading = () => {
    const button = document.querySelector("[name=again]");
    if (!button) return;
    for (const choice of all("[type=radio]", button.form)) choice.addEventListener("change", () => button.form.requestSubmit(button));
  };

  // A chosen file is checked at once, unless its options are open.
  const files = () => {
    const file = document.querySelector(".drop [type=file]");
    file?.addEventListener("change", () => {
      if (file.value && !file.form.querySelector("details[open]")) file.form.requestSubmit(file.form.querySelector(".default"));
    });
  };

  // The first field with an error has the focus, so that you type where something is wrong.
  const errors = () => document.querySelector('main [aria-invalid="true"]:not([hidden])')?.focus();

  // Animals to restore: all of a page are ticked at once, and those on other pages are counted too.
  const choices = () => {
    for (const form of all("[data-elsewhere]")) {
      const boxes = all(".pick", form), every = form.querySelector(".pick-all"), line = form.querySelector("[data-chosen]");
      const count = () => {
        const here = boxes.filter((box) => box.checked).length, chosen = here + Number(form.dataset.elsewhere);
        every.checked = here > 0 && here === boxes.length;
        line.textContent = `${chosen.toLocaleString("en")} of ${line.dataset.chosen} chosen`;
      };
      every.hidden = false;
      every.addEventListener("change", () => { for (const box of boxes) box.checked = every.checked; });
      form.addEventListener("change", count);
      count();
    }
  };

  document.addEventListener("DOMContentLoaded", () => { choices(); themes(); menus(); shortcuts(); drafts(); searchable(); filters(); reading(); files(); errors(); });
}
