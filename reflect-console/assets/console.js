"use strict";

// A click on a row of a list opens its link.
document.addEventListener("click", (event) => {
  const row = event.target.closest("table.list tbody tr");
  if (!row || event.target.closest("a, button, input, label, select")) return;
  if (String(window.getSelection())) return;
  const link = row.querySelector("a[href]");
  if (link) link.click();
});

// The keys of the review queue and of a replay.
const isWriting = (target) => Boolean(target.closest("input, textarea, select, [contenteditable]"));

const moveStep = (by) => {
  const steps = [...document.querySelectorAll(".msg")];
  if (!steps.length) return;
  const at = steps.findIndex((step) => step.classList.contains("at"));
  const next = steps[Math.min(Math.max(at + by, 0), steps.length - 1)];
  steps[at]?.classList.remove("at");
  next.classList.add("at");
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
};

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && isWriting(event.target)) {
    event.target.blur();
    return;
  }
  const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
  if (hasModifier || event.repeat && event.key !== "j" && event.key !== "k") return;
  if (isWriting(event.target) || document.querySelector("dialog[open]")) return;
  if (event.key === "j" || event.key === "k") {
    moveStep(event.key === "j" ? 1 : -1);
  } else if (event.key === "o") {
    const folded = document.querySelector(".msg.at details");
    if (folded) folded.open = !folded.open;
  } else if (event.key === "e" && document.getElementById("feedback")) {
    document.getElementById("feedback").focus();
  } else {
    const control = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    if (event.key === "u" && !control && document.getElementById("desk")) notice("Nothing more to undo here: see the trace.");
    if (!control || document.querySelector(".htmx-request")) return;
    // A form is opened, or is open already; either way the keyboard goes on in it.
    if (!control.matches("details[open] > summary")) control.click();
    control.closest("details[open]")?.querySelector("textarea")?.focus();
  }
  event.preventDefault();
});

document.addEventListener("click", (event) => {
  if (event.target.closest('[data-key="?"]')) document.getElementById("keys")?.showModal();
});

// A refused change says why, until the next one; a page without a connection says so.
let clearing;
const notice = (text, isProblem) => {
  const place = document.getElementById("notice");
  place.setAttribute("role", isProblem ? "alert" : "status");
  place.textContent = text;
  clearTimeout(clearing);
  if (!isProblem) clearing = setTimeout(() => { place.textContent = ""; }, 8000);
};

document.addEventListener("htmx:beforeRequest", () => notice("", true));
document.addEventListener("htmx:responseError", (event) => {
  const reply = new DOMParser().parseFromString(event.detail.xhr.responseText, "text/html");
  notice((reply.querySelector("[role=alert]") || reply.body).textContent.trim(), true);
});
document.addEventListener("htmx:sendError", () => notice("The server does not answer. Your words are kept in this tab.", true));

// Words that were not sent outlive a lost session or connection, in this tab. A draft knows the text that it changes:
// when that is another one by now, the words are shown beside it instead of replacing it.
const keepDraft = (name, base, text) => {
  if (text === base) sessionStorage.removeItem(name);
  else sessionStorage.setItem(name, JSON.stringify({ base, text }));
};
const restoreDrafts = () => document.querySelectorAll("[data-draft]").forEach((field) => {
  const kept = JSON.parse(sessionStorage.getItem(field.dataset.draft));
  if (!kept || field.value !== field.defaultValue) return;
  if (kept.base === field.defaultValue) {
    field.value = kept.text;
  } else if (kept.text !== field.defaultValue && !field.nextElementSibling?.matches(".draft")) {
    const words = document.createElement("p");
    words.className = "draft small";
    words.textContent = `This text was changed meanwhile. You had written: ${kept.text}`;
    field.after(words);
  }
  field.closest("details")?.setAttribute("open", "");
});
document.addEventListener("input", ({ target }) => {
  if (target.dataset?.draft) keepDraft(target.dataset.draft, target.defaultValue, target.value);
});
document.addEventListener("htmx:afterRequest", (event) => {
  const { requestConfig, successful, xhr } = event.detail;
  if (!successful || xhr.getResponseHeader("HX-Redirect")) return;
  // The event comes by way of a parent where the form is gone from the page.
  const form = requestConfig.elt;
  form.querySelectorAll("[data-draft]").forEach((field) => sessionStorage.removeItem(field.dataset.draft));
  const { done, undoes, words } = form.dataset;
  if (undoes && words) keepDraft(`feedback of ${undoes}`, "", words);
  if (undoes) restoreDrafts();
  if (done) notice(done);
});
document.addEventListener("submit", (event) => {
  if (event.target.matches('[action="/sign-out"]')) sessionStorage.clear();
});
restoreDrafts();

// A new page is read out, and the keyboard goes on from its heading.
document.addEventListener("htmx:afterSettle", (event) => {
  restoreDrafts();
  const desk = document.getElementById("desk");
  const isLost = desk ? !isWriting(document.activeElement) : document.activeElement === document.body;
  const heading = isLost && (desk ?? document).querySelector("h1");
  if (!heading || !event.target.contains(heading)) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
});

// The formula has a weight of utility, the learned ranking has none.
document.addEventListener("change", (event) => {
  if (event.target.name !== "ranking") return;
  const weight = document.querySelector("input[name=lambda]");
  if (weight) weight.disabled = event.target.value !== "classic";
});

// A slider shows its value.
document.addEventListener("input", (event) => {
  const output = document.getElementById(event.target.dataset?.output ?? "");
  if (output) output.textContent = Number(event.target.value).toFixed(2);
});
