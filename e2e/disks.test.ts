import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from './api.ts'
import { closeBrowser, showCookie, takeCookie } from './guest-browser.ts'
import { startRealServer, type RealServer } from './server.ts'

/*
 * What a disk carries from one machine to another and from then to now: snapshots, restores, forks and
 * templates on real machines. The tests share a source machine, so each builds on those before it.
 */

let server: RealServer
let source = ''
let snapshot = ''
let template = ''
const forks: string[] = []

before(async () => {
  server = await startRealServer()
})
after(async () => {
  await server?.[Symbol.asyncDispose]()
})

test('a machine with a program and a cookie is captured while its browser runs', async () => {
  source = (await server.api.ok('POST', '/v1/machines', { name: 'source' })).id
  await server.api.run(source, ['sh', '-ec', installPackage], { user: 'root' })
  await write(source, 'before')
  await takeCookie(server.api, source, 'before')
  assert.equal(await showCookie(server.api, source), 'visit=before')

  const asked = await server.api.ok('POST', '/v1/snapshots', {
    machine_id: source,
    name: 'with a cookie',
  })
  assert.deepEqual(
    [asked.state, asked.origin, asked.includes_memory, asked.size_bytes],
    ['pending', 'manual', false, null],
  )
  const ready = await ended(asked.id)
  assert.deepEqual([ready.state, ready.name], ['ready', 'with a cookie'])
  assert.ok(ready.size_bytes > 100_000, `it holds ${ready.size_bytes} bytes`)
  snapshot = ready.id
})

test('two forks side by side have all of it and none of each other', async () => {
  const names = ['left', 'right']
  const made = await Promise.all(
    names.map((name) => server.api.ok('POST', `/v1/machines/${source}/fork`, { name })),
  )
  assert.deepEqual(
    made.map(({ state }) => state),
    ['creating', 'creating'],
  )
  forks.push(...(await Promise.all(made.map(({ id }) => running(id)))))
  // From now on what happens to the source is the source's alone.
  await write(source, 'after')
  await server.api.run(source, ['dpkg', '-r', 'carried'], { user: 'root' })
  await closeBrowser(server.api, source)
  await takeCookie(server.api, source, 'after')

  for (const [index, id] of forks.entries()) {
    await assertBefore(id)
    assert.equal(await server.api.run(id, ['hostname']), `${names[index]}\n`)
    await write(id, names[index]!)
  }
  const all = [source, ...forks]
  for (const command of ['cat /etc/machine-id', 'hostname', 'hostname -I']) {
    const values = await Promise.all(all.map((id) => answerOf(id, command)))
    assert.equal(new Set(values).size, all.length, `${command}: ${values.join(' | ')}`)
  }
  assert.equal(await read(source), 'after')
  await server.api.ok('DELETE', `/v1/machines/${forks.pop()}`)
})

test('a machine from a template of the snapshot has it, too', async () => {
  const asked = await server.api.ok('POST', '/v1/templates', {
    name: 'carried',
    snapshot_id: snapshot,
  })
  assert.equal(asked.state, 'ready')
  template = asked.id
  const machine = await server.api.ok('POST', '/v1/machines', { template })
  assert.deepEqual([machine.state, machine.template_id], ['running', template])
  await assertBefore(machine.id)
  await server.api.ok('DELETE', `/v1/machines/${machine.id}`)
})

test('a restore brings back what was, and keeps what it replaces', async () => {
  const asked = await server.api.ok('POST', `/v1/machines/${source}/restore`, {
    snapshot_id: snapshot,
  })
  assert.equal(asked.state, 'stopping')
  await restored(source)
  await running(source)
  await assertBefore(source)

  const { data } = await server.api.ok('GET', `/v1/snapshots?machine_id=${source}`)
  const [kept] = data
  assert.deepEqual([kept.name, kept.origin, kept.state], ['Before restore', 'manual', 'ready'])
  await closeBrowser(server.api, source)
  await server.api.ok('POST', `/v1/machines/${source}/restore`, { snapshot_id: kept.id })
  await restored(source)
  await running(source)
  assert.equal(await read(source), 'after')
  assert.equal(await showCookie(server.api, source), 'visit=after')
  await assert.rejects(server.api.run(source, ['carried']))
})

test('nobody may hold the input lease of a machine that is restored', async () => {
  const { sessionId } = await server.api.takeLease(source)
  const path = `/v1/machines/${source}/restore`
  const refused = await server.api.call('POST', path, { snapshot_id: snapshot })
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
  assert.match(refused.body.error.message, new RegExp(sessionId))
  await server.api.ok('DELETE', `/v1/sessions/${sessionId}`)
})

