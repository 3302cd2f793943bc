"use strict";
(() => {
  const body = document.body;
  const stage = document.querySelector(".stage");
  const clamp = (value, low, high) => Math.min(Math.max(value, low), Math.max(low, high));

  for (const button of document.querySelectorAll(".code button")) {
    button.addEventListener("click", async () => {
      const code = button.parentElement.querySelector("pre");
      const range = document.createRange();
      range.selectNodeContents(code);
      const selection = window.getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1600);
    });
  }
  body.classList.add("live");
  if (!stage) { body.dataset.ready = "yes"; return; }

  const holders = [...stage.querySelectorAll(".holder")];
  const frames = holders.map((holder) => holder.querySelector(".frame"));
  const lenses = [...stage.querySelectorAll(".lens canvas")];
  const slider = document.querySelector(".magnify input");
  const shown = document.querySelector(".magnify output");
  const readout = document.querySelector(".readout");
  const probe = document.createElement("canvas");
  probe.width = probe.height = 1;
  const probeContext = probe.getContext("2d", { willReadFrequently: true });
  const place = { x: 0.5, y: 0.5, zoom: 6 };

  const images = () => holders.map((holder) => holder.querySelector("img:not([hidden])"));
  const colour = (image, x, y) => {
    probeContext.clearRect(0, 0, 1, 1);
    probeContext.drawImage(image, x, y, 1, 1, 0, 0, 1, 1);
    return [...probeContext.getImageData(0, 0, 1, 1).data.slice(0, 3)].join(", ");
  };

  const draw = () => {
    const now = images();
    const [width, height] = [now[0].naturalWidth, now[0].naturalHeight];
    if (!width) return;
    const side = lenses[0].clientWidth;
    const pixels = Math.max(1, Math.round(side * (window.devicePixelRatio || 1)));
    const span = side / place.zoom;
    const left = clamp(place.x * width - span / 2, 0, width - span);
    const top = clamp(place.y * height - span / 2, 0, height - span);
    const [seenWidth, seenHeight] = [Math.min(span, width), Math.min(span, height)];
    // A lens is no taller than what there is to see: a picture of a few rows leaves no empty square.
    const tall = Math.max(1, Math.round((pixels * seenHeight) / span));
    now.forEach((image, i) => {
      const canvas = lenses[i];
      if (canvas.width !== pixels || canvas.height !== tall) [canvas.width, canvas.height] = [pixels, tall];
      canvas.style.aspectRatio = `${pixels} / ${tall}`;
      const context = canvas.getContext("2d");
      context.imageSmoothingEnabled = false;
      context.clearRect(0, 0, pixels, tall);
      const scale = pixels / span;
      context.drawImage(image, left, top, seenWidth, seenHeight, 0, 0, seenWidth * scale, seenHeight * scale);
      const frame = frames[i].style;
      frame.left = `${(left / width) * 100}%`;
      frame.top = `${(top / height) * 100}%`;
      frame.width = `${(seenWidth / width) * 100}%`;
      frame.height = `${(seenHeight / height) * 100}%`;
    });
    const column = clamp(Math.floor(left + seenWidth / 2), 0, width - 1);
    const row = clamp(Math.floor(top + seenHeight / 2), 0, height - 1);
    shown.textContent = `${place.zoom}×`;
    slider.value = place.zoom;
    readout.textContent =
      `Row ${row}, column ${column}: target ${colour(now[0], column, row)}; reconstruction ${colour(now[1], column, row)}`;
    body.dataset.lens = `${row},${column},${place.zoom}`;
  };

  // The magnifier starts at a quarter of the picture, whatever its size.
  const restart = () => {
    const image = images()[0];
    const side = Math.max(image.naturalWidth, image.naturalHeight);
    [place.x, place.y] = [0.5, 0.5];
    zoomTo((4 * lenses[0].clientWidth) / Math.max(1, side));
  };
  const moveTo = (holder, event) => {
    const box = holder.getBoundingClientRect();
    place.x = clamp((event.clientX - box.left) / box.width, 0, 1);
    place.y = clamp((event.clientY - box.top) / box.height, 0, 1);
    draw();
  };
  const zoomTo = (value) => {
    place.zoom = clamp(Math.round(value), Number(slider.min), Number(slider.max));
    draw();
  };
  for (const holder of holders) {
    // A finger drags the frame alone, so that it can still scroll the page from elsewhere; a tap moves the frame there.
    let dragging = null;
    holder.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "mouse" && !event.target.classList.contains("frame")) return;
      dragging = event.pointerId;
      holder.setPointerCapture(dragging);
      moveTo(holder, event);
    });
    holder.addEventListener("pointermove", (event) => {
      if (event.pointerId === dragging) moveTo(holder, event);
    });
    for (const end of ["pointerup", "pointercancel"]) holder.addEventListener(end, () => { dragging = null; });
    holder.addEventListener("click", (event) => moveTo(holder, event));
    holder.addEventListener("keydown", (event) => {
      const image = images()[0];
      const stride = event.shiftKey ? 16 : 1;
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      if (event.key in moves) {
        const [dx, dy] = moves[event.key];
        place.x = clamp(place.x + (dx * stride) / image.naturalWidth, 0, 1);
        place.y = clamp(place.y + (dy * stride) / image.naturalHeight, 0, 1);
        draw();
      } else if (event.key === "+" || event.key === "=") {
        zoomTo(place.zoom + 1);
      } else if (event.key === "-") {
        zoomTo(place.zoom - 1);
      } else {
        return;
      }
      event.preventDefault();
    });
  }
  lenses.forEach((canvas) => {
    let last = null;
    canvas.addEventListener("pointerdown", (event) => { last = event; canvas.setPointerCapture(event.pointerId); });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { last = null; });
    canvas.addEventListener("pointermove", (event) => {
      if (!last) return;
      const image = images()[0];
      place.x = clamp(place.x - (event.clientX - last.clientX) / place.zoom / image.naturalWidth, 0, 1);
      place.y = clamp(place.y - (event.clientY - last.clientY) / place.zoom / image.naturalHeight, 0, 1);
      last = event;
      draw();
    });
  });
  slider.addEventListener("input", () => zoomTo(Number(slider.value)));
  for (const choice of document.querySelectorAll(".choice input")) {
    choice.addEventListener("change", () => {
      for (const image of stage.querySelectorAll("img")) image.hidden = image.dataset.view !== choice.value;
      for (const words of document.querySelectorAll("[data-detail]")) words.hidden = words.dataset.detail !== choice.value;
      restart();
    });
  }
  window.addEventListener("resize", draw);
  const loaded = [...stage.querySelectorAll("img")].map((image) => image.decode().catch(() => undefined));
  Promise.all(loaded).then(() => {
    restart();
    body.dataset.ready = "yes";
  });
})();
