'use strict';
// The data, elements made of text and never of markup, light and dark.

const data = JSON.parse(document.getElementById('data').textContent);
const run = data.run;
const $ = id => document.getElementById(id);

const el = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'onclick')
      node.addEventListener('click', value);
    else if (name === 'style')
      node.style.cssText = value;
    else if (value !== null && value !== undefined && value !== false)
      node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat().filter(child => child !== null && child !== undefined));
  return node;
};
const card = (...children) => el('div', {class: 'card'}, ...children);
const swatch = colour => el('span', {class: 'swatch', style: `background:${colour}`});
const facts = pairs =>
    el('dl', {class: 'facts'},
       pairs.filter(pair => pair[1] !== null && pair[1] !== undefined && pair[1] !== '')
           .flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]));
const table = (heads, rows, kind = null) =>
    el('div', {class: 'scroll'},
       el('table', {class: kind},
          el('thead', {},
             el('tr', {}, heads.map(([name, kind]) => el('th', {class: kind, scope: 'col'}, name)))),
          el('tbody', {}, rows)));
const cells = (heads, values) => values.map((value, i) => el('td', {class: heads[i][1]}, value));

const themed = [];  // what has to be drawn again
const colour = name => {
  const probe = el('span', {style: `color:var(--${name})`});
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
};
const stored = {
  get: () => {
    try {
      return localStorage.getItem('anabranch-theme');
    } catch {
      return null;
    }
  },
  set: value => {
    try {
      localStorage.setItem('anabranch-theme', value);
    } catch { /* not kept, then */
    }
  },
};
const setTheme = theme => {
  if (theme === 'auto')
    delete document.documentElement.dataset.theme;
  else
    document.documentElement.dataset.theme = theme;
  for (const button of document.querySelectorAll('[data-theme-choice]'))
    button.setAttribute('aria-pressed', String(button.dataset.themeChoice === theme));
  for (const draw of themed) draw();
};
for (const button of document.querySelectorAll('[data-theme-choice]'))
  button.addEventListener('click', () => {
    stored.set(button.dataset.themeChoice);
    setTheme(button.dataset.themeChoice);
  });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const draw of themed) draw();
});
