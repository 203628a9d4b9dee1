import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventually } from '../../server/test/settled.ts'
import type { Frame, Socket } from '../src/gateway.ts'
import type { ScreenMessage } from '../src/index.ts'
import { Screen } from '../src/screen.ts'
import { startServer } from './server.ts'

const server = await startServer({ after })
const machine = await server.connect().machines.create()

/** The properties that noVNC requires of a channel. */
const channelProperties = [
  'send',
  'close',
  'binaryType',
  'onerror',
  'onmessage',
  'onopen',
  'protocol',
  'readyState',
]

test('the screen is a pure RFB channel, with other messages delivered separately', async () => {
  const messages: ScreenMessage[] = []
  const screen = await machine.screen({ onMessage: (message) => messages.push(message) })
  const own = [...Object.keys(screen), ...Object.getOwnPropertyNames(Object.getPrototypeOf(screen))]
  for (const property of channelProperties) assert.ok(own.includes(property), property)

  await eventually(async () => messages.some(({ type }) => type === 'tick') || undefined)

  // Messages that arrive before a listener is set are not lost.
  await eventually(async () => messages.some(({ type }) => type === 'ready') || undefined)
  const greeting = Promise.withResolvers<string>()
  screen.onmessage = ({ data }) => greeting.resolve(Buffer.from(data).toString('latin1'))
  assert.equal(await greeting.promise, 'RFB 003.008\n')
  assert.equal(screen.readyState, 1)

  const closed = Promise.withResolvers<number>()
  screen.onclose = ({ code }) => closed.resolve(code)
  await machine.mouse.click(1, 1)
  await eventually(async () => {
    const leases = messages.filter((message) => message.type === 'lease')
    return leases.some(({ holder }) => holder?.sessionId === screen.sessionId) || undefined
  })
  screen.close()
  assert.equal(await closed.promise, 1000)
  assert.equal(screen.readyState, 3)
})

test('a screen that only watches opens no session', async () => {
  const { id } = await server.machine()
  const holder = await server.connect().machines.get(id)
  await holder.input.acquire()
  const watcher = await server.connect().machines.get(id)
  const messages: ScreenMessage[] = []
  const screen = await watcher.screen({ watch: true, onMessage: (one) => messages.push(one) })
  assert.equal(screen.sessionId, null)
  assert.equal((await watcher.sessions().all()).length, 1)
  const seen = (type: string) => messages.some((message) => message.type === type)
  await eventually(async () => (seen('ready') && seen('lease') && seen('tick')) || undefined)
  const received: Buffer[] = []
  screen.onmessage = ({ data }) => received.push(Buffer.from(data))
  await eventually(async () => Buffer.concat(received).length >= 12 || undefined)
  screen.close()
  await holder.input.close()
})

test('a screen that only watches is closed with its client', async () => {
  const computer = server.connect()
  const screen = await (await computer.machines.get(machine.id)).screen({ watch: true })
  const closed = Promise.withResolvers<number>()
  screen.onclose = ({ code }) => closed.resolve(code)
  await computer.close()
  assert.equal(await closed.promise, 1000)
})

test('a view-only session is closed with its screen', async () => {
  const { id } = await server.machine()
  const other = await server.connect().machines.get(id)
  const screen = await other.screen({ viewOnly: true })
  assert.deepEqual(
    (await other.sessions().all()).map(({ type }) => type),
    ['view'],
  )
  screen.close()
  await eventually(async () => {
    const [session] = await other.sessions().all()
    return session?.state === 'closed' || undefined
  })
})

test("screens see each other's pointers, and places in quick succession are one", async () => {
  const { id } = await server.machine()
  const messages: ScreenMessage[] = []
  const open = async (onMessage?: (message: ScreenMessage) => void) =>
    (await server.connect().machines.get(id)).screen({ watch: true, onMessage })
  const screen = await open((message) => messages.push(message))
  const other = await open()
  const told = () =>
    messages.flatMap((message) => (message.type === 'pointers' ? [message.pointers] : []))
  for (let x = 0; x < 100; x++) other.point({ x: x + 0.6, y: 7 })
  await eventually(async () => told().some(([pointer]) => pointer?.at.x === 99) || undefined)
  assert.ok(told().length <= 2)
  const [pointer] = told().at(-1)!
  assert.deepEqual(
    { ...pointer, id: '' },
    {
      id: '',
      name: 'Owner key',
      kind: 'agent',
      sessionId: null,
      at: { x: 99, y: 7 },
      clicked: false,
    },
  )
  // Outside of every display.
  other.point({ x: -1, y: 7 })
  await eventually(async () => told().at(-1)?.length === 0 || undefined)
  other.point({ x: 1, y: 1 })
  await eventually(async () => told().at(-1)?.length === 1 || undefined)
  other.close()
  await eventually(async () => told().at(-1)?.length === 0 || undefined)
  other.point({ x: 2, y: 2 })
  screen.close()
})

test('messages that came before a listener are delivered after it was set, and in order', async () => {
  let deliver: (frame: Frame) => void = () => {}
  const socket = {
    isOpen: true,
    closed: new Promise<number>(() => {}),
    deliver: (read: (frame: Frame) => void) => void (deliver = read),
  } as unknown as Socket
  const screen = new Screen(socket, null, {
    onMessage: undefined,
    onFence: () => () => {},
    onClosed: () => {},
  })
  const received: string[] = []
  deliver(Uint8Array.of(1))
  deliver(Uint8Array.of(2))
  screen.onmessage = ({ data }) => received.push(String(new Uint8Array(data)[0]))
  received.push('the listener is set')
  queueMicrotask(() => deliver(Uint8Array.of(3)))
  await new Promise(setImmediate)
  assert.deepEqual(received, ['the listener is set', '1', '2', '3'])
})
