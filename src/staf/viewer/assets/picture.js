// The page of an image: pan, zoom, pixel grid, comparison, derivatives.

class PictureView {
  constructor(app) {
    this.app = app;
    const {field} = app;
    // Arrays that are no images have channels, which are shown one by one, or three as a colour.
    this.plain = field.about.view.colours || field.outputs === 3 ? COLOURS : SCALAR;
    this.plane = new Plane(app, {axes: [0, 1], fixed: [0, 0], look: {mode: this.plain, channel: 0}});
    this.factors = {};
    this.plane.onView = () => this.#describe();
    this.plane.onPicture = () => app.show();
    this.#controls();
  }

  #controls() {
    const {app, plane} = this;
    this.place = element('output', {class: 'place'});
    this.zoomText = element('output', {class: 'zoom'});
    this.lines = toggle('Pixel grid', 'Lines between the pixels of the original size, from 6x on (G)', (on) => {
      plane.lines = on;
      app.show();
    });
    this.compare = toggle('Compare', 'Right of the line: the original size, enlarged bilinearly (C)', (on) => {
      plane.setCompare(on);
      app.show();
    });
    this.modes = choice('What is shown', [
      [COLOURS, 'Picture', 'The values'],
      [GRADIENT, 'Gradient', 'The size of the exact gradient'],
      [LAPLACIAN, 'Laplacian', 'The exact Laplacian: orange above zero, blue below'],
    ], (mode) => this.setMode(mode));
    app.controls.append(
      element('div', {class: 'row'},
        button('Fit', 'Show all of it (0)', () => plane.fit()), button('1:1', 'One pixel of the screen for each pixel (1)', () => plane.oneToOne()),
        ...zoomButtons(plane), this.zoomText),
      this.modes,
      element('div', {class: 'row'}, this.lines, this.compare, button('Save PNG', 'What the screen shows, as a file', () => app.savePicture())),
      this.place,
    );
    if (this.plain === SCALAR && app.field.outputs > 1) this.place.before(channelRow(plane, app.field.outputs));
    this.modes.choose(COLOURS);
    const nearDivider = (x) => plane.compare && Math.abs(x - plane.divider * plane.width) < 14 * plane.ratio;
    this.handlers = {
      down: (x) => { this.dragging = nearDivider(x); },
      up: () => { this.dragging = false; },
      move: (dx, dy, event, [x]) => {
        if (this.dragging) {
          plane.divider = Math.min(0.98, Math.max(0.02, x / plane.width));
          app.show();
        } else plane.pan(dx, dy);
      },
      pan: (dx, dy) => plane.pan(dx, dy),
      zoom: (x, y, factor) => plane.zoomAt(x, y, factor),
      hover: (x, y) => {
        app.canvas.style.cursor = nearDivider(x) ? 'ew-resize' : 'grab';
        this.pointer = [x, y];
        this.#describe();
      },
      key: (key) => this.#key(key),
    };
  }

  #key(key) {
    const {plane} = this, step = plane.width / 8;
    const own = {0: () => plane.fit(), 1: () => plane.oneToOne(), g: () => this.lines.click(), c: () => this.compare.click()};
    if (own[key]) own[key]();
    else return sharedKeys(key, {
      pan: (dx, dy) => plane.pan(dx * step, dy * step),
      zoom: (factor) => plane.zoomAt(plane.width / 2, plane.height / 2, factor),
    });
    return true;
  }

  setMode(mode) {
    this.plane.look = {...this.plane.look, mode: mode < GRADIENT ? this.plain : mode};
    if (mode >= GRADIENT && !this.factors[mode]) this.app.runner.start('factor', 0, this.#measure(mode));
    else this.#apply(mode);
  }

  #apply(mode) {
    this.plane.look = {...this.plane.look, factor: this.factors[mode] || 1};
    this.plane.region = [0, 0, 0, 0];
    this.plane.redraw(false);
    this.#describe();
  }

  /** How large derivatives are over the whole picture: 1 in 200 of the points is brighter than white. */
  *#measure(mode) {
    const {engine, field} = this.app, about = field.about, n = 48;
    const block = {
      base: [0, 0], origin: [-1 + 1 / n, -1 + 1 / n], alongColumns: [0, 2 / n], alongRows: [2 / n, 0], columns: n,
      ...derivativesOf(about, mode),
    };
    const channels = yield* engine.read(block, n * n);
    const colours = field.outputs < 3 ? channels.slice(0, 1) : channels.slice(0, 3);
    const scale = about.meaning.value_scale, sizes = new Float32Array(n * n);
    for (let i = 0; i < n * n; i++) {
      const total = mode === LAPLACIAN
        ? Math.abs(colours.reduce((sum, each) => sum + each[4 * i + 3], 0))
        : colours.reduce((sum, each) => sum + each[4 * i + 1] ** 2 + each[4 * i + 2] ** 2, 0);
      sizes[i] = scale * (mode === LAPLACIAN ? total / colours.length : Math.sqrt(total / colours.length));
    }
    sizes.sort();
    this.factors[mode] = 1 / Math.max(sizes[Math.floor(sizes.length * 0.995)], 1e-9);
    if (this.plane.look.mode === mode) this.#apply(mode);
  }

  /** Where the pointer is, its value, and how large pixels are. */
  #describe() {
    const {plane, app} = this, {mode} = plane.look;
    this.zoomText.textContent = `${readable(plane.zoom)}×`;
    if (mode >= GRADIENT && this.factors[mode]) {
      const per = mode === LAPLACIAN ? 'per pixel²' : 'per pixel';
      this.place.textContent = `full colour: ${readable(1 / this.factors[mode])} ${per}`;
      return;
    }
    if (!this.pointer) return;
    const [column, row] = plane.placeOf(...this.pointer), [across, down] = plane.extent;
    if (column < 0 || row < 0 || column > across || row > down) {
      this.place.textContent = '';
      return;
    }
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      const values = app.field.at(plane.coordinatesOf(column, row)).slice(0, 8).map((value) => value.toFixed(3));
      this.place.textContent = `row ${row.toFixed(1)}, column ${column.toFixed(1)}: ${values.join(', ')}`;
    });
  }

  changed() {
    this.factors = {};
    this.setMode(this.plane.look.mode);
  }

  refresh() {
    if (this.plane.look.mode >= GRADIENT) this.changed();
    else this.plane.refresh();
  }

  resize(width, height, ratio) {
    this.plane.resize(width, height, ratio);
  }

  show() {
    this.plane.show(styleColour('--backdrop'));
  }
}
