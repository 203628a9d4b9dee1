import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { MachineDriver, MachineRef } from '../../src/drivers/machine-driver.ts'
import { isDriverError, isSame, retry, until } from './expectations.ts'
import type { DriverHarness, Suite } from './suite.ts'

/** Machines from create to destroy. */
export function testLifecycle(suite: Suite): void {
  let harness: DriverHarness
  let driver: MachineDriver
  let other: MachineDriver
  before(() => {
    harness = suite.harness()
    ;({ driver, other } = harness)
  })
  const { makeSpec, runMachine } = suite

  test('a machine lives from create to destroy, and every step may be repeated', async () => {
    const spec = makeSpec()
    assert.equal(await driver.inspect(spec), 'absent')
    for (const [step, state] of [
      [() => driver.create(spec), 'stopped'],
      [() => driver.start(spec), 'running'],
      [() => driver.stop(spec, { graceMs: 30_000 }), 'stopped'],
      [() => driver.start(spec), 'running'],
      [() => driver.stop(spec, { graceMs: 0 }), 'stopped'],
      [() => driver.destroy(spec), 'absent'],
    ] as const) {
      await step()
      await step()
      assert.equal(await driver.inspect(spec), state)
    }
  })

  test('calls for a missing machine fail for good, except that it counts as destroyed', async () => {
    const spec = makeSpec()
    const final = isDriverError({ retryable: false })
    const imageId = 'img_00000000000000000000000zzz' as const
    await assert.rejects(driver.create({ ...spec, imageId }), final)
    assert.equal(await driver.inspect(spec), 'absent')
    await assert.rejects(driver.start(spec), final)
    await assert.rejects(driver.stop(spec, { graceMs: 0 }), final)
    await assert.rejects(driver.resize(spec), final)
    await assert.rejects(driver.connect(spec), final)
    await driver.destroy(spec)
  })

  test('generations of one machine are separate machines', async () => {
    const first = makeSpec()
    const { uidBase } = makeSpec()
    const second = { ...first, generation: first.generation + 1, uidBase }
    await driver.create(first)
    await driver.create(second)
    await driver.start(second)
    assert.equal(await driver.inspect(first), 'stopped')
    assert.equal(await driver.inspect(second), 'running')
    await driver.destroy(second)
    assert.equal(await driver.inspect(first), 'stopped')
  })

  test('every driver of the engine lists the same machines', async () => {
    const stopped = makeSpec()
    await driver.create(stopped)
    const running = await runMachine()
    for (const one of [driver, other]) {
      const list = await one.list()
      const find = (ref: MachineRef) => list.find((machine) => isSame(machine.ref, ref))
      assert.equal(find(stopped)?.state, 'stopped')
      assert.equal(find(running)?.state, 'running')
      assert.ok(find(running)!.createdAt instanceof Date)
    }
    await other.destroy(running)
    assert.ok(!(await driver.list()).some((machine) => isSame(machine.ref, running)))
  })

  test('concurrent calls all succeed and make one machine', async () => {
    const spec = makeSpec()
    await Promise.all([retry(() => driver.create(spec)), retry(() => other.create(spec))])
    assert.equal(await driver.inspect(spec), 'stopped')
    await Promise.all([retry(() => driver.start(spec)), retry(() => other.start(spec))])
    assert.equal(await driver.inspect(spec), 'running')
    const destroy = () => driver.destroy(spec)
    await Promise.all([retry(destroy), retry(() => other.destroy(spec))])
    assert.equal(await driver.inspect(spec), 'absent')
  })

  test('several machines are created and started at once', async () => {
    const specs = [makeSpec(), makeSpec(), makeSpec()]
    await Promise.all(
      specs.map(async (spec) => {
        await driver.create(spec)
        await driver.start(spec)
      }),
    )
    for (const spec of specs) assert.equal(await driver.inspect(spec), 'running')
    await Promise.all(specs.map((spec) => driver.destroy(spec)))
  })

  test('a stopped machine is resized, and its disk never shrinks', async () => {
    const spec = makeSpec()
    await driver.create(spec)
    const larger = { ...spec, memoryMb: spec.memoryMb * 2, diskGb: spec.diskGb + 1 }
    await driver.resize(larger)
    await driver.resize({ ...spec, cpu: spec.cpu + 1 })
    await driver.start(spec)
    await assert.rejects(driver.resize(larger), isDriverError({}))
    await driver.destroy(spec)
  })

  test('a machine that has just begun to boot can be stopped', async () => {
    const spec = await runMachine()
    await driver.stop(spec, { graceMs: 30_000 })
    assert.equal(await driver.inspect(spec), 'stopped')
    assert.equal((await driver.lastExit(spec)).kind, 'poweroff')
  })

  test('a guest that powers itself off is distinguished from one that died', async () => {
    const spec = await runMachine()
    await harness.powerOff(spec)
    await becomes(spec, 'stopped')
    assert.equal((await driver.lastExit(spec)).kind, 'poweroff')

    await driver.start(spec)
    await harness.die(spec)
    await becomes(spec, 'stopped')
    const { kind, reason } = await driver.lastExit(spec)
    assert.equal(kind, 'died')
    assert.notEqual(reason, '')
    await driver.start(spec)
    assert.equal(await driver.inspect(spec), 'running')
  })

  test('a watcher is notified of changed machines, whichever driver changes them', async () => {
    const watching = new AbortController()
    const seen: MachineRef[] = []
    const watch = (async () => {
      for await (const ref of driver.watch(watching.signal)) if (ref !== 'all') seen.push(ref)
    })()
    const spec = makeSpec()
    await other.create(spec)
    // A watch that has just begun may miss the first change.
    await until(async () => {
      await other.start(spec)
      await other.stop(spec, { graceMs: 0 })
      return seen.some((ref) => isSame(ref, spec))
    })
    await other.start(spec)
    seen.length = 0
    await harness.powerOff(spec)
    await until(async () => seen.some((ref) => isSame(ref, spec)))
    watching.abort()
    await watch
  })

  test('a disk survives a stop, and is removed with its machine', async () => {
    const spec = await runMachine()
    await harness.run(spec, 'echo kept > /home/mark')
    await driver.stop(spec, { graceMs: 30_000 })
    await driver.start(spec)
    assert.equal(await harness.run(spec, 'cat /home/mark'), 'kept\n')
    await driver.destroy(spec)
    await driver.create(spec)
    await driver.start(spec)
    assert.equal(await harness.run(spec, 'cat /home/mark || echo none'), 'none\n')
  })

  test('a sweep leaves complete machines alone, also while others start', async () => {
    const stopped = makeSpec()
    await driver.create(stopped)
    const starting = makeSpec()
    await driver.create(starting)
    await Promise.all([driver.start(starting), other.sweep(), driver.sweep()])
    assert.equal(await driver.inspect(stopped), 'stopped')
    assert.equal(await driver.inspect(starting), 'running')
    await harness.run(starting, 'true')
  })

  function becomes(ref: MachineRef, state: string): Promise<void> {
    return until(async () => (await retry(() => driver.inspect(ref))) === state)
  }
}
