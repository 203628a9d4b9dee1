import type { Distribution, Interval } from './measure.ts'
import type { ComparedRow, FigureRow, Row } from './row.ts'

/** Times are p50 / p95 / max in milliseconds; a ratio is the median with its 95 % interval. */
export function formatTable(rows: readonly Row[]): string {
  const compared = rows.filter((row) => row.kind === 'compared')
  const figures = rows.filter((row) => row.kind === 'figure')
  return [
    ...(compared.length > 0 ? [formatCompared(compared)] : []),
    ...(figures.length > 0 ? [formatFigures(figures)] : []),
    ...notesOf(compared),
  ].join('\n\n')
}

function formatCompared(rows: readonly ComparedRow[]): string {
  const head = ['', 'ours', 'ms', 'baseline', 'ms', 'ratio', 'target', 'pairs', 'verdict']
  const body = rows.map(({ id, ours, baseline, target, comparison }) => [
    id,
    ours,
    showTimes(comparison.oursMs),
    baseline,
    showTimes(comparison.baselineMs),
    showInterval(comparison.ratio),
    [
      `≤ ${target.ratio}`,
      target.stretch === undefined ? '' : ` (${target.stretch})`,
      target.p50Ms === undefined ? '' : `, p50 ≤ ${target.p50Ms}`,
    ].join(''),
    String(comparison.pairs),
    showVerdict(comparison.verdict, comparison.oursMs.p50, target.p50Ms),
  ])
  return align([head, ...body])
}

function formatFigures(rows: readonly FigureRow[]): string {
  return align([
    ['', 'figure', 'value', 'limit', 'verdict'],
    ...rows.map(({ id, what, value, unit, limit }) => [
      id,
      what,
      `${showNumber(value)} ${unit}`,
      limit === undefined ? '' : `≤ ${limit}`,
      limit === undefined ? '' : value <= limit ? 'met' : 'missed',
    ]),
  ])
}

function notesOf(rows: readonly ComparedRow[]): string[] {
  const notes = rows.flatMap(({ id, ours, baseline, note, comparison }) => {
    const { wrong, baselineWrong } = comparison
    return [
      ...(note === undefined ? [] : [`${id}: ${note}`]),
      ...(wrong.length === 0
        ? []
        : [`${id} ${ours}: ${wrong.length} wrong results of ours; the first: ${wrong[0]}`]),
      ...(baselineWrong === 0
        ? []
        : [`${id} ${ours}: ${baselineWrong} wrong results of ${baseline}`]),
    ]
  })
  return notes.length === 0 ? [] : [notes.join('\n')]
}

function showVerdict(verdict: string, p50: number, p50Ms: number | undefined): string {
  if (verdict === 'FAIL' || p50Ms === undefined) return verdict
  return p50 <= p50Ms ? verdict : `${verdict}, p50 missed`
}

function showTimes({ p50, p95, max }: Distribution): string {
  return [p50, p95, max].map(showNumber).join(' / ')
}

function showInterval({ median, low, high }: Interval): string {
  return `${median.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`
}

function showNumber(value: number): string {
  if (Number.isNaN(value)) return '–'
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)
}

function align(lines: readonly (readonly string[])[]): string {
  const widths = lines[0]!.map((_, column) =>
    Math.max(...lines.map((line) => line[column]!.length)),
  )
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
