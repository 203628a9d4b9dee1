import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Socket } from '../src/gateway.ts'

test('a handshake that nobody answers is given up after 10 seconds', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const raw = new SilentSocket()
  const { opened, closed } = new Socket(raw as never, {})
  const refused = assert.rejects(opened, { code: 'connection_failed' })
  t.mock.timers.tick(9_999)
  assert.equal(raw.isClosed, false)
  t.mock.timers.tick(1)
  await refused
  assert.equal(await closed, 1006)
})

test('a connection that is open stays open', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const raw = new SilentSocket()
  const { opened } = new Socket(raw as never, {})
  raw.onopen?.()
  await opened
  t.mock.timers.tick(60_000)
  assert.equal(raw.isClosed, false)
})

/** A WebSocket whose peer says nothing. */
class SilentSocket {
  isClosed = false
  onopen: (() => void) | undefined
  onclose: ((event: { readonly code: number }) => void) | undefined

  close(): void {
    this.isClosed = true
    this.onclose?.({ code: 1006 })
  }
}
