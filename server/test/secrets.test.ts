import { maxSecretBytes, maxSecretsPerMachine } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { assertRefused } from './disks.ts'
import { startTestServer } from './harness.ts'
import { eventually, settled } from './settled.ts'

const server = await startTestServer({ after })
const { call } = server
const { db } = server.app

test('a secret has a version and is listed without its value', async () => {
  const { id } = await server.machine({ start: false })
  const first = await put(id, 'TOKEN', 'first')
  assert.deepEqual([first.status, first.body], [200, stored('TOKEN', 1)])
  assert.deepEqual((await put(id, 'TOKEN', 'second')).body, stored('TOKEN', 2))
  assert.deepEqual((await put(id, '_', '')).body, stored('_', 1))
  const { body } = await call('GET', `/v1/machines/${id}/secrets`)
  const data = [stored('TOKEN', 2), stored('_', 1)]
  assert.deepEqual(body, { data, next_cursor: null, has_more: false })
  assert.deepEqual((await call('GET', `/machines/${id}/secrets`)).body, body, 'by the alias too')

  const owner = server.as(await server.user('owner'))
  const { body: log } = await owner('GET', '/v1/audit-events?type=secret.stored&limit=1')
  const [{ target, message, outcome }] = log.data
  assert.deepEqual([target.id, message, outcome], [id, '_', 'succeeded'])
})

test('the secrets of a machine and of the organization are listed by name, in pages', async () => {
  const names = ['A', 'A1', 'AB', 'A_B', 'B', 'Z_', '_A']
  const machines = [await server.machine({ start: false }), await server.machine({ start: false })]
  for (const { id } of machines) for (const name of names.toReversed()) await put(id, name, 'value')
  assert.deepEqual(await walk(`/v1/machines/${machines[0]!.id}/secrets`), names)

  const ids = machines.map(({ id }) => id).sort()
  const seen = await walkAll('/v1/secrets')
  const ours = seen.filter(({ machine_id }) => ids.includes(machine_id as never))
  const wanted = names.flatMap((name) => ids.map((machine_id) => `${name} ${machine_id}`))
  assert.deepEqual(
    ours.map(({ name, machine_id }) => `${name} ${machine_id}`),
    wanted,
  )
  assert.deepEqual(Object.keys(ours[0]!).sort(), ['delivered_at', 'machine_id', 'name', 'version'])

  const stranger = server.as(await server.user('owner', 'stranger'))
  assert.deepEqual((await stranger('GET', '/v1/secrets')).body.data, [])
  const path = `/v1/machines/${ids[0]}/secrets`
  assert.equal((await stranger('GET', path)).status, 404)
  assert.equal((await stranger('PUT', path, { name: 'A', value: 'theirs' })).status, 404)
  assert.equal((await stranger('DELETE', `${path}/A`)).status, 404)
})

test('invalid names and values are refused with a reason that does not quote the value', async () => {
  const { id } = await server.machine({ start: false })
  const canary = 'canary-in-a-refusal'
  for (const [body, field, message] of [
    [{ name: 'lower', value: canary }, 'name', /upper-case/],
    [{ name: '1A', value: canary }, 'name', /upper-case/],
    [{ name: 'A\n', value: canary }, 'name', /upper-case/],
    [{ name: 'UID', value: canary }, 'name', /shells and logins/],
    [{ name: 'LD_PRELOAD', value: canary }, 'name', /shells and logins/],
    [{ name: 'PATH', value: canary }, 'name', /shells and logins/],
    [{ name: 'A', value: `${canary}\0` }, 'value', /NUL/],
    [{ name: 'A', value: `${canary}\ud800` }, 'value', /Unicode/],
    [{ name: 'A', value: canary.padEnd(maxSecretBytes + 1, 'x') }, 'value', /65536|64 KB/],
    [{ name: 'A', value: canary.padEnd(maxSecretBytes - 1, 'é') }, 'value', /64 KB/],
    [{ name: 'A', value: [canary] }, 'value', /string/],
    [{ name: 'A', value: 'a', [canary]: 1 }, canary, /unknown field/],
    [{ name: 'A' }, 'value', /string/],
  ] as const) {
    const answer = await call('PUT', `/v1/machines/${id}/secrets`, body)
    assertRefused(answer, 'invalid_request', message)
    assert.equal(answer.body.error.details[0].field, field)
    if (field !== canary) assert.ok(!JSON.stringify(answer.body).includes(canary))
  }
  assert.deepEqual((await call('GET', `/v1/machines/${id}/secrets`)).body.data, [])
})

