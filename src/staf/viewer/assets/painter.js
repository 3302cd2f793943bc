// From a tile's values to colours, and from colours to the screen.

// What is painted of the values: the signal's own colours, one channel, the size of the gradient, or the Laplacian.
const COLOURS = 0, SCALAR = 1, GRADIENT = 2, LAPLACIAN = 3;

const PAINT = `${PRECISION}
uniform usampler2D lanes_0, lanes_1, lanes_2, lanes_3;
uniform ivec2 corner;
uniform int cell, columns, samples, mode, channels, channel;
uniform bool largest, below;
uniform float low, high, offset, scale, factor, level;
out vec4 colour;
vec4 bits(int lane, int quad, int row) {
  ivec2 at = ivec2(quad, row);
  if (lane == 0) return uintBitsToFloat(texelFetch(lanes_0, at, 0));
  if (lane == 1) return uintBitsToFloat(texelFetch(lanes_1, at, 0));
  if (lane == 2) return uintBitsToFloat(texelFetch(lanes_2, at, 0));
  return uintBitsToFloat(texelFetch(lanes_3, at, 0));
}
vec4 within(vec4 values) { return clamp((offset + scale * values - low) / (high - low), 0.0, 1.0); }
// Alpha is shown before squares.
vec3 over(vec3 shown, float alpha) {
  ivec2 square = ivec2(gl_FragCoord.xy) / 8;
  return mix(vec3(((square.x + square.y) & 1) == 0 ? 0.75 : 0.6), shown, alpha);
}
vec3 signed_colour(float x) {
  vec3 end = x < 0.0 ? vec3(0.13, 0.4, 0.75) : vec3(0.8, 0.3, 0.05);
  return mix(vec3(1.0), end, min(abs(x), 1.0));
}
// Sums over the channels of an image; alpha is left out.
vec4 weights() {
  if (mode == SCALAR_MODE) return vec4(equal(ivec4(channel % 4), ivec4(0, 1, 2, 3)));
  return channels < 3 ? vec4(1.0, 0.0, 0.0, 0.0) : vec4(1.0, 1.0, 1.0, 0.0) / 3.0;
}
void main() {
  ivec2 local = (ivec2(gl_FragCoord.xy) - corner) / cell;
  int n = (local.y * columns + local.x) * samples;
  vec4 total = vec4(0.0);
  if (mode < 2) {
    int row = mode == SCALAR_MODE ? channel / 4 : 0;
    for (int s = 0; s < samples; s++) {
      vec4 value = within(bits((n + s) & 3, (n + s) >> 2, row));
      total = largest ? max(total, value) : total + value / float(samples);
    }
    if (mode == SCALAR_MODE) total = vec4(dot(total, weights()));
    colour = vec4(channels < 3 || mode == SCALAR_MODE ? total.xxx : total.xyz, 1.0);
    if (mode == COLOUR_MODE && channels == 2) colour.xyz = over(colour.xyz, total.y);
    if (mode == COLOUR_MODE && channels == 4) colour.xyz = over(colour.xyz, total.w);
    // Inside and outside of a surface; distances have bands, which are all of one width.
    if (level >= 0.0) {
      float above = total.x * (high - low) + low - level, away = abs(above) / (high - low);
      if (below) colour.xyz = vec3(exp(-8.0 * away) * (fract(64.0 * away) < 0.5 ? 1.0 : 0.8));
      colour.xyz = mix(colour.xyz, (below ? above < 0.0 : above >= 0.0) ? vec3(0.95, 0.6, 0.2) : vec3(0.16, 0.38, 0.62), 0.6);
    }
  } else if (mode == 2) {
    vec4 square = vec4(0.0);
    for (int lane = 1; lane < 4; lane++) {
      vec4 slope = scale * bits(lane, n, 0);
      if (lane < 3 || THREE) square += slope * slope;
    }
    colour = vec4(vec3(min(1.0, sqrt(dot(square, weights())) * factor)), 1.0);
  } else {
    colour = vec4(signed_colour(dot(scale * bits(3, n, 0), weights()) * factor), 1.0);
  }
}`.replaceAll('SCALAR_MODE', SCALAR).replaceAll('COLOUR_MODE', COLOURS);

// A picture in layers: tiles at full detail, coarse tiles, and what was shown before the view changed.
const LAYERED = `
uniform sampler2D fine, coarse, under;
uniform bool under_first;
vec4 layered(ivec2 at) {
  vec4 colour = texelFetch(fine, at, 0);
  if (colour.a > 0.0) return colour;
  vec4 old = texelFetch(under, at, 0), rough = texelFetch(coarse, at, 0);
  if (under_first) return old.a > 0.0 ? old : rough;
  return rough.a > 0.0 ? rough : old;
}
`;

const MOVE = `${PRECISION}${LAYERED}
uniform vec2 shift;
uniform float zoom;
out vec4 colour;
void main() {
  ivec2 at = ivec2(floor(gl_FragCoord.xy * zoom + shift)), size = textureSize(fine, 0);
  bool inside = all(greaterThanEqual(at, ivec2(0))) && all(lessThan(at, size));
  colour = inside ? layered(at) : vec4(0.0);
}`;

