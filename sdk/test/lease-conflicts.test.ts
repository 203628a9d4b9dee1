import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventually } from '../../server/test/settled.ts'
import { ApiError } from '../src/index.ts'
import { startServer } from './server.ts'

const server = await startServer({ after })
const owner = server.connect()

/** A machine whose lease `owner` holds, and the same machine for another client. */
async function heldMachine(other = server.connect()) {
  const held = await owner.machines.create()
  await held.mouse.click(1, 1)
  return { held, contender: await other.machines.get(held.id) }
}

async function conflictOf(action: Promise<unknown>): Promise<ApiError> {
  const error = await action.then(
    () => assert.fail('it succeeded'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof ApiError)
  assert.equal(error.code, 'conflict')
  return error
}

test('a lease lasts for 20 seconds', async () => {
  const machine = await owner.machines.create()
  const { acquiredAt, expiresAt } = await machine.input.acquire()
  assert.equal(Math.round((Date.parse(expiresAt!) - Date.parse(acquiredAt!)) / 1000), 20)
})

test('a conflict names the holder in fields, and says whether it is the own key', async () => {
  const { held, contender } = await heldMachine()
  const { id } = await held.input.session()
  const refused = await conflictOf(contender.mouse.click(1, 1))
  const { openedBy } = (await held.sessions().all()).find((session) => session.id === id)!
  const { expiresAt } = await held.input.holder()
  assert.deepEqual(refused.holder, {
    sessionId: id,
    type: 'agent',
    openedBy,
    isOwn: true,
    expiresAt,
  })
  assert.match(refused.message, new RegExp(`${id}.*your own key.*until`))

  const key = await server.apiKey({ name: 'Another' })
  const stranger = await server.connect({ apiKey: key.secret }).machines.get(held.id)
  const snapshot = await held.snapshots.create()
  for (const action of [
    () => stranger.input.acquire(),
    () => stranger.keyboard.type('a'),
    () => stranger.restore(snapshot.id),
  ]) {
    const { holder, message } = await conflictOf(action())
    assert.deepEqual([holder?.sessionId, holder?.isOwn], [id, false])
    assert.doesNotMatch(message, /your own/)
  }
})

test('input that finds its lease taken names who has it', async () => {
  const { held, contender } = await heldMachine()
  await contender.input.acquire({ force: true })
  const { holder } = await conflictOf(held.mouse.click(1, 1))
  assert.equal(holder?.sessionId, (await contender.input.session()).id)
})

test('takeFromOwnKey closes the former session of the key, then acquires', async () => {
  const { held, contender } = await heldMachine()
  const { id } = await held.input.session()
  await contender.input.takeFromOwnKey()
  await contender.mouse.click(1, 1)
  const sessions = await held.sessions().all()
  assert.equal(sessions.find((session) => session.id === id)?.state, 'closed')
  const { holder } = await contender.input.holder()
  assert.equal(holder?.sessionId, (await contender.input.session()).id)

  // Of a lease that it holds itself, and of one that nobody holds, it is an ordinary acquire.
  await contender.input.takeFromOwnKey()
  await contender.mouse.click(1, 1)
  await contender.input.release()
  await contender.input.takeFromOwnKey()
  await contender.mouse.click(1, 1)
})

test('takeFromOwnKey takes nothing from another key, nor a program from a person', async () => {
  const key = await server.apiKey()
  const { held, contender } = await heldMachine(server.connect({ apiKey: key.secret }))
  const { holder } = await conflictOf(contender.input.takeFromOwnKey())
  assert.equal(holder?.isOwn, false)
  await held.mouse.click(1, 1)

  const person = await server.connect({ sessionType: 'human' }).machines.get(held.id)
  await person.input.acquire({ force: true })
  const refused = await conflictOf(held.input.takeFromOwnKey())
  assert.deepEqual([refused.holder?.isOwn, refused.holder?.type], [true, 'human'])
  await person.mouse.click(1, 1)
})

test('waitUntilFree resolves when the holder lets go, and acquires nothing', async () => {
  const { held, contender } = await heldMachine()
  await contender.input.session()
  let isFree = false
  const waiting = contender.input.waitUntilFree().then(() => (isFree = true))
  await contender.input.holder()
  assert.equal(isFree, false)
  await held.input.release()
  await waiting
  assert.equal(contender.input.state, 'none')
  assert.equal((await contender.input.holder()).holder, null)

  await contender.mouse.click(1, 1)
  await contender.input.waitUntilFree()
})

test('waitUntilFree ends at its time limit, or when it is aborted', async () => {
  const { contender } = await heldMachine()
  const late = { code: 'timed_out', message: /input lease/ }
  await assert.rejects(contender.input.waitUntilFree({ timeoutMs: 1 }), late)
  const stop = new AbortController()
  const waiting = contender.input.waitUntilFree({ signal: stop.signal })
  stop.abort(new Error('changed my mind'))
  await assert.rejects(waiting, /changed my mind/)
})

test('closing the computer closes the sessions of its screens as well', async () => {
  const computer = server.connect()
  const machine = await computer.machines.create()
  await machine.mouse.click(1, 1)
  const screen = await machine.screen({ viewOnly: true })
  await computer.close()
  const sessions = await (await owner.machines.get(machine.id)).sessions().all()
  assert.deepEqual(
    sessions.map(({ type, state }) => [type, state]),
    [
      ['view', 'closed'],
      ['agent', 'closed'],
    ],
  )
  await eventually(async () => screen.readyState === 3 || undefined)
})
