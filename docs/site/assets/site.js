"use strict";
(() => {
  const page = document.documentElement;
  const root = page.dataset.root;
  const make = (name, properties, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };

  // Light and dark. Pictures have a variant of their own, which the browser chooses by the system's colours.
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (page.dataset.theme ? page.dataset.theme === "dark" : system.matches);
  const variants = [...document.querySelectorAll("source")].map((e) => [e, e.media]);
  const showVariants = () => {
    for (const [element, media] of variants) {
      element.media = page.dataset.theme ? media.replace("(prefers-color-scheme: dark)", dark() ? "all" : "not all") : media;
    }
  };
  showVariants();
  document.getElementById("theme").addEventListener("click", () => {
    page.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("theme", page.dataset.theme);
    } catch { /* it then lasts as long as the page */ }
    showVariants();
  });

  // The navigation of a narrow window.
  const menu = document.getElementById("menu");
  menu.addEventListener("click", () => {
    const open = document.body.classList.toggle("menu-open");
    menu.setAttribute("aria-expanded", String(open));
  });
  const here = document.querySelector("nav [aria-current]");
  if (here) {
    const navigation = document.getElementById("navigation");
    navigation.scrollTop = here.offsetTop - navigation.clientHeight / 2;
  }

  // Code is copied by a click.
  for (const block of document.querySelectorAll(".code")) {
    const button = make("button", { type: "button", className: "copy", textContent: "Copy" });
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(block.querySelector("code").textContent.trimEnd());
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    block.append(button);
  }

  // Tables are sorted by a click on the head of a column; empty cells stay at the end.
  const value = (row, column, numbers) => {
    const text = row.cells[column].textContent.trim();
    if (!numbers) return text;
    const number = parseFloat(text.replace("−", "-").replaceAll(",", ""));
    return Number.isNaN(number) ? null : number;
  };
  const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, "en"));
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = make("button", { type: "button" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
        const numbers = head.classList.contains("number");
        const rows = [...table.tBodies[0].rows].map((row) => [value(row, column, numbers), row]);
        rows.sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : direction * compare(a, b)));
        table.tBodies[0].append(...rows.map(([, row]) => row));
      });
    });
  }

  // The search. Its index is a program, because a page that was opened from a file may not fetch data.
  const field = document.getElementById("search");
  const list = document.getElementById("results");
  const words = (text) => text.toLowerCase().normalize("NFD").replace(/[^\p{L}\p{N}]+/gu, " ").trim();
  let sections = null;
  let loading = null;
  const load = () => {
    loading ??= new Promise((resolve, reject) => {
      document.head.append(make("script", { src: root + "assets/search.js", onload: resolve, onerror: reject }));
    }).then(() => {
      const { pages, sections: all } = window.searchIndex;
      sections = all.map(([at, id, heading, text]) => {
        const [title, group, address] = pages[at];
        return { title, group, heading, text, first: !id, address: root + address + (id ? "#" + id : ""),
          inTitle: " " + words(title) + " ", inHeading: " " + words(heading) + " ", inText: " " + words(text) + " " };
      });
    });
    return loading;
  };

  // score is 0 for a section that lacks a word. Each word is the beginning of one in the section. More people look for a command or a
  // guide than for a name in Go.
  const score = (section, query) => {
    let sum = 0;
    for (const word of query) {
      const start = " " + word;
      const whole = start + " ";
      if (section.inHeading.includes(start)) sum += section.inHeading.includes(whole) ? 12 : 8;
      else if (section.inTitle.includes(start)) sum += section.inTitle.includes(whole) ? 5 : 4;
      else if (section.inText.includes(start)) sum += section.inText.includes(whole) ? 2 : 1;
      else return 0;
    }
    return (section.group === "Go" ? 0.5 : 1) * sum + (section.first ? 1 : 0) + 4 / (4 + section.inHeading.length);
  };

  // excerpt is the text around the first word that was found, which is marked.
  const excerpt = (text, query) => {
    const found = new RegExp("(^|[^\\p{L}\\p{N}])(" + query.map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|") + ")", "iu").exec(text);
    if (!found) return [text.slice(0, 120)];
    const at = found.index + found[1].length;
    const begin = Math.max(0, at - 40);
    return [(begin ? "…" : "") + text.slice(begin, at), make("mark", { textContent: found[2] }), text.slice(at + found[2].length, at + 100) + "…"];
  };

  let active = -1;
  const choose = (at) => {
    const options = [...list.children];
    active = options.length ? (at + options.length) % options.length : -1;
    options.forEach((option, i) => option.setAttribute("aria-selected", String(i === active)));
    if (active >= 0) {
      field.setAttribute("aria-activedescendant", options[active].id);
      options[active].scrollIntoView({ block: "nearest" });
    } else {
      field.removeAttribute("aria-activedescendant");
    }
  };
  const show = (open) => {
    list.hidden = !open;
    field.setAttribute("aria-expanded", String(open));
  };
  const search = async () => {
    await load();
    const query = words(field.value).split(" ").filter(Boolean);
    const found = query.length ? sections.map((s) => [score(s, query), s]).filter(([n]) => n > 0) : [];
    found.sort(([a], [b]) => b - a);
    list.replaceChildren(...found.slice(0, 20).map(([, s], i) => make("li", { id: "result" + i, role: "option" },
      make("a", { href: s.address, tabIndex: -1 },
        make("strong", {}, s.first ? s.title : s.heading), make("small", {}, s.first ? s.group : s.group + " · " + s.title),
        make("span", {}, ...excerpt(s.text, query))))));
    if (query.length && !found.length) list.append(make("li", { className: "none", textContent: "Nothing was found." }));
    show(query.length > 0);
    choose(found.length ? 0 : -1);
  };
  field.addEventListener("focus", load);
  field.addEventListener("input", search);
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      choose(active + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter" && active >= 0) {
      const link = list.children[active].querySelector("a");
      if (link) location.href = link.href;
      show(false);
    } else if (event.key === "Escape") {
      field.value = "";
      show(false);
      field.blur();
    }
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(input|textarea|select)$/i.test(document.activeElement.tagName);
    if ((event.key === "/" && !typing) || (event.key === "k" && (event.ctrlKey || event.metaKey))) {
      event.preventDefault();
      field.focus();
      field.select();
    }
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest(".search") || event.target.closest("#results a")) show(false);
  });
})();
