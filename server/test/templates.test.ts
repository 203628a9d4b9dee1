import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { assertRefused, onDisksOf } from './disks.ts'
import { collide, holdOrganization } from './forced-race.ts'
import { startTestServer } from './harness.ts'
import { fiftyWithOneKey } from './one-key.ts'
import { checkMeters } from './meter-checks.ts'

const server = await startTestServer({ after })
const { call } = server
const { controls } = server.engine
const { db } = server.app
const disks = onDisksOf(server)

test('a template of a running machine is building, then ready, with every field', async () => {
  const { id: machine_id } = await server.machine({ size: 'standard' })
  await disks.mark(machine_id, 'installed')
  const input = { name: 'Node 24', description: 'With tools.', machine_id }
  const { status, body } = await call('POST', '/v1/templates', input)
  assert.equal(status, 202)
  const { id, organization_id, snapshot_id, created_at, ...building } = body
  assert.match(id, /^tpl_[0-9a-z]{26}$/)
  assert.match(snapshot_id, /^snp_/)
  assert.match(organization_id, /^org_/)
  assert.ok(Date.parse(created_at) <= Date.now())
  assert.deepEqual(building, {
    name: 'Node 24',
    description: 'With tools.',
    state: 'building',
    image_id: server.imageId,
    size: 'standard',
    source_machine_id: machine_id,
    size_bytes: null,
    error: null,
  })
  const { size_bytes, ...ready } = await disks.templateIn(id, 'ready')
  assert.ok(size_bytes >= 'installed'.length)
  assert.deepEqual({ ...ready, size_bytes: null }, { ...body, state: 'ready' })
  const { name, origin } = await disks.snapshotIn(snapshot_id, 'ready')
  assert.deepEqual([name, origin], ['Node 24', 'template'])
})

test('a template of a snapshot, or of an image and a size, is ready at once', async () => {
  const { id } = await server.machine({ size: 'standard' })
  const snapshot = await disks.snapshot(id)
  const taken = await make({ snapshot_id: snapshot.id, size: 'large' })
  assert.equal(taken.status, 201)
  assert.deepEqual(
    [taken.body.state, taken.body.size, taken.body.snapshot_id, taken.body.size_bytes],
    ['ready', 'large', snapshot.id, snapshot.size_bytes],
  )
  const plain = await make({})
  const { state, size, image_id, snapshot_id, source_machine_id } = plain.body
  assert.deepEqual(
    [plain.status, state, size, image_id, snapshot_id, source_machine_id],
    [201, 'ready', 'small', server.imageId, null, null],
  )
  const machine = await server.machine({ template: plain.body.id, size: 'standard' })
  assert.deepEqual(await call('GET', `/v1/machines?template_id=${plain.body.id}`).then(idsOf), [
    machine.id,
  ])
})

test('an invalid template is refused with the reason', async () => {
  const { id: machine_id } = await server.machine({ size: 'standard' })
  const snapshot = await disks.snapshot(machine_id)
  const snapshot_id = snapshot.id
  const image_id = server.imageId
  for (const [input, field] of [
    [{ machine_id, snapshot_id }, 'machine_id'],
    [{ machine_id, image_id }, 'image_id'],
    [{ snapshot_id, image_id }, 'image_id'],
  ] as const) {
    const answer = await make(input)
    assertRefused(answer, 'invalid_request', /leave|name one/)
    assert.equal(answer.body.error.details[0].field, field)
  }
  for (const input of [
    { machine_id, size: 'small' },
    { snapshot_id, size: 'small' },
  ]) {
    assertRefused(await make(input), 'invalid_request', /25 GB.*10 GB/)
  }
  const hold = controls.hangNext('capture')
  const { body: pending } = await call('POST', '/v1/snapshots', { machine_id })
  assertRefused(await make({ snapshot_id: pending.id }), 'precondition_failed', /is pending/)
  await hold.reached
  hold.release()
  await disks.snapshotIn(pending.id, 'ready')
  await disks.move(machine_id, 'stop')
  assertRefused(await make({ machine_id }), 'precondition_failed', /is stopped/)
  const absent = { image_id: `img_${'0'.repeat(26)}` }
  assert.equal((await make(absent)).status, 404)

  const stranger = server.as(await server.user('owner', 'stranger'))
  for (const input of [{ machine_id }, { snapshot_id }]) {
    const answer = await stranger('POST', '/v1/templates', { name: 'mine', ...input })
    assertRefused(answer, 'not_found', /there is no/)
  }
})

test('a template is renamed, and names are unique', async () => {
  const { body: first } = await make({})
  const { body: second } = await make({})
  const path = `/v1/templates/${second.id}`
  const changed = await call('PATCH', path, { name: `${second.name} two`, description: 'New.' })
  assert.deepEqual(changed.body, { ...second, name: `${second.name} two`, description: 'New.' })
  assert.deepEqual((await call('PATCH', path, {})).body, changed.body)
  const taken = await call('PATCH', path, { name: first.name })
  assertRefused(taken, 'conflict', new RegExp(first.name))
  assertRefused(await make({ name: first.name }), 'conflict', new RegExp(first.name))
  const found = await call('GET', `/v1/templates?name=${encodeURIComponent(first.name)}`)
  assert.deepEqual(idsOf(found), [first.id])
  assert.deepEqual((await call('GET', '/v1/templates?state=error')).body.data, [])
})

