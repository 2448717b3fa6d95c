// What the pages can do without: filter, sort, search, fold, copy. Without JavaScript all of it is there, unfiltered.
"use strict";

const each = (selector, then, root = document) => root.querySelectorAll(selector).forEach(then);

function filters(tools) {
  const table = document.getElementById(tools.dataset.for);
  const word = tools.querySelector("[data-filter=text]");
  const picks = [...tools.querySelectorAll("select[data-filter]")];
  const count = tools.querySelector("[data-count]");
  const apply = () => {
    const wanted = word ? word.value.trim().toLowerCase() : "";
    let shown = 0;
    const rows = table.querySelectorAll("tr[data-row]");
    for (const row of rows) {
      const fits = (!wanted || `${row.textContent} ${row.dataset.verdicts || ""}`.toLowerCase().includes(wanted)) &&
        picks.every((pick) => !pick.value || (row.dataset[pick.dataset.filter] || "").split("|").includes(pick.value));
      row.hidden = !fits;
      shown += fits;
    }
    for (const body of table.tBodies) {
      const head = body.querySelector("tr.group");
      if (head) head.hidden = !body.querySelector("tr[data-row]:not([hidden])");
    }
    if (count) count.textContent = `${shown} of ${rows.length} shown`;
    const state = new URLSearchParams();
    if (wanted) state.set("q", wanted);
    for (const pick of picks) if (pick.value !== pick.options[0].value) state.set(pick.dataset.filter, pick.value);
    const asked = state.toString();
    try { history.replaceState(null, "", asked ? `?${asked}${location.hash}` : location.pathname + location.hash); } catch { /* a file */ }
  };
  const asked = new URLSearchParams(location.search);
  if (word && asked.get("q")) word.value = asked.get("q");
  for (const pick of picks) {
    const value = asked.get(pick.dataset.filter);
    if (value !== null && [...pick.options].some((option) => option.value === value)) pick.value = value;
  }
  if (word) word.addEventListener("input", apply);
  for (const pick of picks) pick.addEventListener("input", apply);
  tools.hidden = false;
  apply();
}

function sorts(table) {
  each("thead th[data-sort]", (head) => {
    const column = [...head.parentNode.children].indexOf(head);
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "ascending";
      each("th[aria-sort]", (other) => other.removeAttribute("aria-sort"), table);
      head.setAttribute("aria-sort", down ? "ascending" : "descending");
      const key = (row) => row.children[column].dataset.key ?? row.children[column].textContent.trim();
      const compare = (a, b) => key(a).localeCompare(key(b), "en", { numeric: true }) * (down ? 1 : -1);
      for (const body of table.tBodies) body.append(...[...body.rows].filter((row) => !row.matches(".group")).sort(compare));
    });
  }, table);
}

function folds(button) {
  const target = document.getElementById(button.dataset.fold);
  button.hidden = false;
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(open));
    each("details", (one) => { one.open = open; }, target);
  });
}

function copies(button) {
  if (!navigator.clipboard) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
    button.textContent = "Copied";
  });
}

each(".tools[data-for]", filters);
each("table[data-sortable]", sorts);
each("button[data-fold]", folds);
each("button[data-copy]", copies);
