import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventually } from '../../server/test/settled.ts'
import type { Terminal } from '../src/index.ts'
import { createNetwork } from './network.ts'
import { startServer } from './server.ts'

const server = await startServer({ after })
const machine = await server.connect().machines.create()
const fail = () => Promise.reject(new TypeError('fetch failed'))

/** WebSockets that a test can disconnect, as a network would, and the bytes that each received. */
function breakable() {
  const sockets: WebSocket[] = []
  const received: string[] = []
  const Breakable = class extends WebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols)
      const index = sockets.push(this) - 1
      received.push('')
      this.addEventListener('message', ({ data }) => {
        if (data instanceof ArrayBuffer) received[index] += Buffer.from(data).toString()
      })
    }
  }
  return { sockets, received, Breakable }
}

test('a terminal is opened, written to and read until its command has exited', async () => {
  const { id } = await machine.terminals.open()
  const terminal = machine.terminals.attach(id, { size: { cols: 100, rows: 30 } })
  terminal.write('echo hällo\r')
  let shown = ''
  const decoder = new TextDecoder()
  let listed: Terminal | undefined
  for await (const bytes of terminal) {
    shown += decoder.decode(bytes, { stream: true })
    if (listed || !/[\r\n]hällo\r\n/.test(shown)) continue
    ;[listed] = await machine.terminals.list().all()
    terminal.write('exit 3\r')
  }
  assert.equal(await terminal.exited, 3)
  assert.deepEqual([listed?.id, listed?.cols, listed?.rows], [id, 100, 30])
})

test('terminals are listed, resized and killed', async () => {
  const { id } = await machine.terminals.open()
  assert.equal((await machine.terminals.resize(id, 90, 20)).cols, 90)
  await machine.terminals.kill(id)
  assert.deepEqual(await machine.terminals.list().all(), [])
})

test('a lost connection is re-established, and the last output is sent again', async () => {
  const { sockets, Breakable } = breakable()
  const network = createNetwork()
  const computer = server.connect({ WebSocket: Breakable, fetch: network.fetch, maxRetries: 0 })
  const { terminals } = await computer.machines.get(machine.id)
  const { id } = await terminals.open()
  let reattached = 0
  const connections: boolean[] = []
  const terminal = terminals.attach(id, {
    onReattach: () => (reattached += 1),
    onConnection: (isOpen) => connections.push(isOpen),
  })
  terminal.write('echo first\r')
  let shown = ''
  let isLost = false
  for await (const bytes of terminal) {
    shown += Buffer.from(bytes).toString()
    // Output that arrived before the loss may be read after it.
    if (!isLost && shown.includes('first')) {
      isLost = true
      shown = ''
      network.next('/gateway-tokens', fail)
      network.next('/terminals', fail)
      sockets[0]!.close()
      terminal.write('echo second\r')
    }
    if (reattached > 0 && shown.includes('first') && shown.includes('second')) break
  }
  assert.equal(reattached, 1)
  assert.deepEqual(connections, [true, false, true])
  assert.equal(network.count(`GET /v1/machines/${machine.id}/terminals`), 1)
  await terminals.kill(id)
})

test('output that was unread when the connection was lost is delivered once', async () => {
  const { sockets, received, Breakable } = breakable()
  const { terminals } = await server.connect({ WebSocket: Breakable }).machines.get(machine.id)
  const { id } = await terminals.open()
  const reattached = Promise.withResolvers<void>()
  const terminal = terminals.attach(id, { onReattach: reattached.resolve })
  terminal.write('echo first\r')
  await eventually(async () => received[0]?.includes('first\r\n') || undefined)
  sockets[0]!.close()
  await reattached.promise
  terminal.write('exit 0\r')
  let shown = ''
  for await (const bytes of terminal) shown += Buffer.from(bytes).toString()
  assert.match(shown, /first\r\n/)
  assert.equal(shown, received[1])
})

test('attaching to an unknown terminal fails at once', async () => {
  const options = { size: { cols: 80, rows: 24 }, onConnection: () => {}, onReattach: () => {} }
  const gone = machine.terminals.attach('trm_01kaj0v3m8q4t2x6y9z1b5c7d3', options)
  await assert.rejects(gone.exited, { code: 'not_found' })
  await assert.rejects(
    async () => {
      for await (const _ of gone) assert.fail('an unknown terminal has no output')
    },
    { code: 'not_found' },
  )
})

test('a background command is started, read, written to, signalled and waited for', async () => {
  const { processes } = machine
  const { id } = await processes.start(['cat'])
  await processes.write(id, 'through', { eof: true })
  let output = ''
  for await (const chunk of processes.logs(id)) output += chunk
  assert.equal(output, 'through')
  assert.equal((await processes.wait(id)).exitCode, 0)
  const other = await processes.start(['cat'])
  await processes.signal(other.id, 'SIGKILL')
  assert.equal((await processes.wait(other.id)).exitCode, 137)
  assert.equal((await processes.list().all()).length, 2)
  assert.equal((await processes.get(id)).state, 'exited')
})
