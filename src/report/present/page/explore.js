// Exploring a page: tables that sort and filter, legends that switch series off, charts over time that zoom and pan
// together, crosshairs with values, the words of marks at once and by keyboard, a search for jobs, and charts saved as
// SVG. Without this script a page says the same.
(() => {
'use strict';
const all = (selector, root) => [...(root || document).querySelectorAll(selector)];
const SVG = (document.querySelector('svg') || document.documentElement).namespaceURI;
const make = (name, attributes, text) => {
  const element = document.createElement(name);
  Object.entries(attributes || {}).forEach(([key, value]) => element.setAttribute(key, value));
  if (text !== undefined) element.textContent = text;
  return element;
};
const draw = (name, attributes, text) => {
  const element = document.createElementNS(SVG, name);
  Object.entries(attributes || {}).forEach(([key, value]) => element.setAttribute(key, value));
  if (text !== undefined) element.textContent = text;
  return element;
};
document.documentElement.classList.add('explore');

// Makes an element act like a button, for the mouse and for the keyboard.
const press = (element, act) => {
  element.tabIndex = 0;
  element.addEventListener('click', act);
  element.addEventListener('keydown', event => {
    if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); act(event); }
  });
};

// ---- Tables ----

const UNITS = { d: 86400, h: 3600, min: 60, s: 1, ms: 1e-3, M: 1e6, G: 1e9, T: 1e12, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, PB: 1e15 };
// The number that a cell begins with, in the base of its unit; NaN for other text.
const quantity = text => {
  const plain = text.replace(/\u00a0/g, ' ').replace(/−/g, '-').replace(/,/g, '').trim();
  const parts = [...plain.matchAll(/([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?: (d|h|min|ms|s|M|G|T|kB|MB|GB|TB|PB)(?![\w.]))?/g)];
  if (!parts.length || parts[0].index > 0) return NaN;
  const value = part => Number(part[1]) * (UNITS[part[2]] || 1);
  const first = value(parts[0]), second = parts[1];
  const goes = second && /^(d|h|min)$/.test(parts[0][2] || '') && /^(h|min|s)$/.test(second[2] || '');
  return goes ? first + (plain.startsWith('-') ? -1 : 1) * value(second) : first;
};
const FILTERED = 12;

all('table').forEach(table => {
  const body = table.tBodies[0], heads = all('thead th', table);
  if (!body || body.rows.length < 2) return;
  const rows = [...body.rows];
  const text = (row, column) => row.cells[column] ? row.cells[column].textContent : '';
  heads.forEach((head, column) => {
    if (!head.textContent) return;
    const keys = new Map(rows.map(row => [row, quantity(text(row, column))]));
    const known = rows.filter(row => !Number.isNaN(keys.get(row))).length;
    const isNumeric = known > 0 && known * 2 >= rows.length;
    const directions = isNumeric ? ['descending', 'ascending', 'none'] : ['ascending', 'descending', 'none'];
    head.setAttribute('aria-sort', 'none');
    press(head, () => {
      const next = directions[(directions.indexOf(head.getAttribute('aria-sort')) + 1) % 3];
      heads.forEach(other => other.hasAttribute('aria-sort') && other.setAttribute('aria-sort', 'none'));
      head.setAttribute('aria-sort', next);
      const sign = next === 'ascending' ? 1 : -1;
      const compare = (a, b) => {
        if (!isNumeric) return sign * text(a, column).localeCompare(text(b, column), 'en', { numeric: true });
        const [x, y] = [keys.get(a), keys.get(b)];
        // Cells without a number stay below.
        return Number.isNaN(x) || Number.isNaN(y) ? Number.isNaN(x) - Number.isNaN(y) : sign * (x - y);
      };
      body.append(...(next === 'none' ? rows : [...rows].sort(compare)));
    });
  });
  if (rows.length < FILTERED) return;
  const box = make('input', { type: 'search', placeholder: 'Filter rows', 'aria-label': 'Filter the rows of this table' });
  const told = make('span', { class: 'soft', 'aria-live': 'polite' });
  const tools = make('div', { class: 'tools' });
  tools.append(box, told);
  (table.closest('.scroll') || table).before(tools);
  box.addEventListener('input', () => {
    const wanted = box.value.trim().toLowerCase();
    rows.forEach(row => { row.hidden = !row.textContent.toLowerCase().includes(wanted); });
    told.textContent = wanted ? `${rows.filter(row => !row.hidden).length} of ${rows.length}` : '';
  });
});

// ---- Legends ----

// Classes of the marks in a chart that a legend's class stands for.
const KIN = { f: ['f', 'l'], s: ['h', 't'], q: ['q'], u: ['u'], z: ['z'], w: ['w'] };
const marks = (figure, icon) => {
  const name = icon ? icon.classList[0] || '' : '';
  const [, letter, number] = /^([fsquzw])(\d+)$/.exec(name) || [];
  const classes = letter ? KIN[letter].map(kin => kin + number)
    : { hatched: ['reserved'], 'hatched-down': ['down'], way: ['way'] }[name] || [];
  const found = classes.flatMap(kin => all(`svg .${kin}`, figure));
  // Where there are more lines than colours, dashed ones have a colour again.
  const isDashed = mark => mark.classList.contains('dashed');
  return found.some(isDashed) ? found.filter(mark => isDashed(mark) === isDashed(icon)) : found;
};
all('figure').forEach(figure => all('.legend li', figure).forEach(entry => {
  const icon = entry.querySelector('i');
  if (!marks(figure, icon).length) return;
  entry.setAttribute('role', 'button');
  entry.setAttribute('aria-pressed', 'true');
  entry.title = 'Switch this series off or on';
  press(entry, () => {
    const isOn = entry.getAttribute('aria-pressed') !== 'true';
    entry.setAttribute('aria-pressed', isOn);
    marks(figure, icon).forEach(mark => mark.classList.toggle('off', !isOn));
  });
}));

// ---- Crosshairs ----

// The series of a chart: their marks, and their values at each step or place.
const seriesOf = svg => all('[data-v]', svg).map(mark => ({ mark, values: mark.dataset.v.split(';') }));
// Name of the legend's entry for a mark.
const keyOf = mark => {
  const number = /\b[fl](\d+)\b/.exec(mark.getAttribute('class'));
  return number ? `f${number[1]}${mark.classList.contains('dashed') ? ' dashed' : ''}` : '';
};
// The group that the style sheet makes narrower on small screens; all marks of a chart are in it.
const rootOf = svg => svg.querySelector(':scope > .fit') || svg;
// Position of an event in the coordinates of a chart.
const acrossOf = (event, root) => new DOMPoint(event.clientX, event.clientY).matrixTransform(root.getScreenCTM().inverse()).x;
// Puts values beside the names of the legend; null clears them. Where a mark has no entry, its value is beside it.
const tellLevels = (svg, series, place, x) => {
  const told = new Map(), entries = all('.legend li', svg.closest('figure'));
  const icons = entries.map(entry => entry.querySelector('i')).map(icon => icon && icon.getAttribute('class'));
  all('text.beside', svg).forEach(text => text.remove());
  series.forEach(({ mark, values }) => {
    const key = keyOf(mark), value = place === null ? '' : values[Math.min(values.length - 1, place)];
    if (place === null || mark.classList.contains('off')) return;
    told.set(key, [...(told.get(key) || []), value || '–']);
    if (icons.includes(key) || !value) return;
    const { y, height } = mark.getBBox();
    rootOf(svg).append(draw('text', { class: 'cross beside', x: x + 5, y: y + height - 4 }, value));
  });
  entries.forEach((entry, number) => {
    let now = entry.querySelector('.now');
    const values = told.get(icons[number]);
    if (values && !now) { now = make('b', { class: 'now' }); entry.append(now); }
    if (now) now.textContent = values ? values.join(' · ') : '';
  });
};

// Where a chart has a few places across, the nearest one is shown.
all('svg[data-at]').forEach(svg => {
  const places = svg.dataset.at.split(' ').map(Number), series = seriesOf(svg), line = draw('path', { class: 'cross' });
  const bottom = Number(svg.dataset.bottom);
  let place = null;
  rootOf(svg).append(line);
  const show = next => {
    place = next;
    line.setAttribute('d', place === null ? '' : `M${places[place]} 12V${bottom}`);
    tellLevels(svg, series, place, places[place]);
  };
  svg.addEventListener('pointermove', event => {
    const x = acrossOf(event, rootOf(svg));
    const away = places.map(other => Math.abs(other - x));
    show(away.indexOf(Math.min(...away)));
  });
  svg.addEventListener('pointerleave', () => show(null));
  svg.addEventListener('blur', () => show(null));
  svg.tabIndex = 0;
  svg.addEventListener('keydown', event => {
    const sign = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!sign || event.defaultPrevented) return;
    event.preventDefault();
    show(place === null ? 0 : Math.min(places.length - 1, Math.max(0, place + sign)));
  });
});

