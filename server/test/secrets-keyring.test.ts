import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readConfig } from '../src/config.ts'
import { rotate } from '../src/host/admin/secrets.ts'
import { ensureKeyring } from '../src/host/first-start.ts'
import { addKey, readKeyring } from '../src/domain/secrets/keyring-file.ts'
import { keyIdOf } from '../src/domain/secrets/keyring.ts'
import { assertRefused } from './disks.ts'
import { startTestServer } from './harness.ts'
import { eventually, settled } from './settled.ts'

/* The keys of secrets: a missing keyring, rotation under load, and lost keys. */

const folder = await mkdtemp(join(tmpdir(), 'computer-keyring-'))
after(() => rm(folder, { recursive: true }))
const keyringPath = join(folder, 'keyring')
await addKey(keyringPath)
const server = await startTestServer({ after }, { env: { COMPUTER_SECRETS_KEYRING: keyringPath } })
const { call } = server
const { db } = server.app

test('without a keyring secrets are disabled, and the error does not contain its path', async (t) => {
  const missing = join(folder, 'missing')
  const bare = await startTestServer(t, { env: { COMPUTER_SECRETS_KEYRING: missing } })
  const { id } = await bare.machine()
  const path = `/v1/machines/${id}/secrets`
  for (const answer of [
    await bare.call('PUT', path, { name: 'TOKEN', value: 'value' }),
    await bare.call('GET', path),
    await bare.call('DELETE', `${path}/TOKEN`),
    await bare.call('GET', '/v1/secrets'),
  ]) {
    assertRefused(answer, 'unsupported_operation', /ask its operator to create a keyring/)
    assert.equal(answer.status, 501)
    assert.ok(!answer.body.error.message.includes(folder))
  }
  await addKey(missing)
  assert.equal((await bare.call('PUT', path, { name: 'TOKEN', value: 'value' })).status, 200)
})

test('keys are rotated under load without failing calls or deliveries', async () => {
  const machines = await Promise.all([server.machine(), server.machine()])
  const values = new Map<string, string>()
  let isOver = false
  const writing = machines.map(async ({ id }) => {
    for (let count = 0; !isOver; count += 1) {
      const [name, value] = [`KEY_${count % 7}`, `${id} ${count}`]
      const { status } = await put(id, name, value)
      assert.equal(status, 200)
      values.set(`${id} ${name}`, value)
    }
  })
  const { keyringPath: path } = server.app.config
  for (let count = 0; count < 10; count += 1) await rotate(server.app, { newKey: true })
  isOver = true
  await Promise.all(writing)
  await rotate(server.app, { newKey: false })

  const keyring = await readKeyring(path)
  assert.equal(keyring?.length, 11)
  const rows = await db.selectFrom('machine_secrets').selectAll().execute()
  assert.ok(rows.length >= 2)
  for (const { sealed } of rows) assert.deepEqual(keyIdOf(sealed), keyring![0].id)
  for (const { id } of machines) {
    await allDelivered(id)
    const environment = await environmentOf(id)
    for (const [key, value] of values) {
      const [machineId, name] = key.split(' ')
      if (machineId === id) assert.equal(environment[name!], value)
    }
  }
  const { attempts } = await db
    .selectFrom('secret_deliveries')
    .select(({ fn }) => fn.max('attempts').as('attempts'))
    .executeTakeFirstOrThrow()
  assert.equal(attempts, 0, 'every delivery succeeded at the first attempt')
})

