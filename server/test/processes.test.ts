import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestServer, type Answer } from './harness.ts'

const server = await startTestServer({ after })
const { id: machine } = await server.machine()
const path = `/v1/machines/${machine}/processes`

test('a process is started and awaited, and its output is read', async () => {
  const started = await server.call('POST', path, { command: ['sh', '-c', 'echo oút; exit 3'] })
  assert.equal(started.status, 201)
  assert.match(started.body.id, /^prc_[0-9a-z]{26}$/)
  const one = `${path}/${started.body.id}`
  const ended = await server.call('GET', `${one}?wait=30`)
  assert.deepEqual([ended.body.state, ended.body.exit_code], ['exited', 3])
  const logs = await server.call('GET', `${one}/logs`)
  assert.deepEqual(logs.body, {
    stream: 'stdout',
    content: 'oút\n',
    encoding: 'utf8',
    offset: 0,
    next_offset: 5,
    eof: true,
  })
  const list = await server.call('GET', path)
  assert.deepEqual(list.body, { data: [ended.body], next_cursor: null, has_more: false })
})

test('lists have pages, newest first', async () => {
  const { id } = await server.machine()
  for (const kind of ['processes', 'terminals']) {
    const all = `/v1/machines/${id}/${kind}`
    const made: string[] = []
    for (let count = 0; count < 5; count++) {
      made.unshift((await server.call('POST', all, { command: ['sleep', '1000'] })).body.id)
    }
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const at: string = cursor === '' ? '' : `&cursor=${cursor}`
      const { body } = await server.call('GET', `${all}?limit=2${at}`)
      assert.ok(body.data.length <= 2)
      assert.equal(body.has_more, body.next_cursor !== null)
      seen.push(...body.data.map((one: { id: string }) => one.id))
      cursor = body.next_cursor
    }
    assert.deepEqual(seen, made)
    assert.equal((await server.call('GET', `${all}?cursor=nonsense`)).status, 400)
  }
})

test('text is returned in whole characters, bytes unmodified', async () => {
  const { body } = await server.call('POST', path, { command: ['echo', '漢漢'] })
  const one = `${path}/${body.id}`
  await server.call('GET', `${one}?wait=30`)
  const first = (await server.call('GET', `${one}/logs?length=5`)).body
  assert.deepEqual([first.content, first.next_offset, first.eof], ['漢', 3, false])
  const rest = (await server.call('GET', `${one}/logs?offset=${first.next_offset}`)).body
  assert.deepEqual([rest.content, rest.next_offset, rest.eof], ['漢\n', 7, true])
  const bytes = (await server.call('GET', `${one}/logs?offset=4&length=2&encoding=base64`)).body
  assert.deepEqual([...Buffer.from(bytes.content, 'base64')], [0xbc, 0xa2])
  assert.equal(bytes.next_offset, 6)
})

test('input is written, and a read waits for output', async () => {
  const { body } = await server.call('POST', path, { command: ['cat'] })
  const one = `${path}/${body.id}`
  const pick = ({ body: log }: Answer) => [log.content, log.offset, log.next_offset, log.eof]
  const waiting = server.call('GET', `${one}/logs?wait=30`)
  const half = { content: Buffer.from('one ').toString('base64'), encoding: 'base64' }
  assert.equal((await server.call('POST', `${one}/stdin`, half)).status, 204)
  assert.deepEqual(pick(await waiting), ['one ', 0, 4, false])
  const last = { content: 'two', eof: true }
  assert.equal((await server.call('POST', `${one}/stdin`, last)).status, 204)
  await server.call('GET', `${one}?wait=30`)
  assert.deepEqual(pick(await server.call('GET', `${one}/logs?offset=4`)), ['two', 4, 7, true])
  assert.equal((await server.call('POST', `${one}/stdin`, last)).body.error.code, 'conflict')
  const nonsense = { content: 'é', encoding: 'base64' }
  const refused = await server.call('POST', `${one}/stdin`, nonsense)
  assert.equal(refused.body.error.code, 'invalid_request')
})

test('a signal ends a process', async () => {
  const { body } = await server.call('POST', path, { command: ['sleep', '600'] })
  const one = `${path}/${body.id}`
  assert.equal((await server.call('GET', one)).body.state, 'running')
  assert.equal((await server.call('POST', `${one}/signal`, { signal: 'SIGKILL' })).status, 204)
  assert.equal((await server.call('GET', `${one}?wait=30`)).body.exit_code, 137)
  assert.equal((await server.call('POST', `${one}/signal`, {})).body.error.code, 'conflict')
  const unknown = await server.call('POST', `${one}/signal`, { signal: 'SIGNOT' })
  assert.equal(unknown.body.error.code, 'invalid_request')
})

test('a call that is repeated with its idempotency key starts one process', async () => {
  const start = () =>
    server.call('POST', path, { command: ['true'] }, { 'idempotency-key': 'again' })
  assert.equal((await start()).body.id, (await start()).body.id)
})

test('an unknown process is not found, and a machine that does not run has none', async () => {
  const nobody = `${path}/prc_${'0'.repeat(26)}`
  for (const rest of ['', '/logs']) {
    assert.equal((await server.call('GET', nobody + rest)).status, 404)
  }
  const { id } = await server.machine({ start: false })
  const { body } = await server.call('GET', `/v1/machines/${id}/processes`)
  assert.equal(body.error.code, 'precondition_failed')
})
