// The search and the choice between light and dark. Without it everything else works.
(function () {
  "use strict";
  var root = document.body.dataset.root || "";
  var query = document.getElementById("query");
  var results = document.getElementById("results");
  var index = null;
  var loading = false;
  var chosen = -1;

  document.getElementById("theme").addEventListener("click", function () {
    var html = document.documentElement;
    var dark = html.dataset.theme
      ? html.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    html.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("theme", html.dataset.theme); } catch (e) { /* a page from a file */ }
  });

  // On a narrow window the list of pages begins closed.
  if (matchMedia("(max-width: 899px)").matches) {
    document.querySelectorAll("details.menu").forEach(function (menu) { menu.open = false; });
  } else {
    var current = document.querySelector(".side [aria-current]");
    if (current && current.offsetTop > innerHeight - 120) {
      current.closest(".side").scrollTop = current.offsetTop - innerHeight / 2;
    }
  }

  window.canny_search = function (pages) {
    index = [];
    pages.forEach(function (page) {
      page[3].forEach(function (section, number) {
        index.push({
          page: page[0], path: page[1], title: section[0], anchor: number ? section[1] : "",
          low: section[0].toLowerCase(), words: section[2], start: section[3],
          text: (page[0] + " " + section[3]).toLowerCase(), reference: page[1].indexOf("reference/") === 0
        });
      });
    });
    show();
  };

  function load() {
    if (index || loading) return;
    loading = true;
    var script = document.createElement("script");
    script.src = root + "assets/search.js";
    document.head.appendChild(script);
  }

  function score(entry, words) {
    var sum = 0;
    for (var i = 0; i < words.length; i++) {
      var word = words[i], part = 0;
      var names = entry.low.split(" ");
      if (names.indexOf(word) >= 0) part = 60;
      else if (entry.low.indexOf(word) === 0) part = 30;
      else if (names.some(function (name) { return name.indexOf(word) === 0; })) part = 22;
      else if (entry.low.indexOf(word) >= 0) part = 12;
      else if (entry.text.indexOf(word) >= 0) part = 4;
      else if ((" " + entry.words).indexOf(" " + word) >= 0) part = 2;
      if (!part) return 0;
      sum += part;
    }
    if (entry.low === words.join(" ")) sum += 40;
    if (!entry.anchor) sum += 3;
    if (/^reference\/(scheme\/base|canny)/.test(entry.path)) sum += 5;
    else if (/^reference\/srfi/.test(entry.path)) sum -= 3;
    return sum;
  }

  function element(name, text, kind) {
    var made = document.createElement(name);
    made.textContent = text;
    if (kind) made.className = kind;
    return made;
  }

  function show() {
    var words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    results.textContent = "";
    chosen = -1;
    if (!index || !words.length) { results.hidden = true; return; }
    var found = [];
    index.forEach(function (entry) {
      var value = score(entry, words);
      if (value) found.push([value, entry]);
    });
    found.sort(function (a, b) { return b[0] - a[0]; });
    found.slice(0, 12).forEach(function (pair) {
      var entry = pair[1], item = document.createElement("li"), link = document.createElement("a");
      link.href = root + entry.path + (entry.anchor ? "#" + entry.anchor : "");
      link.appendChild(element("strong", entry.title));
      if (entry.page !== entry.title) link.appendChild(element("span", entry.page, "where"));
      link.appendChild(element("span", entry.start, "start"));
      item.appendChild(link);
      results.appendChild(item);
    });
    if (!found.length) results.appendChild(element("li", "Nothing found.", "none"));
    results.hidden = false;
  }

  function choose(step) {
    var links = results.querySelectorAll("a");
    if (!links.length) return;
    if (chosen >= 0) links[chosen].classList.remove("chosen");
    chosen = (chosen + step + links.length) % links.length;
    links[chosen].classList.add("chosen");
    links[chosen].scrollIntoView({ block: "nearest" });
  }

  query.addEventListener("focus", load);
  query.addEventListener("input", function () { load(); show(); });
  query.addEventListener("keydown", function (event) {
    if (event.key === "ArrowDown") { choose(1); event.preventDefault(); }
    else if (event.key === "ArrowUp") { choose(-1); event.preventDefault(); }
    else if (event.key === "Escape") { query.value = ""; show(); query.blur(); }
    else if (event.key === "Enter") {
      var links = results.querySelectorAll("a");
      if (links.length) location.href = links[Math.max(chosen, 0)].href;
    }
  });
  document.addEventListener("keydown", function (event) {
    var tag = document.activeElement && document.activeElement.tagName;
    if (event.key === "/" && tag !== "INPUT" && tag !== "TEXTAREA") { query.focus(); event.preventDefault(); }
  });
  document.addEventListener("click", function (event) {
    if (!event.target.closest(".search")) results.hidden = true;
  });
  results.addEventListener("click", function () { results.hidden = true; });

  // A page that was asked for with ?q=WORD shows what that finds.
  var asked = /[?&]q=([^&]*)/.exec(location.search);
  if (asked) { query.value = decodeURIComponent(asked[1]); load(); show(); }
})();
