import { Computer, type Machine } from '@computer/sdk'
import { setTimeout as delay } from 'node:timers/promises'
import type { Answer, ApiClient } from '../../e2e/harness/api.ts'
import { startRoleServer } from '../../e2e/cluster/role-server.ts'
import { eventually } from '../../e2e/harness/polling.ts'
import { polling } from '../machine.ts'
import type { Bench, FigureRow } from '../row.ts'
import { viewScreen, type Viewer } from '../viewer.ts'

const machineCount = 2
const viewersOfEach = 2
const callersOfEach = 2
/** Between two attempts of a viewer, or of a call. */
const retryMs = 250
/** Between two processes: longer than what one of them disturbs. */
const restMs = 3_000
const longestMs = 60 * 60_000

/**
 * Each process of a server is restarted in turn, as an upgrade does, while its machines are called, watched and typed
 * into. Two APIs and two gateways are behind one address each.
 */
export const bench: Bench = {
  name: 'r19-upgrade',
  title: 'an upgrade under load',
  run: async ({ say, plan }) => {
    await using stack = new AsyncDisposableStack()
    const lifetime = { after: (end: () => unknown) => stack.defer(async () => void (await end())) }
    say('starting a server')
    const server = await startRoleServer(lifetime, 'r19')
    const { api, baseUrl, key: apiKey } = server
    const computer = new Computer({ apiKey, baseUrl, closeOnExit: false })
    const machines: Machine[] = []
    while (machines.length < machineCount) machines.push(await computer.machines.create({}))
    for (const { id } of machines) await api.waitForDesktop(id, polling)
    const boots = await Promise.all(machines.map(({ id }) => readBoot(api, id)))
    const load = new Load(api)
    const terminals = await Promise.all(machines.map(openTerminal))
    for (const { id } of machines) {
      for (let count = 0; count < viewersOfEach; count++) load.watch(id)
      for (let count = 0; count < callersOfEach; count++) load.use(id, `note-${count}`)
    }
    await eventually('every viewer has a picture', async () => load.isWatching(), polling)
    const turns = Math.ceil(plan.slow.rounds / 10)
    for (let turn = 1; turn <= turns; turn++) {
      for (const role of server.roles) {
        say(`${role.name}, ${turn} of ${turns}`)
        await server.end(role, 'SIGTERM')
        await server.start(role)
        await delay(restMs)
        for (const terminal of terminals) await terminal.check(`${role.name}-${turn}`)
      }
    }
    await load.end()
    const after = await Promise.all(machines.map(({ id }) => readBoot(api, id)))
    if (String(after) !== String(boots)) throw new Error('a machine was restarted')
    for (const terminal of terminals) terminal.close()
    return load.describe()
  },
}

/** Viewers and callers of machines, until the end. */
class Load {
  readonly #api: ApiClient
  readonly #running: Promise<void>[] = []
  readonly #gapsMs: number[] = []
  /** The viewers that have a picture. */
  readonly #watching = new Set<Viewer>()
  readonly #failures: string[] = []
  #calls = 0
  #retries = 0
  #viewers = 0
  #isOver = false

  constructor(api: ApiClient) {
    this.#api = api
  }

  /** Whether each viewer has a picture of the connection that it has. */
  isWatching(): boolean {
    return this.#watching.size === this.#viewers
  }

  watch(machineId: string): void {
    this.#viewers += 1
    this.#running.push(this.#watch(machineId))
  }

  use(machineId: string, path: string): void {
    this.#running.push(this.#use(machineId, path))
  }

  async end(): Promise<void> {
    await eventually('every viewer has a picture', async () => this.isWatching(), polling)
    this.#isOver = true
    for (const viewer of this.#watching) viewer.fail(new Error('the upgrade is over'))
    await Promise.all(this.#running)
    if (this.#gapsMs.length < this.#viewers) throw new Error('no restart has disturbed the viewers')
  }

  describe(): FigureRow[] {
    const [failure] = this.#failures
    const lost = `idempotent calls that failed twice${failure === undefined ? '' : ` (${failure})`}`
    const row = { kind: 'figure', id: 'R19' } as const
    return [
      { ...row, what: 'idempotent calls', value: this.#calls, unit: '' },
      { ...row, what: 'idempotent calls that failed once', value: this.#retries, unit: '' },
      { ...row, what: lost, value: this.#failures.length, unit: '', limit: 0 },
      { ...row, what: 'viewers that connected again', value: this.#gapsMs.length, unit: '' },
      {
        ...row,
        what: 'viewer without a picture, longest',
        value: Math.max(...this.#gapsMs),
        unit: 'ms',
        limit: 2_000,
      },
    ]
  }

  async #watch(machineId: string): Promise<void> {
    let lostMs: number | null = null
    while (!this.#isOver) {
      const viewer = await viewScreen(this.#api, machineId).catch(() => undefined)
      if (viewer && (await this.#see(viewer, lostMs))) lostMs = performance.now()
      viewer?.[Symbol.dispose]()
      if (!this.#isOver) await delay(retryMs)
    }
  }

  /** Watches until the connection ends. Returns whether the viewer had a picture. */
  async #see(viewer: Viewer, lostMs: number | null): Promise<boolean> {
    // The first update is the whole picture.
    viewer.onUpdate = () => {
      if (this.#watching.has(viewer)) return
      this.#watching.add(viewer)
      if (lostMs !== null) this.#gapsMs.push(performance.now() - lostMs)
    }
    await viewer.until('the end', () => false, longestMs).catch(() => {})
    return this.#watching.delete(viewer)
  }

  async #use(machineId: string, path: string): Promise<void> {
    const file = `/v1/machines/${machineId}/files/content`
    for (let count = 0; !this.#isOver; count++) {
      const content = `text ${count}`
      await this.#call('PUT', file, { path, content })
      const read = await this.#call('GET', `${file}?path=${path}`)
      if (read !== undefined && read.body.content !== content) {
        this.#failures.push(`${path} is not ${content}: ${read.bytes}`)
      }
      await this.#call('GET', `/v1/machines/${machineId}`)
      await this.#call('GET', `/v1/machines/${machineId}/screenshot`)
    }
  }

  /** Calls once more if the first call fails. */
  async #call(method: string, path: string, body?: unknown): Promise<Answer | undefined> {
    this.#calls += 1
    let problem = ''
    for (const isRetry of [false, true]) {
      if (isRetry) await delay(retryMs)
      const answer = await this.#api.call(method, path, body).catch((error: Error) => error)
      if (!(answer instanceof Error) && answer.status < 400) return answer
      problem = answer instanceof Error ? answer.message : `${answer.status} ${answer.bytes}`
      if (!isRetry) this.#retries += 1
    }
    this.#failures.push(`${method} ${path}: ${problem}`)
    return undefined
  }
}

/** When the first process of a machine began. */
async function readBoot(api: ApiClient, id: string): Promise<string> {
  return api.run(id, ['cut', '-d ', '-f22', '/proc/1/stat'])
}

/** A shell with a variable that only the first one has. */
async function openTerminal(machine: Machine) {
  const terminal = machine.terminals.attach((await machine.terminals.open({})).id)
  let text = ''
  const reading = (async () => {
    for await (const bytes of terminal) text += Buffer.from(bytes).toString()
  })()
  reading.catch(() => {})
  terminal.write('word=kept\n')
  return {
    async check(mark: string): Promise<void> {
      terminal.write(`echo ${mark} $word\n`)
      await eventually(`${mark} is shown`, async () => text.includes(`${mark} kept\r\n`), polling)
    },
    close: () => terminal.close(),
  }
}
