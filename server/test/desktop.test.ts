import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestServer } from './harness.ts'
import { eventually } from './settled.ts'

const server = await startTestServer({ after })

test('the display is available once the desktop is up, and retryable before', async () => {
  server.engine.controls.setDesktopUpAtBoot(false)
  const { id } = await server.machine()
  server.engine.controls.setDesktopUpAtBoot(true)
  await server.lease(id)
  for (const [method, path, body] of [
    ['GET', 'display'],
    ['GET', 'screenshot'],
    ['GET', 'clipboard'],
    ['POST', 'mouse/move', { x: 1, y: 1 }],
  ] as const) {
    const answer = await server.call(method, `/v1/machines/${id}/${path}`, body)
    assert.deepEqual([answer.status, answer.body.error.code], [503, 'compute_unavailable'], path)
    assert.match(String(answer.headers['retry-after']), /^\d+$/)
  }
  server.guest(id).desktop.up = true
  const display = await server.call('GET', `/v1/machines/${id}/display`)
  assert.deepEqual([display.status, display.body], [200, { width: 1280, height: 800, up: true }])
  await eventually(async () => {
    const { body } = await server.call('GET', `/v1/machines/${id}/events`)
    return body.data.find(({ type }: { type: string }) => type === 'machine.ready')
  })
})

test('every kind of input has its effect, with its defaults', async () => {
  const { id } = await server.machine()
  await server.lease(id)
  const at = { x: 5, y: 6 }
  const inputs: [path: string, body: unknown, events: string][] = [
    ['mouse/move', at, 'move 5,6'],
    ['mouse/click', {}, 'press left, release left'],
    ['mouse/click', { at, button: 'right' }, 'move 5,6, press right, release right'],
    ['mouse/click', { count: 2 }, 'press left, release left, press left, release left'],
    ['mouse/click', { down: true, button: 'middle' }, 'press middle'],
    ['mouse/click', { up: true, button: 'middle' }, 'release middle'],
    ['mouse/drag', { from: at, to: at, steps: 1 }, 'move 5,6, press left, move 5,6, release left'],
    ['mouse/scroll', { direction: 'up', at }, 'move 5,6, scroll up, scroll up, scroll up'],
    ['mouse/scroll', { direction: 'left', amount: 1 }, 'scroll left'],
    ['keyboard/type', { text: 'é漢🙂' }, 'text é, text 漢, text 🙂'],
    ['keyboard/type', { text: '' }, ''],
    ['keyboard/key', { key: 'ENTER' }, 'press Return, release Return'],
    ['keyboard/key', { key: 'Shift_R', down: true }, 'press Shift_R'],
    ['keyboard/key', { key: 'Shift_R', up: true }, 'release Shift_R'],
    [
      'keyboard/hotkey',
      { keys: ['ctrl', 'a'] },
      'press Control_L, press a, release a, release Control_L',
    ],
  ]
  for (const [path, body, events] of inputs) {
    const before = eventsOf(id).length
    const answer = await server.call('POST', `/v1/machines/${id}/${path}`, body)
    assert.deepEqual([answer.status, answer.body], [200, {}], JSON.stringify(answer.body))
    assert.equal(eventsOf(id).slice(before).join(', '), events, path)
  }
  const before = eventsOf(id).length
  await server.call('POST', `/v1/machines/${id}/mouse/drag`, { to: { x: 25, y: 26 } })
  const moves = eventsOf(id)
    .slice(before)
    .filter((event) => event.startsWith('move'))
  assert.deepEqual([moves.length, moves.at(-1)], [21, 'move 25,26'])
})

test('a coordinate outside the display is refused without effect', async () => {
  const { id } = await server.machine()
  await server.lease(id)
  const inside = { x: 1, y: 1 }
  for (const outside of [
    { x: 1280, y: 0 },
    { x: 0, y: 800 },
    { x: -1, y: 0 },
    { x: 2 ** 40, y: 0 },
  ]) {
    for (const [path, body] of [
      ['mouse/move', outside],
      ['mouse/click', { at: outside }],
      ['mouse/drag', { from: inside, to: outside }],
      ['mouse/drag', { from: outside, to: inside }],
      ['mouse/scroll', { direction: 'up', at: outside }],
    ] as const) {
      const refused = await server.call('POST', `/v1/machines/${id}/${path}`, body)
      assert.deepEqual([refused.status, refused.body.error.code], [400, 'invalid_request'], path)
    }
  }
  assert.deepEqual(eventsOf(id), [])
})

