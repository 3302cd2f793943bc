// Slices through a field of three coordinates or more, thin or as thick as a slab.

class SliceView {
  constructor(app) {
    this.app = app;
    const {field} = app, {about} = field;
    this.names = about.view.axes || about.shape.map((_, axis) => `axis ${axis + 1}`);
    this.through = 0;
    this.places = about.shape.map((size) => size / 2);
    this.slab = {thickness: 0, largest: false};
    const mode = field.outputs === 1 || field.outputs > 4 || field.outputs === 2 ? SCALAR : COLOURS;
    this.plane = new Plane(app, {
      axes: [0, 1], fixed: new Array(about.inputs).fill(0), look: {mode, channel: 0, level: about.view.level ?? -1},
    });
    this.plane.onView = () => this.#describe();
    this.plane.onPicture = () => app.show();
    this.#controls();
    this.#place();
  }

  #controls() {
    const {app, plane} = this, {about} = app.field;
    this.sliders = element('div', {class: 'sliders'});
    this.text = element('output', {class: 'place'});
    this.zoomText = element('output', {class: 'zoom'});
    this.shown = element('p', {class: 'fine'});
    const parts = [
      element('div', {class: 'row'}, element('span', {}, 'Cut across'), choice('Axis that is cut',
        this.names.map((name, axis) => [axis, name, `Cut across ${name}`]), (axis) => this.#cut(axis))),
      this.sliders, this.shown,
    ];
    if (app.field.outputs > 1) parts.push(channelRow(plane, app.field.outputs));
    if (!(plane.look.level >= 0)) {
      this.modes = choice('What a slab shows', [[0, 'Mean', 'The mean through the slab'], [1, 'Largest', 'The largest value through the slab']], (largest) => {
        this.slab.largest = Boolean(largest);
        this.#place();
      });
      parts.push(element('div', {class: 'row'}, element('span', {}, 'A slab shows'), this.modes));
    }
    this.lines = toggle('Sample grid', 'Lines between the samples of the original size, from 6x on (G)', (on) => {
      plane.lines = on;
      app.show();
    });
    parts.push(
      element('div', {class: 'row'}, button('Fit', 'Show all of it (0)', () => plane.fit()),
        ...zoomButtons(plane), this.zoomText, this.lines), this.text);
    this.own = element('div', {class: 'own'}, ...parts);
    app.controls.append(this.own);
    parts[0].lastChild.choose(0);
    if (this.modes) this.modes.choose(0);
    this.handlers = {
      move: (dx, dy) => plane.pan(dx, dy),
      pan: (dx, dy) => plane.pan(dx, dy),
      zoom: (x, y, factor) => plane.zoomAt(x, y, factor),
      hover: (x, y) => {
        this.pointer = [x, y];
        this.#describe();
      },
      key: (key) => this.#key(key),
    };
  }

  #key(key) {
    const {plane} = this, step = plane.width / 8;
    if (key === '0') plane.fit();
    else if (key === 'g') this.lines.click();
    else if (key === 'PageUp' || key === 'PageDown') this.step(key === 'PageUp' ? 1 : -1);
    else return sharedKeys(key, {
      pan: (dx, dy) => plane.pan(dx * step, dy * step),
      zoom: (factor) => plane.zoomAt(plane.width / 2, plane.height / 2, factor),
    });
    return true;
  }

  /** Move the cut by samples. */
  step(by) {
    const size = this.app.field.about.shape[this.through];
    this.places[this.through] = Math.min(size, Math.max(0, this.places[this.through] + by));
    this.#cut(this.through);
  }

  /** Cut across an axis: the picture shows the last two of the others, the rest have sliders. */
  #cut(axis) {
    const {about} = this.app.field, others = about.shape.map((_, k) => k).filter((k) => k !== axis);
    const changed = axis !== this.through || !this.plane.layers;
    this.through = axis;
    this.plane.axes = others.slice(-2);
    const fixed = about.shape.map((_, k) => k).filter((k) => !this.plane.axes.includes(k));
    const sliders = fixed.map((k) => slider(this.names[k], {
      min: 0, max: about.shape[k], step: about.shape[k] / 1000, value: this.places[k], show: (place) => place.toFixed(1),
    }, (place) => {
      this.places[k] = place;
      this.#place();
    }));
    if (!(this.plane.look.level >= 0)) {
      sliders.push(slider('thickness', {min: 0, max: about.shape[axis], step: about.shape[axis] / 200, value: this.slab.thickness, show: (thick) => thick.toFixed(1)}, (thick) => {
        this.slab.thickness = thick;
        this.#place();
      }));
    }
    this.sliders.replaceChildren(...sliders);
    const [down, across] = this.plane.axes.map((k) => this.names[k]);
    this.shown.textContent = `The picture shows ${down} downwards and ${across} to the right.`;
    this.#place();
    if (changed && this.plane.layers) this.plane.fit();
  }

  #place() {
    const {about} = this.app.field;
    this.plane.fixed = about.axes.map(({start, step}, k) => start + step * this.places[k]);
    const {thickness, largest} = this.slab;
    this.plane.look = {...this.plane.look, slab: thickness > 0 ? {axis: this.through, thickness, count: 16, largest} : null};
    this.plane.redraw(false);
  }

  #describe() {
    const {plane, app} = this;
    this.zoomText.textContent = `${readable(plane.zoom)}×`;
    if (!this.pointer) return;
    const [column, row] = plane.placeOf(...this.pointer), [across, down] = plane.extent;
    if (column < 0 || row < 0 || column > across || row > down) {
      this.text.textContent = '';
      return;
    }
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      const point = plane.coordinatesOf(column, row), values = app.field.at(point).slice(0, 8).map((value) => value.toFixed(3));
      this.text.textContent = `at ${point.map((x) => x.toFixed(3)).join(', ')}: ${values.join(', ')}`;
    });
  }

  changed() {
    this.plane.redraw(false);
  }

  refresh() {
    this.plane.refresh();
  }

  resize(width, height, ratio) {
    this.plane.resize(width, height, ratio);
  }

  show() {
    this.plane.show(styleColour('--backdrop'));
  }
}
