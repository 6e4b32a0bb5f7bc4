"use strict";
// Sorts a table by the column whose heading is clicked; a second click reverses
// the order. Rows without a number come last either way.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.firstElementChild.addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    const numeric = head.classList.contains("number");
    const key = row => {
      const text = row.cells[column].textContent;
      return numeric ? parseFloat(text.replace("%", "")) : text;
    };
    const compare = (a, b) => {
      const x = key(a), y = key(b);
      if (numeric) {
        if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y);
        return up ? x - y : y - x;
      }
      return up ? x.localeCompare(y) : y.localeCompare(x);
    };
    const body = table.tBodies[0];
    body.append(...[...body.rows].sort(compare));
    heads.forEach(h => h.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    table.classList.add("sorted");
  }));
}
