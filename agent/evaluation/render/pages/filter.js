"use strict";
const form = document.querySelector(".filter");
const reveal = () => {
  const there = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (there && there.tagName === "DETAILS") { there.hidden = false; there.open = true; there.scrollIntoView(); }
};
if (form) {
  const items = [...document.querySelectorAll("[data-type]")];
  const rows = items.filter(item => item.tagName === "TR");
  const apply = () => {
    const wanted = form.elements.text.value.toLowerCase();
    for (const item of items) {
      item.hidden = (form.elements.type.value && item.dataset.type !== form.elements.type.value)
        || (form.elements.outcome.value && item.dataset.outcome !== form.elements.outcome.value)
        || (wanted && !item.dataset.name.toLowerCase().includes(wanted)) || false;
    }
    form.querySelector("output").value = `${rows.filter(row => !row.hidden).length} of ${rows.length} shown`;
  };
  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("submit", event => event.preventDefault());
  apply();
}
// A heading sorts its table by that column: numbers by size, largest first, then the other way round.
const shown = row => column => row.cells[column].textContent.trim();
for (const table of document.querySelectorAll("table.sorted, table.tasks")) {
  for (const [column, heading] of [...table.tHead.rows[0].cells].entries()) {
    const sort = document.createElement("button");
    sort.append(...heading.childNodes);
    heading.append(sort);
    sort.addEventListener("click", () => {
      const down = heading.ariaSort !== "descending";
      for (const other of table.tHead.rows[0].cells) other.ariaSort = null;
      heading.ariaSort = down ? "descending" : "ascending";
      const key = row => { const text = shown(row)(column); const size = parseFloat(text.replaceAll(",", "")); return isNaN(size) ? text : size; };
      const before = (one, other) => typeof one === typeof other ? (one < other ? -1 : one > other ? 1 : 0) : typeof one === "number" ? 1 : -1;
      const rows = [...table.tBodies[0].rows].sort((one, other) => before(key(one), key(other)) * (down ? -1 : 1));
      table.tBodies[0].append(...rows);
    });
  }
}
// A transcript that is opened can be played, turn by turn.
const player = episode => {
  const turns = [...episode.querySelectorAll(":scope > div > .turn")];
  if (turns.length < 2 || episode.querySelector(".player")) return;
  const [bar, back, play, on, at, told] = ["form", "button", "button", "button", "input", "output"].map(tag => document.createElement(tag));
  let clock = 0;
  const stop = () => { clearInterval(clock); clock = 0; play.textContent = "play"; };
  const show = number => {
    at.value = number;
    turns.forEach((turn, place) => { turn.hidden = place >= at.valueAsNumber; });
    told.value = `${at.valueAsNumber} of ${turns.length}`;
    if (at.valueAsNumber === turns.length) stop();
  };
  const act = (button, text, action) => { button.type = "button"; button.textContent = text; button.addEventListener("click", action); };
  act(back, "back", () => { stop(); show(at.valueAsNumber - 1); });
  act(on, "next", () => { stop(); show(at.valueAsNumber + 1); });
  act(play, "play", () => {
    if (clock) { stop(); return; }
    if (at.valueAsNumber === turns.length) show(0);
    play.textContent = "pause";
    clock = setInterval(() => show(at.valueAsNumber + 1), 800);
  });
  Object.assign(at, { type: "range", min: 0, max: turns.length, ariaLabel: "turns shown" });
  at.addEventListener("input", () => { stop(); show(at.valueAsNumber); });
  bar.className = "player";
  bar.addEventListener("submit", event => event.preventDefault());
  bar.append(back, play, on, at, told);
  episode.querySelector(":scope > div").prepend(bar);
  show(turns.length);
};
for (const episode of document.querySelectorAll(".episode")) {
  episode.addEventListener("toggle", () => { if (episode.open) player(episode); });
  if (episode.open) player(episode);
}
addEventListener("hashchange", reveal);
reveal();
