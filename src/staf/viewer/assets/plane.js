// A plane through the field (an image, or a slice) that is panned and zoomed without end, and drawn progressively.

class Plane {
  /**
   * `axes` says which coordinates run down and across; `fixed` holds the coordinates of all axes, of which those two
   * are replaced. Places in the plane are in samples of the signal: (column, row), pixel i covering [i, i + 1].
   */
  constructor({engine, painter, runner}, {axes, fixed, look}) {
    Object.assign(this, {engine, painter, runner, axes, fixed, look});
    this.about = engine.field.about;
    painter.prepare();
    this.centre = [0, 0];
    this.zoom = 1;
    this.lines = false;
    this.compare = false;
    this.divider = 0.5;
    this.region = [0, 0, 0, 0];
    this.pixels = painter.graphics.target('colours', 1, 1);
    this.original = painter.graphics.texture('colours', 1, 1);
    this.beside = 0;
    this.layers = null;
    this.shownZoom = null;
    this.painted = false;
    this.onView = () => {};
    this.onPicture = () => {};
  }

  /** Samples across and down. */
  get extent() {
    return [this.about.shape[this.axes[1]], this.about.shape[this.axes[0]]];
  }

  /** The canvas has another size, in pixels of the screen; `ratio` is how many of them one CSS pixel has. */
  resize(width, height, ratio) {
    const first = this.layers === null;
    if (!first && width === this.width && height === this.height) return;
    const {graphics} = this.painter;
    const old = this.layers && [...this.layers.targets, this.layers.spare];
    Object.assign(this, {width, height, ratio});
    const targets = Array.from({length: 4}, () => graphics.target('colours', width, height));
    this.layers = {fine: targets[0], coarse: targets[1], under: targets[2], spare: targets[3], underFirst: false, targets: targets.slice(0, 3)};
    targets.forEach((target) => this.painter.clear(target));
    if (old) old.forEach((target) => graphics.free(target));
    if (first) this.fit();
    else this.redraw(false);
  }

  /** Show all of it. */
  fit() {
    const [across, down] = this.extent;
    this.moveTo(across / 2, down / 2, Math.min(this.width / across, this.height / down));
  }

  /** One pixel of the screen for each sample, on the grid of the samples. */
  oneToOne() {
    this.moveTo(Math.round(this.centre[0]) + (this.width % 2) / 2, Math.round(this.centre[1]) + (this.height % 2) / 2, 1);
  }

  /** Show columns left to right and rows top to bottom, as far as the canvas has that shape. */
  showRegion(left, top, right, bottom) {
    this.moveTo((left + right) / 2, (top + bottom) / 2, Math.min(this.width / (right - left), this.height / (bottom - top)));
  }

  /** Move the view; what is shown already is moved along until the new view is drawn. */
  moveTo(column, row, zoom) {
    const [across, down] = this.extent;
    const smallest = 0.25 * Math.min(1, this.width / across, this.height / down);
    zoom = Math.min(Math.max(zoom, smallest), 1e9);
    column = Math.min(Math.max(column, 0), across);
    row = Math.min(Math.max(row, 0), down);
    const before = {centre: this.centre, zoom: this.zoom};
    this.centre = [column, row];
    this.zoom = zoom;
    this.redraw(true, before);
    this.onView();
  }

  /** Zoom by a factor around a pixel of the canvas. */
  zoomAt(x, y, factor) {
    const [column, row] = this.placeOf(x, y), zoom = this.zoom * factor;
    this.moveTo(column - (x - this.width / 2) / zoom, row - (y - this.height / 2) / zoom, zoom);
  }

  /** Move by pixels of the canvas. */
  pan(dx, dy) {
    this.moveTo(this.centre[0] - dx / this.zoom, this.centre[1] - dy / this.zoom, this.zoom);
  }

  /** The place in the plane at a pixel of the canvas. */
  placeOf(x, y) {
    return [this.centre[0] + (x - this.width / 2) / this.zoom, this.centre[1] + (y - this.height / 2) / this.zoom];
  }

  /** The field's coordinates of a place. */
  coordinatesOf(column, row) {
    const point = this.fixed.slice();
    point[this.axes[0]] = this.about.axes[this.axes[0]].step * row + this.about.axes[this.axes[0]].start;
    point[this.axes[1]] = this.about.axes[this.axes[1]].step * column + this.about.axes[this.axes[1]].start;
    return point;
  }