// ---- Timelines ----

const charts = [];
// The range that all charts show, in microseconds; null for everything.
let range = null;

// Units of the axis of time: microseconds, name, steps.
const TICKS = [
  [1, 'microseconds', [1, 2, 5, 10, 20, 50, 100, 200]],
  [1e3, 'milliseconds', [1, 2, 5, 10, 20, 50, 100, 200]],
  [1e6, 'seconds', [1, 2, 5, 10, 20]],
  [6e7, 'minutes', [1, 2, 5, 10, 20]],
  [3.6e9, 'hours', [1, 2, 4, 6, 12]],
  [8.64e10, 'days', [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 5e4, 2e5, 1e6]],
];
const two = number => String(number).padStart(2, '0');
// Microseconds from 1970 to virtual time zero in the local time of the log; null if a page has no dates.
const dated = document.querySelector('[data-start]');
const epoch = dated ? Number(dated.dataset.start) : null;
const DAY = 8.64e10, MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
const dateOf = local => { const date = new Date(local / 1e3); return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`; };
const clockOf = local => new Date(local / 1e3).toISOString().slice(11, 19);
const tickOf = local => local % DAY ? clockOf(local).replace(/:00$/, '') : dateOf(local).replace(/ \d+$/, '');
const moment = micros => {
  const seconds = Math.max(0, micros / 1e6), whole = Math.floor(seconds);
  const days = Math.floor(whole / 86400);
  const clock = `${two(Math.floor(whole / 3600) % 24)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  const date = epoch === null ? '' : ` (${dateOf(epoch + micros)} ${clockOf(epoch + micros)})`;
  return `${days ? `${days}d ` : ''}${clock}${date}`;
};

class Chart {
  constructor(svg, axis) {
    [this.from, this.to] = axis.dataset.time.split(' ').map(Number);
    [this.left, this.right] = axis.dataset.x.split(' ').map(Number);
    Object.assign(this, { svg, axis, usual: axis.innerHTML, plots: [] });
    const height = svg.viewBox.baseVal.height;
    const clip = draw('clipPath', { id: `clip-${charts.length}` });
    clip.append(draw('rect', { x: this.left, y: -height, width: this.right - this.left, height: 3 * height }));
    const root = rootOf(svg);
    root.prepend(clip);
    [root, ...all('.panel', svg)].forEach(panel => this.enclose(panel, clip.id));
    this.line = draw('path', { class: 'cross', d: '' });
    this.word = draw('text', { class: 'cross', y: 10 });
    root.append(this.line, this.word);
    this.height = height;
    this.series = seriesOf(svg);
    this.listen();
  }

  // Puts the marks of a panel into a group that can be scaled; names beside the axis and lines across stay.
  enclose(panel, clip) {
    const outer = draw('g', { 'clip-path': `url(#${clip})` }), plot = draw('g', { class: 'plot' }), above = draw('g');
    const stays = child => child.matches('.axis,.panel,.mark,.marked,title,desc,clipPath,defs');
    const children = [...panel.children].filter(child => !stays(child));
    if (!children.length) return;
    panel.append(outer);
    outer.append(plot);
    plot.append(...children);
    all('text', plot).forEach(text => {
      const isBeside = text.hasAttribute('transform') || Number(text.getAttribute('x')) < this.left;
      if (isBeside && !text.closest('.axis')) above.append(text);
    });
    all('.axis', plot).forEach(axis => above.append(axis));
    panel.append(...all(':scope > .mark, :scope > .marked', panel), above);
    // The axes are drawn below the marks, as before.
    all(':scope > .axis', panel).forEach(axis => outer.before(axis));
    this.plots.push(plot);
  }

  x(time) {
    const [from, to] = range || [this.from, this.to];
    return this.left + (time - from) / (to - from) * (this.right - this.left);
  }

  time(event) {
    const x = acrossOf(event, this.axis);
    const [from, to] = range || [this.from, this.to];
    const share = Math.min(1, Math.max(0, (x - this.left) / (this.right - this.left)));
    return from + share * (to - from);
  }

  show() {
    const scale = (this.x(this.to) - this.x(this.from)) / (this.right - this.left);
    const shift = this.x(this.from) - scale * this.left;
    this.plots.forEach(plot => {
      if (range) plot.setAttribute('transform', `matrix(${scale} 0 0 1 ${shift} 0)`); else plot.removeAttribute('transform');
      // The style sheet keeps letters at their width; the attributes of texts are for saved charts.
      plot.style.setProperty('--zoom', range ? scale : 1);
      all('text', plot).forEach(text => {
        const x = Number(text.getAttribute('x'));
        if (range) text.setAttribute('transform', `matrix(${1 / scale} 0 0 1 ${x - x / scale} 0)`); else text.removeAttribute('transform');
      });
    });
    if (!range) { this.axis.innerHTML = this.usual; return; }
    const wide = range[1] - range[0];
    const steps = TICKS.flatMap(([unit, name, counts]) => counts.map(count => [unit, name, unit * count]));
    const most = this.svg.clientWidth > this.svg.parentNode.clientWidth * 2 ? 5 : 10;
    const [unit, name, step] = steps.find(([, , step]) => wide / step <= most) || steps[steps.length - 1];
    const base = this.axis.querySelector('.base'), title = this.axis.querySelector('.name');
    const bottom = Number(/M[\d.]+ ([\d.]+)/.exec(base.getAttribute('d'))[1]);
    this.axis.replaceChildren(base, title);
    const isDated = epoch !== null && step >= 1e6, start = isDated ? epoch : 0;
    const [first, last] = range.map(end => dateOf(start + end));
    title.textContent = isDated ? `time of the log, ${first}${first === last ? '' : ` to ${last}`}` : `virtual time, ${name}`;
    const origin = isDated && step > DAY ? Math.floor((start + range[0]) / DAY) * DAY : 0;
    for (let local = origin + Math.ceil((start + range[0] - origin) / step) * step; local <= start + range[1]; local += step) {
      const x = this.x(local - start), label = isDated ? tickOf(local) : (Math.round(local / unit * 100) / 100).toLocaleString('en');
      this.axis.append(draw('path', { d: `M${x} ${bottom}v5` }), draw('text', { x, y: bottom + 18, 'text-anchor': 'middle' }, label));
    }
  }

  // Draws the crosshair, and puts the values there beside the names of the legend.
  point(time) {
    const isIn = time !== null && time >= this.from && time <= this.to && (!range || (time >= range[0] && time <= range[1]));
    this.line.setAttribute('d', isIn ? `M${this.x(time)} 14V${this.height - 46}` : '');
    this.word.textContent = isIn ? moment(time) : '';
    if (isIn) {
      const isRight = this.x(time) > (this.left + this.right) / 2;
      this.word.setAttribute('x', this.x(time) + (isRight ? -5 : 5));
      this.word.setAttribute('text-anchor', isRight ? 'end' : 'start');
    }
    const steps = this.series.length ? this.series[0].values.length : 0;
    const place = Math.min(steps - 1, Math.floor((time - this.from) / (this.to - this.from) * steps));
    tellLevels(this.svg, this.series, isIn && steps ? place : null, this.x(time));
  }

  listen() {
    const { svg } = this;
    svg.classList.add('timed');
    svg.tabIndex = 0;
    let start = null, brush = null;
    svg.addEventListener('pointerdown', event => {
      if (event.pointerType === 'touch' || event.button) return;
      start = this.time(event);
    });
    svg.addEventListener('pointermove', event => {
      const time = this.time(event);
      pointAt(time);
      if (start === null) return;
      if (!brush) { brush = draw('rect', { class: 'brush', y: 14, height: this.height - 60 }); rootOf(svg).append(brush); }
      const [a, b] = [this.x(start), this.x(time)].sort((a, b) => a - b);
      brush.setAttribute('x', a);
      brush.setAttribute('width', b - a);
    });
    const end = event => {
      if (start === null) return;
      const [from, to] = [start, this.time(event)].sort((a, b) => a - b);
      const isWide = Math.abs(this.x(to) - this.x(from)) > 6;
      start = null;
      if (brush) { brush.remove(); brush = null; }
      if (isWide && event.type === 'pointerup') zoomTo(from, to);
    };
    svg.addEventListener('pointerup', end);
    svg.addEventListener('pointerleave', event => { end(event); pointAt(null); });
    svg.addEventListener('dblclick', () => zoomTo(null));
    svg.addEventListener('wheel', event => {
      if (event.ctrlKey) { event.preventDefault(); zoomBy(event.deltaY > 0 ? 1.25 : 0.8, this.time(event)); }
      else if (range && Math.abs(event.deltaX) > Math.abs(event.deltaY)) { event.preventDefault(); pan(event.deltaX / 800); }
    }, { passive: false });
    svg.addEventListener('keydown', event => {
      const acts = {
        '+': () => zoomBy(0.5), '=': () => zoomBy(0.5), '-': () => zoomBy(2), 0: () => zoomTo(null), Escape: () => zoomTo(null),
        ArrowLeft: () => step(-1, event.shiftKey), ArrowRight: () => step(1, event.shiftKey),
      };
      if (acts[event.key] && !event.defaultPrevented) { event.preventDefault(); acts[event.key](); }
    });
  }
}

let pointed = null;
const pointAt = time => { pointed = time; charts.forEach(chart => chart.point(time)); };
const extent = () => [Math.min(...charts.map(chart => chart.from)), Math.max(...charts.map(chart => chart.to))];
const zoomTo = (from, to) => {
  const [first, last] = extent();
  const wide = Math.min(last - first, Math.max(to - from, 10));
  const begin = Math.min(Math.max(from, first), last - wide);
  range = from === null || wide >= last - first ? null : [begin, begin + wide];
  charts.forEach(chart => chart.show());
  pointAt(pointed);
};
const zoomBy = (factor, around) => {
  const [from, to] = range || extent();
  const middle = around === undefined ? (from + to) / 2 : around;
  zoomTo(middle - (middle - from) * factor, middle + (to - middle) * factor);
};
const pan = share => { if (range) { const by = share * (range[1] - range[0]); zoomTo(range[0] + by, range[1] + by); } };
// Moves the crosshair by a hundredth of the width; with shift, the range by a quarter.
const step = (sign, isShifted) => {
  if (isShifted) return pan(sign / 4);
  const [from, to] = range || extent();
  pointAt(Math.min(to, Math.max(from, (pointed === null ? (from + to) / 2 : pointed) + sign * (to - from) / 100)));
};

// A chart as a file of its own, also for papers: with its legend, in light colours, and in attributes that every program
// reads.
const LOOKS = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-dasharray', 'stroke-linejoin', 'stroke-linecap',
  'paint-order', 'font-family', 'font-size', 'font-weight', 'text-anchor', 'dominant-baseline', 'shape-rendering'];
