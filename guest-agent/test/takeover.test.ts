import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Pointer } from '../src/desktop/pointer.ts'
import { Fence } from '../src/fence.ts'
import { eventCode } from '../src/x11/events.ts'
import type { XSession } from '../src/x11/session.ts'

test('after a takeover during a drag no event of the earlier holder is sent', async () => {
  const { session, events } = recordingSession()
  const fence = new Fence()
  const pointer = new Pointer(session)
  const release = async () => {
    pointer.releaseAll()
    await session.x.sync()
  }
  await fence.raise({ fence: 1, since: 1 }, release)
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

  assert.equal(await fence.raise({ fence: 2, since: 2 }, release), 2)
  const atAnswer = events.length
  assert.ok(atAnswer < 1000, 'the drag was interrupted')
  assert.deepEqual(events.at(-1), { kind: eventCode.buttonRelease, detail: 1 })
  assert.equal(events.filter(({ kind }) => kind === eventCode.buttonPress).length, 1)

  await Promise.all(refused)
  await pause(20)
  assert.equal(events.length, atAnswer)

  await fence.input(2, (grant) => pointer.move(grant, { x: 7, y: 7 }))
  assert.equal(events.length, atAnswer + 1)
})

test('held buttons are released when the holder changes, and stay through a renewal', async () => {
  const { session, events } = recordingSession()
  const fence = new Fence()
  const pointer = new Pointer(session)
  const release = async () => pointer.releaseAll()
  await fence.raise({ fence: 1, since: 1 }, release)
  const press = { button: 'left', count: 1, down: true } as const
  await fence.input(1, (grant) => pointer.click(grant, press))
  await fence.raise({ fence: 2, since: 1 }, release)
  assert.equal(events.length, 1)
  await fence.raise({ fence: 3, since: 3 }, release)
  assert.deepEqual(events.at(-1), { kind: eventCode.buttonRelease, detail: 1 })
})

test('a renewal neither interrupts running input of its holder nor refuses input in flight', async () => {
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

test('only fences of the present holding are admitted, also after a restart', async () => {
  const fence = new Fence()
  const never = () => assert.fail('it ran')
  // As sent by a server that has recorded a takeover at 4 and two renewals since.
  await fence.raise({ fence: 6, since: 4 }, async () => {})
  for (const good of [4, 5, 6]) assert.equal(await fence.input(good, async () => good), good)
  await assert.rejects(fence.input(3, never), { reason: 'fence_stale' })
  await assert.rejects(fence.input(7, never), { reason: 'fence_unknown' })

  // Released and granted to the same session again: a new holding, even if the release was not sent.
  let released = 0
  await fence.raise({ fence: 8, since: 8 }, async () => void released++)
  assert.equal(released, 1)
  await assert.rejects(fence.input(6, never), { reason: 'fence_stale' })
  await fence.raise({ fence: 9, since: 8 }, async () => void released++)
  assert.equal(released, 1)
  assert.equal(await fence.input(8, async () => 'renewed'), 'renewed')
})

test('the fence refuses input before it was first raised, below it and above it', async () => {
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

/** An X session that only records the faked input. */
function recordingSession(): { session: XSession; events: Sent[] } {
  const events: Sent[] = []
  const x = {
    send: (request: Buffer) => events.push({ kind: request[4]!, detail: request[5]! }),
    sync: async () => {},
  }
  const session = { x, xtest: 132, root: 1, size: { width: 1280, height: 800 } }
  return { session: session as unknown as XSession, events }
}
