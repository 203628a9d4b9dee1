import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, beforeEach, test } from 'node:test'
import type { Duplex } from 'node:stream'
import type { SessionId } from '@computer/contract'
import { FrameReader } from '@computer/contract/guest-frames'
import { frameKind, limitsFromGuest } from '@computer/contract/guest-streams'
import { Clipboard } from '../src/desktop/clipboard.ts'
import { createWindow, setSelectionOwner } from '../src/x11/requests.ts'
import { openSession, type XSession } from '../src/x11/session.ts'
import { startDesktopAgent, type Answer, type DesktopAgent } from './desktop-agent.ts'
import { ScreenViewer } from './screen-viewer.ts'
import { startDisplay, type TestDisplay } from './x-display.ts'
import { openPainter, type Painter } from './x-painter.ts'
import { openWindows } from './x-windows.ts'

const person = 'ses_00000000000000000000person' as SessionId
const other = 'ses_000000000000000000000other' as SessionId
const whole = { x: 0, y: 0, width: 1280, height: 800 }
const [red, blue] = [0xff0000, 0x0000ff]

let display: TestDisplay
let painter: Painter
/** Of a program inside. */
let program: XSession
let clipboard: Clipboard
let agent: DesktopAgent
let fence = 0

before(async () => {
  display = await startDisplay()
  painter = await openPainter(display.xSocketPath)
  program = await openSession(display.xSocketPath)
  clipboard = new Clipboard(program)
  await openWindows(program).startDesktop()
  agent = await startDesktopAgent(display)
})
beforeEach(() => hold(null))
after(async () => {
  agent?.[Symbol.dispose]()
  program?.x[Symbol.dispose]()
  painter?.[Symbol.dispose]()
  await display?.[Symbol.asyncDispose]()
})

/** A new holding, private to that session. Resolves when the agent has answered. */
async function hold(to: SessionId | null): Promise<void> {
  const since = (fence += 1)
  const { status } = await agent.post('/fence', { fence, since, private_to: to })
  assert.equal(status, 200)
}

const looks = (query: Readonly<Record<string, string>> = {}) => [
  agent.get('/screenshot', { format: 'jpeg', ...query }),
  agent.get('/clipboard', query),
  agent.get('/clipboard', { selection: 'primary', ...query }),
]

function assertPrivate({ status, json }: Answer): void {
  assert.deepEqual([status, json?.error.code], [409, 'conflict'])
  assert.equal(json.error.reason, 'screen_private')
  assert.match(json.error.message, /private to the person who helps/)
}

async function shownScreen(): Promise<string> {
  const { status, headers } = await agent.get('/screenshot', { format: 'jpeg' })
  assert.equal(status, 200)
  return String(headers['x-screenshot-id'])
}

/** A stream to the agent, and a viewer that draws what it gets. */
async function watch(query: Readonly<Record<string, string>> = {}) {
  const { stream, status } = await agent.open('/screen', query)
  assert.equal(status, 200)
  const closed = once(stream, 'close')
  const viewer = new ScreenViewer((duplex: Duplex) => void duplex.pipe(stream).pipe(duplex))
  return { viewer, stream, closed }
}

/** A stream that takes none of its frames, so that the agent keeps tiles which are soon out of date. */
async function watchIdly(query: Readonly<Record<string, string>>) {
  const { stream } = await agent.open('/screen', query)
  const closed = once(stream, 'close')
  const reader = new FrameReader(limitsFromGuest)
  let frames = 0
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    for (const { kind, payload } of reader.push(chunk as Buffer)) {
      if (kind === frameKind.control && payload.includes('"frame"')) frames += 1
    }
    if (frames === 1) await painter.fill({ x: 0, y: 0, width: 9, height: 9 }, 0x00ff00)
    if (frames === 2) break
  }
  return { closed }
}

test('all looks of others are refused, and those of the session are answered', async () => {
  const since = await shownScreen()
  await hold(person)
  const wait = { since, timeout_ms: '0' }
  for (const query of [{}, { viewer: other }] as Record<string, string>[]) {
    const refused = [...looks(query), agent.get('/screen/wait', { ...wait, ...query })]
    for (const answer of await Promise.all(refused)) assertPrivate(answer)
    assert.equal((await agent.open('/screen', query)).status, 409)
  }
  const own = { viewer: person }
  const answered = [...looks(own), agent.get('/screen/wait', { ...wait, ...own })]
  for (const { status } of await Promise.all(answered)) assert.equal(status, 200)
  const { viewer } = await watch(own)
  await viewer.until(() => viewer.frames.length > 0)
  viewer[Symbol.dispose]()

  await hold(null)
  for (const { status } of await Promise.all(looks())) assert.equal(status, 200)
})

