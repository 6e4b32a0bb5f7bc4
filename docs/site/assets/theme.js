// Runs before the page is drawn: takes the colours that were chosen last.
"use strict";
document.documentElement.classList.add("scripted");
try {
  const chosen = localStorage.getItem("theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch { /* a browser may refuse to store anything */ }
