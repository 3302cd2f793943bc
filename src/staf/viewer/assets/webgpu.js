// The network on WebGPU, where there is one: the same values as the engine's, in a fraction of the time.

class WebGpu {
  /** WebGPU for a network, checked against float64; throws where there is none or where it is wrong. */
  static async start(field) {
    const adapter = navigator.gpu && await navigator.gpu.requestAdapter();
    if (!adapter) throw new Error('there is no WebGPU');
    if (isGiven(field)) throw new Error('scenes are computed with WebGL2');
    const made = new WebGpu(await adapter.requestDevice(), field);
    await made.#check();
    return made;
  }

  constructor(device, field) {
    this.device = device;
    this.field = field;
    this.lost = false;
    device.lost.then(() => { this.lost = true; });
    this.base = new Array(field.inputs).fill(0);
    this.passes = [POINTS, SECOND, FIRST].map((lanes) => passesOf(field, lanes));
    this.pipelines = [new Map(), new Map(), new Map()];
    this.#place();
    const widest = Math.max(...this.passes[POINTS].map(({value}) => groups(field.widths[value])));
    const most = Math.min(device.limits.maxStorageBufferBindingSize, 2 ** 25);
    this.quads = Math.min(4096, Math.floor(most / (64 * widest)));
    this.limit = Math.min(this.quads, 512);
    this.values = this.passes[POINTS].map(() => this.#buffer(64 * this.quads * widest, GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC));
    this.block = this.#buffer(16 * 8, GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST);
    this.back = this.#buffer(64 * this.quads * groups(field.outputs), GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST);
  }

  #buffer(size, usage) {
    return this.device.createBuffer({size, usage});
  }

  /** Where each table lies in the one buffer of numbers. */
  #place() {
    let at = 0;
    this.places = this.field.steps.map((_, index) => {
      const table = tableOf(this.field, index, this.base);
      if (!table) return null;
      const place = {at, width: table.width, height: table.height};
      at += table.width * table.height;
      if (this.field.steps[index].type === 'HashGrid') {
        place.grid = at;
        at += Math.ceil(this.field.steps[index].arrays.table.values.length / 4);
      }
      return place;
    });
    this.numbers = this.#buffer(16 * at, GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST);
    this.places.forEach((place, index) => { if (place) this.update(index); });
  }

  /** Read the numbers of a step again, after they have changed. */
  update(index) {
    const {grid} = this.places[index];
    this.#write(index);
    if (grid !== undefined) this.device.queue.writeBuffer(this.numbers, 16 * grid, this.field.steps[index].arrays.table.values);
  }

  #write(index) {
    this.device.queue.writeBuffer(this.numbers, 16 * this.places[index].at, tableOf(this.field, index, this.base).data);
  }

  #setBase(base) {
    if (base.every((value, k) => value === this.base[k])) return;
    this.base = base.slice();
    this.field.steps.forEach((step, index) => { if (ofBase(step)) this.#write(index); });
  }

  #pipeline(lanes, pass, number) {
    const known = this.pipelines[lanes];
    if (!known.has(number)) {
      const module = this.device.createShaderModule({code: wgslOf(this.field, pass, lanes, this.places)});
      const order = this.passes[lanes].map(({value}) => value);
      const buffers = [this.block, this.numbers, this.values[number], ...pass.sources.map((source) => this.values[order.indexOf(source)])];
      // Said in full: a pass may leave numbers or the block unread.
      const types = buffers.map((_, binding) => ['uniform', 'read-only-storage', 'storage'][binding] || 'read-only-storage');
      const layout = this.device.createBindGroupLayout({
        entries: types.map((type, binding) => ({binding, visibility: GPUShaderStage.COMPUTE, buffer: {type}})),
      });
      const pipeline = this.device.createComputePipeline({
        layout: this.device.createPipelineLayout({bindGroupLayouts: [layout]}), compute: {module, entryPoint: 'main'},
      });
      const entries = buffers.map((buffer, binding) => ({binding, resource: {buffer}}));
      known.set(number, {pipeline, group: this.device.createBindGroup({layout, entries})});
    }
    return known.get(number);
  }

  /** Rows of outputs of `count` points of a block: four numbers a group, of each lane where there are derivatives. */
  async rows({base, origin, alongColumns, alongRows, alongSamples, columns, samples = 1, lanes = POINTS, directions}, first, count) {
    const rows = lanes === POINTS ? count : 4 * count, quads = Math.ceil(rows / 4), {device} = this;
    this.#setBase(base);
    const data = new Float32Array(32), whole = new Int32Array(data.buffer);
    whole.set([first, columns, samples, 4 * quads]);
    [origin, alongColumns, alongRows, alongSamples, ...(directions || [])].forEach((vector, i) => { if (vector) data.set(vector, 4 + 4 * i); });
    device.queue.writeBuffer(this.block, 0, data);
    const encoder = device.createCommandEncoder(), last = this.passes[lanes].length - 1;
    this.passes[lanes].forEach((pass, number) => {
      const {pipeline, group} = this.#pipeline(lanes, pass, number), made = encoder.beginComputePass();
      made.setPipeline(pipeline);
      made.setBindGroup(0, group);
      made.dispatchWorkgroups(Math.ceil(quads / TILE_QUADS), Math.ceil(groups(this.field.widths[pass.value]) / TILE_GROUPS));
      made.end();
    });
    const bytes = 64 * quads * groups(this.field.outputs);
    encoder.copyBufferToBuffer(this.values[last], 0, this.back, 0, bytes);
    device.queue.submit([encoder.finish()]);
    await this.back.mapAsync(GPUMapMode.READ, 0, bytes);
    const numbers = new Float32Array(this.back.getMappedRange(0, bytes)).slice();
    this.back.unmap();
    return numbers;
  }

  /** Compare it with the formulas at a few points. */
  async #check() {
    const inputs = this.field.inputs, zero = new Array(inputs).fill(0), along = zero.map((_, k) => 0.21 - 0.13 * k);
    this.device.pushErrorScope('validation');
    const rows = await this.rows({base: zero, origin: zero.map(() => -0.7), alongColumns: along, alongRows: zero, columns: 8}, 0, 8);
    const problem = await this.device.popErrorScope();
    if (problem) throw new Error(problem.message);
    for (let n = 0; n < 8; n++) {
      const values = this.field.everyValue(along.map((step) => -0.7 + n * step)), exact = values[values.length - 1];
      const size = Math.max(1, ...exact.map(Math.abs));
      for (let c = 0; c < exact.length; c++) {
        // Written so that NaN is refused too.
        if (!(Math.abs(rows[4 * groups(exact.length) * n + c] - exact[c]) < 2e-3 * size)) throw new Error('WebGPU computes other values');
      }
    }
  }
}
