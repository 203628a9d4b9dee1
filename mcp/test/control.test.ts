import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { startServer } from '../../sdk/test/server.ts'
import { serveHttp } from '../src/http.ts'
import { connectHere, connectOverHttp, connectOverStdio } from './client.ts'
import { eventually } from './eventually.ts'

const server = await startServer({ after })
const { baseUrl, key: apiKey } = server
const owner = server.connect({ sessionType: 'human' })

const click = (machine: string) => ['click', { machine, x: 10, y: 20 }] as const

/** A machine of this test only, which the person (`owner`) controls as well. */
async function createMachine(t: TestContext) {
  const machine = await owner.machines.create()
  t.after(() => machine.input.close())
  return machine
}

test('an idle client releases the mouse and keyboard', async (t) => {
  const machine = await createMachine(t)
  const patient = await connectHere(t, { apiKey, baseUrl })
  await patient.ok(...click(machine.name))
  assert.equal((await machine.input.holder()).holder?.type, 'agent')
  await patient.connection[Symbol.asyncDispose]()

  const hasty = await connectHere(t, { apiKey, baseUrl, releaseAfterMs: 1 })
  await hasty.ok(...click(machine.name))
  await hasty.ok(...click(machine.name))
  await eventually('the lease is released and its session closed', async () => {
    const sessions = await machine.sessions().all()
    return sessions.every(({ state }) => state === 'closed')
  })
  assert.equal((await machine.input.holder()).holder, null)
  await hasty.ok(...click(machine.name))
})

test('after a person takes over, input fails with an explanation and does not take it back', async (t) => {
  const machine = await createMachine(t)
  const mcp = await connectHere(t, { apiKey, baseUrl })
  await mcp.ok(...click(machine.name))
  const { holder } = await machine.input.acquire({ force: true })
  for (let time = 0; time < 2; time++) {
    const said = await mcp.refused(...click(machine.name))
    assert.match(said, /^A person \(.+\) controls the mouse and keyboard of .*tell the user/)
  }
  assert.deepEqual((await machine.input.holder()).holder, holder)
  await mcp.ok('screenshot', { machine: machine.name })

  await machine.input.release()
  await mcp.ok(...click(machine.name))
  assert.equal((await machine.input.holder()).holder?.type, 'agent')
})

test('after a lease was lost and is free again, the first input fails and does nothing', async (t) => {
  const machine = await createMachine(t)
  const mcp = await connectHere(t, { apiKey, baseUrl })
  await mcp.ok(...click(machine.name))
  await machine.input.acquire({ force: true })
  await machine.input.release()
  const events = () =>
    server.guest(machine.id).desktop.events.filter(({ event }) => event.startsWith('press'))
  const before = events().length
  assert.match(await mcp.refused(...click(machine.name)), /free again.*Take a screenshot/)
  assert.equal(events().length, before)
  await mcp.ok(...click(machine.name))
  assert.ok(events().length > before)
})

test('another program that holds the lease is not displaced', async (t) => {
  const machine = await createMachine(t)
  const first = await connectHere(t, { apiKey, baseUrl })
  const second = await connectHere(t, { apiKey, baseUrl })
  await first.ok(...click(machine.name))
  const { holder } = await machine.input.holder()
  const said = await second.refused(...click(machine.name))
  assert.match(said, /^Another program \(Owner key, with the API key of this MCP server; /)
  assert.match(said, new RegExp(`session ${holder!.sessionId}, until .+\\) controls`))
  await first.ok(...click(machine.name))
})

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  test(`on ${signal} the program ends and leaves no session behind, even while it types`, async (t) => {
    const machine = await createMachine(t)
    const env = { COMPUTER_API_KEY: apiKey, COMPUTER_BASE_URL: baseUrl }
    const { call, pid } = await connectOverStdio(t, env)
    await call(...click(machine.name))
    const { desktop } = server.guest(machine.id)
    const hold = desktop.holdInput()
    const typing = call('type_text', { machine: machine.name, text: 'a' }).catch(() => {})
    await eventually('it types', async () => desktop.events.some(({ event }) => event === 'text a'))
    process.kill(pid(), signal)
    await typing
    await eventually('all sessions are closed', async () => {
      const sessions = await machine.sessions().all()
      return sessions.every(({ state }) => state === 'closed')
    })
    hold.release()
    assert.equal((await machine.input.holder()).holder, null)
  })
}

test('parallel calls run one after the other', async (t) => {
  const machine = await createMachine(t)
  const mcp = await connectHere(t, { apiKey, baseUrl, releaseAfterMs: 1 })
  const texts = ['aaaa', 'bbbb', 'cccc', 'dddd']
  const input = (text: string) => ({ machine: machine.name, text })
  await Promise.all(texts.map((text) => mcp.ok('type_text', input(text))))
  const typed = server.guest(machine.id).desktop.events.flatMap(({ event }) => {
    return /^text ([a-d])$/.exec(event)?.[1] ?? []
  })
  assert.equal(typed.join(''), texts.join(''))
})

test('a client that disconnects releases its leases', async (t) => {
  const machine = await createMachine(t)
  const free = () =>
    eventually('the lease is free', async () => (await machine.input.holder()).holder === null)
  const held = async () => assert.ok((await machine.input.holder()).holder)

  const env = { COMPUTER_API_KEY: apiKey, COMPUTER_BASE_URL: baseUrl }
  const piped = await connectOverStdio(t, env)
  await piped.ok(...click(machine.name))
  await held()
  await piped.client.close()
  await free()

  const mcp = await serveHttp({ baseUrl, port: 0 })
  t.after(() => mcp[Symbol.asyncDispose]())
  const remote = await connectOverHttp(t, mcp.url, apiKey)
  await remote.ok(...click(machine.name))
  await held()
  await remote.transport.terminateSession()
  await free()

  const other = await connectOverHttp(t, mcp.url, apiKey)
  await other.ok(...click(machine.name))
  await held()
  await mcp[Symbol.asyncDispose]()
  assert.equal((await machine.input.holder()).holder, null)
})

test('a client that disconnects during a drag leaves no button pressed', async (t) => {
  const machine = await createMachine(t)
  const mcp = await serveHttp({ baseUrl, port: 0 })
  t.after(() => mcp[Symbol.asyncDispose]())
  const { desktop } = server.guest(machine.id)
  const remote = await connectOverHttp(t, mcp.url, apiKey)
  const hold = desktop.holdInput()
  const input = { machine: machine.name, from_x: 1, from_y: 1, to_x: 100, to_y: 100 }
  const dragging = remote.call('drag', input).catch(() => {})
  await eventually('the drag has started', async () => desktop.events.length > 0)
  await remote.transport.terminateSession()
  await eventually('the session is closed', async () => {
    const sessions = await machine.sessions().all()
    return sessions.every(({ state }) => state === 'closed')
  })
  hold.release()
  assert.equal((await machine.input.holder()).holder, null)
  assert.deepEqual([...desktop.pressed], [])
  await remote.client.close()
  await dragging
})
