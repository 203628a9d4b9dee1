import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { inspect } from 'node:util'
import { createNetwork } from './network.ts'
import { startServer } from './server.ts'

const server = await startServer({ after })
const network = createNetwork()
const computer = server.connect({ fetch: network.fetch })

test('a machine is found by its name, and shown with it', async () => {
  const { id } = await computer.machines.create({ name: 'by-name' })
  const found = await computer.machines.get('by-name')
  assert.equal(found.id, id)
  assert.equal(inspect(found), `Machine { id: '${id}', name: 'by-name', state: 'running' }`)
  const missing = { code: 'not_found', status: 404, message: /no machine with the name "other"/ }
  await assert.rejects(computer.machines.get('other'), missing)
})

test('machines are searched by the beginning of their names', async () => {
  for (const name of ['search-a', 'search-b', 'research'])
    await computer.machines.create({ name, start: false })
  const { data } = await computer.machines.list({ search: 'Search-' })
  assert.deepEqual(
    data.map(({ name }) => name),
    ['search-b', 'search-a'],
  )
})

test('a machine is created once, however often it is asked for', async () => {
  const ask = () => computer.machines.getOrCreate('hello', { metadata: { from: 'test' } })
  const all = await Promise.all([ask(), ask(), ask()])
  const again = await ask()
  assert.equal(new Set([...all, again].map(({ id }) => id)).size, 1)
  assert.ok([...all, again].every(({ state }) => state === 'running'))
  assert.deepEqual(again.data.metadata, { from: 'test' })
})

test('a machine that is asked for is started', async () => {
  const machine = await computer.machines.create({ name: 'sleeper', start: false })
  const left = await computer.machines.getOrCreate('sleeper', { start: false })
  assert.equal(left.state, 'stopped')
  const started = await computer.machines.getOrCreate('sleeper')
  assert.deepEqual([started.id, started.state], [machine.id, 'running'])
  await started.stop({ wait: false })
  assert.equal((await computer.machines.getOrCreate('sleeper')).state, 'running')
})

test('a start of a machine that runs and a stop of one that is stopped do nothing', async () => {
  const machine = await computer.machines.create({ name: 'idempotent' })
  assert.equal((await machine.start()).state, 'running')
  await machine.stop()
  assert.equal((await machine.stop()).state, 'stopped')
  const [first, second] = await Promise.all([machine.start(), machine.start()])
  assert.deepEqual([first.state, second.state], ['running', 'running'])
  const stops = await machine.events.list({ limit: 50 })
  assert.equal(stops.data.filter(({ toState }) => toState === 'stopped').length, 1)
})

test('a start that another state forbids is refused', async () => {
  const machine = await computer.machines.create({ name: 'forbidden' })
  await machine.delete({ wait: false })
  await assert.rejects(machine.start(), { name: 'ApiError' })
})

test('a closed client has given its leases back', async () => {
  const own = server.connect()
  const machine = await own.machines.create({ name: 'closing' })
  await machine.mouse.move(1, 1)
  await own.close()
  const other = await computer.machines.get('closing')
  await other.mouse.move(2, 2)
  await other.input.close()
})