const SHOW = `${PRECISION}${LAYERED}
uniform sampler2D pixels, original;
uniform int beside;
uniform vec2 size, whole, part, extent;
uniform vec3 backdrop;
uniform float zoom, divider, ratio;
uniform vec4 region;
uniform bool lines, compare;
out vec4 colour;
// The picture's own pixels, interpolated between four.
vec4 bilinear(vec2 at) {
  vec2 p = clamp(at + whole, vec2(0.5), extent - 0.5) - region.xy - 0.5, f = fract(p);
  ivec2 i = ivec2(floor(p)), last = ivec2(region.zw) - 1;
  vec4 a = texelFetch(pixels, clamp(i, ivec2(0), last), 0), b = texelFetch(pixels, clamp(i + ivec2(1, 0), ivec2(0), last), 0);
  vec4 c = texelFetch(pixels, clamp(i + ivec2(0, 1), ivec2(0), last), 0), d = texelFetch(pixels, clamp(i + 1, ivec2(0), last), 0);
  return mix(mix(a, b, f.x), mix(c, d, f.x), f.y);
}
void main() {
  vec2 at = vec2(gl_FragCoord.x, size.y - gl_FragCoord.y), place = part + (at - size / 2.0) / zoom;
  vec4 shown = layered(ivec2(at));
  if (compare && at.x > divider) shown = bilinear(place);
  if (beside > 0) {
    vec4 own = texelFetch(original, clamp(ivec2(floor(place) + whole), ivec2(0), textureSize(original, 0) - 1), 0);
    shown = beside == 1 ? own : vec4(min(vec3(1.0), 8.0 * abs(own.rgb - shown.rgb)), shown.a);
  }
  bool inside = all(greaterThanEqual(place, -whole)) && all(lessThan(place, extent - whole));
  vec3 result = inside ? mix(backdrop, shown.rgb, shown.a) : backdrop;
  if (lines && inside && zoom >= 6.0 * ratio) {
    vec2 away = fract(place) * zoom;
    if (min(away.x, away.y) < ratio) result = mix(result, vec3(dot(result, vec3(0.3, 0.6, 0.1)) > 0.5 ? 0.0 : 1.0), 0.35);
  }
  if (compare && abs(at.x - divider) < ratio) result = vec3(1.0);
  colour = vec4(result, 1.0);
}`;

class Painter {
  constructor(graphics, engine) {
    this.graphics = graphics;
    this.engine = engine;
    this.paintText = PAINT.replaceAll('THREE', engine.field.inputs > 2);
  }

  /** Begin to compile what every picture needs. */
  prepare() {
    for (const text of [this.paintText, SHOW]) this.graphics.prepare(text);
  }

  /** Paint the tile that the engine has just made, its first cell at (x, y), its cells as squares of `cell` pixels. */
  paint(target, {x, y, width, height, cell, samples = 1}, look) {
    const {gl} = this.graphics, {meaning} = this.engine.field.about;
    const program = this.graphics.program(this.paintText), textures = {};
    this.engine.result.textures.forEach((texture, lane) => { textures[`lanes_${lane}`] = texture; });
    this.graphics.bind(program, textures);
    gl.uniform2i(program.at('corner'), x, y);
    gl.uniform1i(program.at('largest'), Boolean(look.slab && look.slab.largest));
    gl.uniform1i(program.at('below'), this.engine.field.about.view.inside === 'below');
    const numbers = {cell, samples, columns: width, mode: look.mode, channels: this.engine.field.outputs, channel: look.channel || 0};
    for (const [name, number] of Object.entries(numbers)) gl.uniform1i(program.at(name), number);
    const {value_offset: offset, value_scale: scale, value_range: [low, high]} = meaning;
    const floats = {low, high, offset, scale, factor: look.factor || 1, level: look.level ?? -1};
    for (const [name, number] of Object.entries(floats)) gl.uniform1f(program.at(name), number);
    const right = Math.min(target.width, x + width * cell), bottom = Math.min(target.height, y + height * cell);
    this.graphics.draw(target, x, y, right - x, bottom - y);
  }

  clear(target) {
    const {gl} = this.graphics;
    gl.bindFramebuffer(gl.FRAMEBUFFER, target.frame);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
  }

  /** What was shown, moved to where it belongs in a new view: pixel p takes what was at zoom p + shift. */
  move(into, layers, zoom, shift) {
    const {gl} = this.graphics, program = this.graphics.program(MOVE);
    this.#layers(program, layers);
    gl.uniform1f(program.at('zoom'), zoom);
    gl.uniform2f(program.at('shift'), ...shift);
    this.graphics.draw(into, 0, 0, into.width, into.height);
  }

  #layers(program, {fine, coarse, under, underFirst}, more = {}) {
    this.graphics.bind(program, {fine: fine.textures[0], coarse: coarse.textures[0], under: under.textures[0], ...more});
    this.graphics.gl.uniform1i(program.at('under_first'), underFirst);
  }

  /** Draw the layers on the screen. */
  show(layers, view) {
    const {gl} = this.graphics, program = this.graphics.program(SHOW);
    this.#layers(program, layers, {pixels: view.pixels.textures[0], original: view.original});
    gl.uniform1i(program.at('beside'), view.beside);
    gl.uniform2f(program.at('size'), view.width, view.height);
    // Apart, so that float32 is enough at any zoom.
    const whole = view.centre.map(Math.floor);
    gl.uniform2f(program.at('whole'), ...whole);
    gl.uniform2f(program.at('part'), ...view.centre.map((value, k) => value - whole[k]));
    gl.uniform2f(program.at('extent'), ...view.extent);
    gl.uniform3f(program.at('backdrop'), ...view.backdrop);
    gl.uniform1f(program.at('zoom'), view.zoom);
    gl.uniform1f(program.at('ratio'), view.ratio);
    gl.uniform1f(program.at('divider'), view.divider);
    gl.uniform4f(program.at('region'), ...view.region);
    gl.uniform1i(program.at('lines'), view.lines);
    gl.uniform1i(program.at('compare'), view.compare);
    this.graphics.draw(null, 0, 0, view.width, view.height);
  }
}
