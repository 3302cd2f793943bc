// The page of a shape: its surface, computed here as a mesh and turned with mouse, touch or keys; and slices.

const MESH_VERTEX = `#version 300 es
layout(location = 0) in vec3 vertex;
layout(location = 1) in vec3 normal;
uniform mat3 turn;
uniform vec4 lens;
uniform float distance_to;
// Not extrapolated beyond triangles that are smaller than a pixel.
centroid out vec3 seen_normal;
void main() {
  vec3 p = turn * vertex;
  seen_normal = turn * normal;
  float z = distance_to - p.z;
  // The box alone is within reach, so that 16 bits of depth are enough.
  float near = max(0.05, distance_to - 1.8), far = distance_to + 1.8;
  gl_Position = vec4(p.xy * lens.xy + lens.zw * z, ((far + near) * z - 2.0 * far * near) / (far - near), z);
}`;
const MESH_FRAGMENT = `${PRECISION}
uniform vec3 colour;
centroid in vec3 seen_normal;
out vec4 shown;
void main() {
  vec3 n = normalize(seen_normal);
  float key = max(0.0, dot(n, normalize(vec3(-0.45, 0.6, 0.65)))), fill = max(0.0, dot(n, normalize(vec3(0.7, 0.1, 0.5))));
  float sky = 0.5 + 0.5 * n.y, rim = pow(1.0 - max(0.0, n.z), 3.0);
  shown = vec4(pow(colour * (0.16 + 0.62 * key + 0.18 * fill + 0.14 * sky) + 0.06 * rim, vec3(1.0 / 1.6)), 1.0);
}`;
const DISTANCE = 2.8;
const RESOLUTIONS = [32, 64, 128, 256, 512];

class SurfaceView {
  constructor(app) {
    this.app = app;
    this.angles = [0.6, 0.3];
    this.distance = DISTANCE;
    this.shift = [0, 0];
    this.mesh = null;
    const {about} = app.field;
    const longest = Math.max(...about.units);
    this.half = about.units.map((unit) => unit / longest);
    this.#controls();
    this.wanted = 128;
    this.compute();
  }

  #controls() {
    const {app} = this;
    this.finer = button('Finer', 'Twice the resolution of the mesh', () => {
      this.wanted = Math.min(512, 2 * this.wanted);
      this.compute();
    });
    this.own = element('div', {class: 'row'},
      button('Front', 'Look from the front (0)', () => this.look(0, 0)), button('Side', 'Look from the side', () => this.look(Math.PI / 2, 0)),
      button('Top', 'Look from above', () => this.look(0, Math.PI / 2)), this.finer,
      button('Save mesh', 'The surface as a PLY file, in the units of the original', () => this.save()));
    app.controls.append(this.own);
    this.handlers = {
      move: (dx, dy, event) => (event.shiftKey ? this.#move(dx, dy) : this.#turn(dx, dy)),
      pan: (dx, dy) => this.#move(dx, dy),
      zoom: (x, y, factor) => this.#zoom(factor),
      key: (key) => {
        if (key === '0') this.look(0, 0);
        else return sharedKeys(key, {pan: (dx, dy) => this.#turn(-60 * dx, -60 * dy), zoom: (factor) => this.#zoom(factor)});
        return true;
      },
    };
  }

  look(azimuth, elevation) {
    this.angles = [azimuth, elevation];
    this.shift = [0, 0];
    this.distance = DISTANCE;
    this.app.show();
  }

  #turn(dx, dy) {
    const speed = 4 / Math.min(this.width, this.height);
    this.angles = [this.angles[0] + dx * speed, Math.max(-1.57, Math.min(1.57, this.angles[1] + dy * speed))];
    this.app.show();
  }

  #move(dx, dy) {
    this.shift = [this.shift[0] + (2 * dx) / this.width, this.shift[1] - (2 * dy) / this.height];
    this.app.show();
  }

