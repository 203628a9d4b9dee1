import { Computer, type Machine, type MachineEvent, type OrganizationEvent } from '@computer/sdk'
import { anthropicComputerTool } from '@computer/sdk/anthropic'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import sharp from 'sharp'
import { eventually } from './harness/polling.ts'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'
import { showTerminal } from './guest/terminal.ts'

/*
 * The main calls of the SDK on a real machine. The tests share one server and the machine that the README's
 * program creates, so each builds on those before it.
 */

const repoDir = fileURLToPath(new URL('../', import.meta.url))
let server: RealServer
let computer: Computer
let machine: Machine
let snapshotId = ''
const ending = new AbortController()
let organizationEvents: Followed<OrganizationEvent>
let machineEvents: Followed<MachineEvent>

before(async () => {
  server = await joinServer()
  computer = server.computer
  const subscription = computer.events.subscribe({ signal: ending.signal })
  await subscription.ready
  organizationEvents = follow(subscription)
})
after(async () => {
  ending.abort()
  await server?.[Symbol.asyncDispose]()
})

test("the README's program runs as written", async () => {
  const text = await readFile(`${repoDir}README.md`, 'utf8')
  const program = /```js\n([^]*?)```/.exec(text)?.[1]
  assert.ok(program)
  const { key, baseUrl } = server.api
  const { PATH } = process.env
  const env = { PATH, COMPUTER_API_KEY: key, COMPUTER_BASE_URL: baseUrl }
  const how = ['--input-type=module', '--eval', program]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, how, { cwd: repoDir, env })
  assert.equal(stderr, '')
  const [, name, bytes] = /^Linux (\S+) .*\n\n(\d+)\n$/.exec(stdout) ?? []
  assert.ok(Number(bytes) > 1000, stdout)

  const machines = await computer.machines.list().all()
  assert.deepEqual(
    machines.map((one) => [one.name, one.state]),
    [[name, 'running']],
  )
  machine = machines[0]!
  machineEvents = follow(machine.events.subscribe({ afterSequence: -1, signal: ending.signal }))
  assert.deepEqual(await sessionStates(machine), ['closed'])
})

test('commands run with their options, and end at their timeout', async () => {
  const script = 'cat; pwd; printf %s "$GREETING" >&2; exit 3'
  const options = { cwd: '/tmp', env: { GREETING: 'gr\u00fc\u00df' }, stdin: 'in\n' }
  const { stdout, stderr, exitCode, timedOut } = await machine.exec(script, options)
  assert.deepEqual([stdout, stderr, exitCode, timedOut], ['in\n/tmp\n', 'gr\u00fc\u00df', 3, false])
  assert.equal((await machine.exec(['echo', '$HOME; exit 1'])).stdout, '$HOME; exit 1\n')
  assert.equal((await machine.exec(['sleep', '600'], { timeoutMs: 300 })).timedOut, true)
})

test('a file of several ranges is uploaded and downloaded intact, whole and from an offset', async () => {
  const bytes = new Uint8Array(randomBytes(9 * 1024 * 1024 + 5))
  assert.equal((await machine.files.write('data/big', bytes)).size, bytes.length)
  const { stdout } = await machine.exec('sha256sum <data/big')
  assert.equal(stdout.split(' ')[0], createHash('sha256').update(bytes).digest('hex'))
  assert.equal(Buffer.compare(await machine.files.read('data/big'), bytes), 0)
  const offset = bytes.length - 1000
  const end: Uint8Array[] = []
  for await (const chunk of await machine.files.stream('data/big', { offset })) end.push(chunk)
  assert.equal(Buffer.compare(Buffer.concat(end), bytes.subarray(offset)), 0)
  await assert.rejects(machine.files.read('data/big', { maxBytes: 1000 }), { code: 'too_large' })
  await machine.files.delete('data', { recursive: true })
  await assert.rejects(machine.files.readText('data/big'), { code: 'not_found', status: 404 })
})

test('a screenshot is a picture of the whole display', async () => {
  const { width, height } = await machine.display.get()
  for (const format of ['png', 'jpeg'] as const) {
    const shot = await machine.screenshot({ format })
    assert.deepEqual([shot.format, shot.width, shot.height], [format, width, height])
    const image = await sharp(shot.bytes).metadata()
    assert.deepEqual([image.format, image.width, image.height], [format, width, height])
  }
})

