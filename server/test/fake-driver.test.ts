import type { GuestAction } from '@computer/contract'
import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { test, type TestContext } from 'node:test'
import { createFakeEngine } from './fake-engine/engine.ts'
import { createGuestClient } from '../src/guest/client.ts'
import { machineSpec, testImageId, until } from './fake-machine.ts'

const drag = { type: 'drag', from: { x: 0, y: 0 }, to: { x: 100, y: 0 }, steps: 4 } as const

test('a machine lives from create to destroy, and every step may be repeated', async (t) => {
  const { driver } = setUp(t)
  const spec = machineSpec(1)
  assert.equal(await driver.inspect(spec), 'absent')
  for (const [step, state] of [
    [() => driver.create(spec), 'stopped'],
    [() => driver.start(spec), 'running'],
    [() => driver.stop(spec, { graceMs: 0 }), 'stopped'],
    [() => driver.destroy(spec), 'absent'],
  ] as const) {
    await step()
    await step()
    assert.equal(await driver.inspect(spec), state)
  }
})

test('all drivers of an engine see the same machines, generation by generation', async (t) => {
  const { engine, driver } = setUp(t)
  await driver.create(machineSpec(1))
  await driver.create(machineSpec(1, 2))
  const other = engine.driver()
  await other.start(machineSpec(1, 2))
  const states = (await driver.list()).map(({ ref, state }) => [ref.generation, state])
  assert.deepEqual(states, [
    [1, 'stopped'],
    [2, 'running'],
  ])
})

test('an unknown image and an unknown machine are final failures', async (t) => {
  const { driver } = setUp(t)
  const spec = { ...machineSpec(1), imageId: 'img_00000000000000000000000009' } as const
  await assert.rejects(driver.create(spec), { name: 'ImageMissing', retryable: false })
  assert.equal(await driver.hasImage(spec.imageId), false)
  await driver.addImage(spec.imageId, { metadataPath: '', rootfsPath: '' })
  await assert.rejects(driver.start(spec), { name: 'DriverError', retryable: false })
  await driver.create(spec)
})

test('files outlast a stop and end with the machine; the agent starts afresh with each boot', async (t) => {
  const { driver, guests, ref } = await running(t)
  await guests.setFence(ref, { fence: 3, since: 3 })
  await guests.writeFile(ref, { path: 'kept', mode: '0600' }, Buffer.from('bytes'))
  await driver.stop(ref, { graceMs: 0 })
  await assert.rejects(driver.connect(ref), { name: 'DriverError', retryable: true })
  await driver.start(ref)
  const again = { ...ref, run: 'second' }
  assert.equal((await guests.health(again)).fence, null)
  assert.equal((await guests.readFileBytes(again, { path: 'kept', length: 9 })).size, 5)

  await driver.destroy(ref)
  await driver.create(machineSpec(1))
  await driver.start(ref)
  const reborn = guests.readFileBytes({ ...ref, run: 'third' }, { path: 'kept', length: 9 })
  await assert.rejects(reborn, { code: 'not_found' })
})

test('the driver reports how a run ended', async (t) => {
  const { engine, driver, ref } = await running(t)
  engine.controls.die(ref, 'out of memory')
  assert.deepEqual(await driver.lastExit(ref), { kind: 'died', reason: 'out of memory' })
  await driver.start(ref)
  engine.controls.powerOff(ref)
  assert.equal(await driver.inspect(ref), 'stopped')
  assert.equal((await driver.lastExit(ref)).kind, 'poweroff')
})

test('a guest powers itself off and reboots, which ends its processes', async (t) => {
  const { engine, driver, guests, ref } = await running(t)
  const boot = (await guests.health(ref)).boot_id
  const runUntilItEnds = async (end: () => void) => {
    const { disk } = engine.controls.guest(ref)
    const running = guests.exec(ref, { command: ['sh', '-c', 'echo $$ > pid; exec sleep 600'] })
    const failed = assert.rejects(running, { sent: true })
    await until(() => disk.read('pid') !== null)
    end()
    await failed
    disk.remove('pid')
  }
  await runUntilItEnds(() => engine.controls.reboot(ref))
  assert.equal(await driver.inspect(ref), 'running')
  assert.notEqual((await guests.health(ref)).boot_id, boot)
  await runUntilItEnds(() => engine.controls.powerOff(ref))
  assert.equal(await driver.inspect(ref), 'stopped')
})

