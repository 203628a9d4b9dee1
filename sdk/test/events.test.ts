import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { EventFilter, MachineEvent } from '../src/index.ts'
import { startServer } from './server.ts'

const server = await startServer({ after })

/** WebSockets that a test can disconnect, as a network would. */
function breakable() {
  const open = new Set<WebSocket>()
  const Breakable = class extends WebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols)
      open.add(this)
      this.addEventListener('close', () => open.delete(this))
    }
  }
  return { WebSocket: Breakable, breakOff: () => open.forEach((socket) => socket.close()), open }
}

for (const how of ['a connection that is lost', 'polling'] as const) {
  test(`events arrive in order, each once, over ${how}`, async () => {
    const { WebSocket, breakOff } = breakable()
    const computer = server.connect({ WebSocket: how === 'polling' ? null : WebSocket })
    const machine = await computer.machines.create({ start: false })
    const subscription = machine.events.subscribe({ afterSequence: -1 })
    for (let round = 0; round < 3; round++) {
      await machine.start()
      await machine.stop()
    }
    const log = (await machine.events.list().all()).toReversed()
    const seen: MachineEvent[] = []
    for await (const event of subscription) {
      seen.push(event)
      if (seen.length === log.length) break
      // Events during a disconnection are not missed.
      breakOff()
    }
    assert.deepEqual(seen, log)
    assert.deepEqual(
      seen.map(({ sequence }) => sequence),
      seen.map((_, index) => index + seen[0]!.sequence),
    )
  })
}

test('a subscription starts when ready and ends when its signal aborts', async () => {
  const machine = await server.connect().machines.create({ start: false })
  const ending = new AbortController()
  const subscription = machine.events.subscribe({ signal: ending.signal })
  await subscription.ready
  await machine.update({ name: 'renamed' })
  const types: string[] = []
  const following = (async () => {
    for await (const event of subscription) {
      types.push(event.type)
      ending.abort(new Error('enough'))
    }
  })()
  await assert.rejects(following, /enough/)
  assert.deepEqual(types, ['machine.updated'])
})

for (const how of ['the gateway', 'polling'] as const) {
  test(`subscriptions over ${how} end without an error when their client is closed`, async () => {
    const computer = server.connect(how === 'polling' ? { WebSocket: null } : {})
    const machine = await computer.machines.create({ start: false })
    const signal = new AbortController().signal
    const subscriptions = [
      machine.events.subscribe({ afterSequence: -1 }),
      machine.events.subscribe({ signal }),
      ...(how === 'polling' ? [] : [computer.events.subscribe()]),
    ]
    const seen = Promise.withResolvers<void>()
    const following = subscriptions.map(async (subscription) => {
      for await (const { type } of subscription) if (type === 'machine.created') seen.resolve()
    })
    await Promise.all([seen.promise, ...subscriptions.map(({ ready }) => ready)])
    await computer.close()
    await Promise.all(following)

    // A client that is used again has subscriptions again.
    for await (const { type } of machine.events.subscribe({ afterSequence: -1 })) {
      assert.equal(type, 'machine.created')
      break
    }
  })
}

test('leaving the loop closes the connection', async () => {
  const { WebSocket, open } = breakable()
  const machine = await server.connect({ WebSocket }).machines.create({ start: false })
  for await (const event of machine.events.subscribe({ afterSequence: -1 })) {
    assert.equal(event.machineId, machine.id)
    break
  }
  const [socket] = open
  if (socket) await new Promise((resolve) => socket.addEventListener('close', resolve))
  assert.equal(open.size, 0)
})

