import type { GuestAction } from '@computer/contract'
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createFakeEngine } from './fake-engine/engine.ts'
import { createGuestClient } from '../src/guest/client.ts'
import { machineSpec, testImageId } from './fake-machine.ts'

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

test('files outlast a stop and end with the machine; the agent forgets with each boot', async (t) => {
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

test('how a run ended is told', async (t) => {
  const { engine, driver, ref } = await running(t)
  engine.controls.die(ref, 'out of memory')
  assert.deepEqual(await driver.lastExit(ref), { kind: 'died', reason: 'out of memory' })
  await driver.start(ref)
  engine.controls.powerOff(ref)
  assert.equal(await driver.inspect(ref), 'stopped')
  assert.equal((await driver.lastExit(ref)).kind, 'poweroff')
})

test('a guest powers itself off and reboots from inside', async (t) => {
  const { driver, guests, ref } = await running(t)
  const boot = (await guests.health(ref)).boot_id
  await assert.rejects(guests.exec(ref, { command: ['sudo', 'reboot'] }), { sent: true })
  assert.equal(await driver.inspect(ref), 'running')
  assert.notEqual((await guests.health(ref)).boot_id, boot)
  const off = guests.exec(ref, { command: ['sh', '-c', 'sudo systemctl poweroff'] })
  await assert.rejects(off, { sent: true })
  assert.equal(await driver.inspect(ref), 'stopped')
})

test('a watcher hears of every machine that changed', async (t) => {
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

test('calls fail as told, before their effect or after it', async (t) => {
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

test('a boot that is held does not answer until it is released', async (t) => {
  const { engine, driver, guests } = setUp(t)
  const boot = engine.controls.holdBoot()
  engine.controls.setDesktopUpAtBoot(false)
  await driver.create(machineSpec(1))
  await driver.start(machineSpec(1))
  const ref = { ...machineSpec(1), run: 'first' }
  await assert.rejects(guests.health(ref), { name: 'GuestUnavailable', sent: false })
  await boot.reached
  boot.release()
  assert.equal((await guests.display(ref)).up, false)
  engine.controls.guest(ref).desktop.up = true
  assert.equal((await guests.display(ref)).up, true)
})

test('a higher fence breaks off the drag in flight, and nothing of it lands later', async (t) => {
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

test('what one holder keeps pressed is released for the next, and kept for the same', async (t) => {
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

test('input is refused whole: outside the display, or an unknown key', async (t) => {
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

for (const [script, expected] of [
  ['echo "a  b" \'$HOME\' $HOME', 'a  b $HOME /home/agent\n'],
  ['mkdir -p x/y && echo one > x/y/f; echo two >> x/y/f; cat x/y/f | wc -c', '8\n'],
  ['false || echo "$?"; NAME=v; echo ${NAME}w "$NAME"x', '1\nvw vx\n'],
  ['cd /etc && pwd; cat missing 2>/dev/null || echo none', '/etc\nnone\n'],
  ['cat; exit 3; echo never', 'in'],
  ['nothere 2>&1', 'sh: nothere: not found\n'],
] as const) {
  test(`the fake shell runs: ${script}`, async (t) => {
    const { guests, ref } = await running(t)
    const result = await guests.exec(ref, { command: ['sh', '-c', script], stdin: 'in' })
    assert.equal(result.stdout, expected)
    assert.equal(result.exit_code, script.includes('exit 3') ? 3 : result.exit_code)
  })
}

test('exec keeps the last mebibyte, times out, and refuses what it cannot run', async (t) => {
  const { guests, ref } = await running(t)
  const long = await guests.exec(ref, { command: ['head', '-c', '3000000', '/dev/zero'] })
  assert.deepEqual([long.stdout.length, long.truncated], [1024 * 1024, true])
  const script = 'echo before; sleep 60; echo after'
  const late = await guests.exec(ref, { command: ['sh', '-c', script], timeout_ms: 5 })
  assert.deepEqual([late.stdout, late.exit_code, late.timed_out], ['before\n', 124, true])
  await assert.rejects(guests.exec(ref, { command: ['nothere'] }), { code: 'invalid_request' })
  const nowhere = guests.exec(ref, { command: ['true'], cwd: '/nowhere' })
  await assert.rejects(nowhere, { code: 'invalid_request' })
})

test('ten thousand machines are listed without their guests being made', async (t) => {
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
  return { engine, driver, guests }
}

async function running(t: TestContext) {
  const all = setUp(t)
  await all.driver.create(machineSpec(1))
  await all.driver.start(machineSpec(1))
  const { id, generation } = machineSpec(1)
  return { ...all, ref: { id, generation, run: 'first' } }
}