  /** Draw again: after the view has moved (`keep` what was shown), or because the values have changed. */
  redraw(keep, before = null) {
    const {layers, painter} = this;
    if (!layers) return;
    // The first picture has nothing before it to be moved.
    if (keep && before && this.painted) {
      const factor = before.zoom / this.zoom;
      const shift = [0, 1].map((k) => {
        const half = (k ? this.height : this.width) / 2;
        return (this.centre[k] - before.centre[k]) * before.zoom + half - half * factor;
      });
      painter.move(layers.spare, layers, factor, shift);
      [layers.under, layers.spare] = [layers.spare, layers.under];
      this.shownZoom = Math.max(1, (this.shownZoom || 1) / factor);
    } else {
      painter.clear(layers.under);
      this.shownZoom = null;
      this.painted = false;
    }
    painter.clear(layers.fine);
    painter.clear(layers.coarse);
    this.runner.start('plane', 1, this.#draw());
    if (this.compare) this.#comparePixels(!keep);
  }

  /** The values are a little different: what is shown stays until it is drawn again. */
  refresh() {
    this.redraw(true, {centre: this.centre, zoom: this.zoom});
    if (this.compare) this.#comparePixels(true);
  }

  /** Where the points of a block of pixels are, every `cell` pixels from (x, y). */
  #block(x, y, columns, cell) {
    const {about, axes} = this, [down, across] = axes;
    const base = this.coordinatesOf(...this.centre), zero = () => new Array(about.inputs).fill(0);
    const origin = zero(), alongColumns = zero(), alongRows = zero(), half = cell / 2;
    origin[across] = ((x + half - this.width / 2) / this.zoom) * about.axes[across].step;
    origin[down] = ((y + half - this.height / 2) / this.zoom) * about.axes[down].step;
    alongColumns[across] = (cell / this.zoom) * about.axes[across].step;
    alongRows[down] = (cell / this.zoom) * about.axes[down].step;
    const block = {base, origin, alongColumns, alongRows, columns, ...this.#derivatives()};
    if (this.look.slab) {
      // Samples through the slab, evenly over its thickness.
      const {axis, thickness, count} = this.look.slab;
      block.samples = count;
      block.alongSamples = zero();
      block.alongSamples[axis] = (thickness * about.axes[axis].step) / count;
      block.origin[axis] -= (thickness * about.axes[axis].step * (count - 1)) / (2 * count);
    }
    return block;
  }

  /** Derivatives are along the axes, in the signal's own units. */
  #derivatives() {
    if (this.look.mode < GRADIENT) return {lanes: POINTS};
    return derivativesOf(this.about, this.look.mode);
  }

  *#draw() {
    const {layers, painter, engine} = this, samples = this.look.slab ? this.look.slab.count : 1;
    const [left, top] = this.#pixelOf(0, 0), [right, bottom] = this.#pixelOf(...this.extent);
    const box = {
      left: Math.max(0, Math.floor(left)), top: Math.max(0, Math.floor(top)),
      right: Math.min(this.width, Math.ceil(right)), bottom: Math.min(this.height, Math.ceil(bottom)),
    };
    for (const cell of this.#cells(box, samples)) {
      const target = cell === 1 ? layers.fine : layers.coarse;
      // What was shown before is better than tiles that are coarser still.
      layers.underFirst = this.shownZoom !== null && this.shownZoom <= cell;
      for (const tile of this.#tiles(box, cell, samples)) {
        yield* engine.run(this.#block(tile.x, tile.y, tile.width, cell), 0, tile.width * tile.height * samples);
        painter.paint(target, {...tile, cell, samples}, this.look);
        this.painted = true;
        yield GPU;
      }
      this.onPicture();
    }
    this.shownZoom = 1;
  }