const inLight = act => {
  const roots = all('style').flatMap(style => [...style.sheet.cssRules]).filter(rule => rule.selectorText === ':root');
  const own = document.documentElement.style;
  roots.forEach(({ style }) => [...style].forEach(name => own.setProperty(name, style.getPropertyValue(name))));
  try { return act(); } finally { document.documentElement.removeAttribute('style'); }
};
const paint = (mark, copy, above) => {
  if (mark.matches('title,desc')) return;
  const style = getComputedStyle(mark), looks = LOOKS.map(name => style.getPropertyValue(name));
  if (style.display === 'none' || mark.matches('.cross,.brush,.beside')) return copy.remove();
  looks.forEach((look, place) => { if (!above || look !== above[place]) copy.setAttribute(LOOKS[place], look); });
  if (style.opacity !== '1') copy.setAttribute('opacity', style.opacity);
  ['class', 'style', 'tabindex', 'role'].forEach(name => copy.removeAttribute(name));
  const copies = [...copy.children];
  [...mark.children].forEach((child, place) => paint(child, copies[place], looks));
};
const drawLegend = (figure, copy, width, top) => {
  let x = 8, y = top;
  all('.legend li', figure).filter(entry => entry.offsetParent && entry.getAttribute('aria-pressed') !== 'false').forEach(entry => {
    const icon = entry.querySelector('i'), now = entry.querySelector('.now');
    const words = entry.textContent.slice(0, entry.textContent.length - (now ? now.textContent.length : 0)), room = 34 + 7 * words.length;
    if (x > 8 && x + room > width) { x = 8; y += 18; }
    if (icon) {
      const [mark] = marks(figure, icon), look = mark && getComputedStyle(mark), own = getComputedStyle(icon).backgroundColor;
      const isLine = look && look.fill === 'none';
      copy.append(isLine
        ? draw('path', { d: `M${x} ${y - 4}h14`, stroke: look.stroke, 'stroke-width': look.strokeWidth, 'stroke-dasharray': look.strokeDasharray })
        : draw('rect', { x, y: y - 9, width: 10, height: 10, fill: /^rgba\(.*, 0\)$/.test(own) && look ? look.fill : own }));
    }
    copy.append(draw('text', { x: x + (icon ? 19 : 0), y, fill: '#1d232b' }, words));
    x += room;
  });
  return x > 8 ? y + 8 : top - 14;
};
const save = (figure, svg) => inLight(() => {
  const copy = svg.cloneNode(true), { x, y, width, height } = svg.viewBox.baseVal;
  paint(svg, copy);
  const bottom = drawLegend(figure, copy, width, height + 14);
  copy.setAttribute('viewBox', [x, y, width, bottom].join(' '));
  copy.setAttribute('width', width);
  copy.setAttribute('height', bottom);
  copy.prepend(draw('rect', { x, y, width, height: bottom, fill: 'white' }));
  return new XMLSerializer().serializeToString(copy);
});