test('a watcher is notified of every machine that changes', async (t) => {
  const { driver, engine } = setUp(t)
  const watching = new AbortController()
  const changes = driver.watch(watching.signal)[Symbol.asyncIterator]()
  const [first, second] = [machineSpec(1), machineSpec(2)]
  for (const spec of [first, second]) {
    await driver.create(spec)
    await driver.start(spec)
  }
  assert.deepEqual((await changes.next()).value, { id: first.id, generation: 1 })
  engine.controls.die(first)
  assert.deepEqual((await changes.next()).value, { id: second.id, generation: 1 })
  assert.deepEqual((await changes.next()).value, { id: first.id, generation: 1 })
  const last = changes.next()
  watching.abort()
  assert.equal((await last).done, true)
})

test('calls fail as requested, before their effect or after it', async (t) => {
  const { engine, driver } = setUp(t)
  const spec = machineSpec(1)
  engine.controls.failNext('create', { times: 2, retryable: false })
  engine.controls.failNext('create', { afterEffect: true })
  await assert.rejects(driver.create(spec), { retryable: false })
  await assert.rejects(driver.create(spec), { retryable: false })
  assert.equal(await driver.inspect(spec), 'absent')
  await assert.rejects(driver.create(spec), { retryable: true })
  assert.equal(await driver.inspect(spec), 'stopped')
  await driver.create(spec)
  assert.equal(engine.controls.calls('create'), 4)
})

test('a call hangs until it is released', async (t) => {
  const { engine, driver } = setUp(t)
  const hold = engine.controls.hangNext('create')
  const created = driver.create(machineSpec(1))
  await hold.reached
  assert.equal(await driver.inspect(machineSpec(1)), 'absent')
  hold.release()
  await created
  assert.equal(await driver.inspect(machineSpec(1)), 'stopped')
})

test('a guest whose boot is held does not respond until it is released', async (t) => {
  const { engine, driver, guests } = setUp(t)
  const boot = engine.controls.holdBoot()
  engine.controls.setDesktopUpAtBoot(false)
  await driver.create(machineSpec(1))
  await driver.start(machineSpec(1))
  const ref = { ...machineSpec(1), host: 'local', run: 'first' }
  await assert.rejects(guests.health(ref), { name: 'GuestUnavailable', sent: false })
  await boot.reached
  boot.release()
  assert.equal((await guests.display(ref)).up, false)
  engine.controls.guest(ref).desktop.up = true
  assert.equal((await guests.display(ref)).up, true)
})

test('a higher fence interrupts the drag in flight, and no part of it takes effect later', async (t) => {
  const { engine, guests, ref } = await running(t)
  const { desktop } = engine.controls.guest(ref)
  await guests.setFence(ref, { fence: 1, since: 1 })
  const hold = desktop.holdInput()
  const dragging = guests.input(ref, { fence: 1, action: drag })
  await hold.reached
  const waiting = guests.input(ref, { fence: 1, action: { type: 'move', x: 9, y: 9 } })
  const stale = { code: 'conflict', reason: 'fence_stale' }
  const refused = [assert.rejects(dragging, stale), assert.rejects(waiting, stale)]
  assert.deepEqual(await guests.setFence(ref, { fence: 2, since: 2 }), { fence: 2 })
  const landed = [...desktop.events]
  hold.release()
  await Promise.all(refused)
  assert.deepEqual(desktop.events, landed)
  assert.equal(desktop.pressed.size, 0)
})

test('pressed keys are released for the next holder, and kept for the same one', async (t) => {
  const { engine, guests, ref } = await running(t)
  const { desktop } = engine.controls.guest(ref)
  await guests.setFence(ref, { fence: 1, since: 1 })
  await guests.input(ref, { fence: 1, action: { type: 'key', key: 'shift', down: true } })
  await guests.setFence(ref, { fence: 2, since: 1 })
  assert.deepEqual([...desktop.pressed], ['Shift_L'])
  await guests.input(ref, { fence: 1, action: { type: 'move', x: 3, y: 4 } })
  await guests.setFence(ref, { fence: 3, since: 3 })
  assert.deepEqual([...desktop.pressed], [])
  assert.deepEqual(await guests.setFence(ref, { fence: 1, since: 1 }), { fence: 3 })
})

