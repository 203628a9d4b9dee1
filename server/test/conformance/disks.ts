import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { MachineDriver, MachineSpec } from '../../src/drivers/machine-driver.ts'
import { until } from './expectations.ts'
import type { DriverHarness, Suite } from './suite.ts'

const writtenBytes = 50_000_000

/** Machines made from captures, whose disks are independent of the disks they came from. */
export function testDisks(suite: Suite): void {
  let harness: DriverHarness
  let driver: MachineDriver
  before(() => {
    harness = suite.harness()
    driver = harness.driver
  })
  const { makeSpec, runMachine, makeCaptureId } = suite

  for (const order of [
    ['source', 'capture', 'copy'],
    ['source', 'copy', 'capture'],
    ['capture', 'source', 'copy'],
    ['capture', 'copy', 'source'],
    ['copy', 'source', 'capture'],
    ['copy', 'capture', 'source'],
  ] as const) {
    test(`a disk outlives its relatives: ${order.join(', then ')} removed`, async () => {
      const source = await runMachine()
      await harness.run(source, 'echo kept > /home/mark')
      const id = makeCaptureId()
      await driver.capture(source, id)
      const copy = await runMachine({ ...makeSpec(), captureId: id })
      const remove = {
        source: () => driver.destroy(source),
        capture: () => driver.removeCapture(id),
        copy: () => driver.destroy(copy),
      }
      const check = {
        source: () => hasMark(source),
        copy: () => hasMark(copy),
        async capture() {
          const probe = await runMachine({ ...makeSpec(), captureId: id })
          await hasMark(probe)
          await driver.destroy(probe)
        },
      }
      for (const [index, name] of order.entries()) {
        await remove[name]()
        for (const left of order.slice(index + 1)) await check[left]()
      }
    })
  }

  test('copies of copies, five deep, keep all data after everything else is removed', async () => {
    let machine = await runMachine()
    await harness.run(machine, 'echo 0 > /home/mark')
    for (let depth = 1; depth <= 5; depth += 1) {
      const id = makeCaptureId()
      await driver.capture(machine, id)
      const next = await runMachine({ ...makeSpec(), captureId: id })
      await driver.destroy(machine)
      await driver.removeCapture(id)
      // A script may run more than once.
      await harness.run(next, `grep -qx ${depth} /home/mark || echo ${depth} >> /home/mark`)
      machine = next
    }
    assert.equal(await harness.run(machine, 'cat /home/mark'), '0\n1\n2\n3\n4\n5\n')
    await driver.destroy(machine)
  })

  test('a copy may have another size and a larger disk', async () => {
    const source = await runMachine()
    await harness.run(source, 'echo kept > /home/mark')
    const id = makeCaptureId()
    await driver.capture(source, id)
    const base = makeSpec()
    const { memoryMb, diskGb } = base
    const larger = { ...base, captureId: id, memoryMb: memoryMb * 2, diskGb: diskGb + 1 }
    await runMachine(larger)
    await hasMark(larger)
    await driver.destroy(larger)
    await driver.destroy(source)
  })

  test('the next generation of a machine is made from a capture of the previous one', async () => {
    const first = await runMachine()
    await harness.run(first, 'echo kept > /home/mark')
    const id = makeCaptureId()
    await driver.capture(first, id)
    await harness.run(first, 'echo lost > /home/mark')
    const { uidBase } = makeSpec()
    const second = { ...first, generation: first.generation + 1, captureId: id, uidBase }
    await driver.create(second)
    await driver.destroy(first)
    await driver.start(second)
    await hasMark(second)
    await driver.destroy(second)
  })

  test('a copy has its own machine id, and keeps it', async () => {
    const source = await runMachine()
    const its = await machineIdOf(source)
    assert.match(its, /^[0-9a-f]{32}\n$/)
    const id = makeCaptureId()
    await driver.capture(source, id)
    const copies = []
    for (const _ of [1, 2]) copies.push(await runMachine({ ...makeSpec(), captureId: id }))
    const theirs = await Promise.all(copies.map(machineIdOf))
    for (const one of theirs) assert.match(one, /^[0-9a-f]{32}\n$/)
    assert.equal(new Set([its, ...theirs]).size, 3)

    const [copy] = copies
    await driver.stop(copy!, { graceMs: 30_000 })
    await driver.start(copy!)
    assert.equal(await machineIdOf(copy!), theirs[0])
    assert.equal(await machineIdOf(source), its)
    for (const machine of [...copies, source]) await driver.destroy(machine)
  })

  test('what a disk holds is measured to one percent, whatever captures retain', async () => {
    const machine = await runMachine()
    const write = (name: string) =>
      harness.run(machine, `head -c ${writtenBytes} /dev/urandom > /home/${name} && sync`)
    await write('first')
    const first = await driver.measureDisk(machine)
    assert.ok(first >= writtenBytes * 0.99, `${first} bytes`)
    await write('second')
    await holds(machine, first + writtenBytes)

    const id = makeCaptureId()
    await driver.capture(machine, id)
    await write('third')
    await holds(machine, first + 2 * writtenBytes)
    await harness.run(machine, 'rm /home/first && sync')
    await holds(machine, first + writtenBytes)
    const copy = await runMachine({ ...makeSpec(), captureId: id })
    await holds(copy, first + writtenBytes)
    await driver.removeCapture(id)
    for (const one of [machine, copy]) await driver.destroy(one)
  })

  test('the free space of the pool is reported', async () => {
    const { totalBytes, freeBytes } = await driver.measurePool()
    assert.ok(freeBytes > 0 && freeBytes <= totalBytes, `${freeBytes} of ${totalBytes}`)
  })

  test('the memory of the host is reported', async () => {
    const { totalBytes, availableBytes } = await driver.measureMemory()
    assert.ok(availableBytes > 0 && availableBytes <= totalBytes)
  })

  /** Within one percent of what the test writes at a time. A measurement may be some seconds old. */
  async function holds(machine: MachineSpec, bytes: number): Promise<void> {
    let seen = NaN
    const isNear = async () => {
      seen = await driver.measureDisk(machine)
      return Math.abs(seen - bytes) <= writtenBytes / 100
    }
    await until(isNear).catch(() => assert.equal(seen, bytes))
  }

  async function hasMark(machine: MachineSpec): Promise<void> {
    assert.equal(await harness.run(machine, 'cat /home/mark'), 'kept\n')
  }

  function machineIdOf(machine: MachineSpec): Promise<string> {
    return harness.run(machine, 'cat /etc/machine-id')
  }
}
