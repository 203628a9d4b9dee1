import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestGateway } from './gateway.ts'
import { startTestServer } from './harness.ts'
import { untilSeen, view } from './screen-viewer.ts'

const server = await startTestServer({ after })
const gateway = await startTestGateway({ after }, server.app)
const rounds = 10
const background = 0x20_30_40

test('a client that stops reading costs one frame of memory, and does not slow another client', async () => {
  const { id } = await server.machine()
  const { screens } = server.guest(id)
  const slow = await view(gateway, id, server.key)
  await untilSeen(slow, 1279, 799, background)
  slow.socket.socket.pause()
  const fast = await view(gateway, id, server.key)
  await untilSeen(fast, 1279, 799, background)
  const before = fast.rfb.updates.length

  for (let round = 1; round <= rounds; round++) {
    screens.paintAll('noise')
    screens.paint(0, 0, round)
    await untilSeen(fast, 0, 0, round)
  }
  assert.ok(fast.rfb.updates.length - before >= rounds)
  const bytesOf = ({ socket }: typeof fast) =>
    socket.frames.reduce((sum, one) => sum + ('payload' in one ? one.payload.length : 0), 0)
  const total = bytesOf(fast)
  const taken = bytesOf(slow)
  slow.socket.socket.resume()
  await untilSeen(slow, 0, 0, rounds)
  // It gets what was already sent and then the newest content; nothing else was queued.
  assert.ok((bytesOf(slow) - taken) * 3 < total, `${bytesOf(slow) - taken} bytes of ${total}`)
  // Both show the same in the end.
  await slow.rfb.until(({ rgb }) => rgb.equals(fast.rfb.rgb))
})
