import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestPreviews } from './preview-server.ts'

/*
 * R9: requests that two servers might read differently. The guest's server here records every byte that
 * reaches it, where a smuggled request would appear.
 */

const { publish, accept, raw } = await startTestPreviews({ after })
const { host } = await publish({ port: 80, access: 'public' })

let seen = ''
accept(80, (connection) => {
  let text = ''
  connection.on('data', (chunk: Buffer) => {
    seen += chunk.toString('latin1')
    text += chunk.toString('latin1')
    if (isWhole(text)) connection.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
  })
})

const smuggled = `GET /smuggled HTTP/1.1\r\nHost: ${host}\r\n\r\n`
const post = (headers: string, body: string) =>
  `POST / HTTP/1.1\r\nHost: ${host}\r\n${headers}\r\n\r\n${body}`
const zero = `0\r\n\r\n${smuggled}`

/** Must be refused, and the connection closed. */
const refused: Record<string, string> = {
  'length and chunked': post('Content-Length: 4\r\nTransfer-Encoding: chunked', zero),
  'chunked and length': post('Transfer-Encoding: chunked\r\nContent-Length: 4', zero),
  'two lengths': post('Content-Length: 0\r\nContent-Length: 50', smuggled),
  'two equal lengths': post('Content-Length: 5\r\nContent-Length: 5', 'hello'),
  'a list of lengths': post('Content-Length: 5, 5', 'hello'),
  'a signed length': post('Content-Length: +5', 'hello'),
  'a negative length': post('Content-Length: -5', smuggled),
  'a hexadecimal length': post('Content-Length: 0x5', 'hello'),
  'a length with zeros before it': post('Content-Length: 005', 'hello'),
  'a length with a space in it': post('Content-Length: 5 0', smuggled),
  'a huge length': post('Content-Length: 99999999999999999999', smuggled),
  'an empty length': post('Content-Length: ', smuggled),
  'chunked twice': post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', zero),
  'chunked, chunked': post('Transfer-Encoding: chunked, chunked', zero),
  'identity and chunked': post('Transfer-Encoding: identity, chunked', zero),
  'gzip, chunked': post('Transfer-Encoding: gzip, chunked', zero),
  'chunked, identity': post('Transfer-Encoding: chunked, identity', zero),
  xchunked: post('Transfer-Encoding: xchunked', zero),
  'a quoted coding': post('Transfer-Encoding: "chunked"', zero),
  'a coding with a vertical tab': post('Transfer-Encoding: \x0bchunked', zero),
  'a coding with a NUL': post('Transfer-Encoding: chunked\0', zero),
  'a space before the colon': post('Transfer-Encoding : chunked', zero),
  'a tab before the colon': post('Content-Length\t: 5', 'hello'),
  'a space before the name': post('X: y\r\n Transfer-Encoding: chunked', zero),
  'a folded coding': post('Transfer-Encoding:\r\n chunked', zero),
  'a folded value': post('X: a\r\n\tb\r\nContent-Length: 0', smuggled),
  'a name with a NUL': post('Content\0-Length: 5', 'hello'),
  'a bare CR in a value': post('X: a\rContent-Length: 5\r\nContent-Length: 0', smuggled),
  'a header without a colon': post('Content-Length', smuggled),
  'an empty name': post(': x', smuggled),
  'a chunk size that is signed': post('Transfer-Encoding: chunked', `+5\r\nhello\r\n${zero}`),
  'a chunk size in 0x': post('Transfer-Encoding: chunked', `0x5\r\nhello\r\n${zero}`),
  'a chunk size that is negative': post('Transfer-Encoding: chunked', `-1\r\n${zero}`),
  'a chunk size of too many digits': post('Transfer-Encoding: chunked', `${'f'.repeat(20)}\r\nx`),
  'a chunk without its end': post('Transfer-Encoding: chunked', `5\r\nhelloX\r\n${zero}`),
  'a chunk that ends in LF': post('Transfer-Encoding: chunked', `5\nhello\n0\n\n${smuggled}`),
  'two hosts': `GET / HTTP/1.1\r\nHost: ${host}\r\nHost: evil.example\r\n\r\n`,
  'no host': 'GET / HTTP/1.1\r\nX: y\r\n\r\n',
  'an address with its host': `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
  "another's address": `GET http://127.0.0.1/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
  CONNECT: `CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
  TRACE: `TRACE / HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
  'an asterisk': `OPTIONS * HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
  'a fragment': `GET /#x HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
  'a space in the address': `GET /a b HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
  'a tab in the request line': `GET\t/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
  'a letter that is none': `GET /\xe9 HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
  'HTTP/0.9': 'GET /\r\n\r\n',
  'HTTP/1.2': `GET / HTTP/1.2\r\nHost: ${host}\r\n\r\n`,
  'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'chunked in HTTP/1.0': `POST / HTTP/1.0\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n${zero}`,
  'a handshake with a body': `GET / HTTP/1.1\r\nHost: ${host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
  'a handshake by POST': `POST / HTTP/1.1\r\nHost: ${host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\n\r\n${smuggled}`,
  'too many headers': post('X: y\r\n'.repeat(200) + 'Content-Length: 0', smuggled),
  'headers that are too long': post(`X: ${'y'.repeat(17_000)}`, smuggled),
  'random bytes': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n',
}

for (const [what, bytes] of Object.entries(refused)) {
  test(`${what}: refused, and nothing of it reaches the guest`, async () => {
    seen = ''
    const answer = await raw(Buffer.from(bytes, 'latin1'))
    const statuses = answer.match(/^HTTP\/1\.1 \d{3}/gm) ?? []
    for (const status of statuses) assert.match(status, / (4\d\d|502)$/, answer)
    assert.doesNotMatch(seen, /smuggled|evil|127\.0\.0\.1\//)
    assert.doesNotMatch(answer, /\r\nok$/)
  })
}

test('pipelined requests are each answered once', async () => {
  seen = ''
  const last = `GET /last HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
  const answer = await raw(post('Content-Length: 5', 'hello') + last)
  assert.equal(answer.match(/HTTP\/1\.1 200/g)?.length, 2)
  // The two requests arrive over two connections, so one may begin in the middle of the other's line.
  assert.equal(seen.match(/(GET|POST) \S+ HTTP\/1\.1\r\n/g)?.length, 2)
})

test('headers that might be misread are rewritten', async () => {
  seen = ''
  const answer = await raw(
    `POST /x HTTP/1.1\r\nHost: ${host}\r\nTRANSFER-encoding: Chunked\r\nConnection: close, content-length\r\nTrailer: x\r\n\r\n5;ext="a"\r\nhello\r\n0\r\nX-Trailer: y\r\n\r\n`,
  )
  assert.match(answer, /^HTTP\/1\.1 200/)
  assert.match(seen, /\r\ntransfer-encoding: chunked\r\n/)
  assert.match(seen, /\r\n\r\n5\r\nhello\r\n0\r\n\r\n$/)
  assert.doesNotMatch(seen, /ext=|[Tt]railer|Chunked/)
})

function isWhole(text: string): boolean {
  const [head, body = ''] = text.split('\r\n\r\n', 2)
  if (body === '' && !text.includes('\r\n\r\n')) return false
  if (/transfer-encoding/i.test(head!)) return text.endsWith('0\r\n\r\n')
  return body.length >= Number(/content-length: (\d+)/i.exec(head!)?.[1] ?? 0)
}
