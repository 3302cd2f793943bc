// The page: reads what it holds, chooses the view for it, and keeps both together.

const VIEWS = {picture: PictureView, trace: SoundView, sound: SoundView, surface: ShapeView, slices: SliceView, scene: SceneView};

class App {
  constructor(description, bytes) {
    this.field = new Field(description, bytes);
    this.canvas = document.getElementById('canvas');
    this.controls = document.getElementById('controls');
    this.fileName = description.meaning.name.replace(/[^\w.-]+/g, '_') || 'field';
    const gl = this.canvas.getContext('webgl2', {
      alpha: false, antialias: description.view.type === 'surface', powerPreference: 'high-performance',
    });
    if (!gl) throw new Sentence(
      'This page needs WebGL2, which this browser does not offer or has switched off. Open it in a current version of '
      + 'Chrome, Edge, Firefox or Safari, or switch on hardware acceleration in the settings.',
    );
    this.graphics = new Graphics(gl);
    this.engine = new Engine(this.graphics, this.field);
    this.painter = new Painter(this.graphics, this.engine);
    this.runner = new Runner(gl, this.engine);
    this.runner.onSlice = () => this.#progress();
    this.lastShown = this.began = performance.now();
    this.runner.onStart = () => { this.began = performance.now(); };
    this.runner.onError = (error) => tell(error);
    this.canvas.addEventListener('webglcontextlost', () => tell(new Sentence('The graphics card was reset: reload this page.')));
    this.view = new VIEWS[description.view.type](this);
    this.engine.onFallback = () => this.view.changed();
    gestures(this.canvas, () => this.view.handlers);
    this.activations = new ActivationPanel(this.field, (index) => {
      this.engine.update(index);
      this.view.changed();
    });
    const panel = document.getElementById('activations');
    panel.append(this.activations.element);
    panel.hidden = !this.activations.list.length;
    new ResizeObserver(() => this.#resize()).observe(this.canvas);
    this.#resize();
  }

  #resize() {
    const box = this.canvas.getBoundingClientRect(), ratio = Math.min(window.devicePixelRatio || 1, 2);
    const width = Math.max(1, Math.round(box.width * ratio)), height = Math.max(1, Math.round(box.height * ratio));
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, {width, height});
    this.view.resize(width, height, ratio);
    this.show();
  }

  /** Take the numbers of another field of the same network; of another network, load the page again. */
  replace(description, bytes) {
    const field = new Field(description, bytes);
    if (structure(field) !== structure(this.field)) {
      location.reload();
      return;
    }
    Object.assign(this.field, field);
    this.field.steps.forEach((_, index) => { if (this.engine.tables[index]) this.engine.update(index); });
    this.activations.refresh();
    if (this.view.refresh) this.view.refresh();
    else this.view.changed();
  }

  /** A few words about what is going on. */
  status(words) {
    document.getElementById('status').textContent = words;
  }

  /** What the screen shows, as a file. */
  savePicture() {
    // Drawn now: a browser forgets what it has shown.
    this.view.show();
    this.canvas.toBlob((blob) => download(`${this.fileName}.png`, blob));
  }

  /** All values of a block of points, as a promise; see `Engine.read`. */
  read(name, block, total) {
    return new Promise((done) => {
      const engine = this.engine;
      this.runner.start(name, 0, (function* job() { done(yield* engine.read(block, total)); })());
    });
  }

  /** The colours on the screen, row by row from the top, when all work is done. */
  async pixels() {
    await this.runner.idle();
    const {gl} = this.graphics, {width, height} = this.canvas, flipped = new Uint8Array(4 * width * height);
    this.view.show();
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, flipped);
    const rows = Array.from({length: height}, (_, row) => flipped.subarray(4 * width * row, 4 * width * (row + 1)));
    const out = new Uint8Array(flipped.length);
    rows.reverse().forEach((row, i) => out.set(row, 4 * width * i));
    return out;
  }

  /** Show what has been done, less often the longer it takes: drawing the screen takes time from the work. */
  #progress() {
    const now = performance.now();
    if (!this.runner.jobs.size || now - this.lastShown > Math.min(600, 40 + (now - this.began) / 8)) this.show();
  }

  /** Draw the screen again at the next frame. */
  show() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.lastShown = performance.now();
      this.view.show();
    });
  }
}

/** What two fields must share for one to take the other's place. */
function structure({about, steps}) {
  const shapes = steps.map(({type, sources, arrays}) => [type, sources, Object.values(arrays).map(({shape}) => shape)]);
  return JSON.stringify([about.view, about.shape, about.meaning.value_range, shapes]);
}

/** A message for the person who looks at the page. */
class Sentence extends Error {}

function tell(error) {
  const message = document.getElementById('message');
  message.textContent = error instanceof Sentence ? error.message : `This page cannot show its field: ${error.message}`;
  message.hidden = false;
  document.body.dataset.ready = 'failed';
}

async function start() {
  const held = document.getElementById('description').textContent;
  try {
    const app = held
      ? new App(JSON.parse(held), bytesOf(document.getElementById('numbers').textContent))
      : new App(...unpacked(await fetched('field')));
    window.staf = app;
    if (!held) app.live = new Live(app);
    // The first picture does not wait for WebGPU.
    const told = document.getElementById('computed');
    WebGpu.start(app.field).then((fast) => {
      app.engine.use(fast);
      told.textContent = 'WebGPU';
    }).catch((error) => {
      told.textContent = 'WebGL2';
      told.title = error.message;
    });
    app.runner.idle().then(() => { document.body.dataset.ready = 'yes'; });
  } catch (error) {
    tell(error);
  }
}

start();