test('ticks are signs of life, and no events', async () => {
  for (const hasGateway of [true, false]) {
    const computer = server.connect(hasGateway ? {} : { WebSocket: null })
    const machine = await computer.machines.create({ start: false })
    const ticked = Promise.withResolvers<void>()
    let ticks = 0
    const onTick = () => ++ticks === 3 && ticked.resolve()
    const types: string[] = []
    const following = (async () => {
      for await (const event of machine.events.subscribe({ afterSequence: -1, onTick }))
        types.push(event.type)
    })()
    await ticked.promise
    await machine.delete()
    await following
    assert.deepEqual(types.slice(0, 2), ['machine.created', 'machine.stopped'])
    assert.ok(!types.includes('tick'))
    // A deleted machine has no log that could be polled.
    assert.equal(types.includes('machine.deleted'), hasGateway)
  }
})

test('an organization is told of the life of its connection', async () => {
  const ticked = Promise.withResolvers<void>()
  let ticks = 0
  const onTick = () => ++ticks === 3 && ticked.resolve()
  const ending = new AbortController()
  const subscription = server.connect().events.subscribe({ onTick, signal: ending.signal })
  await subscription.ready
  await ticked.promise
  ending.abort(new Error('enough'))
})

test('organization events resume where they were', async () => {
  const { WebSocket, breakOff } = breakable()
  const computer = server.connect({ WebSocket })
  const subscription = computer.events.subscribe()
  await subscription.ready
  const names = ['a', 'b', 'c']
  const creating = (async () => {
    for (const name of names) await computer.machines.create({ name: `org-${name}`, start: false })
  })()
  const ids: string[] = []
  for await (const event of subscription) {
    if (event.type === 'machine.created') ids.push(event.machineId)
    breakOff()
    if (ids.length === names.length) break
  }
  await creating
  const machines = await Promise.all(ids.map((id) => computer.machines.get(id)))
  assert.deepEqual(
    machines.map(({ name }) => name),
    names.map((name) => `org-${name}`),
  )
})

test('an organization without events yet misses none after the connection broke', async () => {
  const { WebSocket, breakOff } = breakable()
  const computer = server.connect({ WebSocket })
  const subscription = computer.events.subscribe()
  await subscription.ready
  breakOff()
  const { id } = await computer.machines.create({ start: false })
  for await (const { machineId, type } of subscription) {
    assert.deepEqual([machineId, type], [id, 'machine.created'])
    break
  }
})

test('a subscription is ready only once it knows where it began', async () => {
  const { WebSocket: Breakable, breakOff } = breakable()
  let connections = 0
  class FirstMute extends Breakable {
    constructor(url: string, protocols: string[]) {
      super(url, protocols)
      if (connections++ > 0) return
      this.addEventListener('message', (event) => {
        event.stopImmediatePropagation()
        this.close()
      })
    }
  }
  const computer = server.connect({ WebSocket: FirstMute })
  const subscription = computer.events.subscribe()
  await subscription.ready
  assert.equal(connections, 2)
  breakOff()
  const { id } = await computer.machines.create({ start: false })
  for await (const { machineId, type } of subscription) {
    assert.deepEqual([machineId, type], [id, 'machine.created'])
    break
  }
})

test('a subscription ends with its machine', async () => {
  const computer = server.connect()
  for (const options of [{}, { WebSocket: null }]) {
    const { id } = await computer.machines.create({ start: false })
    const machine = await server.connect(options).machines.get(id)
    const subscription = machine.events.subscribe()
    await subscription.ready
    const deleting = machine.delete()
    for await (const event of subscription) assert.equal(event.machineId, id)
    await deleting
  }
})

test('subscribing to the events of an unknown machine fails', async () => {
  const machine = await server.connect().machines.create({ start: false })
  await machine.delete()
  await assert.rejects(machine.events.subscribe().ready, { code: 'not_found' })
})

test('past events are listed by one or several types', async () => {
  const machine = await server.connect().machines.create({ start: false })
  await machine.update({ name: 'renamed-again' })
  const list = async (filter: EventFilter) =>
    (await machine.events.list(filter)).data.map(({ type }) => type)
  assert.deepEqual(await list({ type: 'machine.created' }), ['machine.created'])
  const both = await list({ type: ['machine.created', 'machine.updated'] })
  assert.deepEqual(both, ['machine.updated', 'machine.created'])
})
