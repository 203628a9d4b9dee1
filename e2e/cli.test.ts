import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { buildCli } from '../cli/build.ts'
import { eventually } from './harness/polling.ts'
import { soakSize } from '../scripts/soak/sizes.ts'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'

/* The published command line on a real machine. */

const run = promisify(execFile)
const largeBytes = soakSize('gigabyte').mebibytes * 1024 * 1024
/** Node itself, and bytes in transit. */
const maxMemoryKb = 300 * 1024

let server: RealServer
let folder: string
let env: Record<string, string>

before(async () => {
  server = await joinServer()
  folder = await mkdtemp('/var/tmp/computer-cli-')
  await buildCli(join(folder, 'package'))
  const { PATH = '' } = process.env
  env = {
    PATH,
    HOME: folder,
    COMPUTER_API_KEY: server.api.key,
    COMPUTER_BASE_URL: server.api.baseUrl,
  }
  await computer('machines', 'create', 'first')
})
after(async () => {
  await tmux('kill-server').catch(() => {})
  await server?.[Symbol.asyncDispose]()
  if (folder) await rm(folder, { recursive: true, force: true })
})

test('a full-screen program works in a shell, follows a resize, and its exit code comes back', async () => {
  await writeFile(join(folder, 'draw.py'), drawing)
  await computer('cp', 'draw.py', 'first:')
  const shell = `${process.execPath} package/dist/main.js shell first; echo "code $?"; cat`
  await tmux('new-session', '-d', '-x', '100', '-y', '30', '-c', folder, shell)
  await shows(/agent@first\S*\$/)
  await tmux('send-keys', 'python3 draw.py; exit $?', 'Enter')
  // Each corner is in its place, and nothing else is on the screen.
  const frame = (cols: number, rows: number) =>
    RegExp(`^A.{${cols - 2}}B\\n[^]*size ${rows}x${cols}[^]*\\nC.{${cols - 2}}D\\s*$`)
  await shows(frame(100, 30))
  await tmux('resize-window', '-x', '120', '-y', '40')
  await shows(frame(120, 40))
  await tmux('send-keys', 'q')
  await shows(/code 7/)
})

test('the output of a command is shown as it arrives, and Ctrl-C ends it', async () => {
  const script = 'echo first line; sleep 600'
  const child = spawn(
    process.execPath,
    ['package/dist/main.js', 'exec', 'first', 'sh', '-c', script],
    {
      cwd: folder,
      env,
    },
  )
  await new Promise<void>((resolve) => child.stdout.once('data', () => resolve()))
  const ended = new Promise((resolve) => child.once('close', resolve))
  child.kill('SIGINT')
  assert.equal(await ended, 130)
})

test('a large file is uploaded and downloaded in constant memory', async () => {
  const file = join(folder, 'big')
  await run('sh', ['-c', `head -c ${largeBytes} /dev/urandom >${file}`])
  const upload = await measurePeak('cp', 'big', 'first:big')
  const download = await measurePeak('cp', 'first:big', 'back')
  const peaks = `${upload} kB for the upload, ${download} kB for the download`
  console.log(`peak memory: ${peaks}`)
  assert.ok(upload < maxMemoryKb && download < maxMemoryKb, peaks)
  assert.equal(await digest(join(folder, 'back')), await digest(file))
})

test('a folder keeps its permissions and its links', async () => {
  await run(
    'sh',
    ['-c', 'mkdir -p t/e t/d && echo hi >t/d/run && chmod 751 t/d/run && ln -s d/run t/l'],
    {
      cwd: folder,
    },
  )
  await computer('cp', '-r', 't', 'first:copied')
  const listed = await computer(
    'exec',
    'first',
    'sh',
    '-c',
    'cd copied; readlink l; stat -c %a d/run; ls',
  )
  assert.equal(listed, 'd/run\n751\nd\ne\nl\n')
  await computer('cp', '-r', 'first:copied', 'again')
  await run('diff', ['-r', '--no-dereference', 't', 'again'], { cwd: folder })
})

