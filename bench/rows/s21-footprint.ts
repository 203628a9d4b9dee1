import { setTimeout as delay } from 'node:timers/promises'
import { waitFor, waitForDesktop, withMachine } from '../machine.ts'
import {
  cpuPercent,
  findInit,
  listGuest,
  readCommand,
  readGuestMemory,
  readRolePid,
  readTree,
} from '../processes.ts'
import type { Bench, BenchContext, FigureRow } from '../row.ts'

const roles = ['api', 'gateway', 'worker', 'postgres', 'engine']
const ours = new Set(['api', 'gateway', 'worker'])

/**
 * What the server and one machine with its desktop take while nobody asks anything of them, and a
 * machine of the same image that the engine's own client launched, without the agent.
 */
export const bench: Bench = {
  name: 's21-footprint',
  title: 'memory and CPU at rest',
  run: async (context) => [
    ...(await measureRoles(context)),
    ...(await withMachine(context.api, 's21', ({ id }) => measureMachine(context, id))),
    ...(await measureBaseline(context)),
  ],
}

async function measureRoles({ dataDir, plan, say }: BenchContext): Promise<FigureRow[]> {
  say('the roles of the server at rest')
  const pids = roles.map((role) => readRolePid(dataDir, role))
  await delay(plan.restMs / 2)
  const rows: FigureRow[] = []
  const { before, after, ms } = await observe(plan.restMs / 2, () => pids.map(readTree))
  for (const [index, role] of roles.entries()) {
    rows.push(
      {
        ...figure(`${role}: memory`, after[index]!.memoryMb, 'MB'),
        ...(ours.has(role) && { limit: 200 }),
      },
      figure(`${role}: CPU at rest`, cpuPercent(before[index]!, after[index]!, ms), '% CPU'),
    )
  }
  return rows
}

async function measureMachine(context: BenchContext, id: string): Promise<FigureRow[]> {
  const { api, incus, plan, say } = context
  say('a machine with its desktop at rest')
  await waitForDesktop(api, id)
  await delay(plan.restMs)
  const { project, name } = await incus.instanceOf(id)
  const init = await findInit(incus, project, name)
  const agent = listGuest(init).find((pid) => readCommand(pid).includes('agent.mjs'))
  if (agent === undefined) throw new Error('no agent runs in the machine')
  const { before, after, ms } = await observe(plan.restMs, () => readTree(agent))
  const { processesMb, workingSetMb } = readGuestMemory(init)
  return [
    { ...figure('agent: memory', after.memoryMb, 'MB'), limit: 70 },
    { ...figure('agent: CPU at rest', cpuPercent(before, after, ms), '% CPU'), limit: 0.2 },
    figure('machine with desktop: memory of its processes', processesMb, 'MB'),
    figure('machine with desktop: with the file cache it uses', workingSetMb, 'MB'),
  ]
}

async function measureBaseline(context: BenchContext): Promise<FigureRow[]> {
  const { incus, plan, say } = context
  say('the same image without the agent at rest')
  const name = 's21'
  await incus.run(...incus.launchArgs(incus.image, name))
  try {
    await waitFor('the panel is there', () =>
      incus.exec(name, 'pgrep', '-x', 'xfce4-panel').then(
        () => true,
        () => false,
      ),
    )
    await delay(2 * plan.restMs)
    const { processesMb, workingSetMb } = readGuestMemory(await findInit(incus, 'bench', name))
    return [
      figure('the image without the agent: memory of its processes', processesMb, 'MB'),
      figure('the image without the agent: with the file cache it uses', workingSetMb, 'MB'),
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
