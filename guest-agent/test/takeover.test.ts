import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Pointer } from '../src/desktop/pointer.ts'
import { Fence } from '../src/fence.ts'
import { eventCode } from '../src/x11/events.ts'
import type { XSession } from '../src/x11/session.ts'

test('a takeover during a drag: nothing of the earlier holder lands after the answer', async () => {
  const { session, events } = recordingSession()
  const fence = new Fence()
  const pointer = new Pointer(session)
  const settle = async () => {
    pointer.releaseAll()
    await session.x.sync()
  }
  await fence.raise({ fence: 1, since: 1 }, settle)
  const drag = {
    from: { x: 0, y: 0 },
    to: { x: 900, y: 500 },
    button: 'left',
    steps: 1000,
  } as const
  const dragging = fence.input(1, (grant) => pointer.drag(grant, drag))
  const waiting = fence.input(1, (grant) => pointer.move(grant, { x: 5, y: 5 }))
  const refused = [
    assert.rejects(dragging, { code: 'conflict', reason: 'fence_stale' }),
    assert.rejects(waiting, { code: 'conflict', reason: 'fence_stale' }),
  ]
  while (events.length < 20) await pause(1)

  assert.equal(await fence.raise({ fence: 2, since: 2 }, settle), 2)
  const atAnswer = events.length
  assert.ok(atAnswer < 1000, 'the drag was broken off')
  assert.deepEqual(events.at(-1), { kind: eventCode.buttonRelease, detail: 1 })
  assert.equal(events.filter(({ kind }) => kind === eventCode.buttonPress).length, 1)

  await Promise.all(refused)
  await pause(20)
  assert.equal(events.length, atAnswer)

  await fence.input(2, (grant) => pointer.move(grant, { x: 7, y: 7 }))
  assert.equal(events.length, atAnswer + 1)
})

test('what is held goes up when the holder changes, and stays when the same holder renews', async () => {
  const { session, events } = recordingSession()
  const fence = new Fence()
  const pointer = new Pointer(session)
  const settle = async () => pointer.releaseAll()
  await fence.raise({ fence: 1, since: 1 }, settle)
  const press = { button: 'left', count: 1, down: true } as const
  await fence.input(1, (grant) => pointer.click(grant, press))
  await fence.raise({ fence: 2, since: 1 }, settle)
  assert.equal(events.length, 1)
  await fence.raise({ fence: 3, since: 3 }, settle)
  assert.deepEqual(events.at(-1), { kind: eventCode.buttonRelease, detail: 1 })
})

test('a renewal loses nothing of its holder: not what is in progress, not what is on its way', async () => {
  const { session, events } = recordingSession()
  const fence = new Fence()
  const pointer = new Pointer(session)
  await fence.raise({ fence: 1, since: 1 }, async () => {})
  const drag = {
    from: { x: 0, y: 0 },
    to: { x: 900, y: 500 },
    button: 'left',
    steps: 60,
  } as const
  const dragging = fence.input(1, (grant) => pointer.drag(grant, drag))
  while (events.length < 5) await pause(1)
  assert.equal(await fence.raise({ fence: 2, since: 1 }, async () => assert.fail()), 2)
  await dragging
  assert.equal(await fence.input(1, async () => 'admitted'), 'admitted')
  assert.equal(await fence.input(2, async () => 'admitted'), 'admitted')
})

test('only what was granted within the present holding is admitted, also after a restart', async () => {
  const fence = new Fence()
  const never = () => assert.fail('it ran')
  // Told by a server whose row has seen a takeover at 4 and two renewals since.
  await fence.raise({ fence: 6, since: 4 }, async () => {})
  for (const good of [4, 5, 6]) assert.equal(await fence.input(good, async () => good), good)
  await assert.rejects(fence.input(3, never), { reason: 'fence_stale' })
  await assert.rejects(fence.input(7, never), { reason: 'fence_unknown' })

  // Released and granted to the same session again: another holding, though the release was not told.
  let settled = 0
  await fence.raise({ fence: 8, since: 8 }, async () => void settled++)
  assert.equal(settled, 1)
  await assert.rejects(fence.input(6, never), { reason: 'fence_stale' })
  await fence.raise({ fence: 9, since: 8 }, async () => void settled++)
  assert.equal(settled, 1)
  assert.equal(await fence.input(8, async () => 'renewed'), 'renewed')
})

test('the fence refuses before it was told, below and above what it was told', async () => {
  const fence = new Fence()
  const never = () => assert.fail('it ran')
  await assert.rejects(fence.input(1, never), { reason: 'fence_unknown' })
  await fence.raise({ fence: 5, since: 5 }, async () => {})
  await assert.rejects(fence.input(4, never), { reason: 'fence_stale' })
  await assert.rejects(fence.input(6, never), { reason: 'fence_unknown' })
  assert.equal(await fence.raise({ fence: 3, since: 3 }, never), 5)
  assert.equal(await fence.input(5, async () => 'done'), 'done')
})

test('a point outside the display is refused before anything moves', async () => {
  const { session, events } = recordingSession()
  const fence = new Fence()
  const pointer = new Pointer(session)
  await fence.raise({ fence: 1, since: 1 }, async () => {})
  const drag = { from: { x: 1, y: 1 }, to: { x: 1280, y: 1 }, button: 'left', steps: 2 } as const
  await assert.rejects(
    fence.input(1, (grant) => pointer.drag(grant, drag)),
    { code: 'invalid_request', message: /1280,1 is outside the display, which is 1280x800/ },
  )
  assert.equal(events.length, 0)
})

type Sent = { readonly kind: number; readonly detail: number }

/** An X session that only writes down what was faked. */
function recordingSession(): { session: XSession; events: Sent[] } {
  const events: Sent[] = []
  const x = {
    send: (request: Buffer) => events.push({ kind: request[4]!, detail: request[5]! }),
    sync: async () => {},
  }
  const session = { x, xtest: 132, root: 1, size: { width: 1280, height: 800 } }
  return { session: session as unknown as XSession, events }
}
