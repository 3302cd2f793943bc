// The page of a scene: rays are marched here through the cells that hold matter, and the network is evaluated on the
// card. The picture is coarse while the camera moves and is refined when it stands still.

// Cells along a side of the box: few for the first picture, more as soon as there is time.
const MATTER_CELLS = [24, 48];
const RAYS = 4096, WAVE = 16;
// What less light than this reaches is left out.
const LEAST_LIGHT = 1e-4;
// A first picture takes about this many milliseconds.
const QUICK = [40, 160];

const SCENE_SHOW = `${PRECISION}
uniform sampler2D fine, coarse;
uniform vec2 size, cells;
uniform vec3 backdrop;
out vec4 colour;
vec4 smoothly(vec2 p) {
  ivec2 i = ivec2(floor(p)), last = textureSize(coarse, 0) - 1;
  vec2 f = p - vec2(i);
  vec4 a = texelFetch(coarse, clamp(i, ivec2(0), last), 0), b = texelFetch(coarse, clamp(i + ivec2(1, 0), ivec2(0), last), 0);
  vec4 c = texelFetch(coarse, clamp(i + ivec2(0, 1), ivec2(0), last), 0), d = texelFetch(coarse, clamp(i + 1, ivec2(0), last), 0);
  return mix(mix(a, b, f.x), mix(c, d, f.x), f.y);
}
void main() {
  vec2 at = vec2(gl_FragCoord.x, size.y - gl_FragCoord.y);
  vec4 shown = texelFetch(fine, ivec2(at / cells.x), 0);
  if (shown.a == 0.0) shown = smoothly(at / cells.y - 0.5);
  colour = vec4(mix(backdrop, shown.rgb, shown.a), 1.0);
}`;

class SceneView {
  constructor(app) {
    this.app = app;
    const {cameras, background, step, up, middle} = app.field.about.view;
    Object.assign(this, {cameras, background, step, up});
    this.start = middle;
    this.coarsest = 16;
    this.moved = false;
    this.fine = this.#layer(1, 1, 1);
    this.coarse = this.#layer(1, 1, 1);
    this.#controls();
    this.choose(0);
    this.changed();
  }

  #controls() {
    const {app} = this;
    this.chosen = slider('Camera', {min: 1, max: this.cameras.poses.length, step: 1, value: 1, show: (number) => number.toFixed(0)}, (number) => this.choose(number - 1));
    this.own = element('div', {class: 'own'}, this.chosen, element('div', {class: 'row'},
      button('Reset', 'Back to the camera that is chosen (0)', () => this.choose(this.camera)),
      button('−', 'Move away (-)', () => this.#zoom(0.8)), button('+', 'Move closer (+)', () => this.#zoom(1.25)),
      button('Save PNG', 'What the screen shows, as a file', () => app.savePicture())),
    element('p', {class: 'fine'}, 'Drag to turn, with Shift to move. The picture is refined when it stands still.'));
    app.controls.append(this.own);
    this.handlers = {
      move: (dx, dy, event) => (event.shiftKey ? this.#shift(dx, dy) : this.#turn(dx, dy)),
      pan: (dx, dy) => this.#shift(dx, dy),
      zoom: (x, y, factor) => this.#zoom(factor),
      key: (key) => {
        if (key === '0') this.choose(this.camera);
        else return sharedKeys(key, {pan: (dx, dy) => this.#turn(40 * dx, 40 * dy), zoom: (factor) => this.#zoom(factor)});
        return true;
      },
    };
  }

  /** Look through one of the scene's own cameras. */
  choose(camera) {
    this.camera = camera;
    this.chosen.set(camera + 1);
    const column = (k) => this.cameras.poses[camera].map((row) => row[k]);
    this.pose = {right: column(0), up: column(1), back: column(2), position: column(3)};
    this.target = this.start;
    this.#redraw();
  }

  #turn(dx, dy) {
    const speed = 4 / Math.min(this.width, this.height), {pose, target} = this;
    const turned = (axis, angle) => ({
      ...Object.fromEntries(['right', 'up', 'back'].map((name) => [name, rotated(this.pose[name], axis, angle)])),
      position: plus(target, rotated(minus(this.pose.position, target), axis, angle)),
    });
    this.pose = turned(this.up, -dx * speed);
    const tilted = turned(this.pose.right, -dy * speed);
    // Never over the top, where left and right would change places.
    if (dot(tilted.up, this.up) > 0.02 || dot(tilted.up, this.up) > dot(pose.up, this.up)) this.pose = tilted;
    this.#redraw();
  }

  #shift(dx, dy) {
    const {right, up, position} = this.pose, far = length(minus(position, this.target)) / this.#lens().focal[0];
    const by = plus(times(right, -dx * far), times(up, dy * far));
    this.pose = {...this.pose, position: plus(position, by)};
    this.target = plus(this.target, by);
    this.#redraw();
  }

  #zoom(factor) {
    const away = minus(this.pose.position, this.target), far = length(away);
    const wanted = Math.min(20, Math.max(0.05, far / factor));
    this.pose = {...this.pose, position: plus(this.target, times(away, wanted / far))};
    this.#redraw();
  }