  #zoom(factor) {
    this.distance = Math.max(0.8, Math.min(20, this.distance / factor));
    this.app.show();
  }

  /** Compute the surface, coarse first. */
  compute() {
    this.finer.disabled = this.wanted >= 512;
    this.app.runner.start('mesh', 1, this.#job());
  }

  *#job() {
    const {engine} = this.app, longest = Math.max(...this.half);
    // What is there already need not be computed again, unless the network has changed.
    let coarse = null;
    for (const resolution of RESOLUTIONS.filter((each) => each <= this.wanted)) {
      const counts = this.half.map((half) => Math.max(2, Math.round((resolution * half) / longest)));
      const grid = yield* refined(engine, counts, coarse, (done) => {
        this.app.status(`surface at ${resolution}: ${Math.round(100 * done)} %`);
      });
      const {vertices, triangles} = yield* surfaceNets(grid);
      coarse = grid;
      if (!triangles.length) {
        if (resolution >= Math.min(64, this.wanted)) this.app.status('there is no surface: no value crosses the level');
        continue;
      }
      this.#upload(vertices, triangles, counts);
      this.app.status(resolution === this.wanted ? '' : `surface at ${resolution}`);
      this.app.show();
    }
    this.count();
  }

  /** Say how large the mesh is, where it is what the screen shows. */
  count() {
    if (this.mesh) this.app.status(this.own.hidden ? '' : `${(this.mesh.triangles.length / 3).toLocaleString('en')} triangles`);
  }

  #upload(samples, triangles, counts) {
    const gl = this.app.graphics.gl, vertices = new Float32Array(samples.length);
    for (let at = 0; at < samples.length; at += 3) {
      for (let k = 0; k < 3; k++) vertices[at + k] = ((2 * samples[at + k] + 1) / counts[k] - 1) * this.half[k];
    }
    const plain = gl.getParameter(gl.VERTEX_ARRAY_BINDING), array = gl.createVertexArray(), buffers = [];
    gl.bindVertexArray(array);
    [vertices, normalsOf(vertices, triangles)].forEach((data, place) => {
      buffers.push(gl.createBuffer());
      gl.bindBuffer(gl.ARRAY_BUFFER, buffers[place]);
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, 3, gl.FLOAT, false, 0, 0);
    });
    buffers.push(gl.createBuffer());
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffers[2]);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, triangles, gl.STATIC_DRAW);
    gl.bindVertexArray(plain);
    if (this.mesh) {
      this.mesh.buffers.forEach((buffer) => gl.deleteBuffer(buffer));
      gl.deleteVertexArray(this.mesh.array);
    }
    this.mesh = {array, buffers, vertices, triangles, counts};
  }

  resize(width, height) {
    Object.assign(this, {width, height});
  }

  show() {
    const {graphics, engine} = this.app, {gl} = graphics, backdrop = styleColour('--backdrop');
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, this.width, this.height);
    gl.clearColor(...backdrop, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    if (!this.mesh) return;
    const program = graphics.program(MESH_FRAGMENT, MESH_VERTEX), [azimuth, elevation] = this.angles;
    const [s, c, t, d] = [Math.sin(azimuth), Math.cos(azimuth), Math.sin(elevation), Math.cos(elevation)];
    // Columns: where the axes of the shape go on the screen; the second axis is up.
    gl.uniformMatrix3fv(program.at('turn'), false, [c, s * t, -s * d, 0, d, t, s, -c * t, c * d]);
    const focus = 2.2, small = Math.min(this.width, this.height);
    gl.uniform4f(program.at('lens'), (focus * small) / this.width, (focus * small) / this.height, ...this.shift);
    gl.uniform1f(program.at('distance_to'), this.distance);
    gl.uniform3f(program.at('colour'), 0.72, 0.76, 0.82);
    const plain = gl.getParameter(gl.VERTEX_ARRAY_BINDING);
    gl.bindVertexArray(this.mesh.array);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.CULL_FACE);
    gl.drawElements(gl.TRIANGLES, this.mesh.triangles.length, gl.UNSIGNED_INT, 0);
    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.CULL_FACE);
    gl.bindVertexArray(plain);
  }

  changed() {
    this.compute();
  }

  /** The mesh in the frame of the original, as binary PLY. */
  save() {
    if (!this.mesh) return;
    const {vertices, triangles} = this.mesh, count = vertices.length / 3;
    const head = new TextEncoder().encode([
      'ply', 'format binary_little_endian 1.0', `element vertex ${count}`, 'property float x', 'property float y', 'property float z',
      `element face ${triangles.length / 3}`, 'property list uchar uint vertex_indices', 'end_header', '',
    ].join('\n'));
    const data = new DataView(new ArrayBuffer(12 * count + (13 * triangles.length) / 3));
    const {scale, shift} = this.app.field.about.view;
    for (let at = 0; at < vertices.length; at++) {
      data.setFloat32(4 * at, (vertices[at] / this.half[at % 3]) * scale[at % 3] + shift[at % 3], true);
    }
    for (let t = 0, at = 12 * count; t < triangles.length; t += 3, at += 13) {
      data.setUint8(at, 3);
      for (let k = 0; k < 3; k++) data.setUint32(at + 1 + 4 * k, triangles[t + k], true);
    }
    download(`${this.app.fileName}.ply`, new Blob([head, data]));
  }
}
