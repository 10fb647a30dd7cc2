'use strict';
// A stream: what passed, its plots, the decisions of the scheduler.

const range = (spread, format, what) => {
  const noun = what && ' ' + what + (format(spread.max) === '1' ? '' : 's');
  return spread.min === spread.max ?
      format(spread.max) + noun :
      `${format(spread.min)} to ${format(spread.max)}${noun} (median ${format(spread.median)})`;
};
const streamFacts = stage => facts([
  ['items come from', `${stage.name} (${stage.place})${stage.source !== null ? ' of ' + stage.source : ''}`],
  ['scheduler', stage.scheduler],
  ['rounds of a loop', stage.runs > 1 ? integer(stage.runs) : null],
  [
    'passed',
    `${plural(stage.items, 'item')}${
        stage.total_items !== null && stage.runs === 1 && stage.total_items !== stage.items ?
            ' of ' + integer(stage.total_items) :
            ''}` +
        `, ${plural(stage.work, 'element')}, ${amount(stage.bytes)} in ${plural(stage.chunks, 'chunk')}`
  ],
  [
    'time',
    `${time(stage.seconds.wall)} by the clock; ${stage.in_pieces ? 'of all threads together: ' : ''}reading ${
        time(stage.seconds.read)}, for which computing waited ${time(stage.seconds.wait)}; ` +
        `computing ${time(stage.seconds.compute)}; writing ${time(stage.seconds.write)}`
  ],
  ['threads', `${percent(stage.utilisation)} of their time computing`],
  [
    'sizes of chunks',
    stage.chunks === 0 ? null :
                         [
                           range(stage.chunk_items, count, 'item'), range(stage.chunk_work, count, 'element'),
                           stage.chunk_bytes.max > 0 ? range(stage.chunk_bytes, memory, '') : null
                         ].filter(text => text !== null)
                             .join('; ')
  ],
  [
    stage.in_pieces ? 'read or computed at once' : 'in flight',
    `${digits(stage.ring.mean)} on average, at most ${stage.ring.max}, room for ${stage.ring.slots}` +
        (stage.in_pieces ? ' with those that wait for their turn' : '')
  ],
  ['cut for lack of memory', stage.cut > 0 ? plural(stage.cut, 'chunk') : null],
  ['computed on the GPU', stage.gpu_chunks > 0 ? plural(stage.gpu_chunks, 'chunk') : null],
]);

const reasonsOf = stage => {
  const heads = [['chunks', 'number'], ['', ''], ['reason', ''], ['', '']];
  return table(heads, stage.reasons.map(r => el('tr', {}, cells(heads, [
    integer(r.chunks),
    el('div', {class: 'share'}, el('i', {style: `width:${100 * r.chunks / stage.chunks}%;min-width:2px;background:${reasonColour(stage, r.reason, 0.9)}`})),
    el('span', {style: 'white-space:nowrap'}, swatch(reasonColour(stage, r.reason, 0.6)), r.reason),
    el('span', {class: 'quiet'}, r.meaning)]))), 'wide');
};

const decisionsOf = stage => {
  const heads = [['chunks', 'number'], ['from', 'number'], ['decision', '']];
  const bands = bandsOf(stage), unit = secondsUnit(stage.records.end[stage.records.end.length - 1]);
  return table(
      heads,
      stage.decisions.map(
          (d, i) =>
              el('tr', {
                class: 'clickable',
                title: 'Zoom in on these chunks',
                onclick: () => {
                  const margin = (bands[i].end - bands[i].begin) / 10;
                  zoomTo((bands[i].begin - margin) / unit.size, (bands[i].end + margin) / unit.size);
                  document.querySelector('.plots').scrollIntoView({behavior: 'smooth', block: 'start'});
                }
              },
                 cells(heads, [
                   d.first === d.last ? integer(d.first) : `${integer(d.first)}–${integer(d.last)}`,
                   time(bands[i].begin), el('span', {}, swatch(reasonColour(stage, d.reason, 0.6)), d.text)
                 ]))));
};

const showStream = (stage, into) => {
  into.replaceChildren(card(streamFacts(stage)));
  if (stage.records.number.length === 0) {
    for (const plot of plots.splice(0)) plot.dygraph.destroy();
    into.append(el('p', {class: 'quiet'}, 'No chunk was finished: there is nothing to draw.'));
    return;
  }
  const told = el('span', {id: 'told'});
  const pointer =
      el('div', {class: 'card pointer'}, told,
         el('button', {type: 'button', id: 'all', onclick: () => zoomTo(null)}, 'Show all'));
  const area = el('div', {class: 'plots'});
  into.append(pointer, area);
  drawPlots(stage, area, told);
  if (stage.records.number.length < stage.chunks)
    into.append(
        el('p', {class: 'note below'},
           `Of ${integer(stage.chunks)} chunks ${
               integer(stage.records.number
                           .length)} are recorded: the first 256, and of the others an even sample. ` +
               'All other numbers count every chunk.'));
  into.append(
      el('h2', {}, 'Decisions of the scheduler'),
      el('div', {class: 'stack', id: 'decisions'},
         card(el('h3', {}, 'Why chunks had their size'), reasonsOf(stage)),
         card(el('h3', {}, 'One after the other'), decisionsOf(stage))));
};
