/*
 * The state that the server has acknowledged to its callers. After a lost answer both the old and the
 * requested state are possible, so each fact is a set of possible values.
 */

export type SettledState = 'running' | 'stopped' | 'gone'

export type MachineEntry = {
  readonly id: string
  states: ReadonlySet<SettledState>
  names: ReadonlySet<string>
  /** The content of the marker file; null if there is none. */
  markers: ReadonlySet<string | null>
}

export type SnapshotEntry = {
  readonly id: string
  readonly machineId: string
  states: ReadonlySet<'ready' | 'error' | 'gone'>
  markers: ReadonlySet<string | null>
}

export type TemplateEntry = {
  readonly id: string
  states: ReadonlySet<'ready' | 'error' | 'gone'>
  readonly markers: ReadonlySet<string | null>
}

export type Ledger = {
  readonly machines: Map<string, MachineEntry>
  readonly snapshots: Map<string, SnapshotEntry>
  readonly templates: Map<string, TemplateEntry>
  /** Contradictions with acknowledged state. */
  readonly problems: string[]
  /** Operations and answers, in order. */
  readonly journal: string[]
  readonly counts: {
    operations: number
    /** Calls without a conclusive answer. */
    retries: number
    readonly byOperation: Map<string, number>
    readonly kills: Map<string, number>
    /** Answers with status 500, by route. */
    readonly internalErrors: Map<string, number>
    /** Accepted operations that failed with an event, which they may. */
    readonly failures: string[]
  }
}

export function createLedger(): Ledger {
  return {
    machines: new Map(),
    snapshots: new Map(),
    templates: new Map(),
    problems: [],
    journal: [],
    counts: {
      operations: 0,
      retries: 0,
      byOperation: new Map(),
      kills: new Map(),
      internalErrors: new Map(),
      failures: [],
    },
  }
}

export function record({ journal }: Ledger, text: string): void {
  journal.push(`${new Date().toISOString()} ${text}`)
}

export function isReady({ states }: SnapshotEntry | TemplateEntry): boolean {
  return states.size === 1 && states.has('ready')
}

export function countUp(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

export function showSet(set: ReadonlySet<string | null>): string {
  return [...set].map((value) => value ?? 'none').join(' or ')
}
