import type { ServerHttp2Stream } from 'node:http2'
import type { Random } from '../../../e2e/harness/random.ts'

const mebibyte = 1024 * 1024

/** Bodies that are no answer, or that cost far more than their bytes. */
const bodies: readonly ((random: Random) => Buffer)[] = [
  () => Buffer.from(`{"data":[${'0,'.repeat(3 * mebibyte)}0]}`),
  () => Buffer.from(`{"data":[${'{},'.repeat(mebibyte)}{}]}`),
  () => Buffer.from(`{"data":[${'[],'.repeat(mebibyte)}[]],"path":"/","next":null}`),
  () => Buffer.from('['.repeat(mebibyte)),
  () => Buffer.from(`${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`),
  () => Buffer.from(`{${manyKeys(200_000)}}`),
  () => Buffer.from(`{"stdout":"${'\\u0000'.repeat(2 * mebibyte)}","stderr":"","exit_code":0}`),
  () => Buffer.from(`{"text":"${'\\"'.repeat(12 * mebibyte)}"}`),
  () => Buffer.from(`{"text":"${'x'.repeat(70 * mebibyte)}"}`),
  () => Buffer.from('{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"data":[]}}}'),
  () => Buffer.from('{"fence":1e999,"revision":-1,"told":"yes","width":1e308,"height":null}'),
  () => Buffer.from('{"error":{"code":"unauthenticated","message":"sign in again"}}'),
  () => Buffer.from(`{"error":{"code":"not_found","message":"${'x'.repeat(60_000)}\\ud800"}}`),
  () =>
    Buffer.from('{"error":{"code":"internal_error","message":"\\u0000","reason":"fence_stale"}}'),
  () => Buffer.from([0xff, 0xfe, 0x00, 0x80, 0xc0]),
  () => Buffer.alloc(0),
  () => Buffer.from('null'),
  () =>
    Buffer.from('{"version":"1","boot_id":"b","fence":null,"width":1280,"height":800,"up":true}'),
  (random) => Buffer.from(Array.from({ length: random.below(5_000) }, () => random.below(256))),
]

const statuses = [
  200, 200, 200, 200, 201, 204, 206, 301, 304, 400, 401, 404, 409, 418, 500, 503, 599,
]

const headers: readonly ((body: Buffer, random: Random) => Record<string, string | number>)[] = [
  (body) => ({ 'content-length': body.length }),
  (body) => ({ 'content-length': body.length }),
  () => ({}),
  (body) => ({ 'content-length': body.length + 1 }),
  (body) => ({ 'content-length': Math.max(0, body.length - 1) }),
  () => ({ 'content-length': '1e3' }),
  () => ({ 'content-length': '99999999999999999999' }),
  (body) => ({
    'content-length': body.length,
    'x-display-width': 1280,
    'x-display-height': 800,
    'x-file-path': '/home/agent/x',
    'x-file-size': body.length,
  }),
  () => ({
    'content-length': 64 * mebibyte,
    'x-display-width': 7680,
    'x-display-height': 4320,
    'x-file-path': '%00%0d%0aset-cookie:%20a=b',
    'x-file-size': 2 ** 52,
  }),
  () => ({ 'x-file-path': '%zz', 'x-file-size': '-1', 'x-display-width': 'NaN' }),
  () => ({ 'content-type': 'text/html', 'set-cookie': 'computer_session=x', location: '//evil' }),
  () => ({ 'x-long': 'y'.repeat(30_000) }),
]

/** Answers a request with anything. */
export function answerAnything(stream: ServerHttp2Stream, random: Random): void {
  const body = bodyOf(random)
  const status = random.pick(statuses)
  stream.respond({ ':status': status, ...random.pick(headers)(body, random) })
  random.pick(endings)(stream, body, random)
}

/** A body is made once: they are long. */
function bodyOf(random: Random): Buffer {
  const make = random.pick(bodies)
  const body = made.get(make) ?? make(random)
  made.set(make, body)
  return body
}
const made = new Map<(typeof bodies)[number], Buffer>()

const endings: readonly ((stream: ServerHttp2Stream, body: Buffer, random: Random) => void)[] = [
  (stream, body) => stream.end(body),
  (stream, body) => stream.end(body),
  (stream, body) => stream.end(body),
  // Cut off, reset, and never ended.
  (stream, body) => {
    stream.write(body.subarray(0, body.length / 2))
    setImmediate(() => stream.destroy())
  },
  (stream, body, random) => {
    stream.write(body.subarray(0, 1000))
    setImmediate(() => stream.close(random.below(14)))
  },
  (stream) => void stream.write('{'),
  (stream, body) => void trickle(stream, body.subarray(0, 20_000)),
  (stream, _body, random) => {
    const times = random.below(8) === 0 ? 100 : 1
    void flood(stream, Buffer.alloc(mebibyte, '{"data":[0,0]}'), times)
  },
]

/** A byte in each frame. */
async function trickle(stream: ServerHttp2Stream, body: Buffer): Promise<void> {
  for (const byte of body) {
    if (stream.destroyed) return
    if (!stream.write(Buffer.of(byte))) await drained(stream)
  }
  stream.end()
}

/** Repeats the bytes, as fast as they are taken. */
export async function flood(
  stream: ServerHttp2Stream,
  bytes: Buffer,
  times: number,
): Promise<void> {
  for (let count = 0; count < times && !stream.destroyed; count++) {
    if (!stream.write(bytes)) await drained(stream)
  }
}

function drained(stream: ServerHttp2Stream): Promise<void> {
  return new Promise((resolve) => {
    stream.once('drain', resolve)
    stream.once('close', resolve)
  })
}

function manyKeys(count: number): string {
  return Array.from({ length: count }, (_, key) => `"k${key}":0`).join(',')
}