test('typing acquires the lease automatically; a client that lost it gets an error and types nothing', async () => {
  const program = ['sh', '-c', 'stty -icanon; exec cat >typed.txt']
  await machine.processes.start(['xfce4-terminal', '-x', ...program])
  await waitForText('')
  await eventually('the terminal has the focus', async () => {
    const { stdout } = await machine.exec('xprop -id "$(xdotool getactivewindow)" WM_CLASS')
    return stdout.includes('xfce4-terminal')
  })
  assert.equal(machine.input.state, 'none')
  await machine.keyboard.type('caf\u00e9 \u6f22\u5b57 \u{1f642} ')
  assert.equal(machine.input.state, 'held')
  await waitForText('caf\u00e9 \u6f22\u5b57 \u{1f642} ')

  await using another = new Computer({ apiKey: server.api.key, baseUrl: server.api.baseUrl })
  const theirs = await another.machines.get(machine.id)
  const { id: ours } = await machine.input.session()
  const heldBy = (id: string) => ({ code: 'conflict', status: 409, message: new RegExp(id) })
  await assert.rejects(theirs.keyboard.type('early '), heldBy(ours))
  const { holder } = await theirs.input.acquire({ force: true })
  await assert.rejects(machine.keyboard.type('lost '), heldBy(holder!.sessionId))
  assert.equal(machine.input.state, 'lost')
  await theirs.keyboard.type('theirs ')
  await theirs.input.close()
  await assert.rejects(machine.keyboard.type('late '), { code: 'conflict' })
  await machine.input.acquire()
  await machine.keyboard.type('ours')
  await waitForText('caf\u00e9 \u6f22\u5b57 \u{1f642} theirs ours')
})

test("a model's click lands on the pixel that it chose", async () => {
  await machine.display.resize(1920, 1200)
  const { tool, execute } = await anthropicComputerTool(machine)
  const { display_width_px: width, display_height_px: height } = tool
  assert.ok(width < 1920 && height < 1200)
  const at = [700, 400] as const
  const act = (input: unknown) => execute({ id: 'toolu_1', input })
  const seen = async () => {
    const [shown] = (await act({ action: 'screenshot' })).content
    assert.ok(shown?.type === 'image')
    const picture = sharp(Buffer.from(shown.source.data, 'base64')).removeAlpha().raw()
    const { data, info } = await picture.toBuffer({ resolveWithObject: true })
    assert.deepEqual([info.width, info.height], [width, height])
    const start = (at[1] * width + at[0]) * 3
    return [...data.subarray(start, start + 3)].join()
  }
  assert.notEqual(await seen(), '255,255,255')
  // A white window that reports clicks in pixels of the whole display.
  const window = ['-event', 'button', '-geometry', '600x400+800+400']
  const { id } = await machine.processes.start(['stdbuf', '-oL', 'xev', ...window])
  await eventually('the model sees the window', async () => {
    return (await seen()) === '255,255,255'
  })
  await act({ action: 'left_click', coordinate: at })
  await act({ action: 'right_click', coordinate: [750, 425] })
  const press = /ButtonPress[^]*?root:\((\d+),(\d+)\),\s+state \S+ button (\d)/g
  const presses = await eventually('both clicks arrived', async () => {
    const { content } = await machine.processes.readLog(id)
    const found = [...content.matchAll(press)].map(([, ...values]) => values.map(Number))
    return found.length >= 2 ? found : undefined
  })
  const there = ([x, y]: readonly [number, number]) => [
    Math.floor(((x + 0.5) * 1920) / width),
    Math.floor(((y + 0.5) * 1200) / height),
  ]
  assert.deepEqual(presses, [
    [...there(at), 1],
    [...there([750, 425]), 3],
  ])
  await machine.processes.signal(id)
})

test('a terminal echoes, is resized, and ends with its command', async () => {
  const { id } = await machine.terminals.open({ cols: 100, rows: 30 })
  const { connection, shows } = showTerminal(machine, id)
  // A typed line is echoed after the prompt; output of a command starts a line.
  connection.write('echo gr\u00fc\u00df; stty size\r')
  await shows(/\rgr\u00fc\u00df\r\n30 100\r\n/)
  connection.resize(132, 43)
  connection.write('stty size; exit 7\r')
  await shows(/\r43 132\r\n/)
  assert.equal(await connection.exited, 7)
  assert.deepEqual(await machine.terminals.list().all(), [])
})