test('input outside the display or with an unknown key has no effect at all', async (t) => {
  const { engine, guests, ref } = await running(t)
  await guests.setFence(ref, { fence: 1, since: 1 })
  const refused: GuestAction[] = [
    { type: 'move', x: 1280, y: 0 },
    { type: 'click', at: { x: -1, y: 0 }, button: 'left', count: 1 },
    { type: 'hotkey', keys: ['ctrl', 'nonsense'] },
  ]
  for (const action of refused) {
    await assert.rejects(guests.input(ref, { fence: 1, action }), { code: 'invalid_request' })
  }
  assert.deepEqual(engine.controls.guest(ref).desktop.events, [])
  const action = { type: 'resize', width: 1600, height: 900 } as const
  const resized = await guests.input(ref, { fence: 1, action })
  assert.deepEqual(resized.display, { width: 1600, height: 900, up: true })
  await guests.input(ref, { fence: 1, action: { type: 'write_clipboard', text: 'é漢🙂' } })
  assert.equal((await guests.readClipboard(ref, {})).text, 'é漢🙂')
})

test('a call that needs the agent starts it with the current secrets and identity', async (t) => {
  const { engine, guests, ref } = await running(t)
  const secret = (value: string) => [{ name: 'TOKEN', value }]
  await guests.setSecrets(ref, { revision: 1, secrets: secret('first') })
  await guests.setIdentity(ref, { machine: ref.id, hostname: 'brave-otter' })
  await guests.setSecrets(ref, { revision: 2, secrets: secret('second') })
  const script = 'hostname; echo $TOKEN; whoami; pwd'
  const run = async (to = ref) => (await guests.exec(to, { command: ['sh', '-c', script] })).stdout
  assert.equal(await run(), 'brave-otter\nsecond\nagent\n/home/agent\n')
  await guests.setSecrets(ref, { revision: 3, secrets: secret('third') })
  await guests.setIdentity(ref, { machine: ref.id, hostname: 'calm-otter' })
  assert.equal(await run(), 'calm-otter\nthird\nagent\n/home/agent\n')
  engine.controls.reboot(ref)
  assert.equal(await run({ ...ref, run: 'second' }), `${hostname()}\n\nagent\n/home/agent\n`)
})

test('machines see neither each other nor the host', async (t) => {
  const { driver, engine, guests, ref } = await running(t)
  await driver.create(machineSpec(2))
  await driver.start(machineSpec(2))
  const other = { ...machineSpec(2), host: 'local', run: 'first' }
  const script =
    'echo mine > /home/agent/mine; echo > /usr/mine; hostname mine; set -- /proc/[0-9]*; echo $#'
  const command = ['sh', '-c', script]
  for (const one of [ref, other]) {
    const { stdout, stderr } = await guests.exec(one, { command, user: 'root' })
    // The agent and the shell.
    assert.equal(stdout, '2\n')
    assert.match(stderr, /\/usr\/mine: Read-only file system/)
  }
  assert.notEqual(hostname(), 'mine')
  engine.controls.guest(ref).disk.remove('mine')
  assert.equal(engine.controls.guest(other).disk.read('mine')?.toString(), 'mine\n')
})

test('ten thousand machines are listed without creating their guests', async (t) => {
  const { driver } = setUp(t)
  for (let number = 0; number < 10_000; number += 1) {
    await driver.create(machineSpec(number))
    await driver.start(machineSpec(number))
  }
  const list = await driver.list()
  assert.equal(list.length, 10_000)
  assert.ok(list.every(({ state }) => state === 'running'))
})

function setUp(t: TestContext) {
  const engine = createFakeEngine({ images: [testImageId] })
  const driver = engine.driver()
  const guests = createGuestClient(driver)
  t.after(() => guests[Symbol.asyncDispose]())
  t.after(() => engine[Symbol.asyncDispose]())
  return { engine, driver, guests }
}

async function running(t: TestContext) {
  const all = setUp(t)
  await all.driver.create(machineSpec(1))
  await all.driver.start(machineSpec(1))
  const { id, generation } = machineSpec(1)
  return { ...all, ref: { id, generation, host: 'local', run: 'first' } }
}
