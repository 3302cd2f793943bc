// Mouse, touch, wheel and keyboard on a canvas, told to one set of handlers in pixels of the canvas.

/**
 * `current()` gives the handlers: `move(dx, dy, event, place)`, `pan(dx, dy)`, `zoom(x, y, factor)`, `key(key)`, which
 * returns true if the key was used, and where wanted `down(x, y)`, `up()` and `hover(x, y)`.
 */
function gestures(canvas, current) {
  const pointers = new Map();
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [((event.clientX - box.left) * canvas.width) / box.width, ((event.clientY - box.top) * canvas.height) / box.height];
  };
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, place(event));
    if (current().down && pointers.size === 1) current().down(...place(event));
  });
  canvas.addEventListener('pointermove', (event) => {
    const at = place(event), before = pointers.get(event.pointerId);
    if (!before) {
      if (current().hover) current().hover(...at);
      return;
    }
    if (pointers.size === 1) {
      current().move(at[0] - before[0], at[1] - before[1], event, at);
    } else {
      // Two fingers move and zoom at once; each of them tells half of it.
      const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
      const far = Math.hypot(before[0] - other[0], before[1] - other[1]), now = Math.hypot(at[0] - other[0], at[1] - other[1]);
      if (far > 0 && now > 0) current().zoom((at[0] + other[0]) / 2, (at[1] + other[1]) / 2, now / far);
      current().pan((at[0] - before[0]) / 2, (at[1] - before[1]) / 2);
    }
    pointers.set(event.pointerId, at);
  });
  const release = (event) => {
    pointers.delete(event.pointerId);
    if (current().up && !pointers.size) current().up();
  };
  canvas.addEventListener('pointerup', release);
  canvas.addEventListener('pointercancel', release);
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 20 : 1;
    const amount = Math.max(-200, Math.min(200, event.deltaY * lines));
    current().zoom(...place(event), Math.exp(-amount / (event.ctrlKey ? 100 : 400)));
  }, {passive: false});
  canvas.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (current().key(event.key, event)) event.preventDefault();
  });
}

/** Keys that all views share; true if the key was one of them. */
function sharedKeys(key, {pan, zoom}) {
  const steps = {ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]};
  if (steps[key]) pan(...steps[key]);
  else if (key === '+' || key === '=') zoom(Math.SQRT2);
  else if (key === '-') zoom(Math.SQRT1_2);
  else return false;
  return true;
}