test('the operator rotates with one command, which reports the result', async () => {
  const { id } = await server.machine({ start: false })
  await put(id, 'TOKEN', 'value')
  const first = await admin('secrets', 'rotate', '--new-key', '--json')
  assert.equal(first.code, 0, first.stderr)
  const { key, rotated } = JSON.parse(first.stdout)
  assert.match(key, /^[0-9a-f]{16}$/)
  assert.ok(rotated >= 1)
  assert.match((await readKeyring(keyringPath))![0].id.toString('hex'), RegExp(key))
  const again = await admin('secrets', 'rotate')
  assert.equal(again.code, 0)
  assert.match(again.stdout, /\(0 re-encrypted\); the keyring \S+ needs no other key/)
  for (const secret of (await readFile(keyringPath, 'utf8')).match(/^[^#\n]+$/gm)!) {
    assert.ok(!`${first.stdout}${again.stdout}`.includes(secret))
  }
})

test('a lost key does not keep machines from booting, and other secrets are delivered', async () => {
  const { id } = await server.machine({ start: false })
  await put(id, 'OLD', 'old value')
  const kept = `${keyringPath}.kept`
  await copyFile(keyringPath, kept)
  await rm(keyringPath)
  await addKey(keyringPath)
  await put(id, 'NEW', 'new value')
  const failed = rotate(server.app, { newKey: false })
  await assert.rejects(failed, RegExp(`OLD of ${id}: the keyring lacks the key [0-9a-f]{16}`))

  await call('POST', `/v1/machines/${id}/start`)
  await settled(server, id, 'running')
  const { OLD, NEW } = await environmentOf(id)
  assert.deepEqual([OLD, NEW], [undefined, 'new value'])
  const { body } = await call('GET', `/v1/machines/${id}/secrets`)
  const states = body.data.map((one: { delivered_at: string | null }) => one.delivered_at === null)
  assert.deepEqual(states, [false, true], 'NEW is delivered, OLD is not')

  const present = await readFile(keyringPath, 'utf8')
  await writeFile(keyringPath, present + (await readFile(kept, 'utf8')), { mode: 0o600 })
  await db
    .updateTable('secret_deliveries')
    .set({ attempts: 0, next_attempt_at: new Date(0) })
    .execute()
  await allDelivered(id)
  assert.equal((await environmentOf(id))['OLD'], 'old value')
})

test('a value copied to another row cannot be opened', async () => {
  const [from, to] = [
    await server.machine({ start: false }),
    await server.machine({ start: false }),
  ]
  await put(from.id, 'TOKEN', 'not theirs')
  await put(to.id, 'TOKEN', 'theirs')
  await put(to.id, 'OTHER', 'other')
  const { sealed } = await db
    .selectFrom('machine_secrets')
    .select('sealed')
    .where('machine_id', '=', from.id)
    .executeTakeFirstOrThrow()
  const moved = db.updateTable('machine_secrets').set({ sealed }).where('machine_id', '=', to.id)
  await moved.where('name', '=', 'TOKEN').execute()
  await call('POST', `/v1/machines/${to.id}/start`)
  await settled(server, to.id, 'running')
  const { TOKEN, OTHER } = await environmentOf(to.id)
  assert.deepEqual([TOKEN, OTHER], [undefined, 'other'])
})

test('a first start creates a keyring, and does not replace a lost one', async () => {
  const [path, other] = [join(folder, 'first'), join(folder, 'other')]
  const configOf = (env: Record<string, string>) => readConfig({ COMPUTER_DATA: folder, ...env })
  const own = configOf({ COMPUTER_SECRETS_KEYRING: path })
  const second = configOf({ COMPUTER_SECRETS_KEYRING: other, COMPUTER_HOST: 'second' })
  assert.match((await ensureKeyring(db, own)) ?? '', /is missing, .* restore it from a copy/)
  await db.deleteFrom('machine_secrets').execute()
  assert.match((await ensureKeyring(db, second)) ?? '', /copy it from another host/)
  assert.deepEqual([existsSync(path), existsSync(other)], [false, false])
  assert.equal(await ensureKeyring(db, own), null)
  const made = await readFile(path, 'utf8')
  assert.equal(await ensureKeyring(db, own), null)
  assert.equal(await readFile(path, 'utf8'), made)
  assert.equal(configOf({}).keyringPath, join(folder, 'secrets.keyring'))
})

function put(id: string, name: string, value: string) {
  return call('PUT', `/v1/machines/${id}/secrets`, { name, value })
}

async function allDelivered(id: string): Promise<void> {
  await eventually(async () => {
    const { body } = await call('GET', `/v1/machines/${id}/secrets`)
    return body.data.every((one: { delivered_at: unknown }) => one.delivered_at) || undefined
  })
}

async function environmentOf(id: string): Promise<Record<string, string>> {
  const { body } = await call('POST', `/v1/machines/${id}/exec`, { command: ['env'] })
  const lines = (body.stdout as string).trim().split('\n')
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)))
}

async function admin(...words: readonly string[]) {
  const main = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url))
  const env = { DATABASE_URL: server.databaseUrl, COMPUTER_SECRETS_KEYRING: keyringPath }
  const child = spawn(process.execPath, [main, 'admin', ...words], {
    stdio: 'pipe',
    env: { ...process.env, COMPUTER_DATA: folder, ...env },
  })
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  if (child.exitCode === null) await once(child, 'exit')
  return { code: child.exitCode, stdout, stderr }
}
