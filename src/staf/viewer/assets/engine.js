// The network on the graphics card: one pass for each layer over a tile of points. WebGL2 alone is needed, no extension:
// hidden numbers are kept as bits in integer textures.

const MOST_QUADS = 2048;
// Two texels for each of the four lanes.
const POINT_ROWS = 8;

/** Programs and textures of a WebGL2 context. */
class Graphics {
  constructor(gl) {
    this.gl = gl;
    this.programs = new Map();
    gl.bindVertexArray(gl.createVertexArray());
    gl.disable(gl.DITHER);
  }

  /** A program with its uniforms' places, compiled once for each text. */
  program(fragment, vertex = VERTEX) {
    const program = this.prepare(fragment, vertex);
    if (!program.at) this.#finish(program);
    this.gl.useProgram(program.handle);
    return program;
  }

  /** Begin to compile a program: a browser compiles those that nobody waits for side by side. */
  prepare(fragment, vertex = VERTEX) {
    const key = vertex + fragment;
    if (!this.programs.has(key)) this.programs.set(key, this.#begun(vertex, fragment));
    return this.programs.get(key);
  }

  #begun(vertex, fragment) {
    const gl = this.gl, handle = gl.createProgram();
    const shaders = [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]].map(([kind, text]) => {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(handle, shader);
      return shader;
    });
    gl.linkProgram(handle);
    return {handle, shaders};
  }

  #finish(program) {
    const {gl} = this, {handle, shaders} = program, places = new Map();
    if (!gl.getProgramParameter(handle, gl.LINK_STATUS) && !gl.isContextLost()) {
      throw new Error(shaders.map((shader) => gl.getShaderInfoLog(shader)).join('') + gl.getProgramInfoLog(handle));
    }
    for (let i = 0; i < gl.getProgramParameter(handle, gl.ACTIVE_UNIFORMS); i++) {
      const {name} = gl.getActiveUniform(handle, i);
      places.set(name, gl.getUniformLocation(handle, name));
    }
    program.at = (name) => places.get(name) ?? null;
  }

  /** A texture of a size; `kind` is floats, bits or colours. */
  texture(kind, width, height, data = null) {
    const gl = this.gl, texture = gl.createTexture();
    const [inside, format, type] = {
      floats: [gl.RGBA32F, gl.RGBA, gl.FLOAT],
      bits: [gl.RGBA32UI, gl.RGBA_INTEGER, gl.UNSIGNED_INT],
      colours: [gl.RGBA8, gl.RGBA, gl.UNSIGNED_BYTE],
    }[kind];
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, side, gl.NEAREST);
    for (const side of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, side, gl.CLAMP_TO_EDGE);
    gl.texImage2D(gl.TEXTURE_2D, 0, inside, width, height, 0, format, type, data);
    return texture;
  }

  /** Textures that can be drawn into together. */
  target(kind, width, height, count = 1) {
    const gl = this.gl, frame = gl.createFramebuffer();
    const textures = Array.from({length: count}, () => this.texture(kind, width, height));
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    textures.forEach((texture, i) => {
      gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0 + i, gl.TEXTURE_2D, texture, 0);
    });
    gl.drawBuffers(textures.map((_, i) => gl.COLOR_ATTACHMENT0 + i));
    return {frame, textures, width, height};
  }

  free(target) {
    target.textures.forEach((texture) => this.gl.deleteTexture(texture));
    this.gl.deleteFramebuffer(target.frame);
  }

  /** Give textures to the samplers of the program in use, by name. */
  bind(program, textures) {
    const gl = this.gl;
    Object.entries(textures).forEach(([name, texture], unit) => {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.uniform1i(program.at(name), unit);
    });
  }

  /** Draw the program in use over a rectangle of a target, or of the screen. */
  draw(target, x, y, width, height) {
    const gl = this.gl;
    gl.bindFramebuffer(gl.FRAMEBUFFER, target ? target.frame : null);
    gl.viewport(x, y, width, height);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }
}

const PACK = `${PRECISION}
uniform usampler2D lanes_0, lanes_1, lanes_2, lanes_3;
uniform int corner;
out uvec4 packed;
void main() {
  int quad = int(gl_FragCoord.x), channel = int(gl_FragCoord.y) - corner;
  ivec2 at = ivec2(quad, channel / 4);
  int part = channel % 4;
  packed = uvec4(texelFetch(lanes_0, at, 0)[part], texelFetch(lanes_1, at, 0)[part], texelFetch(lanes_2, at, 0)[part],
    texelFetch(lanes_3, at, 0)[part]);
}`;
const PACKED_ROWS = 64;

