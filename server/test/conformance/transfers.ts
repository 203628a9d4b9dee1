import assert from 'node:assert/strict'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { before, describe, test } from 'node:test'
import { PassThrough, type Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { imageFileNames, type MachineSpec } from '../../src/drivers/machine-driver.ts'
import { testKeptDisks } from './kept-disks.ts'
import { openSuite, type DriverHarness, type Suite } from './suite.ts'

/** The promises of disks that go from one engine to another, each on a host of its own. */
export function describeTransfers(name: string, makeHarness: () => Promise<DriverHarness>) {
  describe(`${name} keeps the promises of transfers`, () => {
    const [here, there] = [openSuite(makeHarness), openSuite(makeHarness)]
    before(async () => {
      for (const suite of [here, there]) {
        const { driver, imageId, imageFiles } = suite.harness()
        await driver.addImage(imageId, imageFiles)
      }
    })
    testTransfers(here, there)
    testKeptDisks(here, there)
  })
}

function testTransfers(here: Suite, there: Suite): void {
  const { makeCaptureId } = here
  const toImage = ({ imageId }: MachineSpec) => ({ imageId, base: null })
  const runScript = (suite: Suite, spec: MachineSpec, script: string) =>
    suite.harness().run(spec, script)

  test('a machine that is made from a received capture has the disk, and goes on with it', async () => {
    const source = await here.runMachine()
    await runScript(here, source, 'echo kept > /home/mark; head -c 100000 /dev/zero > /home/bytes')
    const id = makeCaptureId()
    await here.harness().driver.capture(source, id)
    const stream = await here.harness().driver.sendCapture(id, toImage(source))
    await there.harness().driver.receiveCapture(id, toImage(source), stream)
    assert.equal(await there.countCaptures(id), 1)

    const copy = await there.runMachine({ ...there.makeSpec(), captureId: id })
    assert.equal(await runScript(there, copy, 'cat /home/mark'), 'kept\n')
    assert.equal(await runScript(there, copy, 'wc -c < /home/bytes'), '100000\n')
    await runScript(there, copy, 'echo changed > /home/mark')

    // And back, from a disk that began elsewhere.
    const second = makeCaptureId()
    await there.harness().driver.capture(copy, second)
    const back = await there.harness().driver.sendCapture(second, toImage(source))
    await here.harness().driver.receiveCapture(second, toImage(source), back)
    const again = await here.runMachine({ ...here.makeSpec(), captureId: second })
    assert.equal(await runScript(here, again, 'cat /home/mark'), 'changed\n')

    await there.harness().driver.removeCapture(id)
    await there.harness().driver.removeCapture(second)
    assert.equal(await there.countCaptures(id), 0)
    assert.equal(await runScript(there, copy, 'cat /home/mark'), 'changed\n')
    await there.harness().driver.destroy(copy)
    for (const spec of [source, again]) await here.harness().driver.destroy(spec)
    for (const capture of [id, second]) await here.harness().driver.removeCapture(capture)
  })

  test('a capture that is based on another one holds the disk as it was later', async () => {
    const source = await here.runMachine()
    await runScript(
      here,
      source,
      'head -c 3000000 /dev/urandom > /home/large; echo one > /home/mark',
    )
    const [first, second] = [makeCaptureId(), makeCaptureId()]
    await here.harness().driver.capture(source, first)
    await move(first, source)
    await runScript(here, source, 'echo two > /home/mark; rm /home/large; mkdir /home/folder')
    await here.harness().driver.stop(source, { graceMs: 30_000 })
    await here.harness().driver.capture(source, second)
    const transfer = { imageId: source.imageId, base: first }
    const stream = await here.harness().driver.sendCapture(second, transfer)
    await there.harness().driver.receiveCapture(second, transfer, stream)
    const copy = await there.runMachine({ ...there.makeSpec(), captureId: second })
    assert.equal(
      await runScript(
        there,
        copy,
        'cat /home/mark; cat /home/large 2>&1 >/dev/null | wc -l; ls -d /home/folder',
      ),
      'two\n1\n/home/folder\n',
    )
    await there.harness().driver.destroy(copy)
    await here.harness().driver.destroy(source)
    for (const suite of [here, there]) {
      for (const id of [first, second]) await suite.harness().driver.removeCapture(id)
    }
  })

  test('a stream that breaks off leaves nothing, and the next one makes the capture', async () => {
    const source = await here.runMachine()
    await runScript(here, source, 'head -c 300000 /dev/urandom > /home/bytes')
    const id = makeCaptureId()
    await here.harness().driver.capture(source, id)
    const whole = await here.harness().driver.sendCapture(id, toImage(source))
    const bytes = await buffer(whole)
    const broken = new PassThrough()
    broken.write(bytes.subarray(0, bytes.length / 2))
    const receiving = there.harness().driver.receiveCapture(id, toImage(source), broken)
    setTimeout(() => broken.destroy(new Error('the connection broke')), 200)
    await assert.rejects(receiving)
    assert.equal(await there.countCaptures(id), 0)
    await move(id, source)
    assert.equal(await there.countCaptures(id), 1)
    // A repeated call reads nothing and changes nothing.
    await move(id, source)
    await here.harness().driver.destroy(source)
    for (const suite of [here, there]) await suite.harness().driver.removeCapture(id)
  })

  test('a capture can be removed, and machines made from it, while it is sent to nobody', async () => {
    const source = await here.runMachine()
    const id = makeCaptureId()
    await here.harness().driver.capture(source, id)
    const unread = await here.harness().driver.sendCapture(id, toImage(source))
    unread.destroy()
    const copy = await here.runMachine({ ...here.makeSpec(), captureId: id })
    for (const spec of [source, copy]) await here.harness().driver.destroy(spec)
    await here.harness().driver.removeCapture(id)
    assert.equal(await here.countCaptures(id), 0)
  })

  test('an image is added from the files of another engine', async (t) => {
    const { driver, imageId } = here.harness()
    const folder = await mkdtemp(join(tmpdir(), 'computer-image-'))
    t.after(() => rm(folder, { recursive: true }))
    const pathOf = (file: string) => join(folder, file)
    for (const file of imageFileNames)
      await pipeline(await driver.readImage(imageId, file), createWriteStream(pathOf(file)))
    const files = { metadataPath: pathOf('metadata'), rootfsPath: pathOf('rootfs') }
    const added = 'img_000000000000000000000again'
    await there.harness().driver.addImage(added, files)
    assert.equal(await there.harness().driver.hasImage(added), true)
  })

  test('what is missing at either end is named', async () => {
    const spec = here.makeSpec()
    const id = makeCaptureId()
    await assert.rejects(here.harness().driver.sendCapture(id, toImage(spec)), {
      name: 'CaptureMissing',
    })
    const transfer = { imageId: spec.imageId, base: makeCaptureId() }
    const empty = () => new PassThrough().end() as Readable
    await assert.rejects(there.harness().driver.receiveCapture(id, transfer, empty()), {
      name: 'CaptureMissing',
    })
    const imageId = 'img_0000000000000000000absent'
    const unknown = there.harness().driver.receiveCapture(id, { imageId, base: null }, empty())
    await assert.rejects(unknown, { name: 'ImageMissing' })
    assert.equal(await there.countCaptures(id), 0)
    await assert.rejects(here.harness().driver.readImage(imageId, 'rootfs'), {
      name: 'ImageMissing',
    })
  })

  async function move(id: ReturnType<typeof makeCaptureId>, source: MachineSpec): Promise<void> {
    const stream = await here.harness().driver.sendCapture(id, toImage(source))
    await there.harness().driver.receiveCapture(id, toImage(source), stream)
  }
}