test('looks that are under way end at once', async () => {
  const since = await shownScreen()
  // A program that owns the clipboard and never says what it has.
  const { x, root, atoms } = program
  const mute = x.newId()
  x.send(createWindow(mute, root, 0))
  x.send(setSelectionOwner(mute, atoms.CLIPBOARD, 0))
  await x.sync()
  const long = { timeout_ms: '30000' }
  const underWay = [
    agent.get('/screenshot', { format: 'jpeg', settle_ms: '5000', timeout_ms: '10000' }),
    agent.get('/screen/wait', { since, ...long }),
    agent.get('/clipboard'),
  ]
  const ended = Promise.all(underWay)
  await hold(person)
  for (const answer of await ended) assertPrivate(answer)
  // Nothing of them is left: the next is answered.
  await hold(null)
  for (const { status } of await Promise.all(looks())) assert.equal(status, 200)
})

test('the looks of the session go on from one holding to the next, and no other holding disturbs any', async () => {
  const since = await shownScreen()
  await hold(null)
  const wait = agent.get('/screen/wait', { since, timeout_ms: '30000' })
  await hold(null)
  await painter.fill({ x: 5, y: 5, width: 9, height: 9 }, red)
  assert.equal((await wait).json.changed, true)

  await hold(person)
  const own = agent.get('/screen/wait', { since, timeout_ms: '0', viewer: person })
  await hold(null)
  assert.equal((await own).status, 200)
})

test('the streams of others are closed; none that opens later shows what was private', async () => {
  await painter.fill(whole, blue)
  const before = await watch()
  await before.viewer.until(() => before.viewer.frames.length > 0)
  await hold(person)
  await before.closed

  await painter.fill(whole, red)
  const { closed } = await watchIdly({ viewer: person })
  await painter.fill(whole, blue)
  await clipboard.write('clipboard', 'secret')
  await hold(null)
  await closed

  const { viewer } = await watch()
  await viewer.until(() => viewer.frames.length > 0)
  assert.equal(viewer.pixel(640, 400), blue)
  assert.equal(viewer.last('clipboard'), undefined)
  await painter.fill(whole, 0x00ff00)
  await viewer.until(() => viewer.pixel(640, 400) === 0x00ff00)
  viewer[Symbol.dispose]()
})

test('the clipboard is empty after a private holding, whoever had filled it', async () => {
  for (const write of [
    (selection: 'clipboard' | 'primary') => clipboard.write(selection, 'password'),
    async (selection: 'clipboard' | 'primary') => {
      const action = { type: 'write_clipboard', selection, text: 'password' }
      assert.equal((await agent.post('/input', { fence, action })).status, 200)
    },
  ]) {
    await hold(person)
    for (const selection of ['clipboard', 'primary'] as const) {
      await write(selection)
      const own = await agent.get('/clipboard', { selection, viewer: person })
      assert.equal(own.json.text, 'password')
    }
    await hold(null)
    for (const selection of ['clipboard', 'primary'] as const) {
      assert.equal((await agent.get('/clipboard', { selection })).json.text, '')
      assert.equal(await clipboard.read(selection), '')
    }
  }
  await clipboard.write('clipboard', 'kept')
  await hold(null)
  assert.equal((await agent.get('/clipboard')).json.text, 'kept')
})

test('a renewal keeps who may look', async () => {
  await hold(person)
  const since = fence
  await clipboard.write('clipboard', 'kept')
  // A renewal that was read before an expiry may have lost the session.
  for (const to of [person, null, other]) {
    fence += 1
    await agent.post('/fence', { fence, since, private_to: to })
    for (const answer of await Promise.all(looks())) assertPrivate(answer)
    assert.equal((await agent.get('/clipboard', { viewer: person })).json.text, 'kept')
  }
  // An earlier fence changes nothing either.
  await agent.post('/fence', { fence: since - 1, since: since - 1 })
  for (const answer of await Promise.all(looks())) assertPrivate(answer)

  await hold(other)
  for (const answer of await Promise.all(looks({ viewer: person }))) assertPrivate(answer)
  for (const { status } of await Promise.all(looks({ viewer: other }))) assert.equal(status, 200)
})
