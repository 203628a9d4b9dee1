import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { createFakeEngine, type FakeEngineOptions } from './fake-engine/engine.ts'
import type { GuestChannelOptions } from '../src/guest/channels.ts'
import { createGuestClient } from '../src/guest/client.ts'
import { GuestRefusal, GuestUnavailable } from '../src/guest/errors.ts'
import { machineSpec, testImageId, until } from './fake-machine.ts'

test('health, identity, display, usage and clipboard can be read', async (t) => {
  const { guests, ref } = await running(t)
  assert.deepEqual(await guests.health(ref), { version: 'fake', boot_id: 'boot-1', fence: null })
  // Only the agent runs so far.
  assert.equal((await guests.usage(ref)).processes, 1)
  await guests.setIdentity(ref, { machine: ref.id, hostname: 'brave-otter' })
  const { stdout } = await guests.exec(ref, { command: ['hostname'] })
  assert.equal(stdout, 'brave-otter\n')
  assert.deepEqual(await guests.display(ref), { width: 1280, height: 800, up: true })
  assert.deepEqual(await guests.readClipboard(ref, {}), { text: '', selection: 'clipboard' })
})

test('a brief is read, and refused if it has text that nothing can store', async (t) => {
  const { guests, ref, engine } = await running(t)
  const guest = engine.controls.guest(ref)
  const files = [{ path: '/home/agent/report.pdf', size: 7 }]
  guest.brief = { ...guest.brief, files, windows: [{ id: 1, title: 'Mail', program: 'Mail' }] }
  const { now_ms: nowMs, ...brief } = await guests.brief(ref, {})
  assert.deepEqual(brief, { ...guest.brief, files: [] })
  assert.deepEqual((await guests.brief(ref, { since_ms: nowMs })).files, files)
  for (const title of ['a\0b', '\ud800', 'x'.repeat(257)]) {
    guest.brief = { ...guest.brief, windows: [{ id: 1, title, program: '' }] }
    await assert.rejects(guests.brief(ref, {}), { name: 'GuestUnavailable' })
  }
})

test('a flush without a response ends after its time-out', async (t) => {
  const { guests, ref, engine } = await running(t)
  await guests.flush(ref)
  const guest = engine.controls.guest(ref)
  assert.equal(guest.flushes, 1)
  const hold = guest.holdFlush()
  const silent = { name: 'GuestUnavailable', sent: true }
  await assert.rejects(guests.flush(ref, { timeoutMs: 5 }), silent)
  const caller = new AbortController()
  const waiting = guests.flush(ref, { signal: caller.signal })
  await hold.reached
  caller.abort(new Error('went away'))
  await assert.rejects(waiting, { message: 'went away' })
  hold.release()

  engine.controls.freeze(ref)
  await assert.rejects(guests.flush(ref, { timeoutMs: 5 }), silent)
  const later = guests.flush(ref)
  await engine.driver().thaw(ref)
  await later
})

test('screenshots have the display geometry and change with input', async (t) => {
  const { guests, ref } = await running(t)
  await guests.setFence(ref, { fence: 1, since: 1 })
  for (const format of ['png', 'jpeg', 'webp'] as const) {
    const before = await guests.screenshot(ref, { format })
    assert.deepEqual([before.width, before.height], [1280, 800])
    assert.deepEqual((await guests.screenshot(ref, { format })).bytes, before.bytes)
    await guests.input(ref, { fence: 1, action: { type: 'move', x: 5, y: 6 } })
    assert.notDeepEqual((await guests.screenshot(ref, { format })).bytes, before.bytes)
  }
})

