import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServer } from './server.ts'

test('a machine is created, controlled, inspected and deleted', async (t) => {
  const { connect } = await startServer(t)
  const computer = connect()

  const machine = await computer.machines.create({
    name: 'first',
    metadata: { my_key: 'kept_as_it_is' },
  })
  assert.equal(machine.state, 'running')
  assert.deepEqual(machine.data.metadata, { my_key: 'kept_as_it_is' })
  assert.equal(typeof machine.data.memoryMb, 'number')

  await machine.mouse.click(10, 20)
  await machine.mouse.doubleClick(10, 20)
  await machine.keyboard.type('hällo')
  await machine.keyboard.press('ctrl+shift+t')
  const screenshot = await machine.screenshot({ format: 'png' })
  assert.deepEqual([...screenshot.bytes.subarray(1, 4)], [...Buffer.from('PNG')])
  assert.ok(screenshot.width > 0 && screenshot.height > 0)

  await machine.stop()
  assert.equal(machine.state, 'stopped')
  await machine.start()
  await machine.restart()
  assert.equal(machine.state, 'running')
  await machine.delete()
  await assert.rejects(computer.machines.get(machine.id), { code: 'not_found', status: 404 })
})

test('a screenshot that would show the same is null', async (t) => {
  const { connect } = await startServer(t)
  const { display, keyboard } = await connect().machines.create({ name: 'thumbnail' })
  const small = { format: 'webp', maxWidth: 320 } as const
  const first = await display.screenshot({ ...small, ifNoneMatch: null })
  assert.deepEqual([first?.width, first?.display.width], [320, 1280])
  assert.match(first!.etag!, /^".+"$/)
  assert.equal(await display.screenshot({ ...small, ifNoneMatch: first!.etag }), null)
  await keyboard.type('a')
  const second = await display.screenshot({ ...small, ifNoneMatch: first!.etag })
  assert.notEqual(second!.etag, first!.etag)
  assert.equal((await display.screenshot(small)).etag, second!.etag)
})

test('a deletion returns the snapshots that are kept, and takes them along on request', async (t) => {
  const { connect } = await startServer(t)
  const computer = connect()
  const first = await computer.machines.create({ name: 'same' })
  const manual = await first.snapshots.create({ name: 'mine' })
  await first.stop()
  const kept = await first.delete()
  assert.deepEqual(
    kept.map(({ origin, state }) => [origin, state]),
    [
      ['stop', 'ready'],
      ['manual', 'ready'],
    ],
  )
  assert.ok(kept.every(({ sizeBytes }) => sizeBytes !== null))

  const template = await computer.templates.create({ name: 'base', snapshotId: manual.id })
  const second = await computer.machines.create({ name: 'same', template: template.id })
  await second.snapshots.create()
  assert.deepEqual(await second.delete({ snapshots: 'delete' }), [])
  assert.deepEqual(await second.snapshots.kept(), [])
  for (const { id } of kept) await computer.snapshots.delete(id)
  assert.deepEqual(await computer.snapshots.list().all(), [])
})