class Engine {
  constructor(graphics, field) {
    this.graphics = graphics;
    this.field = field;
    // Wide values in memory of at most 8 MB a lane.
    const most = Math.floor(2 ** 19 / Math.max(...field.widths.map(groups)));
    this.quads = Math.min(MOST_QUADS, most, graphics.gl.getParameter(graphics.gl.MAX_TEXTURE_SIZE));
    this.points = isGiven(field) ? graphics.texture('floats', this.quads, POINT_ROWS) : null;
    this.base = new Array(field.inputs).fill(0);
    this.tables = field.steps.map((step, index) => this.#table(index));
    this.grids = field.steps.map((step) => (step.type === 'HashGrid' ? this.#grid(step) : null));
    this.passes = [POINTS, SECOND, FIRST].map((lanes) => passesOf(field, lanes));
    for (const {text} of this.passes[POINTS]) graphics.prepare(text);
    this.#allocate();
    this.result = null;
    this.fast = null;
    this.busy = false;
    this.onFallback = () => {};
    // Quads in a tile; the runner makes it smaller on a slow card.
    this.limit = Math.min(this.quads, 512);
  }

  /** Every stored value gets a set of textures; one that no later pass reads is used again. */
  #allocate() {
    const passes = this.passes[POINTS], last = new Map();
    passes.forEach((pass, i) => pass.sources.forEach((source) => last.set(source, i)));
    const tallest = Math.max(...passes.map(({value}) => groups(this.field.widths[value])));
    const free = [];
    this.slots = [];
    this.slot = new Map();
    passes.forEach(({value, sources}, i) => {
      if (!free.length) {
        free.push(this.slots.length);
        this.slots.push(this.graphics.target('bits', this.quads, tallest, 4));
      }
      this.slot.set(value, free.pop());
      for (const source of sources) if (last.get(source) === i) free.push(this.slot.get(source));
    });
    this.packed = this.graphics.target('bits', this.quads, PACKED_ROWS);
  }

  /** The texture of a step's numbers, laid out as its formula in shaders.js reads them. */
  #table(index) {
    const layout = tableOf(this.field, index, this.base);
    return layout && this.graphics.texture('floats', layout.width, layout.height, layout.data);
  }

  #grid(step) {
    const {width, height, data} = gridOf(step);
    return this.graphics.texture('floats', width, height, data);
  }

  /** Read the numbers of a step again, after they have changed. */
  update(index) {
    if (this.fast) this.fast.update(index);
    if (this.grids[index]) {
      this.graphics.gl.deleteTexture(this.grids[index]);
      this.grids[index] = this.#grid(this.field.steps[index]);
    }
    this.#write(index);
  }

