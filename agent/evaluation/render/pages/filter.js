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
    form.querySelector("output").value = `${rows.filter(row => !row.hidden).length} of ${rows.length} tasks`;
  };
  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("submit", event => event.preventDefault());
  apply();
}
addEventListener("hashchange", reveal);
reveal();
