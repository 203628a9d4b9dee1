import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { onDisksOf } from './disks.ts'
import { startTestServer } from './harness.ts'
import { bothReady, hostOf, setHost, runIn } from './hosts.ts'
import { eventually, gone } from './settled.ts'

/* A host is drained: its machines and captures go to another one. */

const other = 'host-2'

test('a host that is drained hands over its machines, with their disks, and its snapshots', async (t) => {
  const { server, call, disks, create, run, drained, instances } = await start(t)
  const [running, stopped] = [await create(), await create()]
  for (const id of [running, stopped]) await run(id, 'echo kept > mark')
  const snapshot = await disks.snapshot(running)
  await run(running, 'echo later > mark')
  await call('POST', `/v1/machines/${stopped}/stop`)
  await disks.machineIn(stopped, 'stopped')
  const boots = await startsOf(running)

  await setHost(server, 'local', { state: 'draining' })
  await drained()
  for (const id of [running, stopped]) assert.equal(await hostOf(server, id), other)
  assert.deepEqual(await instances('local'), [])
  const { body } = await call('GET', `/v1/machines/${running}`)
  assert.equal(body.state, 'running')
  assert.equal(await run(running, 'cat mark'), 'later\n')
  assert.equal((await startsOf(running)).length, boots.length + 1)
  assert.equal((await call('GET', `/v1/machines/${stopped}`)).body.state, 'stopped')
  await call('POST', `/v1/machines/${stopped}/start`)
  await disks.machineIn(stopped, 'running')
  assert.equal(await run(stopped, 'cat mark'), 'kept\n')
  await call('POST', `/v1/machines/${running}/restore`, { snapshot_id: snapshot.id })
  await disks.machineIn(running, 'running')
  assert.equal(await run(running, 'cat mark'), 'kept\n')

  // Its log says why it went down, and nothing about restores or hosts.
  const types = await disks.events(running, /restore/, 'type')
  assert.deepEqual(types.slice(0, 2), ['machine.restore_started', 'machine.restore_completed'])
  const messages = (await disks.events(running, /machine/, 'message')).filter(Boolean)
  assert.ok(messages.includes('the machine moves to another host of this server'))
  assert.doesNotMatch(JSON.stringify(messages), /local|host-2/)

  async function startsOf(id: string) {
    return disks.events(id, /machine.started/)
  }
})

test('a machine whose disk cannot be sent runs on where it is, and goes later', async (t) => {
  const { server, disks, create, run, drained, engineOf } = await start(t)
  const id = await create()
  await run(id, 'echo kept > mark')
  engineOf(other).failNext('receiveCapture', { retryable: false })
  await setHost(server, 'local', { state: 'draining' })
  await drained()
  assert.equal(await run(id, 'cat mark'), 'kept\n')
  assert.equal((await disks.machineIn(id, 'running')).id, id)
})

test('a machine whose next disk cannot be made starts again where it was', async (t) => {
  const { server, create, run, engineOf } = await start(t)
  const id = await create()
  await run(id, 'echo kept > mark')
  engineOf(other).failNext('create', { retryable: false, times: 1 })
  await setHost(server, 'local', { state: 'draining' })
  await eventually(async () => engineOf(other).calls('create') > 0 || undefined)
  await setHost(server, 'local', { state: 'ready' })
  await eventually(async () => (await relocationOf(server, id)) === undefined || undefined)
  assert.equal(await hostOf(server, id), 'local')
  assert.equal(await run(id, 'cat mark'), 'kept\n')
})

test('a host that is drained no more keeps the machines that run on', async (t) => {
  const { server, create, engineOf } = await start(t)
  const id = await create()
  const hold = engineOf(other).hangNext('receiveCapture')
  await setHost(server, 'local', { state: 'draining' })
  await hold.reached
  await setHost(server, 'local', { state: 'ready' })
  await eventually(async () => (await relocationOf(server, id)) === undefined || undefined)
  hold.release()
  assert.equal(await hostOf(server, id), 'local')
  await eventually(async () => (await listCopies(server)).length === 0 || undefined)
  await eventually(async () => (await engineOf(other).list()).length === 0 || undefined)
})

test('a machine whose new host falls silent starts again where it was', async (t) => {
  const { server, create, run, engineOf } = await start(t)
  const id = await create()
  await run(id, 'echo kept > mark')
  const hold = engineOf(other).hangNext('create')
  await setHost(server, 'local', { state: 'draining' })
  await hold.reached
  await setHost(server, 'local', { state: 'ready' })
  engineOf(other).failNext('ping', { times: 1_000_000, ofEngine: true })
  await eventually(async () => (await hostOf(server, id)) === 'local' || undefined, 20_000)
  await eventually(async () => {
    const { body } = await server.call('GET', `/v1/machines/${id}`)
    return body.state === 'running' || undefined
  })
  hold.release()
  engineOf(other).recover('ping')
  assert.equal(await run(id, 'cat mark'), 'kept\n')
})

