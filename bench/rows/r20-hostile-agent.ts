import { build } from 'esbuild'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { eventually } from '../../e2e/harness/polling.ts'
import { readServerPid } from '../../e2e/harness/processes.ts'
import { compareInTurns, compareTimes, serverProcesses, whoLives } from '../bystander.ts'
import { polling, withMachine } from '../machine.ts'
import { readTree } from '../processes.ts'
import type { Bench, BenchContext, FigureRow } from '../row.ts'

const agentEntry = fileURLToPath(
  new URL('../../server/test/hostile/agent-main.ts', import.meta.url),
)
const owner = fileURLToPath(new URL('../hostile-owner.ts', import.meta.url))
/** After which the processes of the server have grown as far as they do. */
const warmups = 3
const socket = '/run/computer/agent.sock'

/**
 * Root of one machine has replaced its agent by a program that answers anything to anything, and its owner
 * calls it in every way. The first runs warm the server up; the memory before the last is what the server
 * usually has.
 */
export const bench: Bench = {
  name: 'r20-hostile-agent',
  title: 'calls of others beside a hostile agent',
  run: async (context) => {
    const { api, say } = context
    return withMachine(api, 'r20', async ({ id: victim }) => {
      await api.waitForDesktop(victim, polling)
      return withMachine(api, 'r20-hostile', async ({ id }) => {
        await api.waitForDesktop(id, polling)
        const before = await whoLives(context, victim)
        const { sessionId } = await api.takeLease(id)
        say('replacing the agent')
        await replaceAgent(context, id)
        const target = { id, sessionId }
        const outcomes = new Set<string | number>()
        const attack = async (work: () => Promise<void>) => {
          for (const one of await besideOwner(context, target, work)) outcomes.add(one)
        }
        say('warming up')
        for (let times = 0; times < warmups; times++) {
          await compareInTurns(context, victim, attack)
        }
        const usual = await readMemory(context)
        say('calling a hostile agent')
        const { quiet, attacked } = await compareInTurns(context, victim, attack)
        const held = await readMemory(context)
        if (outcomes.size < 4) throw new Error(`all calls ended alike: ${[...outcomes].join()}`)
        const after = await whoLives(context, victim)
        if (after !== before) throw new Error(`${before} became ${after}`)
        return [
          ...compareTimes('R20', 'hostile agent', quiet, attacked),
          ...serverProcesses.map((name, at) => compareMemory(name, usual[at]!, held[at]!)),
        ]
      })
    })
  },
}

/** The agent that stops leaves what it started. */
async function replaceAgent({ api }: BenchContext, id: string): Promise<void> {
  const built = await build({
    entryPoints: [agentEntry],
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    write: false,
  })
  const serve = `sleep 1; systemctl stop computer-agent; rm -f ${socket}
exec /opt/computer/bin/node /run/hostile.mjs ${socket} 20`
  const launch = `cat > /run/hostile.mjs; setsid sh -c '${serve}' </dev/null >/dev/null 2>&1 &`
  const options = { user: 'root', stdin: built.outputFiles[0]!.text }
  await api.run(id, ['sh', '-c', launch], options)
  const isGone = async () => (await api.call('GET', `/v1/machines/${id}/display`)).status !== 200
  await eventually('the agent is another one', isGone, polling)
}

/** Does its work while the owner calls, and resolves to how these calls ended. */
async function besideOwner(
  { api }: BenchContext,
  target: { readonly id: string; readonly sessionId: string },
  work: () => Promise<void>,
): Promise<(string | number)[]> {
  const { gateway_url: gateway } = await api.ok<{ gateway_url: string }>('GET', '/v1/auth/me')
  const child = fork(owner)
  // Owners have computers of their own; here it gets what the host has left.
  setPriority(child.pid!, constants.priority.PRIORITY_LOW)
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`the owner has ended with ${code}`)
  })
  failed.catch(() => {})
  child.send({ origins: { api: api.baseUrl, gateway, key: api.key }, target })
  try {
    await Promise.race([work(), failed])
    child.send('end')
    const [outcomes] = (await Promise.race([once(child, 'message'), failed])) as [
      [string | number, number][],
    ]
    return outcomes.map(([outcome]) => outcome)
  } finally {
    child.kill()
  }
}

/** In MB, of each of the server's processes, when it has had time to collect its garbage. */
async function readMemory({ dataDir, plan }: BenchContext): Promise<number[]> {
  await delay(plan.restMs)
  return serverProcesses.map((name) => readTree(readServerPid(dataDir, name)).memoryMb)
}

function compareMemory(name: string, before: number, after: number): FigureRow {
  const what = `${name}: memory ${before.toFixed(0)} → ${after.toFixed(0)} MB`
  return { kind: 'figure', id: 'R20', what, value: after / before, unit: '×', limit: 1.1 }
}
