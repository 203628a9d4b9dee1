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
  type SettledState,
  type SnapshotEntry,
} from './ledger.ts'
import type { Random } from '../harness/random.ts'
import type { RowsReader } from './rows.ts'

/** A client of the server with machines of its own. It retries calls until it gets an answer. */
export type Caller = {
  readonly name: string
  readonly random: Random
  readonly ledger: Ledger
  /** The machines that are not gone. */
  readonly machines: readonly MachineEntry[]
  readonly everOwned: readonly MachineEntry[]
  /** Retries a call until the answer is conclusive. */
  persist(method: string, path: string, body?: unknown, headers?: Headers): Promise<Persisted>
  /** Retries a POST under one idempotency key. */
  create(path: string, body: unknown): Promise<Persisted>
  own(machine: MachineEntry): void
  remove(machine: MachineEntry): Promise<void>
  /** The machine's ready snapshots. */
  snapshotsOf(machine: MachineEntry): readonly SnapshotEntry[]
  /** Waits until the resource is in one of these states; resolves to `gone` if it does not exist. */
  waitForState(path: string, states: readonly string[]): Promise<string>
  /** Waits until the machine has settled, and compares its state with the ledger. */
  settle(machine: MachineEntry): Promise<void>
  unexpected(what: string, answer: Answer): void
}

/** `wasRetried`: an earlier attempt may have taken effect without an answer. */
type Persisted = Answer & { readonly wasRetried: boolean }
type Headers = Readonly<Record<string, string>>

const answerBoundMs = 180_000
const settleBoundMs = 180_000

type CallerOptions = {
  readonly api: Pick<ApiClient, 'call'>
  readonly ledger: Ledger
  readonly random: Random
  readonly rows: Pick<RowsReader, 'awaitsHost' | 'movedLately'>
}

/** Several callers, each with a random sequence of its own. */
export function createCallers(count: number, options: CallerOptions): readonly Caller[] {
  return Array.from({ length: count }, (_, index) => {
    const name = `caller-${index + 1}`
    return createCaller(name, { ...options, random: options.random.fork(name) })
  })
}

function createCaller(name: string, options: CallerOptions): Caller {
  const { api, ledger, random, rows } = options
  const everOwned: MachineEntry[] = []
  let keys = 0

  async function persist(
    method: string,
    path: string,
    body?: unknown,
    headers: Headers = {},
  ): Promise<Persisted> {
    const deadline = Date.now() + answerBoundMs
    for (let retries = 0; ; retries++) {
      const answer = await api.call(method, path, body, headers).catch(() => undefined)
      if (method !== 'GET') {
        const what = `${method} ${path} ${JSON.stringify(body) ?? ''}`
        record(ledger, `${name} ${what} → ${show(answer)}`)
      }
      if (answer && !isInconclusive(answer) && !(await isOfMove(answer, path, body)))
        return { ...answer, wasRetried: retries > 0 }
      if (answer?.status === 500) countUp(ledger.counts.internalErrors, `${method} ${route(path)}`)
      if (Date.now() > deadline) {
        throw new Error(`${method} ${path}: no answer within ${answerBoundMs} ms: ${show(answer)}`)
      }
      ledger.counts.retries += 1
      await delay(200)
    }
  }

  /** A refusal because the operator moves the machine, which nobody but the operator knows. */
  async function isOfMove({ status }: Answer, path: string, body: unknown): Promise<boolean> {
    if (status !== 409 && status !== 412) return false
    const [id] = /mch_[0-9a-z]{26}/.exec(`${path} ${JSON.stringify(body)}`) ?? []
    return id !== undefined && rows.movedLately(id)
  }

  /** A machine in error starts again by itself when its host is back. */
  async function goesOn(path: string, { id, state }: Answer['body']): Promise<boolean> {
    if (state !== 'error') return false
    if (await rows.awaitsHost(id)) return true
    // Its host may just have been back.
    return (await persist('GET', path)).body.state !== 'error'
  }

  async function waitForState(path: string, states: readonly string[]): Promise<string> {
    const deadline = Date.now() + settleBoundMs
    for (;;) {
      const { status, body } = await persist('GET', path)
      if (status === 404) return 'gone'
      if (states.includes(body.state) && !(await goesOn(path, body))) return body.state
      if (Date.now() > deadline) return `still ${body.state} after ${settleBoundMs} ms`
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
      const isAccepted = answer.status === 202 || (answer.status === 404 && answer.wasRetried)
      if (!isAccepted) caller.unexpected(`the deletion of ${machine.id}`, answer)
      await caller.settle(machine)
    },
    snapshotsOf: ({ id }) =>
      [...ledger.snapshots.values()].filter((one) => one.machineId === id && isReady(one)),
    waitForState,
    async settle(machine) {
      const seen = await waitForState(`/v1/machines/${machine.id}`, restingStates)
      if (machine.states.has(seen as SettledState)) {
        machine.states = new Set([seen as SettledState])
        return
      }
      const { body } = await persist('GET', `/v1/machines/${machine.id}/events?limit=8`)
      const log = body.data?.map(showEvent).join('; ')
      ledger.problems.push(
        `${machine.id} should be ${showSet(machine.states)} and is ${seen}: ${log}`,
      )
    },
    unexpected(what, answer) {
      ledger.problems.push(`${name}: unexpected answer to ${what}: ${show(answer)}`)
    },
  }

  return caller
}

/** The server was down, failed, or is still handling the same call. */
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
