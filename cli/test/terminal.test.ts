import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Pty } from '../../guest-agent/src/terminals/pty.ts'
import { node, startComputer } from './computer.ts'

/* What only shows on a terminal: the shell, questions and progress. */

const { server, main, env, folder, run, json } = await startComputer({ after })
const { id } = await server.machine({ name: 'first' })

test('a shell has the size of the terminal, follows it, and ends with its exit code', async () => {
  const shell = open(['shell', 'first'])
  await shell.typeUntil('stty size\r', /stty size\s+\S*\s*24 80\r\n/)
  shell.resize(132, 43)
  await shell.typeUntil('stty size\r', /stty size\s+\S*\s*43 132\r\n/)
  shell.type('exit 3\r')
  assert.equal(await shell.exited, 3)
  assert.deepEqual(await terminals(), [])
})

test('a command has a pty too, and the terminal is as it was after it', async () => {
  const computer = `${node} ${main}`
  const script = `before=$(stty -g); ${computer} shell first -- sh -c 'echo hello; exit 5'; echo "code $?"; [ "$before" = "$(stty -g)" ] && echo as it was`
  const terminal = openProgram(['sh', '-c', script])
  await terminal.shown(/hello\r\ncode 5\r\nas it was/)
  assert.equal(await terminal.exited, 0)
})

test('~. leaves what runs there, and --attach comes back to it', async () => {
  const shell = open(['shell', 'first'])
  await shell.typeUntil('pwd\r', /\/home\/agent/)
  shell.type('\r~.')
  await shell.shown(/come back with: computer shell --attach trm_\w+ first/)
  assert.equal(await shell.exited, 0)
  const [{ id: terminalId }] = await terminals()
  const again = open(['shell', '--attach', terminalId, 'first'])
  await again.shown(/\/home\/agent/)
  again.type('exit\r')
  assert.equal(await again.exited, 0)
})

test('a shell whose connection breaks off is connected again', async () => {
  const shell = open(['shell', 'first'])
  await shell.typeUntil('pwd\r', /\/home\/agent/)
  server.guest(id)!.dropConnections()
  await shell.typeUntil('uname\r', /Linux/)
  shell.type('exit 4\r')
  assert.equal(await shell.exited, 4)
})

test('without a terminal there is no shell', async () => {
  const { code, stderr } = await run(['shell', 'first'])
  assert.equal(code, 255)
  assert.match(stderr, /computer exec/)
})

test('what is hidden is typed without an echo', async () => {
  const login = open(['login', '--profile', 'typed'])
  await login.shown(/API key: /)
  login.type(`x\x15${server.key}y\x7f\r`)
  assert.equal(await login.exited, 0)
  assert.ok(!login.output().includes(server.key))
  assert.match(login.output(), /Signed in to /)
  const interrupted = open(['secrets', 'set', 'first', 'NAME'])
  await interrupted.shown(/Value of NAME: /)
  interrupted.type('abc\x03')
  assert.equal(await interrupted.exited, 130)
  assert.deepEqual(await json('secrets', 'list', 'first'), [])
})

test('a deletion is asked about, and what is waited for is shown', async () => {
  await json('machines', 'create', 'doomed')
  const kept = open(['machines', 'delete', 'doomed'])
  await kept.shown(/Delete doomed and its disk\? \[y\/N\] /)
  kept.type('\r')
  assert.equal(await kept.exited, 1)
  const deleted = open(['machines', 'delete', 'doomed'])
  await deleted.shown(/\[y\/N\] /)
  deleted.type('y\r')
  assert.equal(await deleted.exited, 0)
  assert.match(deleted.output(), /doomed is deleted/)
})

test('a copy shows how far it is', async () => {
  await writeFile(join(folder, 'movie'), randomBytes(2_000_000))
  const copy = open(['cp', 'movie', 'first:'])
  assert.equal(await copy.exited, 0)
  assert.match(copy.output(), /movie {2}█{24} 100% {2}2\.0 MB of 2\.0 MB/)
})

async function terminals(): Promise<[{ id: string }]> {
  return (await server.call('GET', `/v1/machines/${id}/terminals`)).body.data
}

function open(args: readonly string[]) {
  return openProgram([node, main, ...args])
}

/** A program on a pty of 80 columns and 24 rows. */
function openProgram(argv: readonly string[]) {
  const output: Buffer[] = []
  let arrived = Promise.withResolvers<void>()
  const exit = Promise.withResolvers<number>()
  const owner = { uid: process.getuid!(), gid: process.getgid!() }
  const size = { cols: 80, rows: 24 }
  const pty = new Pty(
    { argv, cwd: folder, environment: env, owner, ...size },
    {
      onData(bytes) {
        output.push(bytes)
        arrived.resolve()
        arrived = Promise.withResolvers()
      },
      onDrain() {},
      onExit: exit.resolve,
    },
  )
  const text = () => Buffer.concat(output).toString()
  const failed = exit.promise.then((code) => {
    throw new Error(`it ended with ${code}:\n${text()}`)
  })
  failed.catch(() => {})
  const shown = async (pattern: RegExp) => {
    while (!pattern.test(text())) await Promise.race([arrived.promise, failed])
  }
  const type = (keys: string) => void pty.write(Buffer.from(keys))
  return {
    exited: exit.promise,
    output: text,
    type,
    shown,
    resize: (cols: number, rows: number) => pty.resize(cols, rows),
    /** Again and again: what is typed too early is echoed by this terminal alone, or lost. */
    async typeUntil(keys: string, pattern: RegExp) {
      const typing = setInterval(() => type(keys), 500)
      try {
        await shown(pattern)
      } finally {
        clearInterval(typing)
      }
    },
  }
}
