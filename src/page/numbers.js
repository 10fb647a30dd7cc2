'use strict';
// Numbers as people read them.

const digits = (value, count = 3) => {
  if (value === 0) return '0';
  const whole = Math.floor(Math.log10(Math.abs(value))) + 1;
  return value.toLocaleString('en', {maximumFractionDigits: Math.max(0, Math.min(6, count - whole))});
};
const integer = value => value.toLocaleString('en');
const scaled = (value, step, units, space = ' ') => {
  let unit = 0;
  for (; Math.abs(value) >= step && unit + 1 < units.length; ++unit) value /= step;
  return digits(value) + (units[unit] ? space + units[unit] : '');
};
const binary = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'], decimal = ['bytes', 'kB', 'MB', 'GB', 'TB'];
const memory = bytes => scaled(bytes, 1024, binary);
const amount = bytes => scaled(bytes, 1000, decimal);
const count = value => scaled(value, 1000, ['', 'k', 'M', 'G', 'T']);
const countOf = (value, what) => count(value) + ' ' + what + (count(value) === '1' ? '' : 's');
const plural = (value, what) => integer(value) + ' ' + what + (value === 1 ? '' : 's');
const time = seconds => {
  if (seconds === 0) return '0 s';
  if (seconds < 1e-3) return digits(seconds * 1e6) + ' µs';
  if (seconds < 1) return digits(seconds * 1e3) + ' ms';
  if (seconds < 120) return digits(seconds) + ' s';
  return Math.floor(seconds / 60) + ' min ' + Math.round(seconds % 60) + ' s';
};
const percent = share => digits(100 * share) + ' %';
// A unit for all numbers of a plot.
const unitFor = (most, step, units) => {
  let unit = 0, size = 1;
  for (; most >= step * size && unit + 1 < units.length; ++unit) size *= step;
  return {name: units[unit], size};
};
const secondsUnit = most => most < 1e-3 ? {name: 'µs', size: 1e-6} :
    most < 1                            ? {name: 'ms', size: 1e-3} :
                                          {name: 's', size: 1};
