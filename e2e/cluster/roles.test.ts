import { Computer, type TerminalConnection } from '@computer/sdk'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventually } from '../harness/polling.ts'
import { startRoleServer } from './role-server.ts'

/*
 * The processes of a server, started one by one as docs/cluster.md tells: two APIs and two gateways behind one address
 * each, a worker and an engine. The tests share them, so each builds on those before it.
 */

const stack = new AsyncDisposableStack()
/** Resources end in the reverse of the order in which they were made. */
const lifetime = { after: (end: () => void | Promise<void>) => stack.defer(async () => end()) }
after(() => stack.disposeAsync())
const server = await startRoleServer(lifetime, 'roles')
const { baseUrl, key: apiKey, apis, roles } = server
// An idempotent call may fail once: a process that ends takes its connections with it.
const computer = new Computer({ apiKey, baseUrl, maxRetries: 1, closeOnExit: false })
const machine = await computer.machines.create({})
let terminal: TerminalConnection | undefined
stack.defer(async () => terminal?.close())

test('what begins through one process goes on through any other', async () => {
  const [one, other] = apis
  const { body: made } = await one!.call('POST', '/v1/machines', { name: 'other' })
  await eventually('the other API shows that the machine runs', async () => {
    return (await other!.ok('GET', `/v1/machines/${made.id}`)).state === 'running'
  })
  await other!.run(made.id, ['sh', '-c', 'echo text > note'])
  assert.equal(await one!.run(made.id, ['cat', 'note']), 'text\n')
  assert.equal((await other!.call('DELETE', `/v1/machines/${made.id}`)).status, 202)
})

test('each process is restarted while machines are used, and nobody notices', async () => {
  terminal = machine.terminals.attach((await machine.terminals.open({})).id)
  const shown = show(terminal)
  terminal.write('word=kept; echo begun\n')
  await eventually('the terminal answers', async () => shown.text.includes('begun\r\n'))
  const use = useUntil()
  for (const role of roles) {
    await server.end(role, 'SIGTERM')
    await server.start(role)
    const count = use.count()
    await eventually('calls go on', async () => use.count() > count + 3)
    terminal.write(`echo ${role.name} $word\n`)
    await eventually('the terminal goes on', async () => {
      return shown.text.includes(`${role.name} kept\r\n`)
    })
  }
  assert.deepEqual(await use.end(), [])
  assert.equal((await machine.refresh()).state, 'running')
})

test('a create whose API is killed is done once', async () => {
  const [one, other] = apis
  const headers = { 'idempotency-key': 'killed' }
  const asked = one!.call('POST', '/v1/machines', { name: 'once' }, headers).catch(() => null)
  const killed = roles.find(({ name }) => name === 'api')!
  await server.end(killed, 'SIGKILL')
  const before = await asked
  const made = await eventually('the other API answers', async () => {
    const answer = await other!.call('POST', '/v1/machines', { name: 'once' }, headers)
    return answer.status === 201 ? answer.body : undefined
  })
  if (before?.status === 201) assert.equal(made.id, before.body.id)
  const { data } = await other!.ok('GET', '/v1/machines?limit=100')
  const named = (data as { name: string }[]).filter(({ name }) => name === 'once')
  assert.equal(named.length, 1)
})

/** Calls of every kind, one after the other, until the end. Each fails at most once. */
function useUntil() {
  const errors: string[] = []
  let [count, isOver] = [0, false]
  const work = async () => {
    while (!isOver) {
      const text = `text ${count}`
      try {
        await machine.files.write('note', text)
        const read = await machine.files.read('note')
        assert.equal(Buffer.from(read).toString(), text)
        await machine.screenshot()
      } catch (error) {
        errors.push((error as Error).message)
      }
      count += 1
    }
  }
  const working = work()
  return {
    count: () => count,
    async end() {
      isOver = true
      await working
      return errors
    },
  }
}

function show(connection: TerminalConnection) {
  const shown = { text: '' }
  void (async () => {
    for await (const bytes of connection) shown.text += Buffer.from(bytes).toString()
  })().catch(() => {})
  return shown
}
