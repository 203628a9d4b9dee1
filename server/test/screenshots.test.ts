import { Screenshot } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestServer } from './harness.ts'

const server = await startTestServer({ after })
const display = { width: 1280, height: 800 }

test('a screenshot is returned as JSON and as bytes, in three formats, with its geometry', async () => {
  const path = await screenshotPath()
  const heads = { png: '89504e47', jpeg: 'ffd8ffe0', webp: '52494646' }
  for (const [format, head] of Object.entries(heads)) {
    const json = await server.call('GET', `${path}?format=${format}&quality=1`)
    const { image, id, ...rest } = json.body
    assert.deepEqual(rest, { format, ...display, display, settled: null, changing: null })
    const raw = await server.call('GET', `${path}?format=${format}`, undefined, {
      accept: 'image/*',
    })
    assert.deepEqual([raw.status, raw.headers['content-type']], [200, `image/${format}`])
    assert.deepEqual([typeof id, raw.headers['x-screenshot-id']], ['string', id])
    assert.deepEqual(numbersIn(raw.headers), [1280, 800, 1280, 800])
    assert.equal(raw.headers['content-length'], String(raw.bytes.length))
    assert.equal(raw.headers['x-screenshot-settled'], undefined)
    assert.equal(raw.bytes.toString('hex', 0, 4), head)
    assert.deepEqual(Buffer.from(image, 'base64'), raw.bytes)
  }
})

test('the accept header chooses the format unless the query does', async () => {
  const path = await screenshotPath()
  for (const [accept, format] of [
    ['image/jpeg', 'jpeg'],
    ['image/webp, image/png', 'webp'],
    ['image/jpeg;q=0.9, */*', 'jpeg'],
    ['image/*', 'png'],
    ['image/avif', 'png'],
  ] as const) {
    const { headers } = await server.call('GET', path, undefined, { accept })
    assert.equal(headers['content-type'], `image/${format}`, accept)
    const asked = await server.call('GET', `${path}?format=webp`, undefined, { accept })
    assert.equal(asked.headers['content-type'], 'image/webp')
  }
  assert.equal((await server.call('GET', path)).body.format, 'png')
})

test('a screenshot of a part of the display can be scaled', async () => {
  const path = await screenshotPath()
  for (const [query, width, height] of [
    ['region=10,20,640,400', 640, 400],
    ['region=10,20,640,400&scale=0.5', 320, 200],
    ['max_width=100', 100, 62],
    ['max_width=5000', 1280, 800],
    ['scale=0.5&max_width=320', 320, 200],
  ] as const) {
    const { body } = await server.call('GET', `${path}?${query}`)
    assert.deepEqual([body.width, body.height, body.display], [width, height, display], query)
    const { headers } = await server.call('GET', `${path}?${query}`, undefined, {
      accept: 'image/*',
    })
    assert.deepEqual(numbersIn(headers), [width, height, 1280, 800], query)
  }
})

test('a screenshot tells whether the screen has settled, and where not', async () => {
  const { id } = await server.machine()
  const path = `/v1/machines/${id}/screenshot?settle_ms=100`
  const still = await server.call('GET', path)
  assert.deepEqual([still.body.settled, still.body.changing], [true, null])
  server.guest(id).desktop.moving = [10, 20, 300, 200]
  const moving = await server.call('GET', path)
  const changing = { x: 10, y: 20, width: 300, height: 200 }
  assert.deepEqual([moving.body.settled, moving.body.changing], [false, changing])
  const { headers } = await server.call('GET', path, undefined, { accept: 'image/*' })
  assert.equal(headers['x-screenshot-settled'], 'false')
  assert.equal(headers['x-screenshot-changing'], '10,20,300,200')
})

test('an image that is still the same is not sent again', async () => {
  const { id } = await server.machine()
  const path = `/v1/machines/${id}/screenshot?format=webp&max_width=320`
  const shoot = (ifNoneMatch?: string) =>
    server.call('GET', path, undefined, {
      accept: 'image/*',
      ...(ifNoneMatch && { 'if-none-match': ifNoneMatch }),
    })
  const first = await shoot()
  const etag = String(first.headers['etag'])
  assert.match(etag, /^"[\w-]{22}"$/)
  assert.equal(first.headers['cache-control'], 'no-store')
  for (const named of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const same = await shoot(named)
    assert.deepEqual([same.status, same.bytes.length, same.headers['etag']], [304, 0, etag], named)
    assert.equal(same.headers['content-type'], undefined)
    assert.deepEqual(numbersIn(same.headers), [320, 200, 1280, 800])
  }
  assert.equal((await shoot('"other"')).status, 200)
  const json = await server.call('GET', path, undefined, { 'if-none-match': etag })
  assert.deepEqual([json.status, json.headers['etag']], [200, undefined])

  await server.lease(id)
  await server.call('POST', `/v1/machines/${id}/keyboard/type`, { text: 'a' })
  const changed = await shoot(etag)
  assert.equal(changed.status, 200)
  assert.notEqual(changed.headers['etag'], etag)
})