  /** Focal length and centre in pixels of the canvas, which shows at least what a photo does. */
  #lens() {
    const {focal, centre, width, height} = this.cameras, scale = Math.min(this.width / width, this.height / height);
    const middle = [this.width / 2, this.height / 2], half = [width / 2, height / 2];
    return {
      focal: focal[this.camera].map((number) => number * scale),
      centre: centre[this.camera].map((number, k) => middle[k] + (number - half[k]) * scale),
    };
  }

  changed() {
    this.app.runner.start('matter', 2, this.#findMatter());
  }

  /** Look for the cells that hold matter, in few cells first. */
  *#findMatter() {
    for (const cells of MATTER_CELLS) {
      const density = new Float32Array(cells ** 3), points = new Float32Array(16 * cells ** 2), {engine} = this.app;
      for (let i = 0; i < cells; i++) {
        for (let n = 0; n < 2 * cells ** 2; n++) {
          const cell = [i, Math.floor(n / 2 / cells), Math.floor(n / 2) % cells];
          // Two places in each cell, spread evenly over many cells; directions do not matter to density.
          for (let k = 0; k < 3; k++) points[8 * n + k] = (2 * (cell[k] + ((n + 37 * i) * SPREAD[k]) % 1)) / cells - 1;
        }
        const [found] = yield* engine.read({points}, 2 * cells ** 2);
        for (let n = 0; n < cells ** 2; n++) density[i * cells ** 2 + n] = Math.max(found[2 * n], found[2 * n + 1]);
        if (!this.occupied) this.app.status(`looking for matter: ${Math.round((100 * (i + 1)) / cells)} %`);
      }
      const mean = density.reduce((sum, value) => sum + value, 0) / density.length, enough = Math.min(mean, 0.01 / this.step);
      this.occupied = {cells, full: withNeighbours(density.map((value) => Number(value > enough)), cells)};
      this.#redraw();
    }
  }

  #redraw() {
    this.moved = true;
    if (this.occupied && this.width && !this.app.runner.jobs.has('scene')) this.app.runner.start('scene', 1, this.#job());
  }

  *#job() {
    while (this.moved) {
      this.moved = false;
      const finest = Math.max(1, Math.round(this.ratio)), began = performance.now(), first = Math.max(finest, this.coarsest);
      for (let cell = first; cell >= finest; cell = cell === finest ? 0 : Math.max(finest, Math.floor(cell / 2))) {
        // The first picture is always finished, so that something is seen while the camera moves.
        yield* this.#level(cell, cell === first);
        if (cell === first) {
          const taken = performance.now() - began;
          if (taken > QUICK[1]) this.coarsest = Math.min(32, 2 * this.coarsest);
          else if (taken < QUICK[0]) this.coarsest = Math.max(4, this.coarsest / 2);
        }
        if (this.moved) break;
      }
    }
    this.app.status('');
  }

  /** A picture of cells of so many pixels. */
  *#level(cell, first) {
    const columns = Math.ceil(this.width / cell), rows = Math.ceil(this.height / cell), step = this.step * Math.min(8, cell);
    const camera = {...this.pose, ...this.#lens()}, layer = this.#layer(columns, rows, cell);
    for (let start = 0; start < columns * rows; start += RAYS) {
      const count = Math.min(RAYS, columns * rows - start);
      const directions = new Float32Array(3 * count);
      for (let n = 0; n < count; n++) {
        const x = (((start + n) % columns) + 0.5) * cell, y = (Math.floor((start + n) / columns) + 0.5) * cell;
        const right = (x - camera.centre[0]) / camera.focal[0], down = (y - camera.centre[1]) / camera.focal[1];
        const towards = minus(minus(times(camera.right, right), times(camera.up, down)), camera.back);
        directions.set(times(towards, 1 / length(towards)), 3 * n);
      }
      const colours = yield* this.#march(camera.position, directions, step, first);
      if (!colours) {
        this.app.graphics.gl.deleteTexture(layer.texture);
        return;
      }
      layer.colours.set(colours, 4 * start);
      this.#upload(layer, first || start === 0);
      if (!first) this.app.status(`refining: ${Math.round((100 * (start + count)) / (columns * rows))} %`);
      this.app.show();
      yield CPU;
    }
    this.#replace('coarse', layer);
  }

  /** Colours of rays from one place; null where the camera has moved meanwhile, unless they are wanted at once. */
  *#march(origin, directions, step, first) {
    const count = directions.length / 3, colour = new Float32Array(3 * count), light = new Float32Array(count).fill(1);
    const at = new Float64Array(count), far = new Float64Array(count), points = new Float32Array(8 * WAVE * count), of = new Int32Array(WAVE * count);
    for (let n = 0; n < count; n++) {
      const [enters, leaves] = throughBox(origin, directions, 3 * n);
      [at[n], far[n]] = [enters + step / 2, leaves];
    }
    for (;;) {
      let taken = 0;
      for (let n = 0; n < count; n++) {
        if (light[n] < LEAST_LIGHT) continue;
        for (let sample = 0; sample < WAVE; sample++) {
          at[n] = this.#nextMatter(origin, directions, 3 * n, at[n], far[n], step);
          if (!(at[n] < far[n])) break;
          for (let k = 0; k < 3; k++) {
            points[8 * taken + k] = Math.min(1, Math.max(-1, origin[k] + at[n] * directions[3 * n + k]));
            points[8 * taken + 3 + k] = directions[3 * n + k];
          }
          of[taken] = n;
          taken += 1;
          at[n] += step;
        }
        if (n % 256 === 255) yield CPU;
      }
      if (!taken) break;
      const values = yield* this.app.engine.read({points}, taken);
      for (let i = 0; i < taken; i++) {
        const n = of[i];
        if (light[n] < LEAST_LIGHT) continue;
        const passes = Math.exp(-values[0][i] * step), share = light[n] * (1 - passes);
        for (let k = 0; k < 3; k++) colour[3 * n + k] += share * values[k + 1][i];
        light[n] *= passes;
      }
      if (this.moved && !first) return null;
    }
    const bytes = new Uint8Array(4 * count).fill(255);
    for (let n = 0; n < count; n++) {
      for (let k = 0; k < 3; k++) bytes[4 * n + k] = Math.round(255 * Math.min(1, Math.max(0, colour[3 * n + k] + light[n] * this.background[k])));
    }
    return bytes;
  }

  /** The next of the places t, t + step, ... of a ray that lies in a cell with matter. */
  #nextMatter(origin, directions, ray, t, far, step) {
    const {cells, full} = this.occupied, half = cells / 2;
    while (t < far) {
      let index = 0, out = Infinity;
      for (let k = 0; k < 3; k++) {
        const towards = directions[ray + k], place = (origin[k] + t * towards + 1) * half;
        const cell = Math.min(cells - 1, Math.max(0, Math.floor(place)));
        index = index * cells + cell;
        if (towards !== 0) out = Math.min(out, ((towards > 0 ? cell + 1 : cell) - place) / (half * towards));
      }
      if (full[index]) return t;
      t += step * Math.max(1, Math.ceil(out / step - 1e-6));
    }
    return t;
  }

  #layer(columns, rows, cell) {
    const colours = new Uint8Array(4 * columns * rows);
    return {columns, rows, cell, colours, texture: this.app.graphics.texture('colours', columns, rows, colours)};
  }

  /** Show what there is of a layer. */
  #upload(layer, fresh) {
    const {gl} = this.app.graphics;
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, layer.texture);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, layer.columns, layer.rows, gl.RGBA, gl.UNSIGNED_BYTE, layer.colours);
    if (fresh && this.fine !== layer) this.#replace('fine', layer);
  }

  #replace(name, layer) {
    const old = this[name];
    this[name] = layer;
    if (this.fine !== old && this.coarse !== old) this.app.graphics.gl.deleteTexture(old.texture);
  }

  resize(width, height, ratio) {
    Object.assign(this, {width, height, ratio});
    this.#redraw();
  }

  show() {
    const {graphics} = this.app, {gl} = graphics, program = graphics.program(SCENE_SHOW);
    graphics.bind(program, {fine: this.fine.texture, coarse: this.coarse.texture});
    gl.uniform2f(program.at('size'), this.width, this.height);
    gl.uniform2f(program.at('cells'), this.fine.cell, this.coarse.cell);
    gl.uniform3f(program.at('backdrop'), ...styleColour('--backdrop'));
    graphics.draw(null, 0, 0, this.width, this.height);
  }
}