  #pixelOf(column, row) {
    return [(column - this.centre[0]) * this.zoom + this.width / 2, (row - this.centre[1]) * this.zoom + this.height / 2];
  }

  /** Sizes of cells, coarse first: the first picture is a few tiles, whatever the size of the screen. */
  #cells(box, samples) {
    const points = Math.max(0, box.right - box.left) * Math.max(0, box.bottom - box.top) * samples;
    const atOnce = this.engine.capacity(this.#derivatives().lanes) * Math.max(2, this.runner.batch);
    const cells = [1];
    while (points / cells[0] ** 2 > atOnce && cells[0] < 64) cells.unshift(cells[0] * 4);
    return cells;
  }

  /** Tiles of cells over a box of pixels, from the middle outwards. */
  #tiles(box, cell, samples) {
    const points = this.engine.capacity(this.#derivatives().lanes) / samples;
    const width = 2 ** Math.ceil(Math.log2(Math.sqrt(points))), height = Math.max(1, Math.floor(points / width));
    const tiles = [];
    for (let y = box.top; y < box.bottom; y += height * cell) {
      for (let x = box.left; x < box.right; x += width * cell) {
        const columns = Math.min(width, Math.ceil((box.right - x) / cell));
        const rows = Math.min(height, Math.ceil((box.bottom - y) / cell));
        const away = Math.hypot(x + (columns * cell) / 2 - this.width / 2, y + (rows * cell) / 2 - this.height / 2);
        tiles.push({x, y, width: columns, height: rows, away});
      }
    }
    return tiles.sort((a, b) => a.away - b.away);
  }

  /** Show the picture's own pixels, enlarged bilinearly, right of the divider. */
  setCompare(on) {
    this.compare = on;
    this.region = [0, 0, 0, 0];
    if (on) this.#comparePixels(true);
    else this.runner.stop('pixels');
  }

  /** The samples that are seen, with one around them, unless they are there already. */
  #comparePixels(changed) {
    const [left, top] = this.placeOf(0, 0), [right, bottom] = this.placeOf(this.width, this.height);
    const [across, down] = this.extent, limit = 4096;
    const need = [Math.max(0, Math.floor(left) - 1), Math.max(0, Math.floor(top) - 1), Math.min(across, Math.ceil(right) + 1), Math.min(down, Math.ceil(bottom) + 1)];
    const [x, y, w, h] = this.region;
    if (!changed && w > 0 && need[0] >= x && need[1] >= y && need[2] <= x + w && need[3] <= y + h) return;
    const width = need[2] - need[0], height = need[3] - need[1];
    this.region = [0, 0, 0, 0];
    this.runner.stop('pixels');
    if (width < 1 || height < 1 || width > limit || height > limit) return;
    this.runner.start('pixels', 2, this.#drawPixels(need[0], need[1], width, height));
  }

  *#drawPixels(left, top, width, height) {
    const {painter, engine, about, axes: [down, across]} = this;
    const target = painter.graphics.target('colours', width, height), zero = () => new Array(about.inputs).fill(0);
    painter.clear(target);
    for (const tile of this.#tiles({left: 0, top: 0, right: width, bottom: height}, 1, 1)) {
      const alongColumns = zero(), alongRows = zero();
      alongColumns[across] = about.axes[across].step;
      alongRows[down] = about.axes[down].step;
      const base = this.coordinatesOf(left + tile.x + 0.5, top + tile.y + 0.5);
      yield* engine.run({base, origin: zero(), alongColumns, alongRows, columns: tile.width, ...this.#derivatives()}, 0, tile.width * tile.height);
      painter.paint(target, {...tile, cell: 1}, {...this.look, slab: null});
      yield GPU;
    }
    painter.graphics.free(this.pixels);
    this.pixels = target;
    this.region = [left, top, width, height];
  }

  /** What was fitted, to be shown in place of the field or to be compared with it. */
  setOriginal(bytes, width, height, channels) {
    const colours = new Uint8Array(4 * width * height);
    for (let i = 0; i < width * height; i++) {
      const pixel = bytes.subarray(channels * i, channels * (i + 1));
      colours.set(channels < 3 ? [pixel[0], pixel[0], pixel[0], 255] : [pixel[0], pixel[1], pixel[2], 255], 4 * i);
    }
    this.original = this.painter.graphics.texture('colours', width, height, colours);
  }

  show(backdrop) {
    if (!this.layers) return;
    const ready = this.compare && this.region[2] > 0;
    this.painter.show(this.layers, {
      width: this.width, height: this.height, centre: this.centre, zoom: this.zoom, extent: this.extent, ratio: this.ratio,
      lines: this.lines, compare: ready, divider: this.divider * this.width, pixels: this.pixels, region: this.region, backdrop,
      original: this.original, beside: this.beside,
    });
  }
}

/** What the engine computes beside the values, for a kind of picture of derivatives. */
function derivativesOf(about, mode) {
  const directions = about.units.map((unit, k) => about.units.map((_, j) => (j === k ? 1 / unit : 0)));
  if (mode === LAPLACIAN) return {lanes: SECOND, directions: [directions[0], directions[1] || null, null]};
  return {lanes: about.inputs > 2 ? FIRST : SECOND, directions: [directions[0], directions[1] || null, directions[2] || null]};
}

/** Buttons that zoom, for the controls of a view. */
function zoomButtons(plane) {
  const zoom = (factor) => plane.zoomAt(plane.width / 2, plane.height / 2, factor);
  return [button('−', 'Zoom out (-)', () => zoom(0.5)), button('+', 'Zoom in (+)', () => zoom(2))];
}

/** Buttons that choose the channel that is shown, or all of them as a colour where there is one. */
function channelRow(plane, outputs) {
  const channels = Array.from({length: outputs}, (_, channel) => [channel, String(channel + 1), `Channel ${channel + 1}`]);
  const coloured = plane.look.mode === COLOURS;
  if (coloured) channels.unshift([-1, 'Colours', 'All channels as a colour']);
  const chooser = choice('Channel', channels, (channel) => {
    if (coloured) plane.look = {...plane.look, mode: channel < 0 ? COLOURS : SCALAR};
    plane.look = {...plane.look, channel: Math.max(0, channel)};
    plane.redraw(false);
  });
  chooser.choose(channels[0][0]);
  return element('div', {class: 'row'}, element('span', {}, 'Channel'), chooser);
}
