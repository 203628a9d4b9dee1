/*
 * What the server has acknowledged, as its callers remember it. Where an answer was lost, both what
 * was before and what was asked for are possible, so each fact is a set of what may be.
 */

export type RestingState = 'running' | 'stopped' | 'gone'

export type MachineEntry = {
  readonly id: string
  states: ReadonlySet<RestingState>
  names: ReadonlySet<string>
  /** The content of its marker file; null: there is none. */
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
  /** What came out other than acknowledged. */
  readonly problems: string[]
  /** What was done and answered, in order. */
  readonly journal: string[]
  readonly counts: {
    operations: number
    /** Calls that were repeated because no answer came, or none that says anything. */
    repeated: number
    readonly byOperation: Map<string, number>
    readonly kills: Map<string, number>
    /** Answers of 500, by their route and message. */
    readonly internalErrors: Map<string, number>
    /** What was accepted and then failed as it may, with an event that says so. */
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
      repeated: 0,
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