const SPREAD = [0.8191725, 0.6710436, 0.5497005];
const plus = (a, b) => a.map((value, k) => value + b[k]);
const minus = (a, b) => a.map((value, k) => value - b[k]);
const times = (a, factor) => a.map((value) => factor * value);
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const length = (a) => Math.hypot(...a);

/** A vector turned around a unit axis. */
function rotated(v, axis, angle) {
  const c = Math.cos(angle), s = Math.sin(angle), along = dot(v, axis) * (1 - c);
  const across = [axis[1] * v[2] - axis[2] * v[1], axis[2] * v[0] - axis[0] * v[2], axis[0] * v[1] - axis[1] * v[0]];
  return v.map((value, k) => value * c + across[k] * s + axis[k] * along);
}

/** Where a ray enters and leaves the box [-1, 1]^3; it is not entered behind the camera. */
function throughBox(origin, directions, ray) {
  let enters = 0, leaves = Infinity;
  for (let k = 0; k < 3; k++) {
    const towards = directions[ray + k] || 1e-12, sides = [(-1 - origin[k]) / towards, (1 - origin[k]) / towards];
    enters = Math.max(enters, Math.min(...sides));
    leaves = Math.min(leaves, Math.max(...sides));
  }
  return [enters, leaves];
}

/** Cells that hold matter or touch one that does. */
function withNeighbours(full, cells) {
  let grown = Uint8Array.from(full);
  for (const along of [1, cells, cells ** 2]) {
    const before = grown;
    grown = before.slice();
    for (let n = 0; n < before.length; n++) {
      const place = Math.floor(n / along) % cells;
      if ((place > 0 && before[n - along]) || (place < cells - 1 && before[n + along])) grown[n] = 1;
    }
  }
  return grown;
}