test('an image of more than 64 KiB is streamed, without an ETag', async () => {
  const { id } = await server.machine()
  await server.lease(id)
  const size = { width: 7680, height: 4320 }
  assert.equal((await server.call('POST', `/v1/machines/${id}/display/resize`, size)).status, 200)
  const path = `/v1/machines/${id}/screenshot?format=jpeg`
  const headers = { accept: 'image/*', 'if-none-match': '*' }
  const { status, bytes, headers: answered } = await server.call('GET', path, undefined, headers)
  assert.equal(status, 200)
  assert.ok(bytes.length > 64 * 1024)
  assert.deepEqual(answered['etag'], undefined)
})

test('parameters outside the contract are refused, and so is a region outside the display', async () => {
  const path = await screenshotPath()
  for (const query of [
    'format=gif',
    'quality=0',
    'quality=101',
    'quality=x',
    'scale=2',
    'scale=0',
    'max_width=15',
    'settle_ms=5001',
    'settle_ms=-1',
    'timeout_ms=30001',
    'region=0,0,0,10',
    'region=0,0,10',
    'region=1200,0,81,10',
    'ignore=1,2,3',
    `ignore=${Array.from({ length: 17 }, () => '0,0,1,1').join(';')}`,
    'then=screenshot',
  ]) {
    const refused = await server.call('GET', `${path}?${query}`)
    assert.deepEqual([refused.status, refused.body.error.code], [400, 'invalid_request'], query)
  }
})

test('every input answers the screenshot that it asks for', async () => {
  const { id } = await server.machine()
  await server.lease(id)
  const at = { x: 5, y: 6 }
  const inputs = [
    ['mouse/move', at],
    ['mouse/click', { at }],
    ['mouse/drag', { from: at, to: { x: 50, y: 60 } }],
    ['mouse/scroll', { direction: 'down', at }],
    ['keyboard/type', { text: 'seen' }],
    ['keyboard/hotkey', { keys: ['ctrl', 'a'] }],
  ] as const
  for (const [input, body] of inputs) {
    const path = `/v1/machines/${id}/${input}`
    const plain = await server.call('POST', path, body)
    assert.deepEqual([plain.status, plain.body], [200, {}], input)
    const { screenshot } = (await server.call('POST', `${path}?then=screenshot`, body)).body
    assert.deepEqual([screenshot.format, screenshot.settled], ['png', true], input)
    const after = await server.call('GET', `/v1/machines/${id}/screenshot`)
    assert.equal(screenshot.image, after.body.image, `${input} shows its effect`)
    const query = 'then=screenshot&format=jpeg&region=0,0,100,50&settle_ms=0'
    const small = (await server.call('POST', `${path}?${query}`, body)).body.screenshot
    Screenshot.parse(small)
    assert.deepEqual(
      [small.format, small.width, small.height, small.settled],
      ['jpeg', 100, 50, null],
    )
  }
})

test('an input is refused before it is sent if its parameters are wrong', async () => {
  const { id } = await server.machine()
  await server.lease(id)
  const path = `/v1/machines/${id}/mouse/move`
  for (const query of ['then=nothing', 'then=screenshot&scale=7', 'now=1']) {
    const { status } = await server.call('POST', `${path}?${query}`, { x: 1, y: 1 })
    assert.equal(status, 400, query)
  }
  assert.deepEqual(server.guest(id).desktop.events, [])
})

test('a screenshot that fails after its input is null, and the input has its effect', async () => {
  const { id } = await server.machine()
  await server.lease(id)
  const path = `/v1/machines/${id}/mouse/move?then=screenshot&region=1200,0,81,10`
  const { status, body } = await server.call('POST', path, { x: 1, y: 1 })
  assert.deepEqual([status, body], [200, { screenshot: null }])
  assert.equal(server.guest(id).desktop.events.at(-1)!.event, 'move 1,1')
})

async function screenshotPath(): Promise<string> {
  return `/v1/machines/${(await server.machine()).id}/screenshot`
}

/** The width and height of the image, then those of the display. */
function numbersIn(headers: Readonly<Record<string, unknown>>): number[] {
  const names = ['x-image-width', 'x-image-height', 'x-display-width', 'x-display-height']
  return names.map((name) => Number(headers[name]))
}
