// The learnt activation of each layer, drawn, with sliders that change it.

/** The activations of a network in order: their steps' numbers, and the value that each reads. */
function activationsOf(field) {
  return field.steps
    .map((step, index) => ({step, index}))
    .filter(({step}) => ['SineSeries', 'Finer', 'Gauss', 'Gabor', 'Relu'].includes(step.type));
}

/** f(x) of neuron 0 for a drawing; of Gabor the real part of a real argument. */
function curveOf(step) {
  return {
    SineSeries: (x) => seriesAt(step, x, 0),
    Finer: (x) => Math.sin(step.omega0 * (Math.abs(x) + 1) * x),
    Gauss: (x) => Math.exp(-((step.sigma * x) ** 2)),
    Gabor: (x) => Math.exp(-((step.sigma0 * x) ** 2)) * Math.cos(step.omega0 * x),
    Relu: (x) => Math.max(0, x),
  }[step.type];
}

/** The highest frequency of an activation that matters, in radians. */
function fastest(step) {
  if (step.type === 'SineSeries') {
    const {amplitude, frequency} = step.arrays, most = Math.max(...amplitude.values.map(Math.abs));
    return Math.max(1e-6, ...frequency.values.map((omega, i) => (Math.abs(amplitude.values[i]) > most / 20 ? Math.abs(omega) : 0)));
  }
  return step.omega0 || 1e-6;
}

/** What can be changed of a step: name, number, limits, and how it is changed. */
function knobsOf(step) {
  const constant = (label, name) => ({
    label, value: step[name], min: 0, max: 2 * step[name], set: (number) => { step[name] = number; },
  });
  switch (step.type) {
    case 'Finer': return [constant('ω₀', 'omega0')];
    case 'Gauss': return [constant('σ', 'sigma')];
    case 'Gabor': return [constant('ω₀', 'omega0'), constant('σ₀', 'sigma0')];
    case 'SineSeries': return step.arrays.amplitude.shape[0] === 1 ? termKnobs(step) : layerKnobs(step);
    default: return [];
  }
}

function termKnobs({arrays: {amplitude, frequency, phase}}) {
  const highest = Math.max(...frequency.values.map(Math.abs), 1), largest = Math.max(...amplitude.values.map(Math.abs), 0.1);
  const subscripts = '₁₂₃₄₅₆₇₈₉';
  return Array.from(amplitude.values, (_, t) => {
    const number = amplitude.values.length > 9 ? ` ${t + 1}` : subscripts[t];
    const knob = (label, {values}, min, max) => ({
      label: `${label}${number}`, value: values[t], min, max, set: (to) => { values[t] = to; },
    });
    return [
      knob('C', amplitude, -2 * largest, 2 * largest),
      knob('Ω', frequency, Math.min(0, 1.5 * Math.min(...frequency.values)), 1.5 * highest),
      knob('Φ', phase, Math.min(-Math.PI, phase.values[t]), Math.max(Math.PI, phase.values[t])),
    ];
  }).flat();
}

/** Every neuron has sinusoids of its own: one slider scales or shifts all of them. */
function layerKnobs({arrays: {amplitude, frequency, phase}}) {
  const start = [amplitude, frequency, phase].map(({values}) => values.slice());
  const knob = (label, {values}, at, value, min, max, change) => ({
    label, value, min, max, set: (to) => start[at].forEach((number, i) => { values[i] = change(number, to); }),
  });
  return [
    knob('all C ×', amplitude, 0, 1, 0, 2, (number, to) => number * to),
    knob('all Ω ×', frequency, 1, 1, 0, 2, (number, to) => number * to),
    knob('all Φ +', phase, 2, 0, -Math.PI, Math.PI, (number, to) => number + to),
  ];
}

// Irrational steps that fill a cube of up to six dimensions evenly.
const LATTICE = [0.7548777, 0.5698403, 0.4301597, 0.3247180, 0.2451223, 0.1850374];