test('a stop keeps the disk as it left it, and the next stop replaces that', async () => {
  const [id] = forks
  const stops: string[] = []
  for (const content of ['first stop', 'second stop']) {
    await write(id!, content)
    await server.api.ok('POST', `/v1/machines/${id}/stop?wait=60`)
    const ready = await eventually('the stop is kept, alone', async () => {
      const { data } = await server.api.ok('GET', `/v1/snapshots?machine_id=${id}&origin=stop`)
      return data.length === 1 && data[0].state === 'ready' && !stops.includes(data[0].id)
        ? data[0]
        : undefined
    })
    stops.push(ready.id)
    await server.api.ok('POST', `/v1/machines/${id}/start?wait=60`)
  }
  assert.equal((await server.api.call('GET', `/v1/snapshots/${stops[0]}`)).status, 404)
  await write(id!, 'after the stops')

  // A stopped machine stays stopped, and boots the restored disk on its next start.
  await server.api.ok('POST', `/v1/machines/${id}/stop?wait=60`)
  await server.api.ok('POST', `/v1/machines/${id}/restore`, { snapshot_id: stops[1] })
  await restored(id!)
  assert.equal((await server.api.ok('GET', `/v1/machines/${id}`)).state, 'stopped')
  await server.api.ok('POST', `/v1/machines/${id}/start?wait=60`)
  assert.equal(await read(id!), 'second stop')
})

test('what came of a machine outlives it', async () => {
  await server.api.ok('DELETE', `/v1/machines/${source}`)
  await eventually('the source is gone', async () => {
    const { status } = await server.api.call('GET', `/v1/machines/${source}`)
    return status === 404 || undefined
  })
  assert.equal((await server.api.ok('GET', `/v1/snapshots/${snapshot}`)).state, 'ready')
  assert.equal(await read(forks[0]!), 'second stop')
  const machine = await server.api.ok('POST', '/v1/machines', { template })
  assert.equal(await read(machine.id), 'before')
  await server.api.ok('DELETE', `/v1/machines/${machine.id}`)

  // A template that is deleted leaves the snapshot, and the other way round.
  await server.api.ok('DELETE', `/v1/templates/${template}`)
  const again = await server.api.ok('POST', '/v1/templates', {
    name: 'again',
    snapshot_id: snapshot,
  })
  const { data } = await server.api.ok('GET', `/v1/snapshots?machine_id=${source}&limit=100`)
  for (const { id } of data) await server.api.ok('DELETE', `/v1/snapshots/${id}`)
  const last = await server.api.ok('POST', '/v1/machines', { template: again.id })
  assert.equal(await read(last.id), 'before')
})

/** A package made on the spot, so that no network is needed. */
const installPackage = `
mkdir -p /tmp/carried/DEBIAN /tmp/carried/usr/local/bin
printf 'Package: carried\\nVersion: 1\\nArchitecture: all\\nMaintainer: Nobody <nobody@localhost>\\nDescription: A program\\n' > /tmp/carried/DEBIAN/control
printf '#!/bin/sh\\necho carried along\\n' > /tmp/carried/usr/local/bin/carried
chmod 755 /tmp/carried/usr/local/bin/carried
dpkg-deb --build /tmp/carried /tmp/carried.deb
dpkg -i /tmp/carried.deb
`

/** The machine has the disk of the snapshot: file, package and cookie. */
async function assertBefore(id: string): Promise<void> {
  assert.equal(await read(id), 'before')
  assert.equal(await server.api.run(id, ['carried']), 'carried along\n')
  assert.match(await server.api.run(id, ['dpkg', '-s', 'carried']), /Status: install ok installed/)
  assert.equal(await showCookie(server.api, id), 'visit=before')
}

async function write(id: string, content: string): Promise<void> {
  await server.api.ok('PUT', `/v1/machines/${id}/files/content`, { path: 'note', content })
}

async function read(id: string): Promise<string> {
  return (await server.api.ok('GET', `/v1/machines/${id}/files/content?path=note`)).content
}

async function answerOf(id: string, command: string): Promise<string> {
  return eventually(`${command} answers`, async () => {
    const text = (await server.api.run(id, ['sh', '-c', command])).trim()
    return text === '' ? undefined : text
  })
}

async function running(id: string): Promise<string> {
  return eventually(`${id} runs`, async () => {
    const { state } = await server.api.ok('GET', `/v1/machines/${id}`)
    if (state === 'error') throw new Error(`${id} is in error`)
    return state === 'running' ? id : undefined
  })
}

/** A capture that is over, ready or not. */
async function ended(id: string) {
  return eventually(`${id} is taken`, async () => {
    const found = await server.api.ok('GET', `/v1/snapshots/${id}`)
    return found.state === 'pending' ? undefined : found
  })
}

async function restored(id: string): Promise<void> {
  await eventually(`${id} is restored`, async () => {
    const { data } = await server.api.ok('GET', `/v1/machines/${id}/events?limit=20`)
    const last = data.find(({ type }: { type: string }) => type.startsWith('machine.restore_'))
    if (last.type === 'machine.restore_failed') throw new Error(last.message)
    return last.type === 'machine.restore_completed' || undefined
  })
}
