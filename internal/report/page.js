"use strict";
// Sorts a table by the column whose heading is clicked; a second click reverses
// the order. Rows without a number come last either way.
const words = new Intl.Collator(undefined, { numeric: true });
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.firstElementChild.addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    const numeric = head.classList.contains("number");
    const key = row => {
      const cell = row.cells[column];
      return numeric ? parseFloat(cell.dataset.value) : cell.textContent;
    };
    const compare = (a, b) => {
      const x = key(a), y = key(b);
      if (numeric) {
        if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y);
        return up ? x - y : y - x;
      }
      return up ? words.compare(x, y) : words.compare(y, x);
    };
    const body = table.tBodies[0];
    body.append(...[...body.rows].sort(compare));
    heads.forEach(h => h.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    table.classList.add("sorted");
  }));
}

// Points of figures show a text, and light up together with their row of a table.
const tip = document.getElementById("tip");
const mark = (key, on) => {
  if (key === null) return;
  for (const e of document.querySelectorAll('[data-key="' + CSS.escape(key) + '"]')) e.classList.toggle("on", on);
};
const show = (spot, x, y) => {
  tip.textContent = spot.getAttribute("data-tip");
  tip.hidden = false;
  const width = tip.offsetWidth, height = tip.offsetHeight;
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - width - 4)) + "px";
  tip.style.top = (y + height + 18 > innerHeight ? y - height - 8 : y + 14) + "px";
};
for (const spot of document.querySelectorAll("[data-tip]")) {
  spot.addEventListener("pointermove", e => show(spot, e.clientX, e.clientY));
  spot.addEventListener("pointerdown", e => show(spot, e.clientX, e.clientY));
  spot.addEventListener("pointerleave", () => { tip.hidden = true; });
}
for (const e of document.querySelectorAll("[data-key]")) {
  e.addEventListener("pointerenter", () => mark(e.getAttribute("data-key"), true));
  e.addEventListener("pointerleave", () => mark(e.getAttribute("data-key"), false));
}
