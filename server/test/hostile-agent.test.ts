import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { after, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { AddressInfo } from 'node:net'
import { createRandom } from '../../e2e/harness/random.ts'
import { soakSeed, soakSize } from '../../scripts/soak/sizes.ts'
import { startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'
import { startHostileAgent, type HostileAgent } from './hostile/agent.ts'
import { callHostile } from './hostile/calls.ts'

/*
 * Root in a machine has replaced the agent by a program that answers anything to anything. Its owner calls
 * the machine in every way, while another machine is used as usual.
 */

const seed = soakSeed(12)
const { rounds } = soakSize('hostile')
const server = await startTestServer({ after }, { guests: { openTimeoutMs: 200 } })
const gateway = await startTestGateway({ after }, server.app)
await server.http.listen({ host: '127.0.0.1', port: 0 })
const origin = `http://127.0.0.1:${(server.http.server.address() as AddressInfo).port}`
const origins = { api: origin, gateway: gateway.origin, key: server.key }

test(`a hostile agent harms nobody but its machine in ${rounds} rounds (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const answers = new Map<number | string, number>()
  const victim = await server.machine()
  let agent: HostileAgent | undefined
  t.after(() => agent?.[Symbol.asyncDispose]())
  t.after(() => server.http.server.closeAllConnections())
  const capture = async () => {
    const { id } = await server.machine()
    const { sessionId } = await server.lease(id)
    server.engine.controls.replaceAgent(ref(id), () => agent!.connect())
    return { id, sessionId }
  }
  const machines = await Promise.all(Array.from({ length: machineCount }, capture))
  /** The agent is hostile from the first moment, so the worker deals with it. */
  const bootHostile = async () => {
    const { id } = await server.machine({ start: false })
    server.engine.controls.replaceAgent(ref(id), () => agent!.connect())
    await server.call('POST', `/v1/machines/${id}/start`)
  }

  /** Plays some rounds, and resolves to the memory that is in use once the agent is gone. */
  const play = async (from: number, to: number) => {
    const remaining = Array.from({ length: to - from }, (_, at) => from + at).values()
    agent = await startHostileAgent(seed + from)
    for (let count = 0; count < machineCount; count++) await bootHostile()
    let isPlaying = true
    const attack = async () => {
      for (const round of remaining) {
        const own = random.fork(`round ${round}`)
        const answer = await callHostile(origins, own.pick(machines), own)
        answers.set(answer, (answers.get(answer) ?? 0) + 1)
      }
    }
    const use = async () => {
      for (let times = 0; isPlaying; times++) {
        await useAsUsual(victim.id)
        if (times % 20 === 0) await createAndDelete()
      }
    }
    const using = use()
    await Promise.all(Array.from({ length: attacksAtOnce }, attack))
    isPlaying = false
    await using
    await agent[Symbol.asyncDispose]()
    return bytesInUse()
  }

  const warmUp = Math.ceil(rounds / 4)
  const before = await play(0, warmUp)
  const held = await play(warmUp, rounds)
  t.diagnostic(`${rounds} rounds: ${JSON.stringify(Object.fromEntries([...answers].sort()))}`)
  t.diagnostic(`memory ${mib(before)} MiB before, ${mib(held)} MiB after`)
  assert.ok(held < before * 1.1 + 8 * 2 ** 20, `${mib(before)} MiB before, ${mib(held)} MiB after`)
})

const attacksAtOnce = 10
const machineCount = 5

/** Another machine, its agent and its row. */
async function useAsUsual(id: string): Promise<void> {
  const { call } = server
  const command = { command: ['echo', 'as usual'] }
  assert.equal((await call('POST', `/v1/machines/${id}/exec`, command)).body.stdout, 'as usual\n')
  assert.equal((await call('GET', `/v1/machines/${id}/screenshot`)).status, 200)
  assert.equal((await call('GET', `/v1/machines/${id}`)).body.state, 'running')
  await pause(5)
}

async function createAndDelete(): Promise<void> {
  const { id, state } = await server.machine()
  assert.equal(state, 'running')
  assert.equal((await server.call('DELETE', `/v1/machines/${id}`)).status, 202)
}

/** The memory in use after a full collection. */
async function bytesInUse(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  // Finalizers run between two collections.
  for (let round = 0; round < 3; round++) {
    await pause(100)
    collect()
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function mib(count: number): string {
  return (count / 2 ** 20).toFixed(1)
}

function ref(id: string) {
  return { id: id as `mch_${string}`, generation: 1 }
}
