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
addEventListener("hashchange", reveal);
reveal();