test('a folder of a thousand files is copied both ways intact', async () => {
  const make =
    'mkdir -p many/a many/b && seq 1000 | while read n; do echo "file $n" >many/a/$n; done'
  await run('sh', ['-c', `${make} && head -c 3000000 /dev/urandom >many/b/large`], { cwd: folder })
  await computer('cp', '-r', 'many', 'first:many')
  // Again, over what is there.
  await computer('cp', '-r', 'many', 'first:')
  const owner = await computer('exec', 'first', 'sh', '-c', 'stat -c %U many/a many/a/7 | uniq')
  assert.equal(owner, 'agent\n')
  await computer('cp', '-r', 'first:many', 'many-back')
  await run('diff', ['-r', 'many', 'many-back'], { cwd: folder })
})

test('root of a machine cannot lead a copy to its credentials, nor out of its destination', async () => {
  const links = 'mkdir -p lure/d && ln -s /run/computer lure/d/in && mkdir lure/mounted'
  await computer(
    'exec',
    'first',
    'sh',
    '-c',
    `${links} && sudo mount --bind /run/computer lure/mounted`,
  )
  const failed = await computer('cp', '-r', 'first:lure', 'lured').catch((error) => error)
  assert.match(failed.stderr, /^skipped mounted: not a regular file, not readable/)
  assert.equal(await readlink(join(folder, 'lured/d/in')), '/run/computer')
  // The same names as targets.
  await run('sh', ['-c', 'mkdir -p in/d/in && echo x >in/d/in/x'], { cwd: folder })
  await computer('cp', '-r', 'in/.', 'first:lure/')
  await computer('cp', '-r', 'in', 'first:lure/mounted').then(
    () => assert.fail('it wrote to a denied folder'),
    (error) => assert.equal(error.code, 4),
  )
  const list = 'sudo ls /run/computer; sudo umount lure/mounted'
  assert.doesNotMatch(await computer('exec', 'first', 'sh', '-c', list), /^(x|in|d)$/m)
})

/** Draws a frame around the whole screen, again after each resize. */
const drawing = `
import curses, sys
def main(screen):
    curses.curs_set(0)
    while True:
        rows, cols = screen.getmaxyx()
        screen.erase()
        screen.addstr(0, 0, 'A'); screen.addstr(0, cols - 1, 'B')
        screen.addstr(rows - 1, 0, 'C'); screen.insstr(rows - 1, cols - 1, 'D')
        screen.addstr(rows // 2, 10, 'size %dx%d' % (rows, cols))
        for x in range(1, cols - 1): screen.addstr(0, x, '-'); screen.addstr(rows - 1, x, '-')
        screen.refresh()
        if screen.getch() == ord('q'): return
curses.wrapper(main)
sys.exit(7)
`

async function computer(...args: string[]): Promise<string> {
  const options = { cwd: folder, env, timeout: 120_000 }
  return (await run(process.execPath, ['package/dist/main.js', ...args], options)).stdout
}

/** Runs the CLI and resolves to its peak memory in kB. */
async function measurePeak(...args: string[]): Promise<number> {
  const peak = join(folder, 'peak')
  const hook = `process.on('exit', () => require('node:fs').writeFileSync('${peak}', String(process.resourceUsage().maxRSS)))`
  await writeFile(join(folder, 'peak.cjs'), hook)
  const options = {
    cwd: folder,
    env: { ...env, NODE_OPTIONS: `--require ${join(folder, 'peak.cjs')}` },
    timeout: 300_000,
  }
  await run(process.execPath, ['package/dist/main.js', ...args], options)
  return Number(await readFile(peak, 'utf8'))
}

async function tmux(...args: string[]): Promise<string> {
  const options = { env: { ...env, TMUX_TMPDIR: folder, LANG: 'C.UTF-8' } }
  return (await run('tmux', ['-f', '/dev/null', ...args], options)).stdout
}

async function shows(pattern: RegExp): Promise<void> {
  let screen = ''
  await eventually(`the screen shows ${pattern}`, async () => {
    screen = await tmux('capture-pane', '-p')
    return pattern.test(screen)
  }).catch((error: Error) => {
    throw new Error(`${error.message}:\n${screen}`)
  })
}

async function digest(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}
