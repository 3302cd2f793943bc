// The page of a recording: its waveform at any zoom, its spectrogram, play and download at any rate.

const CHUNK = 1 << 16;
const DECIBELS = 80;

class SoundView {
  constructor(app) {
    this.app = app;
    const {about} = app.field;
    this.count = about.shape[0];
    this.rate = about.view.rate || null;
    this.channels = app.field.outputs;
    this.samples = Array.from({length: this.channels}, () => new Float32Array(this.count));
    this.known = 0;
    this.range = [0, this.count];
    this.close = null;
    this.wave = element('canvas', {class: 'strip wave', tabindex: 0, role: 'img', 'aria-label': 'Waveform: drag to move, scroll to zoom'});
    this.picture = element('canvas', {class: 'strip spectrogram', role: 'img', 'aria-label': 'Spectrogram'});
    app.canvas.hidden = true;
    app.canvas.after(this.wave, ...(this.rate ? [this.picture] : []));
    this.#controls();
    this.handlers = {
      move: (dx) => this.#moveBy(-dx / this.wave.width),
      pan: (dx) => this.#moveBy(-dx / this.wave.width),
      zoom: (x, y, factor) => this.zoomAt(x / this.wave.width, factor),
      key: (key) => {
        if (key === '0') this.showRange(0, this.count);
        else if (key === ' ' && this.rate) this.#play();
        else return sharedKeys(key, {pan: (dx) => this.#moveBy(-dx / 8), zoom: (factor) => this.zoomAt(0.5, factor)});
        return true;
      },
    };
    gestures(this.wave, () => this.handlers);
    gestures(this.picture, () => this.handlers);
    new ResizeObserver(() => this.#resize()).observe(this.wave);
    this.#compute();
  }

  #controls() {
    const {app} = this;
    this.text = element('output', {class: 'place'});
    app.controls.append(element('div', {class: 'row'},
      button('All', 'Show all of it (0)', () => this.showRange(0, this.count)), button('−', 'Zoom out (-)', () => this.zoomAt(0.5, 0.5)),
      button('+', 'Zoom in (+)', () => this.zoomAt(0.5, 2))));
    if (this.rate) {
      this.chosen = element('input', {type: 'number', min: 1, max: 768000, step: 1, list: 'rates', 'aria-label': 'Samples per second'});
      this.chosen.value = this.rate;
      const rates = element('datalist', {id: 'rates'}, ...[8000, 16000, 22050, 44100, 48000, 96000].map((value) => element('option', {value})));
      this.player = button('Play', 'Play what is shown (space)', () => this.#play());
      this.saver = button('Save WAV', 'All of it, as a file at this rate', () => this.#save());
      app.controls.append(
        element('div', {class: 'row'}, this.player, this.saver),
        element('label', {class: 'row'}, this.chosen, rates, 'samples per second'));
    }
    app.controls.append(this.text);
  }

  /** The recording at its own rate, chunk by chunk. */
  #compute() {
    this.known = 0;
    this.close = null;
    this.app.runner.start('samples', 1, this.#job());
  }

  *#job() {
    for (let start = 0; start < this.count; start += CHUNK) {
      const count = Math.min(CHUNK, this.count - start);
      const parts = yield* this.app.engine.read(this.#block(start + 0.5, 1), count);
      parts.forEach((values, channel) => this.samples[channel].set(this.#held(values), start));
      this.known = start + count;
      this.app.status(this.known < this.count ? `${Math.round((100 * this.known) / this.count)} % computed` : '');
      this.draw();
    }
    this.peak = this.rate ? loudest(this.samples[0]) : 0;
    this.#spectrogram();
  }

  /** Points from a place on, a fixed step apart; both in samples. */
  #block(place, step) {
    const {start, step: unit} = this.app.field.about.axes[0];
    // Rows of so many points: their numbers stay exact in float32.
    const columns = 4096;
    return {base: [start + unit * place], origin: [0], alongColumns: [unit * step], alongRows: [unit * step * columns], columns};
  }

  /** Values in the units of the signal, held to its range. */
  #held(values) {
    const {value_offset: offset, value_scale: scale, value_range: [low, high]} = this.app.field.about.meaning;
    return values.map((value) => Math.min(high, Math.max(low, offset + scale * value)));
  }

  showRange(from, to) {
    const least = 8, length = Math.min(this.count, Math.max(least, to - from));
    const start = Math.min(Math.max(0, from), this.count - length);
    this.range = [start, start + length];
    this.close = null;
    if (length < 2 * this.wave.width) this.app.runner.start('wave', 0, this.#closeUp());
    this.draw();
    this.#spectrogram();
  }

  zoomAt(share, factor) {
    const [from, to] = this.range, length = (to - from) / factor, middle = from + share * (to - from);
    this.showRange(middle - share * length, middle + (1 - share) * length);
  }

  #moveBy(share) {
    const [from, to] = this.range;
    this.showRange(from + share * (to - from), to + share * (to - from));
  }

  /** The network itself between the samples: two points for each pixel. */
  *#closeUp() {
    const [from, to] = this.range, count = 2 * this.wave.width, step = (to - from) / count;
    const parts = yield* this.app.engine.read(this.#block(from, step), count);
    this.close = {from, step, parts: parts.map((values) => this.#held(values))};
    this.draw();
  }

  #resize() {
    const ratio = window.devicePixelRatio || 1;
    for (const canvas of [this.wave, this.picture]) {
      const box = canvas.getBoundingClientRect();
      if (box.width) Object.assign(canvas, {width: Math.round(box.width * ratio), height: Math.round(box.height * ratio)});
    }
    this.showRange(...this.range);
  }

  draw() {
    const {wave, channels} = this, {width, height} = wave, pen = wave.getContext('2d');
    if (!width) return;
    const style = getComputedStyle(document.documentElement), ratio = window.devicePixelRatio || 1;
    const [low, high] = this.app.field.about.meaning.value_range, tall = height / channels;
    const [from, to] = this.range, x = (place) => ((place - from) / (to - from)) * width;
    pen.fillStyle = style.getPropertyValue('--paper');
    pen.fillRect(0, 0, width, height);
    for (let channel = 0; channel < channels; channel++) {
      const y = (value) => tall * (channel + 0.5) - ((value - (low + high) / 2) / (high - low)) * tall * 0.94;
      pen.strokeStyle = style.getPropertyValue('--rule');
      pen.lineWidth = ratio;
      line(pen, [[0, y((low + high) / 2)], [width, y((low + high) / 2)]]);
      pen.strokeStyle = pen.fillStyle = style.getPropertyValue('--accent');
      if (to - from > 2 * width) this.#envelope(pen, this.samples[channel], y);
      else this.#curve(pen, channel, x, y, ratio);
    }
    this.#axis(pen, style, ratio);
    if (this.playing) {
      const place = this.playing.from + (this.playing.context.currentTime - this.playing.started) * this.rate;
      pen.strokeStyle = style.getPropertyValue('--second');
      pen.lineWidth = 2 * ratio;
      line(pen, [[x(place), 0], [x(place), height]]);
    }
  }

  /** The least and the largest sample of each pixel. */
  #envelope(pen, samples, y) {
    const {width} = this.wave, [from, to] = this.range, each = (to - from) / width;
    for (let i = 0; i < width; i++) {
      const start = Math.floor(from + i * each), stop = Math.min(this.known, Math.ceil(from + (i + 1) * each));
      if (start >= stop) return;
      let least = Infinity, most = -Infinity;
      for (let n = start; n < stop; n++) {
        least = Math.min(least, samples[n]);
        most = Math.max(most, samples[n]);
      }
      pen.fillRect(i, y(most), 1, Math.max(1, y(least) - y(most)));
    }
  }

  #curve(pen, channel, x, y, ratio) {
    const [from, to] = this.range, samples = this.samples[channel], spacing = this.wave.width / (to - from);
    const first = Math.max(0, Math.floor(from) - 1), last = Math.min(this.known - 1, Math.ceil(to) + 1);
    const own = [];
    for (let n = first; n <= last; n++) own.push([x(n + 0.5), y(samples[n])]);
    pen.lineWidth = 1.5 * ratio;
    if (this.close) line(pen, Array.from(this.close.parts[channel], (value, i) => [x(this.close.from + i * this.close.step), y(value)]));
    else line(pen, own);
    if (spacing > 6 * ratio) for (const [px, py] of own) pen.fillRect(px - 2 * ratio, py - 2 * ratio, 4 * ratio, 4 * ratio);
  }

  #axis(pen, style, ratio) {
    const [from, to] = this.range, unit = this.rate || 1, span = (to - from) / unit;
    const step = [1, 2, 5, 10].map((n) => n * 10 ** Math.floor(Math.log10(span / 6))).find((each) => span / each < 8);
    pen.fillStyle = style.getPropertyValue('--soft');
    pen.font = `${11 * ratio}px system-ui, sans-serif`;
    const digits = Math.max(0, -Math.floor(Math.log10(step)));
    for (let t = Math.ceil(from / unit / step) * step; t < to / unit; t += step) {
      const at = ((t * unit - from) / (to - from)) * this.wave.width;
      pen.fillRect(at, this.wave.height - 6 * ratio, ratio, 6 * ratio);
      pen.fillText(`${t.toFixed(digits)}${this.rate ? ' s' : ''}`, at + 4 * ratio, this.wave.height - 4 * ratio);
    }
    this.text.textContent = this.rate ? `${(from / unit).toFixed(digits + 1)} to ${(to / unit).toFixed(digits + 1)} s` : `samples ${Math.round(from)} to ${Math.round(to)}`;
  }

  #spectrogram() {
    if (this.rate && this.known === this.count) this.app.runner.start('spectrogram', 2, this.#spectrogramJob());
  }

  *#spectrogramJob() {
    const {picture} = this, {width, height} = picture, pen = picture.getContext('2d'), [from, to] = this.range;
    if (!width) return;
    const column = pen.createImageData(1, height), ratio = window.devicePixelRatio || 1;
    for (let x = 0; x < width; x++) {
      const levels = spectrumAt(this.samples[0], from + ((x + 0.5) / width) * (to - from));
      for (let y = 0; y < height; y++) {
        const band = Math.min(levels.length - 1, Math.floor(((height - y - 0.5) / height) * levels.length));
        const [r, g, b] = heat(1 + (levels[band] - this.peak) / DECIBELS);
        column.data.set([r, g, b, 255], 4 * y);
      }
      pen.putImageData(column, x, 0);
      if (x % 4 === 3) yield CPU;
    }
    pen.fillStyle = '#ffffff';
    pen.font = `${11 * ratio}px system-ui, sans-serif`;
    for (const share of [0.25, 0.5, 0.75, 1]) {
      pen.fillText(`${readable((share * this.rate) / 2000)} kHz`, 4 * ratio, height * (1 - share) + 12 * ratio);
    }
  }

  /** Samples at another rate from a place to another, as the library renders them. */
  async rendered(rate, from = 0, to = this.count) {
    const {convention} = this.app.field.about.meaning, each = rate / this.rate;
    const count = convention === 'ends' ? Math.floor((to - 1 - from) * each + 1e-6) + 1 : Math.max(1, Math.round((to - from) * each));
    const parts = Array.from({length: this.channels}, () => new Float32Array(count));
    for (let start = 0; start < count; start += CHUNK) {
      const length = Math.min(CHUNK, count - start), first = convention === 'ends' ? from + start / each + 0.5 : from + (start + 0.5) / each;
      (await this.app.read('rendered', this.#block(first, 1 / each), length)).forEach((values, channel) => parts[channel].set(this.#held(values), start));
      this.app.status(`${Math.round((100 * (start + length)) / count)} % computed`);
    }
    this.app.status('');
    return parts;
  }

  /** The rate asked for, or null with a sentence. */
  #wantedRate() {
    const rate = Math.round(Number(this.chosen.value));
    if (rate >= 1 && rate <= 768000) return rate;
    this.app.status('samples per second: from 1 to 768000');
    return null;
  }

  async #play() {
    if (this.playing) {
      this.playing.source.stop();
      return;
    }
    const rate = this.#wantedRate();
    if (!rate) return;
    const [from, to] = this.range, parts = await this.rendered(rate, from, to), context = new AudioContext();
    let buffer;
    try {
      buffer = context.createBuffer(this.channels, parts[0].length, rate);
    } catch {
      this.app.status('this browser plays from 8000 to 96000 samples per second; any rate can be saved');
      return;
    }
    parts.forEach((values, channel) => buffer.copyToChannel(values, channel));
    const source = context.createBufferSource();
    source.buffer = buffer;
    source.connect(context.destination);
    this.playing = {source, context, from, started: context.currentTime};
    this.player.textContent = 'Stop';
    source.onended = () => {
      this.playing = null;
      this.player.textContent = 'Play';
      context.close();
      this.draw();
    };
    source.start();
    const follow = () => {
      this.draw();
      if (this.playing) requestAnimationFrame(follow);
    };
    follow();
  }

  async #save() {
    const rate = this.#wantedRate();
    if (rate) download(`${this.app.fileName}.wav`, new Blob([waveFile(await this.rendered(rate), rate)], {type: 'audio/wav'}));
  }

