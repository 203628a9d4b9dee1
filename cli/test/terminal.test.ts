import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Pty } from '../../guest-agent/src/terminals/pty.ts'
import { node, startComputer } from './computer.ts'

/* Behavior that needs a terminal: the shell, prompts and progress. */

const { server, main, env, folder, run, json } = await startComputer({ after })
const { id } = await server.machine({ name: 'first' })

test('a shell has the size of the terminal, follows resizes, and passes on the exit code', async () => {
  const shell = open(['shell', 'first'])
  await shell.typeUntil('stty size\r', /stty size\s+\S*\s*24 80\r\n/)
  shell.resize(132, 43)
  await shell.typeUntil('stty size\r', /stty size\s+\S*\s*43 132\r\n/)
  shell.type('exit 3\r')
  assert.equal(await shell.exited, 3)
  assert.deepEqual(await terminals(), [])
})

test('a shell on a terminal without a size has 80 columns and 24 rows', async () => {
  const shell = openProgram([node, main, 'shell', 'first'], { cols: 0, rows: 0 })
  await shell.typeUntil('stty size\r', /stty size\s+\S*\s*24 80\r\n/)
  const list = await run(['terminals', 'list', 'first'])
  assert.match(
    list.stdout,
    /^ID +ATTACHED +USER +SIZE +OPENED +COMMAND\ntrm_\w+ +yes +agent +80x24 /,
  )
  const [{ id: terminalId }] = await terminals()
  assert.equal((await run(['terminals', 'kill', 'first', terminalId])).code, 0)
  await shell.exited
  assert.deepEqual(await json('terminals', 'list', 'first'), [])
})

test('a command runs on a pty, and the local terminal is restored afterwards', async () => {
  const computer = `${node} ${main}`
  const script = `before=$(stty -g); ${computer} shell first -- sh -c 'echo hello; exit 5'; echo "code $?"; [ "$before" = "$(stty -g)" ] && echo as it was`
  const terminal = openProgram(['sh', '-c', script])
  await terminal.shown(/hello\r\ncode 5\r\nas it was/)
  assert.equal(await terminal.exited, 0)
})

test('~. detaches from a terminal, and --attach returns to it', async () => {
  const shell = open(['shell', 'first'])
  await shell.typeUntil('pwd\r', /\/home\/agent/)
  shell.type('\r~.')
  await shell.shown(/Reattach with: computer shell --attach trm_\w+ first/)
  assert.equal(await shell.exited, 0)
  const [{ id: terminalId }] = await terminals()
  const again = open(['shell', '--attach', terminalId, 'first'])
  await again.shown(/\/home\/agent/)
  again.type('exit\r')
  assert.equal(await again.exited, 0)
})

test('a shell reconnects after its connection is lost', async () => {
  const shell = open(['shell', 'first'])
  await shell.typeUntil('pwd\r', /\/home\/agent/)
  server.guest(id)!.dropConnections()
  await shell.typeUntil('uname\r', /Linux/)
  shell.type('exit 4\r')
  assert.equal(await shell.exited, 4)
})

test('shell refuses to run without a terminal', async () => {
  const { code, stderr } = await run(['shell', 'first'])
  assert.equal(code, 255)
  assert.match(stderr, /computer exec/)
})

test('secrets are typed without echo', async () => {
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

test('delete asks for confirmation, and a wait shows progress', async () => {
  await json('machines', 'create', 'doomed')
  const refused = open(['machines', 'delete', 'doomed'])
  await refused.shown(/Delete doomed and its disk\? \[y\/N\] /)
  refused.type('\r')
  assert.equal(await refused.exited, 1)
  const deleted = open(['machines', 'delete', 'doomed'])
  await deleted.shown(/\[y\/N\] /)
  deleted.type('y\r')
  assert.equal(await deleted.exited, 0)
  assert.match(deleted.output(), /doomed is deleted/)
})

test('a copy shows its progress', async () => {
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

/** Runs a program on a pty. */
function openProgram(argv: readonly string[], size = { cols: 80, rows: 24 }) {
  const output: Buffer[] = []
  let arrived = Promise.withResolvers<void>()
  const exit = Promise.withResolvers<number>()
  const owner = { uid: process.getuid!(), gid: process.getgid!() }
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
    /** Types repeatedly: input sent too early is only echoed locally, or lost. */
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