test('limits are 64 KB for each secret, and 100 secrets and 1 MiB for each machine', async () => {
  const { id } = await server.machine({ start: false })
  const longest = 'é'.repeat(maxSecretBytes / 2)
  for (let count = 0; count < 15; count += 1) {
    assert.equal((await put(id, `LONG_${count}`, longest)).status, 200)
  }
  assertRefused(await put(id, 'LONG_15', longest), 'conflict', /at most 1 MiB in total/)
  assert.equal((await put(id, 'LONG_3', longest)).status, 200, 'a replacement takes no more')
  const many = maxSecretsPerMachine - 15
  for (let count = 0; count < many; count += 1) await put(id, `SHORT_${count}`, '')
  assertRefused(await put(id, 'ONE_MORE', ''), 'conflict', /100 secrets/)
  assert.equal((await put(id, 'SHORT_0', 'replaced')).status, 200)
  assert.equal((await call('DELETE', `/v1/machines/${id}/secrets/SHORT_1`)).status, 204)
  assert.equal((await put(id, 'ONE_MORE', '')).status, 200)
})

test('a running machine gets a secret and each change at once, until it is deleted', async () => {
  const { id } = await server.machine()
  await put(id, 'TOKEN', 'it’s $HOME `id`\n"x"')
  await delivered(id, 'TOKEN', 1)
  assert.equal(await environment(id, 'TOKEN'), 'it’s $HOME `id`\n"x"\n')
  await put(id, 'TOKEN', 'second')
  await put(id, 'OTHER', 'other')
  await delivered(id, 'TOKEN', 2)
  await delivered(id, 'OTHER', 1)
  assert.equal(await environment(id, 'TOKEN'), 'second\n')

  assert.equal((await call('DELETE', `/v1/machines/${id}/secrets/TOKEN`)).status, 204)
  await eventually(async () => (await environment(id, 'TOKEN')) === '' || undefined)
  assert.equal(await environment(id, 'OTHER'), 'other\n')
  assert.equal((await call('DELETE', `/v1/machines/${id}/secrets/TOKEN`)).status, 404)
  assert.deepEqual((await put(id, 'TOKEN', 'again')).body, stored('TOKEN', 1))
  await delivered(id, 'TOKEN', 1)
})

test('each boot has the secrets before user programs start', async () => {
  const { id } = await server.machine({ start: false })
  await put(id, 'TOKEN', 'value')
  await call('POST', `/v1/machines/${id}/start`)
  await settled(server, id, 'running')
  assert.deepEqual(server.guest(id).secrets.deliveries, [{ revision: 1, wasFirst: true }])
  const first = await delivered(id, 'TOKEN', 1)
  assert.equal(await environment(id, 'TOKEN'), 'value\n')

  await call('POST', `/v1/machines/${id}/restart`)
  await eventually(async () => (await delivered(id, 'TOKEN', 1)) > first || undefined)
  assert.deepEqual(server.guest(id).secrets.deliveries, [{ revision: 1, wasFirst: true }])
})

test('a guest that reboots by itself gets its secrets again', async () => {
  const { id } = await server.machine()
  await put(id, 'TOKEN', 'value')
  const first = await delivered(id, 'TOKEN', 1)
  server.engine.controls.reboot({ id, generation: 1 })
  await eventually(async () => (await delivered(id, 'TOKEN', 1)) > first || undefined)
  await eventually(async () => server.guest(id).secrets.state.told || undefined)
  assert.deepEqual(server.guest(id).secrets.deliveries, [{ revision: 1, wasFirst: true }])
  assert.equal(await environment(id, 'TOKEN'), 'value\n')
})