test('what users do meanwhile takes effect: a start, a fork, a deletion', async (t) => {
  const { server, call, disks, create, run, drained, engineOf } = await start(t)
  const [started, forked, deleted] = [await create(), await create(), await create()]
  for (const id of [started, forked, deleted]) await run(id, `echo ${id} > mark`)
  const snapshot = await disks.snapshot(forked)
  for (const id of [started, forked, deleted]) {
    await call('POST', `/v1/machines/${id}/stop`)
    await disks.machineIn(id, 'stopped')
  }
  // The first two are under way, and the third is not.
  const holds = [1, 2].map(() => engineOf(other).hangNext('receiveCapture'))
  await setHost(server, 'local', { state: 'draining' })
  for (const hold of holds) await hold.reached
  await call('DELETE', `/v1/machines/${deleted}`)
  assert.equal((await call('POST', `/v1/machines/${started}/start`)).status, 202)
  await disks.machineIn(started, 'running')
  await run(started, 'echo changed > mark')
  const { body: fork } = await call('POST', `/v1/machines/${forked}/fork`, {
    snapshot_id: snapshot.id,
  })
  for (const hold of holds) hold.release()
  await drained()
  await gone(server, deleted)
  await disks.machineIn(fork.id, 'running')
  assert.equal(await run(fork.id, 'cat mark'), `${forked}\n`)
  await disks.machineIn(started, 'running')
  assert.equal(await run(started, 'cat mark'), 'changed\n')
})

test('calls are to be repeated while a machine is down on its way', async (t) => {
  const { server, call, create, run, drained, engineOf } = await start(t)
  const id = await create()
  const hold = engineOf(other).hangNext('create')
  await setHost(server, 'local', { state: 'draining' })
  await hold.reached
  const calls = [
    ['exec', { command: ['true'] }],
    ['stop', {}],
    ['restart', {}],
    ['fork', {}],
    ['mouse/click', { at: { x: 1, y: 1 } }],
  ] as const
  const answers = [
    await call('POST', '/v1/snapshots', { machine_id: id }),
    await call('POST', '/v1/templates', { machine_id: id, name: 'moving' }),
  ]
  for (const [path, body] of calls) {
    answers.push(await call('POST', `/v1/machines/${id}/${path}`, body))
  }
  for (const { status, body, headers } of answers) {
    assert.deepEqual([status, body.error?.code], [503, 'compute_unavailable'])
    assert.match(body.error.message, /^the machine moves to another host/)
    assert.equal(headers['retry-after'], '1')
  }
  hold.release()
  await drained()
  assert.equal(await run(id, 'echo up'), 'up\n')
})

async function start(t: TestContext) {
  const server = await startTestServer(t, { otherHosts: [other], plan: 'startup' })
  const { call } = server
  const disks = onDisksOf(server)
  await bothReady(server)
  const driverOf = (host: string) =>
    host === other ? server.engineOf(other).driver() : server.engine.driver()
  const instances = async (host: string) => (await driverOf(host).list()).map(({ ref }) => ref.id)
  return {
    server,
    call,
    disks,
    instances,
    engineOf: (host: string) => ({
      ...server.engineOf(host).controls,
      list: () => driverOf(host).listCaptures(),
    }),
    /** Creates a machine on the first host. */
    async create() {
      await setHost(server, other, { state: 'draining' })
      const { id } = await server.machine()
      await setHost(server, other, { state: 'ready' })
      return id
    },
    run: (id: string, command: string) => runIn(server, id, command),
    /** Resolves when nothing is left on the first host. */
    async drained() {
      await eventually(async () => {
        const { state } = await server.app.db
          .selectFrom('hosts')
          .select('state')
          .where('name', '=', 'local')
          .executeTakeFirstOrThrow()
        return state === 'drained' || undefined
      }, 60_000)
      await eventually(async () => (await instances('local')).length === 0 || undefined)
    },
  }
}

type Server = Awaited<ReturnType<typeof startTestServer>>

async function relocationOf({ app }: Server, id: string) {
  const rows = await app.db.selectFrom('relocations').selectAll().execute()
  return rows.find(({ machine_id: of }) => of === id)
}

async function listCopies({ app }: Server) {
  return app.db.selectFrom('capture_copies').selectAll().execute()
}