test('a machine has the disk and the image of its template, and a size that is large enough', async () => {
  const { id: machine_id } = await server.machine({ size: 'standard' })
  await disks.mark(machine_id, 'from the template')
  const { body: template } = await make({ machine_id })
  await disks.templateIn(template.id, 'ready')
  const hold = controls.hangNext('capture')
  const { body: building } = await make({ machine_id })
  const early = await call('POST', '/v1/machines', { template: building.id })
  assertRefused(early, 'compute_unavailable', /is being built/)
  assert.equal(early.headers['retry-after'], '1')
  await hold.reached
  hold.release()

  const machine = await server.machine({ template: template.id })
  const { body } = await call('GET', `/v1/machines/${machine.id}`)
  assert.deepEqual([body.template_id, body.size, body.disk_gb], [template.id, 'standard', 25])
  assert.equal(await disks.readMark(machine.id), 'from the template')
  const unstarted = await server.machine({ template: template.id, size: 'large', start: false })
  assert.equal(unstarted.state, 'stopped')
  await disks.move(unstarted.id, 'start')
  assert.equal(await disks.readMark(unstarted.id), 'from the template')
  for (const { id } of [machine, unstarted]) {
    const { base_capture_id, base_bytes } = await disks.row(id)
    assert.deepEqual([base_capture_id, base_bytes > 0], [null, true])
  }

  const small = await call('POST', '/v1/machines', { template: template.id, size: 'small' })
  assertRefused(small, 'invalid_request', /25 GB.*10 GB/)
  await db
    .insertInto('images')
    .values({ ...otherImage, id: otherImage.id })
    .execute()
  const other = { template: template.id, image_id: otherImage.id }
  assertRefused(await call('POST', '/v1/machines', other), 'invalid_request', /leave image_id out/)
  const same = { template: template.id, image_id: server.imageId }
  assert.equal((await call('POST', '/v1/machines', same)).status, 201)
  const stranger = server.as(await server.user('owner', 'stranger'))
  const stolen = await stranger('POST', '/v1/machines', { template: template.id })
  assert.equal(stolen.status, 404)
})

test('a template that could not be built reports the error, and no machine is made from it', async () => {
  const { id: machine_id } = await server.machine()
  controls.failNext('capture', { retryable: false })
  const { body } = await make({ machine_id })
  const failed = await disks.templateIn(body.id, 'error')
  assert.match(failed.error, /could not be copied/)
  const answer = await call('POST', '/v1/machines', { template: body.id })
  assertRefused(answer, 'precondition_failed', /could not be built/)
  assert.equal((await call('DELETE', `/v1/templates/${body.id}`)).status, 204)
  await disks.goneFrom(`/v1/snapshots/${failed.snapshot_id}`)
})

test('a plan counts templates and caps their size', async (t) => {
  const small = await startTestServer(t, { plan: 'free' })
  const ofSize = (size: string) => ({ name: randomUUID(), size })
  const large = await small.call('POST', '/v1/templates', ofSize('large'))
  assert.equal(large.body.error.code, 'quota_exceeded')
  const [organization] = await small.app.db.selectFrom('organizations').select('id').execute()
  const last = () => small.call('POST', '/v1/templates', ofSize('small'))
  const hold = holdOrganization(organization!.id)
  const answers = await collide(
    small.app.db,
    hold,
    Array.from({ length: 10 }, () => last),
  )
  assert.equal(answers.filter(({ status }) => status === 201).length, 1)
  const { quota } = answers.find(({ status }) => status === 402)!.body.error
  assert.deepEqual([quota.limit, quota.current, quota.maximum], ['templates', 1, 1])
})

test('fifty concurrent calls with one key create one template', async () => {
  const { id: machine_id } = await server.machine()
  const headers = { 'idempotency-key': randomUUID() }
  const input = { name: randomUUID(), machine_id }
  const ask = () => call('POST', '/v1/templates', input, headers)
  await fiftyWithOneKey(ask, 202)
  assert.equal((await disks.snapshotsOf(machine_id)).length, 1)
})

test('the meters match the rows', async () => {
  await disks.settledCaptures()
  await checkMeters(db)
})

const otherImage = {
  id: `img_${'1'.repeat(26)}`,
  recipe_hash: 'other',
  name: 'Other',
  os: 'linux',
  description: '',
  is_default: false,
  metadata_path: '/nonexistent',
  rootfs_path: '/nonexistent',
} as const

function make(input: object) {
  return call('POST', '/v1/templates', { name: `template ${randomUUID()}`, ...input })
}

function idsOf({ body }: Awaited<ReturnType<typeof call>>): string[] {
  return body.data.map((row: { id: string }) => row.id)
}
