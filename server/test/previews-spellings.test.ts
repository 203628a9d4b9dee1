import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { createRandom } from '../../e2e/harness/random.ts'
import { labelOfHost } from '../src/domain/previews/hosts.ts'
import { startTestPreviews } from './preview-server.ts'

/*
 * R9: a host has one valid spelling. Lookalikes from a seeded generator are requested over real
 * connections, and none may reach the machine.
 */

const { publish, listen, connect, ask } = await startTestPreviews({ after })
const spellings = 20_000

test('only the canonical one of 20,000 spellings reaches a machine', async () => {
  const { host } = await publish({ port: 80, access: 'public' })
  let reached = 0
  listen((_request, response) => {
    reached += 1
    response.end()
  })
  const random = createRandom(9).below
  const made = new Set<string>()
  while (made.size < spellings) made.add(misspell(host, random))
  for (const spelling of made) {
    assert.equal(labelOfHost({ domain: 'preview.test' }, spelling), null, JSON.stringify(spelling))
  }
  // Pipelines several on each connection. Malformed HTTP closes it with all that follows.
  const waiting = [...made]
  let refused = 0
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (waiting.length > 0) {
        const count = await askFor(waiting.splice(0, 50))
        refused += count
      }
    }),
  )
  assert.equal(reached, 0)
  assert.ok(refused >= spellings, `${refused} were refused`)
  for (const canonical of [host, `${host}:443`, `${host}:1`, `${host}:65535`]) {
    assert.equal((await ask(canonical)).status, 200)
  }
  assert.equal(reached, 4)
})

/** Counts refused requests. Requests behind one that closes the connection are sent again. */
async function askFor(hosts: string[]): Promise<number> {
  let refused = 0
  while (hosts.length > 0) {
    const socket = await connect()
    let text = ''
    socket.setEncoding('latin1').on('data', (chunk) => (text += String(chunk)))
    const requests = hosts.map((host) => `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    const last = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
    socket.write(requests.join('') + last, 'latin1')
    if (!socket.closed) await once(socket, 'close')
    const statuses = text.match(/^HTTP\/1\.1 \d{3}/gm) ?? []
    assert.ok(statuses.length > 0, 'the connection closed without a response')
    for (const status of statuses) assert.match(status, / (400|404|431)$/)
    const done = Math.min(statuses.length, hosts.length)
    refused += done
    hosts.splice(0, done)
  }
  return refused
}

function misspell(host: string, random: (below: number) => number): string {
  const label = host.slice(0, 26)
  const rest = host.slice(26)
  const at = 1 + random(25)
  const pick = <T>(values: readonly T[]): T => values[random(values.length)]!
  const number = () => String(1 + random(65_535))
  const letter = () => pick([...'0123456789abcdefghjkmnpqrstvwxyz'])
  const odd = () => pick([...'ilou-_.~%!$&()*+,;=:/?#[]{}|^`"<>ABCDEFGHJKMNPQRSTVWXYZé\u00ad\t '])
  const makers: (() => string)[] = [
    () => label.slice(0, at) + odd() + label.slice(at + 1) + rest,
    () => label.slice(0, at) + letter() + label.slice(at) + rest,
    () => label.slice(0, at) + label.slice(at + 1) + rest,
    () => `${label}${pick(['.', '..', '-', '%2e', '。', ''])}${rest}`.replace(host, `.${host}`),
    () =>
      `${host}${pick(['.', '..', '.:443', ':', ': 443', ':443:443', '/', '?', '#', '@x', '\\'])}`,
    () => `${host}:${pick(['0', '00', '+', '-', ' '])}${number()}`,
    () => `${host}:${number()}${pick(['.0', 'x', 'e0', ' 1', '\u00a0', '/', '00000', ',80'])}`,
    () => `${host}:0x${random(65_536).toString(16)}`,
    () => `${host}:${65_536 + random(1_000_000_000)}`,
    () => `${letter()}${letter()}.${host}`,
    () => `user:${number()}@${host}`,
    () => `${host}@${letter()}${letter()}.example`,
    () => `${host}.${letter()}${letter()}${letter()}.example`,
    () => `${label}.${letter()}${letter()}${rest}`,
    () => `${label}${rest.slice(0, -1)}${pick([...'aeioubcd0'])}`,
    () =>
      `${label.slice(0, at)}${label[at]!.toUpperCase()}${label.slice(at + 1)}${rest.toUpperCase()}${pick(['', ':443'])}`,
    () => `${host},${letter()}${number()}.${host}`,
    () => `[${host}]:${number()}`,
    () => `prv_${label}${rest}:${number()}`,
    () => `${number()}-${host}`,
    () => `127.0.0.1:${number()}`,
    () => `localhost:${number()}`,
    () => `mch_${label}:${number()}`,
    () => `${label}${rest}%00:${number()}`,
    () => `xn--${label}${letter()}${rest}`,
  ]
  const made = pick(makers)()
  // A mutation may produce the valid host by chance.
  const value = made.trim()
  return labelShaped(value, host) ? `${letter()}.${value}` : value
}

/** Whether it is the valid host, with or without a port. */
function labelShaped(value: string, host: string): boolean {
  if (!value.startsWith(host))
    return /^[0-9a-hjkmnp-tv-z]{26}\.preview\.test(:[1-9]\d{0,4})?$/.test(value)
  return /^(:[1-9]\d{0,3}|:[1-5]\d{4}|:6[0-4]\d{3}|:65[0-4]\d\d|:655[0-2]\d|:6553[0-5])?$/.test(
    value.slice(host.length),
  )
}