  #write(index) {
    const gl = this.graphics.gl, layout = tableOf(this.field, index, this.base);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.tables[index]);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, layout.width, layout.height, gl.RGBA, gl.FLOAT, layout.data);
  }

  /** Points are given relative to a base, so that float32 is enough at any zoom. */
  #setBase(base) {
    if (base.every((value, k) => value === this.base[k])) return;
    this.base = base.slice();
    this.field.steps.forEach((step, index) => { if (ofBase(step)) this.#write(index); });
  }

  /** How many points a tile can hold. */
  capacity(lanes) {
    const {limit} = this.fast || this;
    return lanes === POINTS ? 4 * limit : limit;
  }

  /** Compute on WebGPU from now on. */
  use(fast) {
    this.fast = fast;
    fast.quads = Math.min(fast.quads, this.graphics.gl.getParameter(this.graphics.gl.MAX_TEXTURE_SIZE));
    this.uploaded = this.graphics.target('bits', fast.quads, groups(this.field.outputs), 4);
  }

  /**
   * Evaluate `count` points from number `first` of a block: base + origin + c columns' + r rows' + s samples' steps,
   * s first. `lanes` says what else than values is computed, `directions` along what. The result is in `this.result`.
   */
  *run(block, first, count) {
    const rows = yield* this.#fastRows(block, first, count);
    if (rows) this.#upload(rows);
    // A tile may have been cut before the card was found to be slow; only one cut for WebGPU does not fit.
    else this.#draw(block, first, Math.min(count, (block.lanes || POINTS) === POINTS ? 4 * this.quads : this.quads));
  }

  /** The outputs from WebGPU, or null where there is none; one tile at a time. */
  *#fastRows(block, first, count) {
    while (this.fast && this.busy) yield WAIT;
    if (this.fast && this.fast.lost) this.#giveUp();
    if (!this.fast) return null;
    const {fast} = this, began = performance.now();
    let rows = null, done = false;
    this.busy = true;
    fast.rows(block, first, count).then((made) => { rows = made; }, () => this.#giveUp()).finally(() => {
      done = true;
      this.busy = false;
    });
    while (!done) yield WAIT;
    const taken = performance.now() - began;
    if (taken < SLICE) fast.limit = Math.min(fast.quads, 2 * fast.limit);
    else if (taken > 4 * SLICE) fast.limit = Math.max(64, fast.limit / 2);
    return rows;
  }

  /** Go on without WebGPU; tiles that were cut for it are drawn again. */
  #giveUp() {
    this.fast = null;
    this.onFallback();
  }

  /** Rows of outputs as lanes in textures. */
  #upload(rows) {
    const {gl} = this.graphics, count = groups(this.field.outputs), quads = rows.length / (16 * count);
    this.result = this.uploaded;
    this.uploaded.textures.forEach((texture, lane) => {
      const part = new Float32Array(4 * quads * count);
      for (let quad = 0; quad < quads; quad++) {
        for (let group = 0; group < count; group++) {
          const from = 4 * ((4 * quad + lane) * count + group);
          part.set(rows.subarray(from, from + 4), 4 * (group * quads + quad));
        }
      }
      gl.activeTexture(gl.TEXTURE0);
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, quads, count, gl.RGBA_INTEGER, gl.UNSIGNED_INT, new Uint32Array(part.buffer));
    });
  }

  /** Points of a block that are given one by one, eight numbers each, as a pass reads them. */
  #place({points}, first, count) {
    const gl = this.graphics.gl, quads = Math.ceil(count / 4), data = new Float32Array(4 * quads * POINT_ROWS);
    for (let n = 0; n < count; n++) {
      for (let part = 0; part < 2; part++) {
        const from = 8 * (first + n) + 4 * part, to = 4 * ((2 * (n % 4) + part) * quads + Math.floor(n / 4));
        for (let k = 0; k < 4; k++) data[to + k] = points[from + k];
      }
    }
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.points);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, quads, POINT_ROWS, gl.RGBA, gl.FLOAT, data);
  }

  #draw(block, first, count) {
    if (block.points) this.#place(block, first, count);
    this.#drawPasses(block, first, count);
  }

  #drawPasses({base, origin, alongColumns, alongRows, alongSamples, columns, samples = 1, lanes = POINTS, directions}, first, count) {
    const {gl} = this.graphics, quads = lanes === POINTS ? Math.ceil(count / 4) : count;
    if (base) this.#setBase(base);
    const four = (vector) => [0, 1, 2, 3].map((k) => (vector && vector[k]) || 0);
    for (const {value, text, tables, grids, sources} of this.passes[lanes]) {
      const program = this.graphics.program(text), textures = {};
      tables.forEach((index, i) => { textures[`table_${i}`] = this.tables[index]; });
      grids.forEach((index, i) => { textures[`grid_${i}`] = this.grids[index]; });
      sources.forEach((source, i) => {
        this.slots[this.slot.get(source)].textures.forEach((texture, lane) => { textures[`lanes_${i}_${lane}`] = texture; });
      });
      if (this.points) textures.points = this.points;
      this.graphics.bind(program, textures);
      gl.uniform1i(program.at('first'), first);
      gl.uniform1i(program.at('columns'), columns);
      gl.uniform1i(program.at('samples'), samples);
      gl.uniform4fv(program.at('origin'), four(origin));
      gl.uniform4fv(program.at('along_columns'), four(alongColumns));
      gl.uniform4fv(program.at('along_rows'), four(alongRows));
      gl.uniform4fv(program.at('along_samples'), four(alongSamples));
      gl.uniformMatrix3x4fv(program.at('directions'), false, [0, 1, 2].flatMap((j) => four(directions && directions[j])));
      this.result = this.slots[this.slot.get(value)];
      this.graphics.draw(this.result, 0, 0, quads, groups(this.field.widths[value]));
    }
  }

  /**
   * All values of a block of `total` points, one Float32Array for each channel: work in slices. Derivatives follow
   * each value where the block asks for them.
   */
  *read(block, total) {
    const [values] = yield* this.readAll([{block, total}]);
    return values;
  }

  /** The same for several blocks, fetched together: an array of arrays. */
  *readAll(wanted) {
    const channels = this.field.outputs, together = Math.max(1, Math.floor(PACKED_ROWS / channels));
    const out = wanted.map(({block, total}) => (
      Array.from({length: channels}, () => new Float32Array(total * (block.lanes ? 4 : 1)))
    ));
    const tiles = [];
    for (let at = 0; at < wanted.length; at++) {
      const {block, total} = wanted[at], each = block.lanes ? 4 : 1;
      for (let first = 0; first < total;) {
        const count = Math.min(this.capacity(block.lanes || POINTS), total - first);
        const rows = yield* this.#fastRows(block, first, count);
        if (rows) scatter(rows, out[at], each, first, count);
        else {
          const fits = Math.min(count, this.capacity(block.lanes || POINTS));
          this.#draw(block, first, fits);
          this.#pack(tiles.length * channels, channels);
          tiles.push({into: out[at], each, first, count: fits});
          first += fits - count;
          yield GPU;
          if (tiles.length === together) yield* this.#collect(tiles);
        }
        first += count;
      }
    }
    yield* this.#collect(tiles);
    return out;
  }

  /** Fetch the tiles that are packed, and put their numbers where they belong. */
  *#collect(tiles) {
    if (!tiles.length) return;
    const channels = this.field.outputs, numbers = yield* this.#fetch(tiles.length * channels);
    tiles.forEach(({into, each, first, count}, row) => into.forEach((values, channel) => {
      const from = (row * channels + channel) * this.quads * 4;
      values.set(numbers.subarray(from, from + count * each), first * each);
    }));
    tiles.length = 0;
  }

  #pack(row, channels) {
    const program = this.graphics.program(PACK), textures = {};
    this.result.textures.forEach((texture, lane) => { textures[`lanes_${lane}`] = texture; });
    this.graphics.bind(program, textures);
    this.graphics.gl.uniform1i(program.at('corner'), row);
    this.graphics.draw(this.packed, 0, row, this.quads, channels);
  }

  /** Rows of packed numbers, fetched without waiting for the card. */
  *#fetch(rows) {
    const gl = this.graphics.gl, buffer = gl.createBuffer(), bytes = this.quads * rows * 16;
    gl.bindBuffer(gl.PIXEL_PACK_BUFFER, buffer);
    gl.bufferData(gl.PIXEL_PACK_BUFFER, bytes, gl.STREAM_READ);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.packed.frame);
    gl.readPixels(0, 0, this.quads, rows, gl.RGBA_INTEGER, gl.UNSIGNED_INT, 0);
    gl.bindBuffer(gl.PIXEL_PACK_BUFFER, null);
    const fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    while (!signalled(gl, fence)) yield WAIT;
    gl.deleteSync(fence);
    const numbers = new Float32Array(bytes / 4);
    gl.bindBuffer(gl.PIXEL_PACK_BUFFER, buffer);
    gl.getBufferSubData(gl.PIXEL_PACK_BUFFER, 0, numbers);
    gl.bindBuffer(gl.PIXEL_PACK_BUFFER, null);
    gl.deleteBuffer(buffer);
    return numbers;
  }
}

/** Rows of outputs to an array for each channel; lanes follow each other. */
function scatter(rows, into, each, first, count) {
  const width = 4 * groups(into.length);
  into.forEach((values, channel) => {
    for (let n = 0; n < each * count; n++) values[each * first + n] = rows[n * width + channel];
  });
}

function groups(width) {
  return Math.ceil(width / 4);
}

function signalled(gl, fence) {
  const status = gl.clientWaitSync(fence, 0, 0);
  return status === gl.ALREADY_SIGNALED || status === gl.CONDITION_SATISFIED || gl.isContextLost();
}
