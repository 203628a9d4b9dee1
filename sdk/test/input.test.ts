import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventually } from '../../server/test/settled.ts'
import { createNetwork, type Network } from './network.ts'
import { startServer } from './server.ts'

const server = await startServer({ after })
const leases = (id: string) => `POST /v1/machines/${id}/input-lease`

test('the first call that types or clicks opens a session and acquires the lease, once', async () => {
  const network = createNetwork()
  const computer = server.connect({ fetch: network.fetch })
  const machine = await computer.machines.create()
  await machine.screenshot()
  await machine.clipboard.read()
  assert.equal(machine.input.state, 'none')
  assert.equal(network.count('POST /v1/sessions'), 0)

  const twin = await computer.machines.get(machine.id)
  await Promise.all([
    machine.mouse.move(1, 1),
    machine.keyboard.type('a'),
    twin.mouse.click(),
    twin.clipboard.write('text'),
  ])
  assert.equal(network.count('POST /v1/sessions'), 1)
  assert.equal(network.count(leases(machine.id)), 1)
  assert.equal(machine.input.state, 'held')
  const { holder } = await machine.input.holder()
  const [session] = await machine.sessions().all()
  assert.deepEqual([holder?.sessionId, holder?.type], [session?.id, 'agent'])
})

test('the lease is renewed at half its lifetime, without interrupting input', async () => {
  const network = createNetwork()
  const machine = await server.connect({ fetch: network.fetch }).machines.create()
  const granted = await machine.input.acquire({ ttlSeconds: 5 })
  const renewed = await eventually(async () => {
    await machine.mouse.move(2, 2)
    const lease = await machine.input.holder()
    return lease.expiresAt! > granted.expiresAt! ? lease : undefined
  })
  assert.equal(renewed.acquiredAt, granted.acquiredAt)
  assert.ok(network.count(leases(machine.id)) >= 2)
})

test('a lost lease is never reacquired automatically; the next input reports the conflict', async () => {
  const network = createNetwork()
  const machine = await server.connect({ fetch: network.fetch }).machines.create()
  await machine.input.acquire({ ttlSeconds: 5 })
  const { sessionId } = await server.lease(machine.id, { force: true })

  // The renewal is refused, and no other follows.
  await eventually(async () => {
    const renewal = network.sent.findLast(({ what }) => what === leases(machine.id))
    return renewal?.status === 409 || undefined
  })
  assert.equal(machine.input.state, 'lost')
  const asked = network.count(leases(machine.id))
  const refused = { code: 'conflict', message: new RegExp(sessionId) }
  await assert.rejects(machine.mouse.click(1, 1), refused)
  // Even a free lease is not reacquired.
  await server.call('DELETE', `/v1/machines/${machine.id}/input-lease?session_id=${sessionId}`)
  await assert.rejects(machine.keyboard.type('a'), { code: 'conflict' })
  assert.equal(network.count(leases(machine.id)), asked)

  await machine.input.acquire()
  await machine.mouse.click(1, 1)
  assert.equal(machine.input.state, 'held')
})

test('the next input reports a takeover that no renewal has noticed yet', async () => {
  const machine = await server.connect().machines.create()
  await machine.mouse.click(1, 1)
  await server.lease(machine.id, { force: true })
  await assert.rejects(machine.mouse.click(1, 1), { code: 'conflict' })
  assert.equal(machine.input.state, 'lost')
  await machine.input.acquire({ force: true })
  await machine.mouse.click(1, 1)
})

test('input conflicts while another session holds the lease, and works once it is released', async () => {
  const machine = await server.connect().machines.create()
  const { sessionId } = await server.lease(machine.id)
  await assert.rejects(machine.mouse.click(1, 1), { code: 'conflict' })
  assert.equal(machine.input.state, 'none')
  await server.call('DELETE', `/v1/sessions/${sessionId}`)
  await machine.mouse.click(1, 1)
})

