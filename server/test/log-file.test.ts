import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { pino } from 'pino'
import { openTerminal, readGuide } from '../../e2e/harness/guide.ts'
import { LogFile, openLog } from '../src/log-file.ts'
import { trimLog } from '../src/host/process-log.ts'

test('a log is rotated by size, and five full files are kept', async (t) => {
  const { dir, path } = await folder(t)
  using log = new LogFile(path, 1_000)
  for (let number = 0; number < 1_000; number++) log.write(line(number))
  const names = (await readdir(dir)).toSorted()
  assert.deepEqual(
    names,
    ['', '.1', '.2', '.3', '.4', '.5'].map((end) => `api.log${end}`),
  )
  for (const name of names) {
    const { size, mode } = await stat(join(dir, name))
    assert.ok(size <= 1_000, `${name} has ${size} bytes`)
    assert.equal(mode & 0o777, 0o600)
  }
})

test('no line is lost or torn by rotations, and none is out of order', async (t) => {
  const { path } = await folder(t)
  const count = 500
  {
    // As many as fit into the files that are kept, across a restart.
    using log = new LogFile(path, count * 4)
    for (let number = 0; number < count / 2; number++) log.write(line(number))
  }
  using log = new LogFile(path, count * 4)
  for (let number = count / 2; number < count; number++) log.write(line(number))
  assert.deepEqual(
    await readAll(path),
    Array.from({ length: count }, (_, number) => number),
  )
})

test('a line that is longer than a file is a file of its own', async (t) => {
  const { path } = await folder(t)
  using log = new LogFile(path, 100)
  const long = 'ü'.repeat(200)
  for (const text of ['short', long, 'short again']) log.write(`${text}\n`)
  const files = [`${path}.2`, `${path}.1`, path].map((one) => readFile(one, 'utf8'))
  assert.deepEqual(await Promise.all(files), ['short\n', `${long}\n`, 'short again\n'])
})

test('a logger writes lines of JSON, which are there at once', async (t) => {
  const { path } = await folder(t)
  using file = new LogFile(path)
  pino({ name: 'api' }, file).info({ id: 'mch_1' }, 'up')
  const { name, id, msg } = JSON.parse(await readFile(path, 'utf8'))
  assert.deepEqual({ name, id, msg }, { name: 'api', id: 'mch_1', msg: 'up' })
})

test('a disk without room fails no caller', () => {
  using log = new LogFile('/dev/full')
  log.write('lost\n')
})

test('a log that a program has open is moved while the program goes on with the file', async (t) => {
  const { path } = await folder(t)
  using program = new LogFile(path, Infinity)
  for (let number = 0; number < 300; number++) {
    program.write(line(number))
    trimLog(path, 1_000)
  }
  assert.deepEqual(
    await readAll(path),
    Array.from({ length: 300 }, (_, number) => number),
  )
  assert.ok((await stat(path)).size < 1_000)
  assert.ok((await stat(`${path}.4`)).size >= 1_000)
})

test('the block of the guide shows the newest lines of each service', async (t) => {
  const { dir } = await folder(t)
  for (const name of ['api', 'gateway', 'worker']) {
    using log = openLog({ logs: 'files', dataDir: dir }, name) as LogFile
    pino({ name }, log).info('up')
  }
  const [block] = await readGuide('docs/operations.md', { from: '## Logs' })
  const terminal = await openTerminal(t, dirname(process.execPath), { COMPUTER_DATA: dir })
  const output = await terminal.paste([block!])
  for (const name of ['api', 'gateway', 'worker']) {
    assert.match(output, new RegExp(`/logs/${name}\\.log <==\n.*"name":"${name}".*"msg":"up"`))
  }
})

function line(number: number): string {
  return `${JSON.stringify({ number })}\n`
}

/** The numbers of all lines, oldest first. */
async function readAll(path: string): Promise<number[]> {
  const files = [5, 4, 3, 2, 1].map((number) => `${path}.${number}`)
  const texts = [...files, path].map((one) => readFile(one, 'utf8').catch(() => ''))
  const lines = (await Promise.all(texts)).join('').split('\n').filter(Boolean)
  return lines.map((one) => (JSON.parse(one) as { number: number }).number)
}

async function folder(t: TestContext) {
  const dir = await mkdtemp(join(tmpdir(), 'computer-logs-'))
  t.after(() => rm(dir, { recursive: true, force: true }))
  return { dir, path: join(dir, 'api.log') }
}
