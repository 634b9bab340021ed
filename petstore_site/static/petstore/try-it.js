// "Try it": sends a request from the page. The key is in the fields of this page and nowhere else. Needs portal.js.
"use strict";

const keys = $$(".try-key");
for (const key of keys) key.addEventListener("input", () => { for (const other of keys) other.value = key.value; });
addEventListener("pagehide", () => { for (const key of keys) key.value = ""; });
addEventListener("pageshow", () => { for (const key of keys) key.value = ""; });

function colour(json) {
  const out = document.createDocumentFragment();
  const token = /("(?:[^"\\]|\\.)*")(\s*:\s*)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g;
  let from = 0;
  for (const found of json.matchAll(token)) {
    out.append(json.slice(from, found.index));
    const kind = found[1] ? (found[2] ? "nt" : "s2") : found[3] ? "mi" : "kc";
    out.append(element("span", kind, found[1] ?? found[0]), element("span", "w", found[2] ?? ""));
    from = found.index + found[0].length;
  }
  out.append(json.slice(from));
  return out;
}

function randomKey() { // crypto.randomUUID needs HTTPS or localhost
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** Return the request for a shell; the key stays a variable, so that it does not end up in a history or a chat. */
function curlOf(url, headers, body) {
  const lines = [`curl ${quoted(url)}`, '-H "Authorization: Bearer $PETSTORE_API_KEY"'];
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body !== undefined) lines.push(`-d ${quoted(body)}`);
  return lines.join(" \\\n  ");
}

/** Return JSON with a space after each colon and comma: a long line wraps there. */
const inOneLine = (value) => JSON.stringify(value, null, 1).replace(/\n\s*/g, " ").replace("{ ", "{").replace(/ }$/, "}");

function layOut(body) {
  try {
    const value = JSON.parse(body);
    if (Array.isArray(value)) return value.length ? `[\n${value.map((one) => `  ${inOneLine(one)}`).join(",\n")}\n]` : "[]";
    return JSON.stringify(value, null, 2);
  } catch {
    return body;
  }
}

/** Return the link to the page about an error. */
function helpFor(response) {
  const address = /<([^>]+)>; rel="help"/.exec(response.headers.get("Link") ?? "")?.[1];
  if (!address) return [];
  const link = element("a", "", `What to do about ${address.split("/").pop()}`);
  link.href = address;
  return [" ", link];
}

/** Return what to say if this is the first response again. */
function replayOf(response) {
  if (!response.headers.has("Idempotency-Replayed")) return [];
  return [" ", element("span", "pill pill-replay", "Replay"), " Nothing was added: this key returns its first response again."];
}

for (const box of $$("[data-try]")) {
  const form = box.querySelector("form");
  const result = box.querySelector(".try-result");
  const next = box.querySelector(".try-next");
  const fields = (place) => $$(`[data-in=${place}]`, form).filter((field) => field.value.trim() !== "");
  const button = form.querySelector("[type=submit]");
  const shown = form.dataset.headers.split(" ");

  const address = () => {
    let path = form.dataset.path;
    for (const field of fields("path")) path = path.replace(`{${field.name}}`, encodeURIComponent(field.value.trim()));
    const query = new URLSearchParams(fields("query").map((field) => [field.name, field.value.trim()]));
    return `${path}${query.size ? `?${query}` : ""}`;
  };
  const once = form.querySelector('[name="Idempotency-Key"]');
  const bodyField = form.querySelector("[data-in=body]");
  let suggested = "";
  const suggestKey = () => { if (once && once.value === suggested) once.value = suggested = randomKey(); };
  bodyField?.addEventListener("input", suggestKey); // another body needs another key
  suggestKey();

  for (const field of $$("[data-in=key], [data-in=header]", form)) field.addEventListener("input", () => {
    const wrong = /[^ -~]/u.exec(field.value.trim())?.[0]; // such as the … of a sample
    field.setCustomValidity(wrong ? `A header can't have “${wrong}”. Use ASCII letters, digits and signs.` : "");
  });

  const sentHeaders = () => ({
    ...Object.fromEntries(fields("header").map((field) => [field.name, field.value.trim()])),
    ...(bodyField && { "Content-Type": "application/json" }),
  });
  const preview = () => { form.querySelector(".try-url").textContent = `${form.dataset.method} ${address()}`; };
  form.addEventListener("input", preview);
  preview();

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const headers = sentHeaders();
    const key = fields("key")[0];
    if (key) headers.Authorization = `Bearer ${key.value.trim()}`;
    const body = bodyField?.value;
    button.disabled = true;
    const started = performance.now();
    const status = box.querySelector(".try-status");
    try {
      const response = await fetch(address(), { method: form.dataset.method, headers, body, credentials: "omit", cache: "no-store" });
      const text = await response.text();
      status.replaceChildren(
        element("span", `status ${response.ok || response.status === 304 ? "ok" : "bad"}`, `${response.status} ${response.statusText}`),
        ` ${Math.round(performance.now() - started)} ms`,
        ...replayOf(response),
        ...helpFor(response),
      );
      box.querySelector(".try-headers").textContent = shown.filter((name) => response.headers.has(name))
        .map((name) => `${name}: ${response.headers.get(name)}`).join("\n");
      box.querySelector(".try-body").replaceChildren(text ? colour(layOut(text)) : "(no body)");
      const cursor = /[?&]cursor=([^&>]+)>; rel="next"/.exec(response.headers.get("Link") ?? "")?.[1];
      next.hidden = !cursor;
      next.dataset.cursor = cursor ?? "";
    } catch {
      status.replaceChildren(element("span", "status bad", "No response"), " Check your connection and the headers you set, then try again.");
      box.querySelector(".try-headers").textContent = box.querySelector(".try-body").textContent = "";
      next.hidden = true;
    }
    result.hidden = false;
    button.disabled = false;
    result.scrollIntoView({ block: "nearest" });
  });
  form.querySelector(".try-copy").addEventListener("click", async () => {
    const curl = curlOf(new URL(address(), location.href).href, sentHeaders(), bodyField?.value);
    try {
      await navigator.clipboard.writeText(curl);
      live.textContent = "Copied";
    } catch {
      box.querySelector(".try-body").textContent = curl; // no permission: show it to copy by hand
      result.hidden = false;
    }
  });
  next.addEventListener("click", () => {
    form.querySelector("[name=cursor]").value = decodeURIComponent(next.dataset.cursor);
    preview();
    form.requestSubmit();
  });
}