test('a reboot that no worker saw is detected by the next worker', async () => {
  const { id } = await server.machine()
  await put(id, 'TOKEN', 'value')
  const first = await delivered(id, 'TOKEN', 1)
  await server.stopWorkers()
  server.engine.controls.reboot({ id, generation: 1 })
  server.startWorker()
  await eventually(async () => (await delivered(id, 'TOKEN', 1)) > first || undefined)
  assert.equal(await environment(id, 'TOKEN'), 'value\n')
})

test('forks and machines from templates have no secrets; a restore keeps those of the machine', async () => {
  const { id } = await server.machine()
  await put(id, 'TOKEN', 'value')
  await delivered(id, 'TOKEN', 1)
  const fork = await call('POST', `/v1/machines/${id}/fork`, { name: 'a-fork' })
  await settled(server, fork.body.id, 'running')
  assert.deepEqual((await call('GET', `/v1/machines/${fork.body.id}/secrets`)).body.data, [])
  assert.equal(await environment(fork.body.id, 'TOKEN'), '')
  assert.deepEqual(server.guest(fork.body.id).secrets.deliveries, [])

  const { body: snapshot } = await call('POST', '/v1/snapshots', { machine_id: id })
  await eventually(async () => {
    const { body } = await call('GET', `/v1/snapshots/${snapshot.id}`)
    return body.state === 'ready' || undefined
  })
  const { body: before } = await call('GET', `/v1/machines/${id}/secrets`)
  await call('POST', `/v1/machines/${id}/restore`, { snapshot_id: snapshot.id })
  await eventually(async () => {
    const { body } = await call('GET', `/v1/machines/${id}/secrets`)
    return body.data[0].delivered_at > before.data[0].delivered_at || undefined
  })
  await settled(server, id, 'running')
  assert.equal(await environment(id, 'TOKEN'), 'value\n')
})

test('deleting a machine deletes its secrets', async () => {
  const { id } = await server.machine()
  await put(id, 'TOKEN', 'value')
  await call('DELETE', `/v1/machines/${id}`)
  await eventually(
    async () => (await call('GET', `/v1/machines/${id}`)).status === 404 || undefined,
  )
  const secrets = db.selectFrom('machine_secrets').selectAll().where('machine_id', '=', id)
  const deliveries = db.selectFrom('secret_deliveries').selectAll().where('id', '=', id)
  assert.deepEqual([await secrets.execute(), await deliveries.execute()], [[], []])
})

function put(id: string, name: string, value: string) {
  return call('PUT', `/v1/machines/${id}/secrets`, { name, value })
}

function stored(name: string, version: number) {
  return { name, version, delivered_at: null }
}

/** Waits until the machine has a version. Returns the time of its delivery. */
async function delivered(id: string, name: string, version: number): Promise<string> {
  return eventually(async () => {
    const { body } = await call('GET', `/v1/machines/${id}/secrets`)
    const found = body.data.find((one: { name: string }) => one.name === name)
    return found?.version === version && found.delivered_at ? found.delivered_at : undefined
  })
}

/** The value that a command in the machine sees. */
async function environment(id: string, name: string): Promise<string> {
  const { body } = await call('POST', `/v1/machines/${id}/exec`, { command: ['printenv', name] })
  return body.stdout
}

async function walkAll(path: string): Promise<Record<string, unknown>[]> {
  const seen = []
  for (let cursor = ''; ;) {
    const { body } = await call('GET', `${path}?limit=3${cursor}`)
    seen.push(...body.data)
    if (!body.has_more) return seen
    cursor = `&cursor=${body.next_cursor}`
  }
}

async function walk(path: string): Promise<unknown[]> {
  return (await walkAll(path)).map(({ name }) => name)
}
