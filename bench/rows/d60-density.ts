import { cpus, freemem } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { ApiClient } from '../../e2e/harness/api.ts'
import { runAdmin } from '../../e2e/harness/person.ts'
import { eventually } from '../../e2e/harness/polling.ts'
import { createMachine, deleteMachine, polling, shell, type Machine } from '../machine.ts'
import { distribution } from '../measure.ts'
import type { Bench, BenchContext, FigureRow } from '../row.ts'

/**
 * Sixty small machines with their desktops on one host, half of them with a page in a browser; then more, until the
 * server refuses. No program of the machines before may have ended by then.
 */
export const bench: Bench = {
  name: 'd60-density',
  title: 'sixty machines on one host',
  run: async (context) => {
    const machines: Machine[] = []
    try {
      return await fillHost(context, machines)
    } finally {
      await inLanes(machines, ({ id }) => deleteMachine(context.api, id))
    }
  },
}

const lanes = 4
/** The machines are at rest while the host's processors are idle for this share of so long. */
const restMs = 10_000
const idleShare = 0.5
const restWithinMs = 300_000
const screenshotRounds = 3
const mebibyte = 2 ** 20

async function fillHost(context: BenchContext, machines: Machine[]): Promise<FigureRow[]> {
  const { api, dataDir, plan, say } = context
  await allowMany(api, dataDir)
  const count = Math.min(60, plan.slow.rounds * 2)
  const create = async (name: string) => void machines.push(await createMachine(api, name))
  const before = freemem()
  const startMs = performance.now()
  say(`creating ${count} machines`)
  const names = Array.from({ length: count }, (_, index) => `d60-${index}`)
  await inLanes(names, create)
  await inLanes(machines, ({ id }) => api.waitForDesktop(id, polling))
  const createdMs = performance.now() - startMs
  await rest()
  const withDesktops = freemem()

  const browsing = machines.filter((_, index) => index % 2 === 0)
  say(`opening a page in ${browsing.length} of them`)
  await inLanes(browsing, ({ id }) => openPage(api, id))
  await rest()
  const withPages = freemem()

  say('taking screenshots')
  const times: number[] = []
  for (let round = 0; round < screenshotRounds; round++) {
    for (const { id } of machines) times.push(await timeScreenshot(api, id))
  }
  const alive = await readPrograms(api, machines)

  say('creating more, until the server refuses')
  const refusal = await createUntilRefused(api, machines)
  const left = freemem()
  const now = await readPrograms(api, machines.slice(0, count))
  const lost = alive.filter((program) => !now.includes(program)).length
  return [
    figure(`${count} machines created, all desktops up`, createdMs, 'ms'),
    figure(
      'memory of a machine with its desktop',
      (before - withDesktops) / count / mebibyte,
      'MB',
    ),
    figure(
      'memory of a browser with a page',
      (withDesktops - withPages) / browsing.length / mebibyte,
      'MB',
    ),
    figure(`screenshot of each machine in turn, p95`, distribution(times).p95, 'ms'),
    figure(`machines when the server refused (${refusal})`, machines.length, ''),
    figure('memory of the host that was left then', left / mebibyte, 'MB'),
    { ...figure('programs of machines that had ended by then', lost, ''), limit: 0 },
  ]
}

/** Programs that start need more memory than later. Resolves when they have given it back. */
async function rest(): Promise<void> {
  const deadline = performance.now() + restWithinMs
  for (let share = 0; share < idleShare;) {
    if (performance.now() > deadline) throw new Error('the machines did not come to rest')
    const before = readTicks()
    await delay(restMs)
    const now = readTicks()
    share = (now.idle - before.idle) / (now.all - before.all)
  }
}

function readTicks(): { idle: number; all: number } {
  const times = cpus().map((cpu) => cpu.times)
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)
  return {
    idle: sum(times.map(({ idle }) => idle)),
    all: sum(times.flatMap((all) => Object.values(all))),
  }
}

/** The operator of the host lifts the limits of the plan. */
async function allowMany(api: ApiClient, dataDir: string): Promise<void> {
  const { organization } = await api.ok<{ organization: { id: string } }>('GET', '/v1/auth/me')
  const limits = { running_machines: '400', machines: '400' }
  const plan = { organizationId: organization.id, planId: 'startup', limits }
  await runAdmin(dataDir, { command: 'org set-plan', ...plan })
}

async function openPage(api: ApiClient, id: string): Promise<void> {
  const paragraphs = 'for i in $(seq 1 300); do echo "<p>$i A page with some text to read."; done'
  await shell(api, id, `(echo '<h1>Page</h1>'; ${paragraphs}) > ~/page.html`)
  await api.launch(id, 'chromium file:///home/agent/page.html')
  const isShown = async () =>
    (await shell(api, id, `xdotool search --onlyvisible --name '^page.html' || true`)) !== ''
  await eventually('the browser has a page', isShown, polling)
}

async function timeScreenshot(api: ApiClient, id: string): Promise<number> {
  const startMs = performance.now()
  const { image } = await api.ok<{ image: string }>(
    'GET',
    `/v1/machines/${id}/screenshot?format=jpeg`,
  )
  if (image.length < 1000) throw new Error('the screenshot is empty')
  return performance.now() - startMs
}

/** The processes of each machine that should outlive the filling: its panel, and the renderers of its browser. */
async function readPrograms(api: ApiClient, machines: readonly Machine[]): Promise<string[]> {
  const programs: string[] = []
  await inLanes(machines, async ({ id }) => {
    const pids = await shell(
      api,
      id,
      "pgrep -f '[t]ype=renderer|[x]fce4-panel$|[X]tigervnc' || true",
    )
    for (const pid of pids.match(/\d+/g) ?? []) programs.push(`${id} ${pid}`)
  })
  return programs
}

/** Resolves to the error's message. */
async function createUntilRefused(api: ApiClient, machines: Machine[]): Promise<string> {
  for (let number = 0; number < 300; number++) {
    const name = `bench-more-${number}`
    const { status, body } = await api.call('POST', '/v1/machines', { name })
    if (status !== 201) return `${status}, ${body.error.message}`
    machines.push(body)
    if (body.state !== 'running') throw new Error(`a machine is ${body.state}, and was not refused`)
    await api.waitForDesktop(body.id, polling)
  }
  throw new Error('the server refused none of 300 machines')
}

async function inLanes<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const remaining = items.values()
  const lane = async () => {
    for (const item of remaining) await work(item)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

function figure(what: string, value: number, unit: FigureRow['unit']): FigureRow {
  return { kind: 'figure', id: 'D60', what, value, unit }
}
