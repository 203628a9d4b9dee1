import assert from 'node:assert/strict'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Changes } from '../src/db/changes.ts'
import { startTestServer } from './harness.ts'
import { eventually } from './settled.ts'

/* Notifications between processes, while connections to the database come and go. */

test('notifications arrive again after the connection was lost, and an attempt to reconnect failed', async (t) => {
  const { changes, way, server } = await startListening(t)
  const seen: string[] = []
  changes.subscribe((id) => seen.push(id))
  way.hold()
  way.cut()
  const failing = await way.next()
  way.release()
  failing.destroy()
  await eventually(async () => {
    server.app.changes.publish('one')
    return seen.includes('one') || undefined
  })
})

for (const [name, end] of [
  ['fails', (waiting: Socket) => waiting.destroy()],
  ['succeeds', (waiting: Socket, pass: (socket: Socket) => void) => pass(waiting)],
] as const) {
  test(`nothing reconnects once it is disposed of, also when an attempt under way ${name}`, async (t) => {
    const { changes, way } = await startListening(t)
    way.hold()
    way.cut()
    const waiting = await way.next()
    await changes[Symbol.asyncDispose]()
    const ended = new Promise((resolve) => waiting.once('close', resolve))
    end(waiting, way.pass)
    await ended
    const { connections } = way
    // A repeated attempt comes after a second.
    await sleep(1_300)
    assert.equal(way.connections, connections)
  })
}

/** Notifications of a process that reaches the database through a way of the test's own. */
async function startListening(t: TestContext) {
  const server = await startTestServer(t, { worker: false })
  const way = await openWay(t, new URL(server.databaseUrl))
  const url = new URL(server.databaseUrl)
  url.searchParams.delete('host')
  url.host = `127.0.0.1:${way.port}`
  const { db, log } = server.app
  const changes = new Changes({ db, databaseUrl: url.href, log })
  t.after(() => changes[Symbol.asyncDispose]())
  await changes.listen()
  return { changes, way, server }
}

async function openWay(t: TestContext, database: URL) {
  const open = new Set<Socket>()
  let isHeld = false
  let connections = 0
  let arrived = Promise.withResolvers<Socket>()
  const pass = (socket: Socket) => {
    const socketFolder = database.searchParams.get('host')
    const target = socketFolder
      ? connect(`${socketFolder}/.s.PGSQL.${database.port || 5432}`)
      : connect(Number(database.port), database.hostname)
    target.on('error', () => socket.destroy()).on('close', () => socket.destroy())
    socket.on('close', () => target.destroy())
    socket.pipe(target).pipe(socket)
  }
  const proxy = createServer((socket) => {
    connections += 1
    open.add(socket.on('error', () => {}))
    if (!isHeld) return pass(socket)
    arrived.resolve(socket)
    arrived = Promise.withResolvers()
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of open) socket.destroy()
    proxy.close()
  })
  return {
    port: (proxy.address() as AddressInfo).port,
    pass,
    get connections() {
      return connections
    },
    /** Ends all connections. */
    cut() {
      for (const socket of open) socket.destroy()
      open.clear()
    },
    /** From now on connections wait for the test. */
    hold() {
      isHeld = true
    },
    release() {
      isHeld = false
    },
    next: () => arrived.promise,
  }
}
