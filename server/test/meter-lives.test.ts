import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { onDisksOf } from './disks.ts'
import { startTestServer } from './harness.ts'
import { checkMeters } from './meter-checks.ts'
import { eventually, gone, settled } from './settled.ts'

const server = await startTestServer({ after })
const { db } = server.app
const { controls } = server.engine
const disks = onDisksOf(server)

const moves = [
  ...(['start', 'stop', 'force', 'restart', 'rename', 'standard', 'large'] as const),
  ...(['powerOff', 'die', 'fail', 'delete'] as const),
]
const copies = [
  ...(['snapshot', 'snapshot', 'deleteSnapshot', 'restore', 'fork'] as const),
  ...(['template', 'captureTemplate', 'deleteTemplate'] as const),
]
type Move = (typeof moves)[number]
type Copy = (typeof copies)[number]

test('after any sequence of steps, the intervals follow from the log', async () => {
  const lives = fc.array(fc.constantFrom(...moves, ...copies), { minLength: 1, maxLength: 14 })
  await fc.assert(
    fc.asyncProperty(fc.boolean(), lives, fc.boolean(), async (start, life, templatesFirst) => {
      const { id } = await server.machine({ start })
      for (const step of life) {
        await (isCopy(step) ? copy(id, step) : move(id, step))
        await checkMeters(db)
      }
      await move(id, 'delete')
      if (templatesFirst) await deleteAll('templates')
      await deleteAll('snapshots')
      await deleteAll('templates')
      await checkMeters(db)
      const open = await db
        .selectFrom('meter_intervals')
        .selectAll()
        .where('machine_id', '=', id)
        .where('ended_at', 'is', null)
        .execute()
      assert.deepEqual(open, [])
    }),
    { numRuns: 25, verbose: 1 },
  )
})

function isCopy(step: Move | Copy): step is Copy {
  return (copies as readonly string[]).includes(step)
}

/** Performs a step on a machine, if it is possible, and waits until it is complete. */
async function move(id: MachineId, step: Move): Promise<void> {
  const path = `/v1/machines/${id}`
  const { status, body: machine } = await server.call('GET', path)
  if (status === 404) return
  switch (step) {
    case 'start':
    case 'stop':
    case 'restart':
      await server.call('POST', `${path}/${step}?wait=20`)
      return
    case 'force':
      await server.call('POST', `${path}/stop?wait=20`, { force: true })
      return
    case 'rename':
      await server.call('PATCH', path, { metadata: { renamed: 'yes' } })
      return
    case 'standard':
    case 'large':
      await server.call('PATCH', path, { size: step })
      return
    case 'powerOff':
    case 'die':
      if (machine.state !== 'running') return
      controls[step]({ id, generation: (await disks.row(id)).generation })
      return settled(server, id, step === 'die' ? 'error' : 'stopped')
    case 'fail':
      if (machine.state === 'running') return
      controls.failNext('start', { retryable: false })
      await server.call('POST', `${path}/start?wait=20`)
      return
    case 'delete':
      await server.call('DELETE', path)
      return gone(server, id)
  }
}

/** The same for the steps that copy its disk. */
async function copy(id: MachineId, step: Copy): Promise<void> {
  const path = `/v1/machines/${id}`
  const isRunning = (await server.call('GET', path)).body.state === 'running'
  const [newest] = await disks.snapshotsOf(id, '&state=ready')
  const name = `number ${(copied += 1)}`
  switch (step) {
    case 'snapshot':
      if (!isRunning) return
      await disks.mark(id, 'x'.repeat(copied))
      await disks.snapshot(id)
      return
    case 'deleteSnapshot':
      if (newest) await server.call('DELETE', `/v1/snapshots/${newest.id}`)
      return
    case 'restore':
      if (newest) await server.call('POST', `${path}/restore?wait=20`, { snapshot_id: newest.id })
      return
    case 'fork': {
      const { status, body } = await server.call('POST', `${path}/fork`, {})
      if (status === 201) await server.call('DELETE', `/v1/machines/${body.id}`)
      return
    }
    case 'template':
      if (newest) await server.call('POST', '/v1/templates', { name, snapshot_id: newest.id })
      return
    case 'captureTemplate':
      await server.call('POST', '/v1/templates', { name, machine_id: id })
      return
    case 'deleteTemplate': {
      const [template] = (await server.call('GET', '/v1/templates')).body.data
      if (template) await server.call('DELETE', `/v1/templates/${template.id}`)
    }
  }
}
let copied = 0

async function deleteAll(what: 'templates' | 'snapshots'): Promise<void> {
  await eventually(async () => {
    const { body } = await server.call('GET', `/v1/${what}?limit=100`)
    for (const { id } of body.data) await server.call('DELETE', `/v1/${what}/${id}`)
    return body.data.length === 0 || undefined
  })
}
