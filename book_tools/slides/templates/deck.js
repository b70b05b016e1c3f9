// Show one slide at a time. The arrow keys, the space bar, a click, or a swipe moves between slides.
"use strict";
const slides = [...document.querySelectorAll(".slide")];
let current = 0;

function show(number, remember = true) {
  current = Math.max(0, Math.min(slides.length - 1, number));
  slides.forEach((slide, index) => slide.classList.toggle("current", index === current));
  if (remember) history.replaceState(null, "", "#" + (current + 1));
}

function fit() {
  const scale = Math.min(innerWidth / 1280, innerHeight / 720);
  document.documentElement.style.setProperty("--scale", scale);
}

function fromAddress() {
  show((parseInt(location.hash.slice(1), 10) || 1) - 1, false);
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const moves = {ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1};
  if (event.key in moves) show(current + moves[event.key]);
  else if (event.key === "Home") show(0);
  else if (event.key === "End") show(slides.length - 1);
  else if (event.key === "f") document.documentElement.requestFullscreen?.();
  else return;
  event.preventDefault();
});
addEventListener("click", (event) => {
  if (getSelection().isCollapsed) show(current + (event.clientX < innerWidth / 3 ? -1 : 1));
});
let touch = null;
addEventListener("touchstart", (event) => { touch = event.changedTouches[0].clientX; }, {passive: true});
addEventListener("touchend", (event) => {
  const moved = event.changedTouches[0].clientX - touch;
  if (Math.abs(moved) > 60) show(current + (moved < 0 ? 1 : -1));
}, {passive: true});
addEventListener("resize", fit);
addEventListener("hashchange", fromAddress);
document.body.classList.add("is-shown");
fit();
fromAddress();
