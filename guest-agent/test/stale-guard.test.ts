import assert from 'node:assert/strict'
import { after, afterEach, before, test, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { createRandom } from '../../e2e/harness/random.ts'
import { soakSeed, soakSize } from '../../scripts/soak/sizes.ts'
import { Desktop, type DesktopSession } from '../src/desktop/desktop.ts'
import { Privacy } from '../src/desktop/privacy.ts'
import { performInput } from '../src/desktop/input.ts'
import { resizeDisplay } from '../src/desktop/resize.ts'
import { screenWaitRoute } from '../src/screen/wait-route.ts'
import type { AgentError } from '../src/errors.ts'
import { Fence } from '../src/fence.ts'
import { startDisplay, type TestDisplay } from './x-display.ts'
import { openPainter, type Painter } from './x-painter.ts'

/* The X server has no desktop and no window manager, so no window is ever active. */
let display: TestDisplay
let painter: Painter
let desktop: Desktop
let session: DesktopSession
const fence = new Fence()
const target = { x: 400, y: 300 }
const box = (x: number, y: number, size = 10) => ({ x, y, width: size, height: size })

before(async () => {
  display = await startDisplay()
  painter = await openPainter(display.xSocketPath)
  desktop = new Desktop(display)
  session = (await desktop.current())!
  await fence.raise({ fence: 1, since: 1 }, async () => {})
})
afterEach(() => painter.fill({ x: 0, y: 0, width: 1280, height: 800 }, 0))
after(async () => {
  painter?.[Symbol.dispose]()
  await display?.[Symbol.asyncDispose]()
})

/** The id of the screen as it is. */
async function look(): Promise<string> {
  return (await session.screenshots.take({ format: 'jpeg', quality: 10, scale: 0.05 })).id
}

async function requireUp() {
  return session
}

function act(action: object, screenshot?: string, strict = false) {
  const seen = screenshot === undefined ? undefined : { screenshot, strict }
  const host = { desktop: { requireUp } as Desktop, fence, rfbSocketPath: display.rfbSocketPath }
  return performInput(host, { fence: 1, action, seen } as never)
}

const clickAt = (at: { x: number; y: number }) => ({ type: 'click', at, button: 'left', count: 1 })
/** Asserts that an error refuses input because the screen has changed. */
function isStale(error: unknown): true {
  const { code, reason } = error as AgentError
  assert.deepEqual([code, reason], ['precondition_failed', 'screen_stale'], String(error))
  return true
}

/** Asserts that a call is refused, and that the pointer has not moved. */
async function isRefused(call: () => Promise<unknown>, message: RegExp): Promise<void> {
  const before = await session.pointer.position()
  await assert.rejects(call(), (error) => {
    assert.match((error as Error).message, message)
    return isStale(error)
  })
  assert.deepEqual(await session.pointer.position(), before)
}

test('a screen that has not changed keeps its id, and takes the input', async () => {
  const id = await look()
  assert.equal(await look(), id)
  await act(clickAt(target), id)
  assert.deepEqual(await session.pointer.position(), target)
})

test('a change near the point is refused, and one elsewhere is not', async () => {
  const id = await look()
  await painter.fill({ x: 900, y: 0, width: 300, height: 800 }, 0xff0000)
  await act(clickAt(target), id)
  // Less than a block, within the nearest ones.
  await painter.fill(box(target.x + 18, target.y - 15, 2), 0xff0000)
  await isRefused(() => act(clickAt(target), id), /around 400,300 has changed/)
  await act(clickAt({ x: 100, y: 100 }), id)
})

test('a few pixels that are not next to the point may differ, unless the caller is strict', async () => {
  const id = await look()
  await painter.fill(box(target.x + 34, target.y, 4), 0xff0000)
  await act(clickAt(target), id)
  await isRefused(() => act(clickAt(target), id, true), /has changed/)
  await painter.fill({ x: target.x - 40, y: target.y - 40, width: 80, height: 6 }, 0xff0000)
  await isRefused(() => act(clickAt(target), id), /has changed/)
})

test('a text cursor that blinks at the point is waited for', async () => {
  const caret = { x: target.x - 4, y: target.y - 10, width: 2, height: 20 }
  await painter.fill(caret, 0xffffff)
  const id = await look()
  await using _ = blink(caret, 250)
  for (let round = 0; round < 10; round++) {
    await pause(50)
    await act(clickAt(target), id, round % 2 === 0)
  }
})

test('both ends of a drag, the point of a wheel and the place of the pointer count', async () => {
  await act({ type: 'move', ...target })
  const away = { x: 800, y: 600 }
  const actions = [
    { type: 'move', ...target },
    { type: 'click', button: 'left', count: 1 },
    { type: 'drag', from: away, to: target, button: 'left', steps: 2 },
    { type: 'drag', from: target, to: away, button: 'left', steps: 2 },
    { type: 'drag', to: away, button: 'left', steps: 2 },
    { type: 'scroll', direction: 'down', amount: 1, at: target },
    { type: 'scroll', direction: 'down', amount: 1 },
  ]
  const id = await look()
  await painter.fill(box(target.x, target.y), 0xff0000)
  for (const action of actions) await isRefused(() => act(action, id), /around 400,300/)
  const now = await look()
  for (const action of actions) {
    await act({ type: 'move', ...target })
    await act(action, now)
  }
})

test('points at the edges are compared as far as the screen goes', async () => {
  for (const corner of [
    { x: 0, y: 0 },
    { x: 1279, y: 799 },
    { x: 1279, y: 0 },
  ]) {
    const id = await look()
    await act(clickAt(corner), id, true)
    await painter.fill({ ...corner, width: 1, height: 1 }, 0xff0000)
    await isRefused(() => act(clickAt(corner), id), /has changed/)
  }
  const id = await look()
  await assert.rejects(act(clickAt({ x: 1280, y: 0 }), id), { code: 'invalid_request' })
})

test('keys are refused while another window is active than on the screenshot', async () => {
  const key = { type: 'key', key: 'F5' }
  const id = await look()
  await act(key, id)
  await painter.setActiveWindow(0x1234)
  await isRefused(() => act(key, id), /another window is active/)
  await isRefused(() => act({ type: 'type', text: 'x', delay_ms: 0 }, id), /another window/)
  await isRefused(() => act({ type: 'hotkey', keys: ['ctrl', 'a'] }, id), /another window/)
  const now = await look()
  assert.notEqual(now, id, 'the same pixels with another window are another screen')
  await act(key, now)
  // The pointer is not concerned.
  await act(clickAt(target), id)
  await painter.setActiveWindow(0)
})

test('a screenshot of another size, of another desktop or of long ago is refused', async () => {
  const id = await look()
  await isRefused(() => act(clickAt(target), 'unknown'), /not among the last/)
  await resizeDisplay(session.xSession, display.rfbSocketPath, { width: 1024, height: 768 })
  await isRefused(() => act(clickAt(target), id), /another size/)
  await isRefused(() => act({ type: 'key', key: 'F5' }, id), /another size/)
  await isRefused(() => act({ type: 'resize', width: 800, height: 600 }, id), /another size/)
  await resizeDisplay(session.xSession, display.rfbSocketPath, { width: 1280, height: 800 })
  const old = await look()
  for (let count = 0; count < 32; count++) {
    await painter.fill(box(900, 700), count + 1)
    await look()
  }
  await isRefused(() => act(clickAt(target), old), /not among the last/)
})

test('waiting for a change ends with it, and says where', async () => {
  const { waitForScreen } = screenWaitRoute({ requireUp } as Desktop, new Privacy())
  const wait = async (query: object) => {
    const { signal } = new AbortController()
    return (await waitForScreen({ query, signal } as never)) as { json: unknown }
  }
  const since = await look()
  const nothing = { changed: false, changing: null }
  assert.deepEqual((await wait({ since, timeout_ms: '60' })).json, nothing)
  const waiting = wait({ since, timeout_ms: '30000' })
  await pause(60)
  await painter.fill(box(33, 50), 0xff0000)
  const changing = { x: 32, y: 48, width: 16, height: 16 }
  assert.deepEqual((await waiting).json, { changed: true, changing })
  assert.deepEqual((await wait({ since, timeout_ms: '0' })).json, { changed: true, changing })
  const elsewhere = { since, timeout_ms: '0' }
  assert.deepEqual((await wait({ ...elsewhere, region: '100,100,50,50' })).json, nothing)
  assert.deepEqual((await wait({ ...elsewhere, ignore: '0,0,40,60' })).json, nothing)
  await assert.rejects(wait({ since: 'unknown', timeout_ms: '0' }), isStale)
})

test('no click lands on a button that was swapped before', async (t) => {
  const random = createRandom(soakSeed(17))
  const { rounds } = soakSize('guard')
  const guarded = await clickSwapped(t, random, { rounds, isGuarded: true })
  const blind = await clickSwapped(t, random, { rounds, isGuarded: false })
  t.diagnostic(`with the guard: ${JSON.stringify(guarded)}; without: ${JSON.stringify(blind)}`)
  assert.equal(guarded.wrong, 0)
  assert.ok(guarded.right > 0 && guarded.refused > 0)
  assert.ok(blind.wrong > 0, 'swaps do hit without the guard')
})

/**
 * Two buttons, one of which is swapped for the other at a random moment around the click. The program that draws them
 * gets each click with the number of its own last request that the X server had performed: so it knows what was on the
 * screen.
 */
async function clickSwapped(
  t: TestContext,
  random: ReturnType<typeof createRandom>,
  { rounds, isGuarded }: { readonly rounds: number; readonly isGuarded: boolean },
) {
  const count = { right: 0, wrong: 0, refused: 0 }
  const [left, right] = [box(300, 300, 60), box(500, 300, 60)]
  const clicks = await painter.watchClicks({ x: 250, y: 250, width: 400, height: 200 })
  t.after(() => clicks[Symbol.dispose]())
  for (let round = 0; round < rounds; round++) {
    await painter.fill(left, 0x00ff00)
    await painter.fill(right, 0xff0000)
    const id = await look()
    const swap = pause(random.below(4)).then(() => painter.fill(left, 0xff0000))
    const spin = performance.now() + random.below(3_000) / 1_000
    await pause(random.below(3))
    while (performance.now() < spin);
    const click = act(clickAt({ x: 330, y: 330 }), isGuarded ? id : undefined)
    const isDone = await click.then(
      () => true,
      (error: unknown) => !isStale(error),
    )
    const swapped = await swap
    if (!isDone) count.refused += 1
    else if (await clicks.nextIsAfter(swapped)) count.wrong += 1
    else count.right += 1
  }
  return count
}

function blink(area: Parameters<Painter['fill']>[0], everyMs: number): AsyncDisposable {
  let isOver = false
  const work = async () => {
    for (let count = 0; !isOver; count++) {
      await painter.fill(area, count % 2 === 0 ? 0 : 0xffffff)
      await pause(everyMs)
    }
  }
  const done = work()
  return {
    async [Symbol.asyncDispose]() {
      isOver = true
      await done
    },
  }
}
