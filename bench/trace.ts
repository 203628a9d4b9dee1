import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SpanLine } from '../server/src/trace/lines.ts'
import type { Run } from './rounds.ts'

/*
 * Where the time of one run went: the spans that the server's services wrote while the run of median length
 * was timed, as a tree with the share of each.
 */

const services = ['api', 'gateway', 'worker']
/** Shorter spans are counted in one line per parent. */
const leastShare = 0.005

/** Describes the median run of each side whose work the server did. */
export async function describeRuns(dataDir: string, runs: readonly Run[]): Promise<string[]> {
  const spans = await readSpans(dataDir)
  return [...new Set(runs.map(({ side }) => side))].flatMap((side) => {
    const ofSide = runs.filter((run) => run.side === side).toSorted((a, b) => a.ms - b.ms)
    const median = ofSide[Math.floor((ofSide.length - 1) / 2)]!
    const lines = describeRun(median, spans)
    const title = `${side}: ${show(median.ms)} ms, the median of ${ofSide.length}`
    return lines.length === 0 ? [] : [[title, ...lines].join('\n')]
  })
}

async function readSpans(dataDir: string): Promise<SpanLine[]> {
  const files = services.flatMap((service) => [`${service}.log.1`, `${service}.log`])
  const texts = files.map((file) => readFile(join(dataDir, 'logs', file), 'utf8').catch(() => ''))
  return (await Promise.all(texts)).flatMap((text) =>
    text
      .split('\n')
      .filter((line) => line.includes('"msg":"span"'))
      .map((line) => JSON.parse(line) as SpanLine),
  )
}

/** Spans of background work have no row and are left out. */
export function describeRun(run: Omit<Run, 'side'>, spans: readonly SpanLine[]): string[] {
  const endMs = run.startMs + run.ms
  const during = spans.filter(
    ({ start_ms: startMs, ms }) => startMs < endMs && startMs + ms > run.startMs,
  )
  const withRow = new Set(during.filter(({ id }) => id !== undefined).map((one) => one.trace_id))
  const shown = during.filter((one) => withRow.has(one.trace_id))
  const known = new Set(shown.map((one) => one.span_id))
  const childrenOf = Map.groupBy(shown, ({ parent_id: parent }) =>
    parent !== undefined && known.has(parent) ? parent : 'none',
  )
  const describe = (parent: string, depth: number): string[] => {
    const children = childrenOf.get(parent) ?? []
    const long = children.filter(({ ms }) => ms >= leastShare * run.ms)
    const lines = long
      .toSorted((a, b) => a.start_ms - b.start_ms)
      .flatMap((one) => [line(one, depth), ...describe(one.span_id, depth + 1)])
    const short = children.length - long.length
    return short === 0 ? lines : [...lines, `${' '.repeat(27 + 2 * depth)}${short} shorter`]
  }
  const line = ({ name, span, start_ms: startMs, ms }: SpanLine, depth: number): string => {
    const title = depth === 0 ? `${name}: ${span}` : span
    const share = `${((100 * ms) / run.ms).toFixed(1)} %`
    const figures = [`+${show(startMs - run.startMs)}`.padStart(9), show(ms).padStart(8)]
    return `${figures.join('')}${share.padStart(8)}  ${'  '.repeat(depth)}${title}`
  }
  const lines = describe('none', 0)
  if (lines.length === 0) return []
  const roots = (childrenOf.get('none') ?? []).map(
    (one) => [Math.max(one.start_ms, run.startMs), Math.min(one.start_ms + one.ms, endMs)] as const,
  )
  const outside = run.ms - covered(roots)
  const share = ((100 * outside) / run.ms).toFixed(1)
  return [
    ...lines,
    `${show(outside).padStart(17)}${`${share} %`.padStart(8)}  outside of all spans`,
  ]
}

/** The length of the union of intervals. */
function covered(intervals: readonly (readonly [number, number])[]): number {
  let total = 0
  let reached = -Infinity
  for (const [start, end] of intervals.toSorted((a, b) => a[0] - b[0])) {
    total += Math.max(0, end - Math.max(start, reached))
    reached = Math.max(reached, end)
  }
  return total
}

function show(ms: number): string {
  return ms.toFixed(ms < 10 ? 2 : 1)
}
