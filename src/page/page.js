'use strict';
// Draws the report from the data in the page.

const outcome = run.cancelled ? ['cancelled', 'warn'] :
    run.error !== null        ? ['failed', 'bad'] :
                                ['done', 'good'];
$('outcome').textContent = outcome[0];
$('outcome').className = outcome[1];
document.title = `Run of ${data.subject}: ${outcome[0]}`;
$('subject').textContent = `${data.subject}. ${
    new Date(data.written).toLocaleString('en', {dateStyle: 'long', timeStyle: 'medium'})}`;
$('version').textContent = data.version;
if (run.error !== null) {
  $('error').hidden = false;
  $('error').classList.add(outcome[1]);
  $('error').textContent = run.cancelled ?
      'The run was cancelled. What follows is what it had done by then.' :
      `The run failed: ${run.error}. What follows is what it had done by then.`;
}

const streamSeconds = run.stages.reduce((sum, stage) => sum + stage.seconds.wall, 0);
const tile = (label, value, more = '') => $('totals').append(
    el('div', {class: 'tile'}, el('div', {class: 'label'}, label), el('div', {class: 'value'}, value),
       el('div', {class: 'more'}, more)));
tile('Time', time(run.seconds.total), `on ${plural(run.threads, 'thread')}, ${run.backend ?? 'no back end'}`);
if (run.stages.length > 0) {
  tile('Items', count(run.items), `${count(run.work)} elements`);
  if (streamSeconds > 0)
    tile(
        'Throughput',
        run.bytes > 0 ? amount(run.bytes / streamSeconds) + '/s' : count(run.work / streamSeconds) + '/s',
        run.bytes > 0 ? `${amount(run.bytes)} read` : 'elements');
  tile(
      'Chunks', integer(run.chunks),
      run.chunks > 0 ? `of ${countOf(run.items / run.chunks, 'item')} on average` : '');
  tile('Threads computing', percent(run.utilisation), 'of the streams’ time');
}
if (run.backend !== 'interpreter')
  tile(
      'Memory held', memory(run.peak_bytes),
      run.memory_bound !== null ? `at most, of ${memory(run.memory_bound)}` : 'at most; no bound');
if (run.peak_resident_bytes > 0) tile('Process', memory(run.peak_resident_bytes), 'resident, at its peak');
if (run.gpu !== null)
  tile('GPU', memory(run.gpu.peak_bytes), `held at most; ${plural(run.gpu.chunks, 'chunk')}`);

{
  const rest = Math.max(0, run.seconds.total - run.seconds.compile - streamSeconds);
  const parts = [
    ['passes of the compiler', run.seconds.front], ['kernels, made or found', run.seconds.compile],
    ...run.stages.map((stage, i) => [`stream ${i}`, stage.seconds.wall]), ['all else', rest]
  ].filter(part => part[1] > 0);
  const all = parts.reduce((sum, part) => sum + part[1], 0);
  const hue = i => `hsl(${[262, 32, 212, 160, 340, 96, 190][i % 7]} 55% 52%)`;
  $('time').append(card(
      el('div', {
        class: 'bar',
        role: 'img',
        'aria-label': parts.map(part => `${part[0]} ${time(part[1])}`).join(', ')
      },
         parts.map((part, i) => el('span', {
                     style: `flex:${part[1] / all} 0 0;background:${hue(i)}`,
                     title: `${part[0]}: ${time(part[1])}`
                   }))),
      el('div', {class: 'keys'},
         parts.map((part, i) => el('span', {}, swatch(hue(i)), `${part[0]} ${time(part[1])}`)))));
}

// ---- Streams

