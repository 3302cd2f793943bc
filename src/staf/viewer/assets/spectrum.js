// Spectra of a waveform: a transform of powers of two, and a spectrogram column by column.

/** The squared magnitudes of the first half of the spectrum of real numbers, whose count is a power of two. */
function powerSpectrum(samples) {
  const n = samples.length, re = Float64Array.from(samples), im = new Float64Array(n);
  for (let i = 1, j = 0; i < n; i++) {
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) [re[i], re[j]] = [re[j], re[i]];
  }
  for (let size = 2; size <= n; size <<= 1) {
    const half = size >> 1, turn = (-2 * Math.PI) / size;
    for (let k = 0; k < half; k++) {
      const c = Math.cos(turn * k), s = Math.sin(turn * k);
      for (let p = k, q = k + half; p < n; p += size, q += size) {
        const x = re[q] * c - im[q] * s, y = re[q] * s + im[q] * c;
        [re[q], im[q]] = [re[p] - x, im[p] - y];
        [re[p], im[p]] = [re[p] + x, im[p] + y];
      }
    }
  }
  return Float64Array.from({length: n / 2}, (_, k) => re[k] ** 2 + im[k] ** 2);
}

const WINDOW = 1024;
const HANN = Float64Array.from({length: WINDOW}, (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * (i + 0.5)) / WINDOW));
// Anchors of a scale from dark to light in one direction, readable with every kind of colour vision.
const HEAT = ['000004', '1b0c41', '4a0c6b', '781c6d', 'a52c60', 'cf4446', 'ed6925', 'fb9b06', 'f7d13d', 'fcffa4']
  .map((code) => [0, 2, 4].map((at) => parseInt(code.slice(at, at + 2), 16)));

function heat(share) {
  const at = Math.min(1, Math.max(0, share)) * (HEAT.length - 1), low = Math.min(Math.floor(at), HEAT.length - 2);
  return HEAT[low].map((value, k) => value + (HEAT[low + 1][k] - value) * (at - low));
}

/** The spectrum around a sample, in decibels, under a Hann window; silence outside of the recording. */
function spectrumAt(samples, middle) {
  const start = Math.round(middle) - WINDOW / 2;
  const part = HANN.map((weight, i) => weight * (samples[start + i] || 0));
  return powerSpectrum(part).map((power) => 10 * Math.log10(power + 1e-12));
}

/** Decibels of the loudest part of a recording, from which colours count down. */
function loudest(samples) {
  let most = -Infinity;
  for (let i = 0; i < 64; i++) most = Math.max(most, ...spectrumAt(samples, (samples.length * (i + 0.5)) / 64));
  return most;
}