test('files are written, listed and read, whole, in ranges and as streams', async (t) => {
  const { guests, ref } = await running(t)
  const bytes = Buffer.alloc(3_000_000, 'computer ')
  const path = 'täst/漢 file.bin'
  const written = await guests.writeFile(ref, { path }, Readable.from([bytes]))
  assert.deepEqual(written, { path: `/home/agent/${path}`, size: bytes.length })
  await guests.writeFile(ref, { path, append: 'true' }, Buffer.from('end'))

  const file = await guests.readFile(ref, { path })
  assert.equal(file.path, `/home/agent/${path}`)
  assert.equal(file.size, bytes.length + 3)
  assert.deepEqual(await buffer(file.stream), Buffer.concat([bytes, Buffer.from('end')]))

  const range = await guests.readFileBytes(ref, { path, offset: bytes.length - 1, length: 3 })
  assert.equal(range.bytes.toString(), `${bytes.toString('utf8', bytes.length - 1)}en`)
  const beyond = await guests.readFileBytes(ref, { path, offset: 9_000_000, length: 3 })
  assert.equal(beyond.bytes.length, 0)

  const list = await guests.listFiles(ref, { path: 'täst', limit: 1 })
  assert.deepEqual([list.data.map((entry) => entry.name), list.next], [['漢 file.bin'], null])
})

test('a refusal by the agent becomes a GuestRefusal with its code and reason', async (t) => {
  const { guests, ref, engine } = await running(t)
  const missing = guests.readFileBytes(ref, { path: '/nowhere', length: 10 })
  await assert.rejects(missing, { name: 'GuestRefusal', code: 'not_found', reason: undefined })
  const move = { fence: 1, action: { type: 'move', x: 1, y: 1 } } as const
  await assert.rejects(guests.input(ref, move), { code: 'conflict', reason: 'fence_unknown' })
  assert.deepEqual(await guests.setFence(ref, { fence: 2, since: 2 }), { fence: 2 })
  await assert.rejects(guests.input(ref, move), { code: 'conflict', reason: 'fence_stale' })
  engine.controls.guest(ref).desktop.up = false
  await assert.rejects(guests.screenshot(ref, {}), (error) => {
    assert.ok(error instanceof GuestRefusal)
    assert.deepEqual([error.code, error.reason], ['compute_unavailable', 'desktop_down'])
    return true
  })
})

test('concurrent callers share one channel, and an idle channel is closed', async (t) => {
  const { guests, ref, engine } = await running(t, { idleMs: 20 })
  await Promise.all(Array.from({ length: 50 }, () => guests.health(ref)))
  assert.equal(engine.controls.calls('connect'), 1)
  await until(() => engine.controls.guest(ref).connections === 0)
  assert.equal(guests.channels.size, 0)
  await guests.health(ref)
  assert.equal(engine.controls.calls('connect'), 2)
})

test('a channel in use is not idle', async (t) => {
  const { guests, ref, engine } = await running(t, { idleMs: 5 })
  const result = await guests.exec(ref, { command: ['sleep', '0.05'] })
  assert.equal(result.exit_code, 0)
  assert.equal(engine.controls.calls('connect'), 1)
})

test('a channel that died between two calls is opened again', async (t) => {
  const { guests, ref, engine } = await running(t)
  await guests.health(ref)
  engine.controls.guest(ref).dropConnections()
  assert.equal((await guests.health(ref)).version, 'fake')
  assert.equal(engine.controls.calls('connect'), 2)

  engine.controls.guest(ref).dropConnections()
  await until(() => guests.channels.size === 0)
  assert.equal((await guests.exec(ref, { command: ['echo', 'again'] })).stdout, 'again\n')
  assert.equal(engine.controls.calls('connect'), 3)
})

test('a command whose connection breaks is not run again', async (t) => {
  const { guests, ref, engine } = await running(t)
  const sleeping = guests.exec(ref, { command: ['sleep', '60'] })
  await until(() => engine.controls.guest(ref).connections === 1)
  await guests.health(ref)
  engine.controls.guest(ref).dropConnections()
  await assert.rejects(sleeping, { name: 'GuestUnavailable', sent: true })
  assert.equal(engine.controls.calls('connect'), 1)
})