{
  const into = el('div', {id: 'stream'});
  if (run.stages.length === 0) {
    into.append(
        el('p', {class: 'quiet'},
           run.backend === 'interpreter' ? 'The interpreter takes items one by one and knows no chunks.' :
                                           'This run read no stream.'));
  } else if (run.stages.length > 1) {
    const tabs = run.stages.map(
        (stage, i) =>
            el('button', {
              type: 'button',
              'aria-pressed': String(i === 0),
              onclick: () => {
                tabs.forEach((tab, k) => tab.setAttribute('aria-pressed', String(k === i)));
                showStream(stage, into);
              }
            },
               `${i}: ${stage.name} (${stage.place})`));
    $('streams').append(el('div', {class: 'tabs'}, tabs));
  }
  $('streams').append(into);
  setTheme(stored.get() ?? 'auto');  // before anything is drawn
  if (run.stages.length > 0) showStream(run.stages[0], into);
}

// ---- Program, machine

{
  const heads = [
    ['', ''], ['operation', ''], ['type', ''], ['form', ''], ['reason', ''], ['in memory', ''], ['place', '']
  ];
  const code = text => el('code', {}, text);
  const parts = data.program.parts.filter(part => part.operations.length > 0).map(part => card(
      el('h3', {}, part.title + (part.inside !== null ? `, ${part.inside}` : '')),
      table(heads, part.operations.map(o => el('tr', {}, cells(heads, [
        code(o.name), o.operation, code(o.type), el('span', {class: 'form'}, o.form), el('span', {class: 'quiet'}, o.reason),
        o.stored ?? (o.kernels.length > 0 ? `no: fused into kernel ${o.kernels.join(', ')}` : 'no'), code(o.place ?? '')]))), 'wide')));
  const kernelHeads = [
    ['', 'number'], ['kernel', ''], ['form', ''], ['computes', ''], ['fused into it', ''],
    ['side by side', ''], ['reads', '']
  ];
  const reads = kernel => [...new Set(kernel.reads.map(read => `${read.array}: ${read.access}`))].join('; ');
  const kernels = data.program.kernels.length === 0 ? [] : [card(el('h3', {}, 'Kernels'), table(kernelHeads, data.program.kernels.map(k => el('tr', {}, cells(kernelHeads, [
    integer(k.number), code(k.name), k.form, code(k.computes.join(', ')), code(k.fused.join(', ')), k.lanes, reads(k)]))), 'wide'))];
  $('program').append(
      el('div', {class: 'stack'}, parts, kernels),
      el('details', {}, el('summary', {}, 'All that explain says'), el('pre', {}, data.listing)));
}
{
  const m = data.machine, o = data.options;
  $('machine').append(el('div', {class: 'two'},
      card(el('h3', {}, 'Machine'), facts([
        ['processor', m.processor || 'unknown'],
        ['processors', integer(m.processors)],
        ['vectors', m.vector_bits > 0 ? `${m.vector_bits} bits, code for ${m.target}` : null],
        ['threads by default', integer(m.threads)],
        ['CPU quota', m.cpu_quota > 0 ? digits(m.cpu_quota) : null],
        ['memory', memory(m.memory)],
        ['memory limit', m.memory_limit > 0 ? memory(m.memory_limit) : null],
        ['GPU', m.gpu]])),
      card(el('h3', {}, 'Options'), facts([
        ['back end', o.backend + (run.backend_reason !== null ? `: ${run.backend}, because ${run.backend_reason}` : '')],
        ['threads', o.threads > 0 ? integer(o.threads) : `all: ${run.threads}`],
        ['memory', o.memory > 0 ? memory(o.memory) : 'no bound'],
        ['GPU memory', o.gpu_memory > 0 ? memory(o.gpu_memory) : null],
        ['scheduler', o.scheduler],
        ['timeline', o.trace],
        ['kernels', `${run.kernels.compiled} compiled, ${run.kernels.from_disk} from disk, ${run.kernels.cached} known to the process`]]))));
}

$('save').addEventListener('click', () => {
  const url = URL.createObjectURL(new Blob([JSON.stringify(data, null, 1)], {type: 'application/json'}));
  el('a', {href: url, download: 'run.json'}).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
});

// For tests, and for who looks at the page with the browser's tools.
window.anabranch = {
  data,
  plots
};