test('bodies outside the contract are refused, and the details name each field', async () => {
  const { id } = await server.machine()
  await server.lease(id)
  const fields: [path: string, body: unknown, field: string][] = [
    ['mouse/move', { x: 1 }, 'y'],
    ['mouse/move', { x: 1.5, y: 1 }, 'x'],
    ['mouse/move', { x: 1, y: 1, z: 1 }, 'z'],
    ['mouse/click', { at: { x: 1, y: 1, dpi: 2 } }, 'at.dpi'],
    ['mouse/click', { button: 'side' }, 'button'],
    ['mouse/click', { count: 4 }, 'count'],
    ['mouse/drag', {}, 'to'],
    ['mouse/drag', { to: { x: 1, y: 1 }, steps: 0 }, 'steps'],
    ['mouse/scroll', { direction: 'in' }, 'direction'],
    ['keyboard/type', { text: 'a'.repeat(10_001) }, 'text'],
    ['keyboard/type', { text: 'a\0b' }, 'text'],
    ['keyboard/type', { text: '\ud800' }, 'text'],
    ['keyboard/type', { text: 'a', delay_ms: 1001 }, 'delay_ms'],
    ['keyboard/hotkey', { keys: [] }, 'keys'],
    ['keyboard/hotkey', { keys: ['a', 1] }, 'keys.1'],
    ['display/resize', { width: 319, height: 200 }, 'width'],
    ['display/resize', { width: 320, height: 4321 }, 'height'],
  ]
  for (const [path, body, field] of fields) {
    const { status, body: answer } = await server.call('POST', `/v1/machines/${id}/${path}`, body)
    const named = answer.error?.details?.map((detail: { field: string }) => detail.field)
    assert.deepEqual([status, named], [400, [field]], path)
  }
  for (const [path, body] of [
    ['keyboard/key', { key: 'Hyperspace' }],
    ['keyboard/hotkey', { keys: ['ctrl', 'Hyperspace'] }],
  ] as const) {
    const refused = await server.call('POST', `/v1/machines/${id}/${path}`, body)
    assert.deepEqual([refused.status, refused.body.error.code], [400, 'invalid_request'])
    assert.match(refused.body.error.message, /Hyperspace/)
  }
  assert.deepEqual(eventsOf(id), [])
})

test('a resize changes the display and the valid coordinates', async () => {
  const { id } = await server.machine()
  const path = `/v1/machines/${id}/display`
  const size = { width: 1600, height: 900 }
  assert.equal((await server.call('POST', `${path}/resize`, size)).status, 409)
  await server.lease(id)
  const resized = await server.call('POST', `${path}/resize`, size)
  assert.deepEqual([resized.status, resized.body], [200, { ...size, up: true }])
  assert.deepEqual((await server.call('GET', path)).body, { ...size, up: true })
  const corner = { x: 1599, y: 899 }
  assert.equal((await server.call('POST', `/v1/machines/${id}/mouse/move`, corner)).status, 200)
  const shot = await server.call('GET', `/v1/machines/${id}/screenshot`)
  assert.deepEqual(shot.body.display, size)
})

test('both selections are written with the lease and read without it', async () => {
  const { id } = await server.machine()
  const path = `/v1/machines/${id}/clipboard`
  assert.equal((await server.call('PUT', path, { text: 'x' })).status, 409)
  await server.lease(id)
  const text = 'é漢🙂\n'.repeat(1000)
  const written = await server.call('PUT', path, { text })
  assert.deepEqual([written.status, written.body], [200, { text, selection: 'clipboard' }])
  await server.call('PUT', path, { text: 'first', selection: 'primary' })
  const reader = await server.apiKey({ scopes: ['machines:read'] })
  assert.deepEqual((await reader.call('GET', path)).body, { text, selection: 'clipboard' })
  const primary = await reader.call('GET', `${path}?selection=primary`)
  assert.deepEqual(primary.body, { text: 'first', selection: 'primary' })
  assert.equal((await reader.call('GET', `${path}?selection=secondary`)).status, 400)
})

test('the machine-relative routes also work without /v1', async () => {
  const { id } = await server.machine()
  await server.lease(id)
  assert.equal((await server.call('GET', `/machines/${id}/display`)).status, 200)
  const moved = await server.call('POST', `/machines/${id}/mouse/move`, { x: 1, y: 1 })
  assert.equal(moved.status, 200)
  assert.equal((await server.call('GET', `/machines/${id}`)).status, 404)
  assert.equal((await server.call('GET', '/sessions')).status, 404)
})

test('desktop calls to a machine that does not run are refused with its state', async () => {
  const { id } = await server.machine({ start: false })
  for (const path of ['display', 'screenshot', 'clipboard', 'usage-now']) {
    const refused = await server.call('GET', `/v1/machines/${id}/${path}`)
    assert.deepEqual([refused.status, refused.body.error.code], [412, 'precondition_failed'])
    assert.match(refused.body.error.message, /stopped/)
  }
  const hold = server.engine.controls.holdBoot()
  await server.call('POST', `/v1/machines/${id}/start`)
  await hold.reached
  const booting = await server.call('GET', `/v1/machines/${id}/screenshot`)
  assert.deepEqual([booting.status, booting.body.error.code], [503, 'compute_unavailable'])
  assert.ok(booting.headers['retry-after'])
  hold.release()
})

function eventsOf(id: string): string[] {
  return server.guest(id).desktop.events.map(({ event }) => event)
}