class ActivationPanel {
  /** `changed(index)` is called when the numbers of a step have changed. */
  constructor(field, changed) {
    this.field = field;
    this.changed = changed;
    this.list = activationsOf(field);
    this.inputs = this.#inputs();
    this.canvas = element('canvas', {class: 'curve', role: 'img', 'aria-label': 'The activation, and where its inputs lie'});
    this.caption = element('p', {class: 'fine'});
    this.sliders = element('div', {class: 'sliders'});
    const layers = this.list.map((_, i) => [i, String(i + 1), `Layer ${i + 1}`]);
    this.layers = choice('Layer', layers, (at) => this.#choose(at));
    const reset = button('Reset', 'Put all activations back to what was learnt', () => this.reset());
    this.element = element('div', {class: 'activations'},
      element('div', {class: 'row'}, element('span', {}, 'Layer'), this.layers, reset), this.canvas, this.caption, this.sliders);
    if (this.list.length) this.layers.choose(0);
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  /** What the activations read at points of the cube: where their curves matter. */
  #inputs() {
    const found = this.list.map(() => []), {inputs} = this.field;
    for (let n = 1; n <= 24; n++) {
      // Points of a lattice that fills the cube evenly.
      const point = Array.from({length: inputs}, (_, k) => 2 * ((n * LATTICE[k]) % 1) - 1);
      const values = this.field.everyValue(point);
      this.list.forEach(({step}, i) => found[i].push(...values[step.sources[0]]));
    }
    return found.map((numbers) => Float64Array.from(numbers).sort());
  }

  #choose(at) {
    this.at = at;
    const {step, index} = this.list[at];
    this.sliders.replaceChildren(...knobsOf(step).map(({label, value, min, max, set}) => (
      slider(label, {min, max, step: (max - min) / 1000, value}, (to) => {
        set(to);
        this.changed(index);
        this.draw();
      })
    )));
    this.draw();
  }

  reset() {
    for (const entry of this.list) {
      this.field.reset(entry.index);
      entry.step = this.field.steps[entry.index];
      this.changed(entry.index);
    }
    this.#choose(this.at);
  }

  /** The field holds other numbers. */
  refresh() {
    for (const entry of this.list) entry.step = this.field.steps[entry.index];
    this.inputs = this.#inputs();
    if (this.list.length) this.#choose(this.at);
  }

  draw() {
    if (!this.list.length) return;
    const {canvas} = this, ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
    if (!box.width) return;
    canvas.width = Math.round(box.width * ratio);
    canvas.height = Math.round(box.height * ratio);
    const pen = canvas.getContext('2d'), {width, height} = canvas, pad = 8 * ratio;
    const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(name);
    const inputs = this.inputs[this.at], {step} = this.list[this.at], f = curveOf(step);
    const all = Math.max(Math.abs(inputs[Math.floor(inputs.length * 0.01)]), Math.abs(inputs[Math.floor(inputs.length * 0.99)]), 1e-6);
    // More than a dozen periods cannot be seen.
    const reach = Math.min(all, (12 * Math.PI) / fastest(step));
    const x = (a) => width / 2 + (a / reach) * (width / 2);
    const bins = new Array(48).fill(0);
    for (const a of inputs) if (Math.abs(a) < reach) bins[Math.floor(((a / reach + 1) / 2) * bins.length)] += 1;
    const tallest = Math.max(...bins);
    pen.fillStyle = colour('--inputs');
    bins.forEach((count, i) => {
      const tall = ((height - 2 * pad) * count) / tallest / 2;
      pen.fillRect((i * width) / bins.length, height - tall, width / bins.length - 1, tall);
    });
    const values = Array.from({length: width + 1}, (_, i) => f(((i / width) * 2 - 1) * reach));
    const most = Math.max(...values.map(Math.abs), 1e-6), y = (value) => height / 2 - (value / most) * (height / 2 - pad);
    pen.strokeStyle = colour('--rule');
    pen.lineWidth = ratio;
    pen.beginPath();
    pen.moveTo(0, y(0));
    pen.lineTo(width, y(0));
    pen.moveTo(x(0), 0);
    pen.lineTo(x(0), height);
    pen.stroke();
    pen.strokeStyle = colour('--accent');
    pen.lineWidth = 2 * ratio;
    pen.beginPath();
    values.forEach((value, i) => pen.lineTo(i, y(value)));
    pen.stroke();
    this.caption.textContent = `From ${readable(-reach)} to ${readable(reach)}, values up to ${readable(most)}. `
      + (reach < all ? `Its inputs reach ±${readable(all)}; the middle is drawn.` : 'Grey: the distribution of its inputs.');
  }
}
