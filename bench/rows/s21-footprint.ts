import { setTimeout as delay } from 'node:timers/promises'
import { eventually } from '../../e2e/harness/polling.ts'
import { readServerPid } from '../../e2e/harness/processes.ts'
import { polling, withMachine } from '../machine.ts'
import {
  cpuPercent,
  findInit,
  listGuest,
  readCommand,
  readGuestMemory,
  readTree,
} from '../processes.ts'
import type { Bench, BenchContext, FigureRow } from '../row.ts'

const services = ['api', 'gateway', 'worker']
const processes = [...services, 'postgres', 'engine']

/**
 * Idle memory and CPU of the server's processes and of a machine with its desktop, and of an instance of
 * the same image that the engine's own client launched without the agent.
 */
export const bench: Bench = {
  name: 's21-footprint',
  title: 'idle memory and CPU',
  run: async (context) => [
    ...(await measureServer(context)),
    ...(await withMachine(context.api, 's21', ({ id }) => measureMachine(context, id))),
    ...(await measureBaseline(context)),
  ],
}

async function measureServer({ dataDir, plan, say }: BenchContext): Promise<FigureRow[]> {
  say('observing the idle server')
  const pids = processes.map((name) => readServerPid(dataDir, name))
  await delay(plan.restMs / 2)
  const rows: FigureRow[] = []
  const { before, after, ms } = await observe(plan.restMs / 2, () => pids.map(readTree))
  for (const [index, name] of processes.entries()) {
    rows.push(
      {
        ...figure(`${name}: memory`, after[index]!.memoryMb, 'MB'),
        ...(services.includes(name) && { limit: 200 }),
      },
      figure(`${name}: idle CPU`, cpuPercent(before[index]!, after[index]!, ms), '% CPU'),
    )
  }
  return rows
}

async function measureMachine(context: BenchContext, id: string): Promise<FigureRow[]> {
  const { api, incus, plan, say } = context
  say('observing an idle machine with its desktop')
  await api.waitForDesktop(id, polling)
  await delay(plan.restMs)
  const { project, name } = await incus.instanceOf(id)
  const init = await findInit(incus, project, name)
  const agent = listGuest(init).find((pid) => readCommand(pid).includes('agent.mjs'))
  if (agent === undefined) throw new Error('no agent runs in the machine')
  const { before, after, ms } = await observe(plan.restMs, () => readTree(agent))
  const { processesMb, workingSetMb } = readGuestMemory(init)
  return [
    { ...figure('agent: memory', after.memoryMb, 'MB'), limit: 70 },
    { ...figure('agent: idle CPU', cpuPercent(before, after, ms), '% CPU'), limit: 0.2 },
    figure('machine with desktop: memory of processes', processesMb, 'MB'),
    figure('machine with desktop: working set', workingSetMb, 'MB'),
  ]
}

async function measureBaseline(context: BenchContext): Promise<FigureRow[]> {
  const { incus, plan, say } = context
  say('observing the idle image without the agent')
  const name = 's21'
  await incus.run(...incus.launchArgs(incus.image, name))
  try {
    const isUp = () =>
      incus.exec(name, 'pgrep', '-x', 'xfce4-panel').then(
        () => true,
        () => false,
      )
    await eventually('the panel runs', isUp, polling)
    await delay(2 * plan.restMs)
    const { processesMb, workingSetMb } = readGuestMemory(await findInit(incus, 'bench', name))
    return [
      figure('image without the agent: memory of processes', processesMb, 'MB'),
      figure('image without the agent: working set', workingSetMb, 'MB'),
    ]
  } finally {
    await incus.remove(name)
  }
}

async function observe<T>(ms: number, read: () => T): Promise<{ before: T; after: T; ms: number }> {
  const start = performance.now()
  const before = read()
  await delay(ms)
  return { before, after: read(), ms: performance.now() - start }
}

function figure(what: string, value: number, unit: FigureRow['unit']): FigureRow {
  return { kind: 'figure', id: 'S21', what, value, unit }
}