  changed() {
    this.#compute();
    this.showRange(...this.range);
  }

  resize() {}

  show() {}
}

function line(pen, points) {
  pen.beginPath();
  points.forEach(([x, y]) => pen.lineTo(x, y));
  pen.stroke();
}

/** A WAV file of 16 bits, or of floats where a sample is beyond 1. */
function waveFile(parts, rate) {
  const channels = parts.length, count = parts[0].length, floats = parts.some((values) => values.some((value) => Math.abs(value) > 1));
  const bytes = floats ? 4 : 2, size = count * channels * bytes, data = new DataView(new ArrayBuffer(44 + size));
  const word = (at, text) => [...text].forEach((letter, i) => data.setUint8(at + i, letter.charCodeAt(0)));
  word(0, 'RIFF');
  data.setUint32(4, 36 + size, true);
  word(8, 'WAVEfmt ');
  data.setUint32(16, 16, true);
  data.setUint16(20, floats ? 3 : 1, true);
  data.setUint16(22, channels, true);
  data.setUint32(24, rate, true);
  data.setUint32(28, rate * channels * bytes, true);
  data.setUint16(32, channels * bytes, true);
  data.setUint16(34, 8 * bytes, true);
  word(36, 'data');
  data.setUint32(40, size, true);
  for (let i = 0, at = 44; i < count; i++) {
    for (const values of parts) {
      if (floats) data.setFloat32(at, values[i], true);
      else data.setInt16(at, Math.max(-32768, Math.min(32767, Math.round(values[i] * 32768))), true);
      at += bytes;
    }
  }
  return data.buffer;
}
