import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pino from 'pino'
import type { MachineId } from '@computer/contract'
import type { App } from '../src/app.ts'
import { GuestRefusal, GuestUnavailable } from '../src/guest/errors.ts'
import { timing } from '../src/timing.ts'
import { deliverAtBoot, secretQueue } from '../src/worker/secrets.ts'
import { startTestServer } from './harness.ts'

/* Failures and races of deliveries to a running machine. Only the workers of the tests run. */

const { deliveryRetry } = timing
const server = await startTestServer({ after }, { timing: { deliveryRetry } })
const { call } = server
const { db } = server.app

test('a secret stored during a delivery is delivered after it', async () => {
  const id = await machineWithout()
  await put(id, 'TOKEN', 'first')
  await put(id, 'OTHER', 'other')
  const { guests } = server.app
  const setSecrets: typeof guests.setSecrets = async (...args) => {
    const held = await guests.setSecrets(...args)
    if (held.revision === 2) {
      // The set was read and delivered, and the delivery is not recorded yet.
      await put(id, 'TOKEN', 'second')
      await call('DELETE', `/v1/machines/${id}/secrets/OTHER`)
      await put(id, 'OTHER', 'another')
    }
    return held
  }
  assert.equal(await work(id, { guests: { ...guests, setSecrets } }), 1)
  assert.deepEqual(await states(id), { TOKEN: [2, false], OTHER: [1, false] })
  assert.equal(await work(id), 1)
  assert.deepEqual(await states(id), { TOKEN: [2, true], OTHER: [1, true] })
  assert.equal(await work(id), 0)
  const { environment } = server.guest(id).secrets
  assert.deepEqual({ ...environment }, { TOKEN: 'second', OTHER: 'another' })
})

test('a late delivery does not replace a newer set', async () => {
  const id = await machineWithout()
  await put(id, 'TOKEN', 'first')
  const { guests } = server.app
  const late: (() => Promise<unknown>)[] = []
  const setSecrets: typeof guests.setSecrets = async (...args) => {
    late.push(() => guests.setSecrets(...args))
    throw new GuestUnavailable('stalled', { sent: false })
  }
  await work(id, { guests: { ...guests, setSecrets } })
  await put(id, 'TOKEN', 'second')
  assert.equal(await work(id), 1)
  await late[0]!()
  assert.deepEqual({ ...server.guest(id).secrets.environment }, { TOKEN: 'second' })
  assert.deepEqual(await states(id), { TOKEN: [2, true] })
})

test('one worker at a time claims a delivery, and a failed one is retried later', async () => {
  const id = await machineWithout()
  await put(id, 'TOKEN', 'value')
  const [first, second] = [secretQueue(server.app), secretQueue(server.app)]
  const claimed = await first.claim('first', 10)
  assert.ok(claimed.some((one) => one.id === id))
  assert.ok(!(await second.claim('second', 10)).some((one) => one.id === id))
  await first.release('first', id)

  const { guests } = server.app
  const setSecrets = () => Promise.reject(new GuestUnavailable('silent', { sent: true }))
  assert.equal(await work(id, { guests: { ...guests, setSecrets } }), 1)
  assert.equal(await work(id), 0, 'the retry is not due yet')
  const past = { next_attempt_at: new Date(0) }
  await db.updateTable('secret_deliveries').set(past).where('id', '=', id).execute()
  assert.equal(await work(id), 1)
  assert.deepEqual(await states(id), { TOKEN: [1, true] })
})

test('errors of a guest or the database bring no value into the log', async () => {
  const canary = 'canary-that-a-guest-repeats'
  const id = await machineWithout()
  await put(id, 'TOKEN', canary)
  const { guests } = server.app
  for (const error of [
    new GuestRefusal({ code: 'internal_error', message: canary }),
    new GuestUnavailable('nonsense', { sent: true, cause: new Error(canary) }),
  ]) {
    const lines: string[] = []
    const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) })
    const setSecrets = () => Promise.reject(error)
    const past = { next_attempt_at: new Date(0) }
    await db.updateTable('secret_deliveries').set(past).where('id', '=', id).execute()
    assert.equal(await work(id, { log, guests: { ...guests, setSecrets } }), 1)
    assert.equal(lines.length, 1)
    assert.match(lines[0]!, /could not deliver secrets; will retry/)
    assert.ok(!lines[0]!.includes(canary))
  }
})

test('a guest that refuses its secrets boots nevertheless', async () => {
  const id = await machineWithout()
  await put(id, 'TOKEN', 'value')
  const { guests } = server.app
  const refusal = new GuestRefusal({ code: 'precondition_failed', message: 'no memory' })
  const app = { ...server.app, guests: { ...guests, setSecrets: () => Promise.reject(refusal) } }
  const machine = await db
    .selectFrom('machines')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  await work(id)
  await deliverAtBoot(app, machine, AbortSignal.timeout(5_000))
  assert.equal(await work(id), 1, 'the delivery is due again')
  const silent = new GuestUnavailable('not up', { sent: false })
  app.guests.setSecrets = () => Promise.reject(silent)
  const early = deliverAtBoot(app, machine, AbortSignal.timeout(5_000))
  await assert.rejects(early, silent)
  assert.equal(await work(id), 0, 'the caller retries the boot')
})

/** A running machine, with its worker stopped. */
async function machineWithout(): Promise<MachineId> {
  server.startWorker()
  const { id } = await server.machine()
  await server.stopWorkers()
  return id
}

/** Runs one worker pass for one machine. Returns the number of deliveries that were due. */
async function work(id: MachineId, instead: Partial<App> = {}): Promise<number> {
  const queue = secretQueue({ ...server.app, ...instead })
  const claimed = await queue.claim('a worker', 100)
  const ours = claimed.filter((one) => one.id === id)
  for (const one of ours) await queue.work(one, { away: (wait) => wait() })
  for (const one of claimed) await queue.release('a worker', one.id)
  return ours.length
}

async function put(id: string, name: string, value: string): Promise<void> {
  const { status } = await call('PUT', `/v1/machines/${id}/secrets`, { name, value })
  assert.equal(status, 200)
}

/** The version of each secret, and whether it was delivered. */
async function states(id: string) {
  const { body } = await call('GET', `/v1/machines/${id}/secrets`)
  type Listed = { name: string; version: number; delivered_at: string | null }
  return Object.fromEntries(
    body.data.map((one: Listed) => [one.name, [one.version, one.delivered_at !== null]]),
  )
}
