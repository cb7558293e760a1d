// Let the browser paste: the terminal would make a key of it.
addEventListener("keydown", (key) => {
  if (key.ctrlKey && !key.altKey && key.key.toLowerCase() === "v") key.stopImmediatePropagation();
}, true);

// Keys count from the beginning: once connected, focus the terminal's line again, so that it says so.
const waiting = setInterval(() => {
  const line = document.querySelector(".-connected .xterm-helper-textarea");
  if (line) { clearInterval(waiting); line.blur(); line.focus(); }
}, 50);

// Pictures lie over the cells where they are drawn in blocks. The latest message about each, and its image:
const latest = new Map(), shown = new Map();

function hide(name) {
  shown.get(name)?.remove();
  shown.delete(name);
}

async function show(told) {
  latest.set(told.name, told);
  if (!told.at) { hide(told.name); return; }
  const image = new Image(), [x, y, width, height] = told.at.map((share) => `${100 * share}%`);
  Object.assign(image.style, { position: "absolute", left: x, top: y, width, height, zIndex: 4, pointerEvents: "none" });
  image.src = `data:image/png;base64,${told.png}`;
  await image.decode();
  if (latest.get(told.name) !== told) return; // a newer one has come meanwhile
  document.querySelector(".xterm-screen").append(image); // before removing the old one, so nothing flickers
  hide(told.name);
  shown.set(told.name, image);
}

window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", ({ data }) => {
      const [kind, told] = typeof data === "string" ? JSON.parse(data) : [];
      if (kind === "picture") show(told);
    });
  }

  send(text) {
    // After a resize they would lie in the wrong place until they are drawn again.
    if (text.startsWith('["resize"')) for (const name of latest.keys()) show({ name });
    super.send(text);
  }
};
