import { restingStates } from '@computer/contract'
import { setTimeout as delay } from 'node:timers/promises'
import type { Answer, ApiClient } from '../harness/api.ts'
import {
  countUp,
  isReady,
  record,
  showSet,
  type Ledger,
  type MachineEntry,
  type RestingState,
  type SnapshotEntry,
} from './ledger.ts'
import type { Random } from '../harness/random.ts'

/** One program that uses the service, with machines of its own. It asks again until it is answered. */
export type Caller = {
  readonly name: string
  readonly random: Random
  readonly ledger: Ledger
  /** Those that are not gone. */
  readonly machines: readonly MachineEntry[]
  readonly everOwned: readonly MachineEntry[]
  /** `wasRepeated`: an earlier try may have taken effect without an answer. */
  persist(method: string, path: string, body?: unknown, headers?: Headers): Promise<Persisted>
  /** A POST that creates one thing however often it is sent. */
  create(path: string, body: unknown): Promise<Persisted>
  own(machine: MachineEntry): void
  remove(machine: MachineEntry): Promise<void>
  /** Those that can be forked or restored. */
  snapshotsOf(machine: MachineEntry): readonly SnapshotEntry[]
  /** Waits until something is in one of these states; `gone` when it is not there. */
  waitForState(path: string, states: readonly string[]): Promise<string>
  /** Waits until the machine rests, and holds that against what the ledger has. */
  settle(machine: MachineEntry): Promise<void>
  unexpected(what: string, answer: Answer): void
}

export type Persisted = Answer & { readonly wasRepeated: boolean }
type Headers = Readonly<Record<string, string>>

const answerBoundMs = 180_000
const restBoundMs = 180_000

export function createCaller(
  name: string,
  options: { readonly api: ApiClient; readonly ledger: Ledger; readonly random: Random },
): Caller {
  const { api, ledger, random } = options
  const everOwned: MachineEntry[] = []
  let keys = 0

  async function persist(
    method: string,
    path: string,
    body?: unknown,
    headers: Headers = {},
  ): Promise<Persisted> {
    const deadline = Date.now() + answerBoundMs
    for (let tries = 0; ; tries++) {
      const answer = await api.call(method, path, body, headers).catch(() => undefined)
      if (method !== 'GET') {
        const what = `${method} ${path} ${JSON.stringify(body) ?? ''}`
        record(ledger, `${name} ${what} → ${show(answer)}`)
      }
      if (answer && !isInconclusive(answer)) return { ...answer, wasRepeated: tries > 0 }
      if (answer?.status === 500) countUp(ledger.counts.internalErrors, `${method} ${route(path)}`)
      if (Date.now() > deadline) {
        throw new Error(`${method} ${path}: no answer in ${answerBoundMs} ms; ${show(answer)}`)
      }
      ledger.counts.repeated += 1
      await delay(200)
    }
  }

  async function waitForState(path: string, states: readonly string[]): Promise<string> {
    const deadline = Date.now() + restBoundMs
    for (;;) {
      const { status, body } = await persist('GET', path)
      if (status === 404) return 'gone'
      if (states.includes(body.state)) return body.state
      if (Date.now() > deadline) return `still ${body.state} after ${restBoundMs} ms`
      await delay(100)
    }
  }

  const caller: Caller = {
    name,
    random,
    ledger,
    everOwned,
    get machines() {
      return everOwned.filter(({ states }) => !states.has('gone'))
    },
    persist,
    create: (path, body) => persist('POST', path, body, { 'idempotency-key': `${name}-${keys++}` }),
    own(machine) {
      everOwned.push(machine)
      ledger.machines.set(machine.id, machine)
    },
    async remove(machine) {
      const answer = await persist('DELETE', `/v1/machines/${machine.id}`)
      machine.states = new Set(['gone'])
      const isAccepted = answer.status === 202 || (answer.status === 404 && answer.wasRepeated)
      if (!isAccepted) caller.unexpected(`the deletion of ${machine.id}`, answer)
      await caller.settle(machine)
    },
    snapshotsOf: ({ id }) =>
      [...ledger.snapshots.values()].filter((one) => one.machineId === id && isReady(one)),
    waitForState,
    async settle(machine) {
      const seen = await waitForState(`/v1/machines/${machine.id}`, restingStates)
      if (machine.states.has(seen as RestingState)) {
        machine.states = new Set([seen as RestingState])
        return
      }
      const { body } = await persist('GET', `/v1/machines/${machine.id}/events?limit=8`)
      const log = body.data?.map(showEvent).join('; ')
      ledger.problems.push(
        `${machine.id} should be ${showSet(machine.states)} and is ${seen}: ${log}`,
      )
    },
    unexpected(what, answer) {
      ledger.problems.push(`${name}: ${what} was answered ${show(answer)}`)
    },
  }

  return caller
}

/** The server could not say: it was down, or the same call of before is still at work. */
function isInconclusive({ status, headers }: Answer): boolean {
  return status === 500 || status === 503 || (status === 409 && 'retry-after' in headers)
}

function route(path: string): string {
  return path.replace(/\?.*/, '').replaceAll(/_[0-9a-z]{20,32}/g, '_…')
}

function show(answer: Answer | undefined): string {
  return answer ? `${answer.status} ${answer.bytes.toString('utf8').slice(0, 300)}` : 'no answer'
}

function showEvent(event: Record<string, string | null>): string {
  const { type, from_state: from, to_state: to, message } = event
  return [type, from && `${from} → ${to}`, message].filter(Boolean).join(' ')
}