test('a session closed elsewhere is replaced by the next acquire', async () => {
  const machine = await server.connect().machines.create()
  await machine.mouse.click(1, 1)
  const { id } = await machine.input.session()
  await server.call('DELETE', `/v1/sessions/${id}`)
  await assert.rejects(machine.mouse.click(1, 1))
  await machine.input.acquire()
  await machine.mouse.click(1, 1)
  assert.notEqual((await machine.input.session()).id, id)
})

test('leaving the scope closes the session and releases the lease', async () => {
  const computer = server.connect()
  const { id } = await computer.machines.create()
  {
    await using machine = await computer.machines.get(id)
    await machine.mouse.click(1, 1)
  }
  const machine = await computer.machines.get(id)
  assert.equal((await machine.input.holder()).holder, null)
  assert.deepEqual(
    (await machine.sessions().all()).map(({ state }) => state),
    ['closed'],
  )
  {
    await using other = server.connect()
    await (await other.machines.get(id)).mouse.click(1, 1)
  }
  assert.equal((await machine.input.holder()).holder, null)
})

test('an acquire whose session is closed meanwhile keeps no lease', async () => {
  const network = createNetwork()
  const machine = await server.connect({ fetch: network.fetch }).machines.create()
  const fences: number[] = []
  machine.input.onFence((fence) => fences.push(fence))
  const { held, goOn } = hold(network, leases(machine.id), 'answer')
  const acquiring = assert.rejects(machine.input.acquire(), { code: 'conflict' })
  await held
  await machine.input.close()
  goOn()
  await acquiring
  assert.equal(machine.input.state, 'none')
  // Without a fence nothing is renewed.
  assert.deepEqual(fences, [])
  assert.equal(network.count('POST /v1/sessions'), 1)
  assert.equal((await machine.input.holder()).holder, null)
  await machine.mouse.click(1, 1)
  assert.equal(fences.length, 1)
})

test('an acquire that fails because its session was closed locally opens no new one', async () => {
  const network = createNetwork()
  const machine = await server.connect({ fetch: network.fetch }).machines.create()
  await machine.mouse.click(1, 1)
  const { held, goOn } = hold(network, leases(machine.id), 'request')
  const acquiring = assert.rejects(machine.input.acquire(), {
    code: 'precondition_failed',
  })
  await held
  await machine.input.close()
  goOn()
  await acquiring
  assert.equal(machine.input.state, 'none')
  assert.equal(network.count('POST /v1/sessions'), 1)
  assert.equal((await machine.input.holder()).holder, null)
})

test('a session that is being replaced is closed on dispose', async () => {
  const network = createNetwork()
  const machine = await server.connect({ fetch: network.fetch }).machines.create()
  await machine.mouse.click(1, 1)
  const { id } = await machine.input.session()
  await server.call('DELETE', `/v1/sessions/${id}`)
  const { held, goOn } = hold(network, `DELETE /v1/sessions/${id}`, 'request')
  const acquiring = machine.input.acquire().then(
    () => assert.fail('it was granted'),
    () => {},
  )
  await held
  const closing = machine.input.close()
  goOn()
  await Promise.all([acquiring, closing])
  const states = (await machine.sessions().all()).map(({ state }) => state)
  assert.deepEqual(states, ['closed', 'closed'])
  assert.equal(machine.input.state, 'none')
})

test('a restart works while the client holds the lease, and input works afterwards', async () => {
  const machine = await server.connect().machines.create()
  await machine.mouse.click(1, 1)
  await machine.restart()
  await machine.mouse.click(1, 1)
  const snapshot = await machine.snapshots.create()
  await machine.restore(snapshot.id)
  await machine.mouse.click(1, 1)
})

/** Delays the next matching request, or its response, until released. */
function hold(network: Network, matches: string, what: 'request' | 'answer') {
  const reached = Promise.withResolvers<void>()
  const going = Promise.withResolvers<void>()
  const pause = async () => {
    reached.resolve()
    await going.promise
  }
  network.next(matches, async (send) => {
    if (what === 'request') await pause()
    const response = await send()
    if (what === 'answer') await pause()
    return response
  })
  return { held: reached.promise, goOn: going.resolve }
}
