'use strict';
// The plots of a stream.

const plots = [];
const reasonColour = (stage, reason, alpha) => {
  const i = stage.reasons.findIndex(r => r.reason === reason);
  return `hsl(${[212, 28, 160, 280, 50, 340, 188, 96, 0, 240][i % 10]} 65% 50% / ${alpha})`;
};

// Each plot: its columns, by name, of the stage's records, and how they are shown.
const plotsOf = stage => {
  const r = stage.records, n = r.number.length;
  const most = column => column.reduce((a, b) => Math.max(a, b), 0);
  const per = (column, unit) => column.map(value => value / unit.size);
  const scale = (columns, unit) => columns.map(([name, column]) => [name, per(column, unit)]);
  const spread = column => most(column) / Math.max(1, column.reduce((a, b) => Math.min(a, b), Infinity));

  const phases = [
    ['reading', r.read_seconds], ['waiting for it', r.wait_seconds], ['computing', r.compute_seconds],
    ['writing', r.write_seconds]
  ];
  const phaseUnit = secondsUnit(Math.max(...phases.map(phase => most(phase[1]))));
  const held = [['held of the bound', r.memory_bytes], ['resident in the process', r.resident_bytes]];
  if (run.gpu !== null) held.push(['held on the GPU', r.gpu_memory_bytes]);
  const heldMost = Math.max(...held.map(line => most(line[1])));
  const showBound = run.memory_bound !== null && run.memory_bound < 4 * heldMost;
  if (showBound) held.push(['bound', r.number.map(() => run.memory_bound)]);

  const bytes = stage.bytes > 0;
  const speed = speedOf(r, bytes ? r.bytes_so_far : r.work_so_far);
  const speedUnit =
      bytes ? unitFor(most(speed), 1000, decimal) : unitFor(most(speed), 1000, ['', 'k', 'M', 'G']);
  return [
    {
      id: 'size',
      title: 'Chunk size',
      columns: [['items', r.items], ['elements', r.work]],
      format: count,
      bands: true,
      choice: true,
      log: spread(r.items) > 20 || most(r.work) > 20 * Math.max(1, most(r.items)),
      note: 'Of each chunk. The colours behind are the reasons for its size: see the decisions below.'
    },
    {
      id: 'utilisation',
      title: 'Utilisation, %',
      columns: [['busy', r.utilisation.map(share => 100 * share)]],
      format: digits,
      range: [0, 104],
      note: stage.in_pieces ?
          'Of all threads’ time while a piece was read and computed, both of which count as busy.' :
          'Of all threads’ time while a chunk was computed. Reading beside it counts as one busy thread.'
    },
    {
      id: 'throughput',
      title: bytes ? `Throughput, ${speedUnit.name}/s` : `Throughput, ${speedUnit.name} elements/s`,
      columns: scale([[bytes ? 'bytes' : 'elements', speed]], speedUnit),
      format: digits,
      note: `${bytes ? 'Bytes' : 'Elements'} that passed, over the last hundredth of the stream’s time.`
    },
    {
      id: 'memory',
      title: `Memory, ${unitFor(heldMost, 1024, binary).name}`,
      columns: scale(held, unitFor(heldMost, 1024, binary)),
      format: digits,
      note: 'When a chunk was finished.' +
          (run.memory_bound !== null && !showBound ?
               ` The bound, ${memory(run.memory_bound)}, is far above.` :
               '')
    },
    {
      id: 'times',
      title: `Time of a chunk, ${phaseUnit.name}`,
      columns: scale(phases, phaseUnit),
      format: digits,
      choice: true,
      log: false,
      note: stage.in_pieces ?
          'Each thread reads a piece, computes it and gives its results on, while the others do so with theirs.' :
          'They overlap: reading the next chunk and writing the one before go on while this one is computed.'
    },
    {
      id: 'ring',
      title: 'Chunks in flight',
      columns: [['in flight', r.in_flight]],
      format: digits,
      step: true,
      range: [0, stage.ring.slots + 0.5],
      note: `When a chunk was read. There is room for ${stage.ring.slots}.`
    },
  ].map(plot => ({...plot, points: n}));
};

// Per second, over the last hundredth of the time: of long streams not every chunk is recorded, but what had passed by then is.
const speedOf = (r, soFar) => {
  const n = r.end.length, window = (r.end[n - 1] - r.begin[0]) / 100;
  let from = -1;
  return r.end.map((end, i) => {
    while (from + 1 < i && r.end[from + 1] <= end - window) ++from;
    const [t, passed] = from < 0 ? [r.begin[0], 0] : [r.end[from], soFar[from]];
    return end > t ? (soFar[i] - passed) / (end - t) : 0;
  });
};

// One finger scrolls the page; two zoom.
const gestures = () => {
  const model = {...Dygraph.defaultInteractionModel};
  const start = model.touchstart, move = model.touchmove, end = model.touchend;
  let zooming = false;
  model.touchstart = (event, g, context) => {
    if ((zooming = event.touches.length > 1)) start(event, g, context);
  };
  model.touchmove = (event, g, context) => {
    if (zooming) move(event, g, context);
  };
  model.touchend = (event, g, context) => {
    if (zooming) end(event, g, context);
    zooming = false;
  };
  return model;
};