all('figure').forEach(figure => {
  const svg = figure.querySelector('svg[viewBox]'), axis = figure.querySelector('.axis[data-time]');
  if (!svg) return;
  const tools = make('div', { class: 'tools' });
  const button = (label, title, act) => {
    const made = make('button', { type: 'button', title, 'aria-label': title }, label);
    made.addEventListener('click', act);
    tools.append(made);
    return made;
  };
  if (axis) {
    charts.push(new Chart(svg, axis));
    button('+', 'Zoom in (drag over the chart, or press + there)', () => zoomBy(0.5));
    button('−', 'Zoom out', () => zoomBy(2));
    button('‹', 'Earlier', () => pan(-0.5));
    button('›', 'Later', () => pan(0.5));
    button('Reset', 'Show everything (double click)', () => zoomTo(null));
  }
  button('SVG', 'Save this chart as SVG', () => {
    const link = make('a', { download: `${figure.id || figure.dataset.name || 'chart'}.svg` });
    link.href = URL.createObjectURL(new Blob([save(figure, svg)], { type: 'image/svg+xml' }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  figure.prepend(tools);
});

// ---- Words of marks ----

// A browser shows titles after a second; the page shows them at once, so it takes away that of the mark pointed at.
all('figure svg > title[id]').forEach(title => {
  const name = make('span', { id: title.id }, title.textContent);
  name.hidden = true;
  title.closest('svg').before(name);
  title.remove();
});
const tip = make('div', { id: 'tip', role: 'tooltip' });
tip.hidden = true;
document.body.append(tip);
let told = null;
const hideTip = () => {
  const mark = told;
  // First: without its tabindex, a mark loses the focus, which comes back here.
  told = null;
  tip.hidden = true;
  if (mark) ['tabindex', 'role', 'aria-label'].forEach(name => mark.removeAttribute(name));
};
const titleOf = mark => mark === hovered.mark ? hovered.title : [...mark.children].find(child => child.localName === 'title');
const hovered = { mark: null, title: null };
const placeTip = (left, top, bottom) => {
  const { offsetWidth: width, offsetHeight: height } = tip;
  tip.style.left = `${Math.min(Math.max(8, left - width / 2), document.documentElement.clientWidth - width - 8) + scrollX}px`;
  tip.style.top = `${(top > height + 8 ? top - height - 6 : bottom + 6) + scrollY}px`;
};
const leave = () => {
  if (!hovered.mark) return;
  hovered.mark.prepend(hovered.title);
  hovered.mark = hovered.title = null;
  tip.hidden = true;
};
// Shows the words of the mark below the pointer.
const hover = event => {
  let mark = event.target;
  const svg = event.currentTarget;
  while (mark !== svg && mark && !titleOf(mark)) mark = mark.parentNode;
  if (event.pointerType === 'touch' || told || !mark || mark === svg) { leave(); return; }
  if (mark !== hovered.mark) {
    leave();
    Object.assign(hovered, { mark, title: titleOf(mark) });
    hovered.title.remove();
    tip.textContent = hovered.title.textContent;
    tip.hidden = false;
  }
  placeTip(event.clientX, event.clientY - 8, event.clientY + 14);
};
// Focuses a mark, and shows its words beside it.
const showTip = mark => {
  hideTip();
  leave();
  told = mark;
  tip.textContent = titleOf(mark).textContent;
  tip.hidden = false;
  Object.entries({ tabindex: -1, role: 'img', 'aria-label': tip.textContent }).forEach(([name, value]) => mark.setAttribute(name, value));
  mark.focus({ preventScroll: true });
  mark.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  const box = mark.getBoundingClientRect();
  placeTip(box.left + box.width / 2, box.top, box.bottom);
};
const MOVES = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
all('figure svg[viewBox]').forEach(svg => {
  const found = all('title', svg).map(title => title.parentNode).filter(mark => mark !== svg);
  if (!found.length) return;
  // Left and right move a crosshair, if there is one.
  const hasCross = svg.matches('.timed,[data-at]');
  svg.tabIndex = 0;
  svg.setAttribute('role', 'group');
  svg.setAttribute('aria-roledescription', 'chart');
  const isSeen = mark => {
    const box = mark.getBoundingClientRect(), frame = svg.getBoundingClientRect();
    return box.width + box.height > 0 && box.right > frame.left && box.left < frame.right;
  };
  // Before the chart's own keys.
  svg.addEventListener('keydown', event => {
    const move = hasCross && /Left|Right/.test(event.key) ? 0 : MOVES[event.key];
    if (event.key === 'Escape' && told) { event.preventDefault(); hideTip(); svg.focus({ preventScroll: true }); }
    if (!move) return;
    event.preventDefault();
    const last = found.length - 1, from = found.indexOf(told), sign = Math.sign(move);
    let place = from < 0 && Number.isFinite(move) ? (sign > 0 ? 0 : last) : Math.min(last, Math.max(0, from + move));
    // At an end, marks that are not shown are left out in the other direction.
    const way = place === 0 ? 1 : place === last ? -1 : sign;
    while (found[place] && !isSeen(found[place])) place += way;
    if (found[place]) showTip(found[place]);
  }, true);
  svg.addEventListener('click', event => {
    let mark = event.target;
    while (mark !== svg && !titleOf(mark)) mark = mark.parentNode;
    if (mark !== svg) showTip(mark); else hideTip();
  });
  svg.addEventListener('focusout', event => { if (event.target === told) hideTip(); });
  svg.addEventListener('pointermove', hover);
  svg.addEventListener('pointerleave', leave);
});

// ---- Search for a job ----

// A duration in the two units that say most.
const duration = seconds => {
  const units = [[86400, 'd'], [3600, 'h'], [60, 'min']];
  const at = units.findIndex(([unit]) => Math.round(seconds) >= unit);
  if (at < 0) return `${Number(seconds.toPrecision(3))}\u00a0s`;
  const [unit, name] = units[at], [part, small] = units[at + 1] || [1, 's'];
  const parts = Math.round(seconds / part), whole = Math.floor(parts * part / unit);
  return `${whole}\u00a0${name} ${two(parts - whole * (unit / part))}\u00a0${small}`;
};
const counted = (count, word) => `${Number(count).toLocaleString('en')} ${word}${Number(count) === 1 ? '' : 's'}`;
const facts = document.querySelector('#jobs');
const [userLine, siteLine, ...jobLines] = facts && facts.textContent.trim() ? facts.textContent.split('\n') : ['', ''];
const [userNames, siteNames] = [userLine, siteLine].map(line => line.split('\t'));
const jobs = jobLines.map(line => {
  const [number, workload, name, user, arrive, ready, start, end, outcome, tasks, cores, sites, places, id] = line.split('\t');
  return { id, number, workload, name, user, outcome, tasks, cores, places, sites: sites ? sites.split(' ') : [],
    ...Object.fromEntries(Object.entries({ arrive, ready: ready || arrive, start, end }).map(([key, value]) => [key, value && Number(value)])) };
});
// What happened to a job, in words.
const storyOf = job => {
  const at = time => moment(time * 1e6);
  const task = job.tasks === '1' ? '' : `${counted(job.tasks, 'task')} with `;
  const sites = job.sites.map(site => siteNames[site]).join(', ');
  const where = `${task}${counted(job.cores, 'core')}${job.places ? ` (${job.places})` : ''}${sites ? ` of ${sites}` : ''}`;
  const ready = job.ready > job.arrive ? `, was to start from ${at(job.ready)} on` : '';
  let words = `Job ${job.number}${job.workload ? ` of workload ${job.workload}` : ''}${job.name ? ` (${job.name})` : ''} of ${userNames[job.user] || 'a user'}: submitted at ${at(job.arrive)}${ready}`;
  const last = { f: '', k: ', killed at its walltime', p: ', ended for another job', c: ', taken back by its user', g: ', given up', u: '', r: '' }[job.outcome];
  if (job.outcome === 'r') return `${words}, refused. It asked for ${where}.`;
  if (job.start === '') return `${words}; it never started${last}. It asked for ${where}.`;
  words += `, waited ${duration(job.start - job.ready)}, started at ${at(job.start)} on ${where}`;
  return job.end === '' ? `${words}; it had not ended.` : `${words}, ended at ${at(job.end)} after ${duration(job.end - job.start)}${last}.`;
};

const tasks = all('.tasks > g').filter(task => titleOf(task));
const jobRows = all('table').filter(table => /^Job\b/.test((table.querySelector('thead th') || table).textContent))
  .flatMap(table => [...table.tBodies[0].rows]);
const nav = document.querySelector('nav');
if (nav && (facts || tasks.length + jobRows.length)) {
  const box = make('input', { type: 'search', placeholder: 'Find a job  ( / )', 'aria-label': 'Find a job by number or name' });
  const hitCount = make('span', { class: 'soft' }), story = make('p', { class: 'story', role: 'status' });
  const tools = make('div', { class: 'tools' });
  tools.append(box, hitCount);
  nav.after(tools, story);
  story.hidden = true;
  const gantt = document.querySelector('#gantt'), chart = gantt && charts.find(one => gantt.contains(one.svg));
  // The jobs of this number or name, and their marks and rows.
  const find = () => {
    const wanted = box.value.trim().replace(/^job\s+/i, '').replace(/^(\d{1,3})((,\d{3})+)$/, text => text.replace(/,/g, ''));
    const escaped = wanted.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    const task = new RegExp(`^(job|task) ${escaped}(?![\\d])|\\((?:[^)]*, )?${escaped}[,)]`), row = new RegExp(`^${escaped}(?![\\w])`);
    const found = wanted ? jobs.filter(job => job.number === wanted || job.name === wanted) : [];
    const hits = wanted ? [...tasks.filter(one => task.test(titleOf(one).textContent)),
      ...jobRows.filter(one => row.test(one.cells[0].textContent))] : [];
    all('.hit').forEach(hit => hit.classList.remove('hit'));
    hits.forEach(hit => hit.classList.add('hit'));
    hitCount.textContent = hits.length ? counted(hits.length, 'place') : '';
    const known = facts ? facts.dataset.known : '';
    const isMissing = facts ? jobs.length > 0 && !found.length : !hits.length;
    const name = /^\d+$/.test(wanted) ? `no job ${wanted}` : `no job is called “${wanted}”`;
    story.replaceChildren();
    if (wanted && isMissing) story.textContent = known ? `${name}; ${known}` : `${name} on this page`;
    else if (wanted && facts && !jobs.length) story.textContent = `This page does not hold each of so many jobs (${known}); hansa why, with the folder of the result and a number, tells the story of one.`;
    else if (found.length) story.textContent = found.slice(0, 3).map(storyOf).join(' ');
    const told = found.length && document.getElementById(`job-${found[0].id}`);
    if (told) story.append(make('a', { href: `#${told.id}` }, 'Why it waited'));
    story.hidden = !story.textContent;
    return [found, hits];
  };
  // Shows the span of a job with some time around it, in all charts.
  const zoomToJob = job => {
    const last = job.end === '' ? chart.to / 1e6 : job.end;
    const around = Math.max(0.15 * (last - job.arrive), 1e-3);
    zoomTo((job.arrive - around) * 1e6, (last + around) * 1e6);
  };
  let next = 0;
  const show = () => {
    const [found, hits] = find();
    const places = chart && found.length ? [gantt, ...hits.filter(hit => !gantt.contains(hit))] : hits;
    if (chart && found.length && next % places.length === 0) {
      zoomToJob(found[0]);
      gantt.querySelector('.chart').before(story);
    }
    if (places.length) places[next++ % places.length].scrollIntoView({ block: 'center' });
  };
  box.addEventListener('input', () => {
    next = 0;
    if (story.previousSibling !== tools) tools.after(story);
    find();
  });
  box.addEventListener('keydown', event => {
    if (event.key === 'Enter') { event.preventDefault(); show(); }
    if (event.key === 'Escape') { box.value = ''; find(); zoomTo(null); }
  });
  document.addEventListener('keydown', event => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    event.preventDefault();
    box.focus();
    box.select();
  });
}
})();