test('a call to an unreachable machine fails as not sent', async (t) => {
  const { guests, ref, engine } = await running(t)
  engine.controls.failNext('connect')
  const refused = guests.exec(ref, { command: ['true'] })
  await assert.rejects(refused, { name: 'GuestUnavailable', sent: false })
  assert.equal((await guests.exec(ref, { command: ['true'] })).exit_code, 0)
})

test('the next run of a machine gets a channel of its own', async (t) => {
  const { guests, ref, engine, driver } = await running(t)
  await guests.health(ref)
  await driver.stop(ref, { graceMs: 0 })
  await assert.rejects(guests.health(ref), GuestUnavailable)
  await driver.start(ref)
  const health = await guests.health({ ...ref, run: 'second' })
  assert.equal(health.boot_id, 'boot-2')
  assert.equal(engine.controls.guest(ref).connections, 1)
})

test('aborting a call ends it on both sides, with the reason of the signal', async (t) => {
  const { guests, ref } = await running(t)
  const caller = new AbortController()
  const sleeping = guests.exec(ref, { command: ['sleep', '3600'] }, { signal: caller.signal })
  await guests.health(ref)
  caller.abort(new Error('went away'))
  await assert.rejects(sleeping, { message: 'went away' })
  const early = guests.health(ref, { signal: caller.signal })
  await assert.rejects(early, { message: 'went away' })
})

test('a stream that is cut short fails instead of ending', async (t) => {
  const { guests, ref, engine } = await running(t)
  await guests.writeFile(ref, { path: 'big' }, Buffer.alloc(32 * 1024 * 1024))
  const { stream } = await guests.readFile(ref, { path: 'big' })
  engine.controls.guest(ref).dropConnections()
  await assert.rejects(buffer(stream), { name: 'GuestUnavailable' })
})

test('a reader that stops does not block other calls', async (t) => {
  const { guests, ref } = await running(t)
  await guests.writeFile(ref, { path: 'big' }, Buffer.alloc(64 * 1024 * 1024))
  const readers = await Promise.all(
    Array.from({ length: 12 }, () => guests.readFile(ref, { path: 'big' })),
  )
  assert.equal((await guests.exec(ref, { command: ['echo', 'free'] })).stdout, 'free\n')
  for (const { stream } of readers) stream.destroy()
  assert.equal((await guests.health(ref)).version, 'fake')
})

test('if the source of an upload fails, the caller gets its error', async (t) => {
  const { guests, ref } = await running(t)
  const source = Readable.from(
    (async function* () {
      yield Buffer.alloc(1000)
      throw new Error('source broke')
    })(),
  )
  await assert.rejects(guests.writeFile(ref, { path: 'half' }, source), { message: 'source broke' })
})

test('a refused upload ends the call and leaves its source alone', async (t) => {
  const { guests, ref } = await running(t)
  const source = new Readable({ read() {} })
  source.push(Buffer.alloc(100_000))
  const refused = guests.writeFile(ref, { path: '/opt/computer/x' }, source)
  source.push(null)
  await assert.rejects(refused, { name: 'GuestRefusal', code: 'permission_denied' })
  assert.equal(source.destroyed && source.errored !== null, false)
})

test('a closed client sends nothing and leaves no connection', async (t) => {
  const { guests, ref, engine } = await running(t)
  await guests.health(ref)
  await guests[Symbol.asyncDispose]()
  await until(() => engine.controls.guest(ref).connections === 0)
  await assert.rejects(guests.health(ref), { name: 'GuestUnavailable', sent: false })
})

async function running(
  t: TestContext,
  options: GuestChannelOptions = {},
  engineOptions: FakeEngineOptions = {},
) {
  const engine = createFakeEngine({ images: [testImageId], ...engineOptions })
  const driver = engine.driver()
  const guests = createGuestClient(driver, options)
  t.after(() => guests[Symbol.asyncDispose]())
  t.after(() => engine[Symbol.asyncDispose]())
  const spec = machineSpec(1)
  await driver.create(spec)
  await driver.start(spec)
  return {
    engine,
    driver,
    guests,
    ref: { id: spec.id, generation: 1, host: 'local', run: 'first' },
  }
}
