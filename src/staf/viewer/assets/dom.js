// Elements made in code: every text is text, never markup.

/** An element with attributes, listeners (`on...`) and children. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function button(label, title, onclick) {
  return element('button', {type: 'button', title, onclick}, label);
}

/** A button that is on or off. */
function toggle(label, title, onchange) {
  const made = button(label, title, () => made.set(made.getAttribute('aria-pressed') !== 'true'));
  made.set = (on) => {
    made.setAttribute('aria-pressed', on);
    onchange(on);
  };
  made.setAttribute('aria-pressed', 'false');
  return made;
}

/** Buttons of which one is chosen. */
function choice(label, options, onchange) {
  const group = element('div', {role: 'group', 'aria-label': label, class: 'choice'});
  const choose = (value) => {
    for (const each of group.children) each.setAttribute('aria-pressed', each.dataset.value === String(value));
    onchange(value);
  };
  for (const [value, text, title] of options) {
    const each = button(text, title || text, () => choose(value));
    each.dataset.value = value;
    group.append(each);
  }
  group.choose = choose;
  return group;
}

/** A slider with its name and its number. */
function slider(label, {min, max, step, value, show = readable}, oninput) {
  const number = element('output', {}, show(value));
  const input = element('input', {type: 'range', min, max, step, 'aria-label': label});
  input.value = value;
  input.addEventListener('input', () => {
    number.textContent = show(Number(input.value));
    oninput(Number(input.value));
  });
  const made = element('label', {class: 'slider'}, element('span', {}, label), input, number);
  made.set = (to) => {
    input.value = to;
    number.textContent = show(Number(to));
  };
  return made;
}

/** A number short enough to read. */
function readable(number) {
  if (number === 0) return '0';
  const size = Math.abs(number);
  if (size >= 1e5 || size < 1e-3) return number.toExponential(1);
  return number.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

/** Save bytes as a file of the viewer's own choosing. */
function download(name, blob) {
  const address = URL.createObjectURL(blob), link = element('a', {href: address, download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** A custom property of the page's style, as a colour of three numbers from 0 to 1. */
function styleColour(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16) / 255);
}
