import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventually } from '../../server/test/settled.ts'
import type { HelpRequest, HelpResult, Machine } from '../src/index.ts'
import { answer, createNetwork } from './network.ts'
import { startServer } from './server.ts'

const server = await startServer({ after })
const scopes = ['machines:control'] as const
const { secret: apiKey } = await server.apiKey({ name: 'a person', scopes })
const person = server.connect({ apiKey, sessionType: 'human' })
const login = { reason: 'login', message: 'Please log in to the shop.' } as const
const reads = 'GET /v1/help-requests/hlp_'

/** Asks on a machine. `asked` resolves to the request once it waits. */
function ask(machine: Machine, options: Partial<Parameters<Machine['askForHelp']>[0]> = {}) {
  const { promise: asked, resolve } = Promise.withResolvers<HelpRequest>()
  const result = machine.askForHelp({ ...login, onRequested: resolve, ...options })
  result.catch(() => {})
  return { asked, result }
}

async function stateOf({ id }: HelpRequest) {
  return (await person.helpRequests.get(id)).state
}

test('a person takes the screen and hands it back, and the agent goes on from what they did', async () => {
  const network = createNetwork()
  const machine = await server.connect({ fetch: network.fetch }).machines.create()
  await machine.mouse.click(1, 1)
  const { asked, result } = ask(machine, { private: false })
  const request = await asked
  assert.match(request.takeoverUrl ?? '', /^http.*#/)
  assert.deepEqual([request.state, request.private], ['open', false])
  assert.equal(machine.input.state, 'none')
  assert.equal((await machine.input.holder()).holder, null)

  const taken = await person.helpRequests.take(request.id)
  assert.deepEqual([taken.helpRequest.state, taken.session.type], ['active', 'human'])
  const theirs = await person.machines.get(machine.id)
  assert.equal(theirs.input.state, 'held')
  assert.equal((await theirs.input.session()).id, taken.session.id)
  await theirs.mouse.click(2, 2)
  const refused = { code: 'conflict', message: new RegExp(taken.session.id) }
  await assert.rejects(machine.mouse.click(3, 3), refused)
  assert.equal(machine.input.state, 'none')

  await person.helpRequests.answer(request.id, { outcome: 'done', text: 'You are logged in.' })
  assert.equal(theirs.input.state, 'none')
  const { outcome, text, choice, by, brief, request: ended } = await result
  assert.deepEqual([outcome, text, choice], ['done', 'You are logged in.', null])
  assert.deepEqual([by?.name, ended.state, ended.takeoverUrl], ['a person', 'done', null])
  assert.equal(typeof brief?.isComplete, 'boolean')
  await machine.mouse.click(3, 3)
  assert.equal(machine.input.state, 'held')
})

test('an answer makes up for a lease that was lost; without one it stays lost', async () => {
  const machine = await server.connect().machines.create()
  const theirs = await person.machines.get(machine.id)
  const lose = async () => {
    await machine.input.acquire()
    await theirs.input.acquire({ force: true })
    await assert.rejects(machine.mouse.click(1, 1), { code: 'conflict' })
    await theirs.input.release()
    assert.equal(machine.input.state, 'lost')
  }
  await lose()
  const first = ask(machine)
  await person.helpRequests.cancel((await first.asked).id)
  const { outcome, by, text } = await first.result
  assert.deepEqual([outcome, by, text], ['cancelled', null, null])
  await assert.rejects(machine.mouse.click(1, 1), { code: 'conflict' })

  const second = ask(machine, { reason: 'approval', choices: ['Buy it', 'Leave it'] })
  const { id } = await second.asked
  await person.helpRequests.answer(id, { outcome: 'done', choice: 'Leave it' })
  const result = await second.result
  assert.deepEqual([result.outcome, result.choice], ['done', 'Leave it'])
  assert.equal(result.brief, null)
  await machine.mouse.click(1, 1)
})

test('a wait goes on through lost connections and restarts of the server', async () => {
  const network = createNetwork()
  const computer = server.connect({ fetch: network.fetch, maxRetries: 0, unavailableTimeoutMs: 0 })
  const machine = await computer.machines.create()
  network.next(reads, async () => {
    throw new TypeError('fetch failed', { cause: new Error('other side closed') })
  })
  network.next(reads, answer(502, 'connection_failed'))
  network.next(reads, answer(503, 'compute_unavailable'))
  network.next(reads, async () => new Response('<h1>Bad gateway</h1>', { status: 502 }))
  const { asked, result } = ask(machine)
  const request = await asked
  // The four broken reads are over, and a fifth waits.
  await eventually(async () => network.count(reads) > 4 || undefined)
  await person.helpRequests.answer(request.id, { outcome: 'done' })
  assert.equal((await result).outcome, 'done')
})

test('a wait ends with an error that does not pass, and cancels the request', async () => {
  const network = createNetwork()
  const machine = await server.connect({ fetch: network.fetch }).machines.create()
  network.next(reads, answer(401, 'unauthenticated'))
  const { asked, result } = ask(machine)
  await assert.rejects(result, { code: 'unauthenticated' })
  assert.equal(await stateOf(await asked), 'cancelled')
})

test('a request that expires is a result', async () => {
  const network = createNetwork()
  const machine = await server.connect({ fetch: network.fetch }).machines.create()
  network.next(reads, async (send) => {
    const path = network.sent.at(-1)!.what.split('/').at(-1)!
    await person.helpRequests.cancel(path)
    const record = (await (await send()).json()) as object
    return Response.json({ ...record, state: 'expired' })
  })
  const { outcome, by, brief } = await machine.askForHelp(login)
  assert.deepEqual([outcome, by, brief], ['expired', null, null])
})

test('a program that does not wait any more leaves no request behind', async () => {
  const computer = server.connect()
  const machine = await computer.machines.create()
  const ending = new AbortController()
  const aborted = ask(machine, { signal: ending.signal })
  const first = await aborted.asked
  ending.abort(new Error('enough'))
  await assert.rejects(aborted.result, /enough/)
  assert.equal(await stateOf(first), 'cancelled')

  let second: HelpRequest | undefined
  const onRequested = async (request: HelpRequest) => {
    second = request
    throw new Error('the chat is down')
  }
  await assert.rejects(machine.askForHelp({ ...login, onRequested }), /the chat is down/)
  assert.equal(await stateOf(second!), 'cancelled')

  const { asked, result } = ask(machine)
  const third = await asked
  await computer.close()
  await assert.rejects(result, /the client was closed/)
  assert.equal(await stateOf(third), 'cancelled')
  const gone = AbortSignal.abort(new Error('before'))
  await assert.rejects(machine.askForHelp({ ...login, signal: gone }), /before/)
  assert.equal((await machine.helpRequests.list().all()).length, 3)
})

test('an abort while the request is being made cancels it', async () => {
  const network = createNetwork()
  const machine = await server.connect({ fetch: network.fetch }).machines.create()
  const ending = new AbortController()
  network.next(`POST /v1/machines/${machine.id}/help-requests`, async (send) => {
    ending.abort(new Error('enough'))
    return send()
  })
  await assert.rejects(machine.askForHelp({ ...login, signal: ending.signal }), /enough/)
  const [request] = await machine.helpRequests.list().all()
  assert.equal(request?.state, 'cancelled')
})

test('what one program has asked, another one waits for', async () => {
  const machine = await server.connect().machines.create()
  const request = await machine.helpRequests.create({ reason: 'question', message: 'Which one?' })
  assert.deepEqual(
    (
      await person.helpRequests.list({ machineId: machine.id, state: ['open', 'active'] }).all()
    ).map(({ id, takeoverUrl }) => [id, takeoverUrl]),
    [[request.id, null]],
  )
  const waiting: Promise<HelpResult> = server.connect().helpRequests.waitForEnd(request.id)
  const limited = person.helpRequests.waitForEnd(request.id, { timeoutMs: 1 })
  await assert.rejects(limited, { code: 'timed_out' })
  await person.helpRequests.answer(request.id, { outcome: 'done', text: 'The red one' })
  assert.equal((await waiting).text, 'The red one')
  assert.equal((await person.helpRequests.waitForEnd(request.id)).outcome, 'done')
})

test('a person leaves a request, and another takes it', async () => {
  const machine = await server.connect().machines.create()
  const { id } = await machine.helpRequests.create({ ...login })
  await person.helpRequests.take(id)
  const other = server.connect({ sessionType: 'human' })
  await assert.rejects(other.helpRequests.take(id), { code: 'conflict' })
  const theirs = await person.machines.get(machine.id)
  const released = await person.helpRequests.release(id)
  assert.deepEqual([released.state, theirs.input.state], ['open', 'none'])
  await other.helpRequests.take(id)
  const answered = await other.helpRequests.answer(id, { outcome: 'done' })
  for (const of of answered.brief!.pictures) {
    const bytes = await other.helpRequests.picture(id, of)
    assert.equal(Buffer.from(bytes).toString('latin1', 8, 12), 'WEBP')
  }
  assert.deepEqual(answered.brief!.pictures, ['before', 'after'])
})

test('the session of a person who takes over replaces the one they had', async () => {
  const computer = server.connect({ sessionType: 'human' })
  const machine = await computer.machines.create()
  await machine.mouse.click(1, 1)
  const before = await machine.input.session()
  const { id } = await machine.helpRequests.create(login)
  const { session } = await computer.helpRequests.take(id)
  await machine.mouse.click(1, 1)
  const isClosed = async () => {
    const sessions = await machine.sessions().all()
    return sessions.find((one) => one.id === before.id)?.state === 'closed' || undefined
  }
  await eventually(isClosed)
  await computer.close()
  const [last] = await machine.sessions().all()
  assert.deepEqual([last?.id, last?.state], [session.id, 'closed'])
})