const drawPlots = (stage, into, pointer) => {
  for (const plot of plots.splice(0)) plot.dygraph.destroy();
  themed.length = 0;
  const r = stage.records, n = r.number.length;
  const unit = secondsUnit(r.end[n - 1]);
  const atRest =
      `Point at a plot to see a chunk in all of them. Drag to zoom, with Shift to move, double-click to see all.`;
  let busy = false;  // one of them is changing the others

  const tell = row => {
    pointer.textContent = row === null ? atRest :
                                         `Chunk ${integer(r.number[row])}, ${time(r.begin[row])} to ${
                                             time(r.end[row])}: ${plural(r.items[row], 'item')}, ` +
            `${plural(r.work[row], 'element')}, ${amount(r.bytes[row])}. ${
                                             stage.decisions[r.decision[row]].reason}`;
  };
  const others = (plot, change) => {
    if (busy) return;
    busy = true;
    for (const other of plots)
      if (other !== plot) change(other.dygraph);
    busy = false;
  };

  for (const plot of plotsOf(stage)) {
    const canvas = el('div', {class: 'canvas'}), legend = el('div', {class: 'legend'});
    const head = el('div', {class: 'head'}, el('h3', {}, plot.title));
    const box =
        el('div', {class: 'card plot', id: 'plot-' + plot.id}, head, el('p', {class: 'note'}, plot.note),
           legend, canvas);
    into.append(box);
    const rows = r.end.map((end, i) => [end / unit.size, ...plot.columns.map(column => column[1][i])]);
    const colours = () => plot.columns.map(
        (column, i) => column[0] === 'bound' ? colour('bad') : colour(`series-${i % 4 + 1}`));
    const scaleOptions = log => ({logscale: log, includeZero: !log});
    const looks = () => ({colors: colours(), gridLineColor: colour('grid'), axisLineColor: colour('line')});
    const shown = {...plot};
    shown.dygraph = new Dygraph(canvas, rows, {
      labels: ['time', ...plot.columns.map(column => column[0])],
      labelsDiv: legend,
      legend: 'always',
      legendFormatter: told => told.series
                                   .map(
                                       series => `<span><span class="swatch" style="background:${
                                                     series.color}"></span>${series.labelHTML}` +
                                           (told.x === undefined || told.x === null ?
                                                '' :
                                                ` <span class="number">${series.yHTML ?? ''}</span>`) +
                                           '</span>')
                                   .join(''),
      xlabel: `${unit.name} since the run began`,
      xLabelHeight: 16,
      axes: {
        x: {axisLabelFormatter: x => digits(x, 4), valueFormatter: x => digits(x, 6), pixelsPerLabel: 64},
        y: {
          axisLabelFormatter: y => plot.format(y),
          valueFormatter: y => plot.format(y),
          axisLabelWidth: 52,
          pixelsPerLabel: 34
        },
      },
      valueRange: plot.range ?? null,
      stepPlot: plot.step === true,
      series: Object.fromEntries(plot.columns.map(
          column => [column[0], column[0] === 'bound' ? {strokePattern: [6, 4], drawPoints: false} : {}])),
      drawPoints: n <= 120,
      pointSize: 2,
      strokeWidth: 1.5,
      highlightCircleSize: 4,
      rightGap: 8,
      yRangePad: 8,
      interactionModel: gestures(),
      ...looks(),
      ...(plot.choice    ? scaleOptions(plot.log) :
              plot.range ? {} :
                           {includeZero: true}),
      underlayCallback: !plot.bands ? null :
                                      (context, area, g) => {
                                        for (const decision of bandsOf(stage)) {
                                          const left = g.toDomXCoord(decision.begin / unit.size),
                                                right = g.toDomXCoord(decision.end / unit.size);
                                          context.fillStyle = reasonColour(stage, decision.reason, 0.16);
                                          context.fillRect(left, area.y, Math.max(right - left, 0.5), area.h);
                                        }
                                      },
      highlightCallback: (event, x, points, row) => {
        tell(row);
        others(shown, g => g.setSelection(row));
      },
      unhighlightCallback: () => {
        tell(null);
        others(shown, g => g.clearSelection());
      },
      drawCallback: (g, first) => {
        if (first) return;
        const [begin, end] = g.xAxisRange();
        others(shown, other => {
          const [b, e] = other.xAxisRange();
          if (b !== begin || e !== end) other.updateOptions({dateWindow: [begin, end]});
        });
      },
    });
    canvas.querySelector('canvas')?.setAttribute('role', 'img');
    canvas.querySelector('canvas')?.setAttribute('aria-label', `${plot.title} over time, ${n} chunks`);
    if (plot.choice) {
      const button =
          el('button', {
            type: 'button',
            'aria-pressed': String(plot.log),
            onclick: () => {
              shown.log = !shown.log;
              button.setAttribute('aria-pressed', String(shown.log));
              shown.dygraph.updateOptions(scaleOptions(shown.log));
            }
          },
             'log scale');
      head.append(button);
    }
    plots.push(shown);
    themed.push(() => shown.dygraph.updateOptions(looks()));
  }
  tell(null);
};

// From the beginning of the first to the end of the last recorded chunk of each decision.
const bandsOf = stage => stage.bands ??= (() => {
  const r = stage.records, bands = [];
  r.decision.forEach((decision, i) => {
    const before = bands.length > 0 ? bands[bands.length - 1] : null;
    const begin = i === 0 ? r.begin[0] : r.end[i - 1];
    if (before !== null && before.decision === decision)
      before.end = r.end[i];
    else
      bands.push({decision, reason: stage.decisions[decision].reason, begin, end: r.end[i]});
  });
  return bands;
})();

const zoomTo = (begin, end) => {
  if (plots.length > 0) plots[0].dygraph.updateOptions({dateWindow: begin === null ? null : [begin, end]});
};