test('a restore undoes the changes since the snapshot', async () => {
  await machine.files.write('note', 'old')
  snapshotId = (await machine.snapshots.create({ name: 'before' })).id
  await machine.files.write('note', 'new')
  await machine.restore(snapshotId)
  assert.equal(machine.state, 'running')
  assert.equal(await machine.files.readText('note'), 'old')
  const names = (await machine.snapshots.list().all()).map(({ name }) => name)
  assert.deepEqual(names.toSorted(), ['Before restore', 'before'])
})

test('a fork and a machine from a template have the disk, and are independent', async () => {
  await machine.files.write('note', 'mine')
  const fork = await machine.fork({ snapshotId, name: 'fork' })
  assert.equal(await fork.files.readText('note'), 'old')
  assert.equal((await fork.exec('hostname')).stdout, 'fork\n')
  await fork.files.write('note', 'of the fork')
  assert.equal(await machine.files.readText('note'), 'mine')
  await fork.delete()
  await assert.rejects(computer.machines.get(fork.id), { code: 'not_found' })

  const template = await computer.templates.create({ name: 'Old', snapshotId })
  let id: string
  {
    await using made = await computer.machines.create({ template: template.id })
    assert.equal(await made.files.readText('note'), 'old')
    await made.keyboard.press('escape')
    assert.equal(made.input.state, 'held')
    id = made.id
  }
  const made = await computer.machines.get(id)
  assert.equal((await made.input.holder()).holder, null)
  assert.deepEqual(await sessionStates(made), ['closed'])
  await made.delete()
})

test('every event of the machine was received in order, once per subscription of the machine and the organization', async () => {
  const ofMachine = () =>
    organizationEvents.seen.filter(({ machineId }) => machineId === machine.id)
  await eventually('the event of the desktop after the restore arrives', async () => {
    return machineEvents.seen.filter(({ type }) => type === 'machine.ready').length === 2
  })
  await machine.stop()
  await machine.delete()
  await machineEvents.ended
  await eventually('the event of the deletion arrives', async () => {
    return ofMachine().at(-1)?.type === 'machine.deleted'
  })
  const withCursors = machineEvents.seen.map((event, index) => ({
    ...event,
    cursor: ofMachine()[index]?.cursor,
  }))
  assert.deepEqual(ofMachine(), withCursors)
  assert.deepEqual(
    machineEvents.seen.map(({ sequence }) => sequence),
    machineEvents.seen.map((_, index) => index),
  )
  // A desktop may be ready before or after a session connects, so each kind is compared separately.
  assert.deepEqual(typesOf('machine'), [
    'machine.created',
    'machine.started',
    'machine.ready',
    'machine.restore_started',
    'machine.restore_completed',
    'machine.stopped',
    'machine.started',
    'machine.ready',
    'machine.stopped',
    'machine.deleted',
  ])
  assert.deepEqual(typesOf('session'), [
    // The README's program.
    'session.connected',
    'session.control_acquired',
    'session.control_released',
    'session.disconnected',
    // Our session, until another takes the lease, and after that.
    'session.connected',
    'session.control_acquired',
    'session.connected',
    'session.control_released',
    'session.control_acquired',
    'session.control_released',
    'session.disconnected',
    'session.control_acquired',
    'session.control_released',
  ])
})

function typesOf(kind: 'machine' | 'session'): string[] {
  const types = machineEvents.seen.map(({ type }) => type)
  return types.filter((type) => type.startsWith(`${kind}.`) && type !== 'machine.updated')
}

type Followed<T> = { readonly seen: readonly T[]; readonly ended: Promise<void> }

/** Collects the events of a subscription until it ends. */
function follow<T>(subscription: AsyncIterable<T>): Followed<T> {
  const seen: T[] = []
  const ended = (async () => {
    for await (const event of subscription) seen.push(event)
  })()
  ended.catch(() => {})
  return { seen, ended }
}

async function sessionStates(one: Machine): Promise<string[]> {
  return (await one.sessions().all()).map(({ state }) => state)
}

async function waitForText(text: string): Promise<void> {
  let last: string | undefined
  await eventually(`${JSON.stringify(text)} is typed`, async () => {
    last = await machine.files.readText('typed.txt').catch(() => undefined)
    return last === text
  }).catch((error: Error) => assert.fail(`${error.message}; the file has ${JSON.stringify(last)}`))
}
