import assert from 'node:assert/strict'
import { chmod, mkdtemp, rm, stat } from 'node:fs/promises'
import { connect, createServer, Socket, type Server } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import * as scripts from './agent-socket-scripts.ts'
import { startAttacked, type Attacked } from './machines.ts'

/** Machines whose agent the server reaches past the engine: their root would like it to reach something else. */
describe('root of a machine attacks the direct way to its agent', () => {
  let attacked: Attacked
  let folder: string
  /** A socket of the host that listens at the agent's name, and no machine may ever lead to. */
  let host: Server
  let reached = 0

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'computer-host-'))
    host = createServer((socket) => {
      reached += 1
      socket.end('the host')
    })
    await once(host.listen(join(folder, 'agent.sock')), 'listening')
    attacked = await startAttacked('agentsocket')
    await put(attacked.victim, scripts.honest)
  })
  after(async () => {
    await attacked?.[Symbol.asyncDispose]()
    host?.close()
    if (folder) await rm(folder, { recursive: true })
  })

  async function put(machine: Attacked['victim'], script: string, ...args: string[]) {
    assert.equal(await attacked.python(machine, script, ...args), 'done')
  }

  /** Whether the stream is the agent's, past the engine. */
  async function isDirect(machine: Attacked['victim']): Promise<boolean> {
    const stream = await attacked.driver.connect(machine)
    try {
      return stream instanceof Socket
    } finally {
      stream.on('error', () => {}).destroy()
    }
  }

  async function echo(machine: Attacked['victim']): Promise<string> {
    const stream = await attacked.driver.connect(machine)
    try {
      stream.write('hello')
      return await firstOf(stream)
    } finally {
      stream.on('error', () => {}).destroy()
    }
  }

  test('an honest agent is reached past the engine', async () => {
    assert.equal(await isDirect(attacked.victim), true)
    assert.equal(await echo(attacked.victim), 'hello')
    await put(attacked.attacker, scripts.honest)
    assert.equal(await isDirect(attacked.attacker), true)
  })

  for (const [name, script, target] of [
    ['the socket', scripts.linkedSocket, 'agent.sock'],
    ['the folder', scripts.linkedFolder, ''],
  ] as const) {
    test(`${name} as a link to one of the host leads nowhere`, async () => {
      await put(attacked.attacker, script, join(folder, target))
      assert.equal(await isDirect(attacked.attacker), false)
      assert.notEqual(await echo(attacked.attacker).catch(() => 'nothing'), 'the host')
      assert.equal(reached, 0)
    })
  }

  test('a socket of another user of the machine is left to the engine', async () => {
    await put(attacked.attacker, scripts.socketOfUser)
    assert.equal(await isDirect(attacked.attacker), false)
  })

  test('file systems that may ask a program of the guest are left to the engine, and hold nobody up', async (t) => {
    const { mode } = await stat('/dev/fuse')
    await chmod('/dev/fuse', 0o666)
    t.after(() => chmod('/dev/fuse', mode & 0o777))
    for (const script of [scripts.overlay, scripts.silentFuse]) {
      await put(attacked.attacker, script)
      // More than Node has threads.
      const tries = Array.from({ length: 8 }, () => isDirect(attacked.attacker))
      assert.deepEqual(new Set(await Promise.all(tries)), new Set([false]))
      assert.equal(await isDirect(attacked.victim), true)
    }
  })

  test('a socket that is swapped for a link again and again never leads to the host', async () => {
    await put(attacked.attacker, scripts.swapped, join(folder, 'agent.sock'))
    let direct = 0
    for (let round = 0; round < 300; round++) {
      if (await isDirect(attacked.attacker)) direct += 1
    }
    assert.ok(direct > 0, 'some tries met the socket')
    assert.equal(reached, 0)
  })

  test('the trap works: whoever follows the link does reach the host', async () => {
    assert.equal(await firstOf(connect({ path: join(folder, 'agent.sock') })), 'the host')
    assert.equal(reached, 1)
  })
})

async function firstOf(stream: Duplex): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  stream.once('data', (data: Buffer) => resolve(data.toString('utf8')))
  stream.once('error', reject).once('close', () => reject(new Error('closed')))
  return promise
}
