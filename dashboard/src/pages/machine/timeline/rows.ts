import type { Activity, MachineEvent } from '@computer/sdk'
import type { TimelineEntry } from './merge.ts'

/** A row of the timeline: an entry, or a run of inputs of one actor, newest first. */
export type Row =
  | { readonly kind: 'event'; readonly event: MachineEvent }
  | { readonly kind: 'activity'; readonly activity: Activity }
  | { readonly kind: 'run'; readonly inputs: readonly Activity[] }

/** Fewer stand for themselves. */
const leastRun = 3

/** Makes one row of a run of inputs, so that a thousand clicks leave what else happened in sight. */
export function rowsOf(entries: readonly TimelineEntry[]): readonly Row[] {
  const rows: Row[] = []
  let run: Activity[] = []
  const endRun = () => {
    if (run.length >= leastRun) rows.push({ kind: 'run', inputs: run })
    else rows.push(...run.map((activity) => ({ kind: 'activity', activity }) as const))
    run = []
  }
  for (const { kind, entry } of entries) {
    const isInRun = kind === 'activity' && runOf(entry) !== null
    if (!isInRun || (run[0] && runOf(run[0]) !== runOf(entry))) endRun()
    if (isInRun) run.push(entry)
    else rows.push(kind === 'event' ? { kind, event: entry } : { kind, activity: entry })
  }
  endRun()
  return rows
}

/** Inputs with the same value make a run. Null: it is no input. */
function runOf({ type, actor }: Activity): string | null {
  const by = `${actor?.type} ${actor?.id}`
  if (type.startsWith('mouse.') || type.startsWith('keyboard.')) return `sent by ${by}`
  return type === 'viewer.input' ? `on the live screen by ${by}` : null
}
