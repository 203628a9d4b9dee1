import type { CaptureId } from '@computer/contract'
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createFakeEngine } from './fake-engine/engine.ts'
import type { MachineDriver, MachineSpec } from '../src/drivers/machine-driver.ts'
import { createGuestClient } from '../src/guest/client.ts'
import { machineSpec, testImageId } from './fake-machine.ts'

const captureId: CaptureId = 'cap_00000000000000000000000001'

test('a fork gets its own identity, and its source keeps its own', async (t) => {
  const { controls, driver, guests, source } = await running(t)
  const assertIdentity = (
    spec: MachineSpec,
    machine: MachineSpec,
    hostname: string,
    when?: string,
  ) => {
    const { disk } = controls.guest(spec)
    const stored = ['/var/lib/computer/machine', '/etc/hostname'].map((path) => disk.read(path))
    assert.deepEqual(stored.map(String), [`${machine.id}\n`, `${hostname}\n`], when)
  }
  await guests.setIdentity(refOf(source), { machine: source.id, hostname: 'source' })
  await guests.exec(refOf(source), { command: ['true'] })
  assertIdentity(source, source, 'source')
  await driver.capture(source, captureId)
  const fork = await start(driver, { ...machineSpec(2), captureId })
  assertIdentity(fork, source, 'source', 'before its identity is set')
  await guests.setIdentity(refOf(fork), { machine: fork.id, hostname: 'fork' })
  const hostname = { command: ['hostname'] }
  assert.equal((await guests.exec(refOf(fork), hostname)).stdout, 'fork\n')
  assertIdentity(fork, fork, 'fork')

  await driver.stop(fork, { graceMs: 0 })
  await driver.start(fork)
  const again = { ...refOf(fork), run: '2' }
  await guests.exec(again, { command: ['true'] })
  await guests.setIdentity(again, { machine: fork.id, hostname: 'renamed' })
  assert.equal((await guests.exec(again, hostname)).stdout, 'renamed\n')
  assertIdentity(fork, fork, 'renamed')
  assertIdentity(source, source, 'source')
})

test('written bytes count once, and not after they are overwritten or removed', async (t) => {
  const { controls, driver, source } = await running(t)
  const { disk } = controls.guest(source)
  const began = disk.writtenBytes()
  disk.write('a', Buffer.alloc(1000))
  disk.write('a', Buffer.alloc(10))
  disk.write('b', Buffer.alloc(500))
  disk.remove('b')
  assert.deepEqual(await driver.capture(source, captureId), { writtenBytes: began + 10 })
  const fork = { ...machineSpec(2), captureId }
  await driver.create(fork)
  const nothing = await driver.capture(fork, 'cap_00000000000000000000000002')
  assert.deepEqual(nothing, { writtenBytes: 0 })
})

test('a full pool refuses new machines and captures, and repeated calls still succeed', async (t) => {
  const { controls, driver, source } = await running(t)
  const size = await driver.capture(source, captureId)
  const { totalBytes } = await driver.measurePool()
  controls.setFreeBytes(0)
  assert.deepEqual(await driver.measurePool(), { totalBytes, freeBytes: 0 })
  const full = { name: 'PoolFull', retryable: true }
  const second = 'cap_00000000000000000000000002'
  controls.freeze(source)
  await assert.rejects(driver.capture(source, second), full)
  assert.equal((await driver.list())[0]!.isFrozen, false, 'thawed although the capture failed')
  await assert.rejects(driver.create({ ...machineSpec(2), captureId }), full)
  await assert.rejects(driver.create(machineSpec(2)), full)
  assert.deepEqual(await driver.capture(source, captureId), size)
  await driver.create(source)
  controls.setFreeBytes(1)
  await driver.create({ ...machineSpec(2), captureId })
})

test('a call can hang or fail before its effect, or between its effect and its answer', async (t) => {
  const { controls, driver, source } = await running(t)
  const before = controls.hangNext('capture')
  const early = driver.capture(source, captureId)
  await before.reached
  assert.deepEqual(await driver.listCaptures(), [])
  before.release()
  await early

  const after = controls.hangNext('removeCapture', { afterEffect: true })
  const late = driver.removeCapture(captureId)
  await after.reached
  assert.deepEqual(await driver.listCaptures(), [])
  after.release()
  await late

  controls.failNext('capture')
  await assert.rejects(driver.capture(source, captureId), { retryable: true })
  assert.deepEqual(await driver.listCaptures(), [])
  controls.failNext('capture', { afterEffect: true })
  await assert.rejects(driver.capture(source, captureId), { retryable: true })
  assert.equal((await driver.listCaptures()).length, 1)
})

test('a frozen guest cannot be reached until it is thawed', async (t) => {
  const { controls, driver, guests, source } = await running(t)
  controls.freeze(source)
  const silent = { name: 'GuestUnavailable', sent: false }
  await assert.rejects(guests.health(refOf(source)), silent)
  await driver.thaw(source)
  await guests.health(refOf(source))
})

test('a lost capture is reported when a machine is made from it', async (t) => {
  const { controls, driver, source } = await running(t)
  controls.guest(source).disk.write('kept', 'kept')
  await driver.capture(source, captureId)
  const fork = await start(driver, { ...machineSpec(2), captureId })
  controls.loseCapture(captureId)
  assert.equal(controls.guest(fork).disk.read('kept')?.toString(), 'kept')
  const missing = driver.create({ ...machineSpec(3), captureId })
  await assert.rejects(missing, { name: 'CaptureMissing', retryable: false })
})

async function running(t: TestContext) {
  const engine = createFakeEngine({ images: [testImageId] })
  const driver = engine.driver()
  const guests = createGuestClient(driver)
  t.after(() => guests[Symbol.asyncDispose]())
  t.after(() => engine[Symbol.asyncDispose]())
  const source = await start(driver, machineSpec(1))
  return { controls: engine.controls, driver, guests, source }
}

async function start(driver: MachineDriver, spec: MachineSpec): Promise<MachineSpec> {
  await driver.create(spec)
  await driver.start(spec)
  return spec
}

function refOf({ id, generation }: MachineSpec) {
  return { id, generation, host: 'local', run: '1' }
}
