import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

type Failing = {
  readonly program: string
  /** The pattern of its report. */
  readonly report: RegExp
  readonly timeoutMs?: number
}

const hanging = { report: /aborted due to timeout/, timeoutMs: 1_000 } as const

/** Programs of files that fail as one test. */
const failing: Readonly<Record<string, Failing>> = {
  'waits for ever in a test': {
    program: `test('waits', () => new Promise(() => setInterval(() => {}, 1_000)))`,
    ...hanging,
  },
  'waits for ever after a test': {
    program: `test('ends', (t) => t.after(() => new Promise(() => setInterval(() => {}, 1_000))))`,
    ...hanging,
  },
  'waits for ever after the last test': {
    program: `test('ends', () => {}); setInterval(() => {}, 1_000)`,
    ...hanging,
  },
  'has an error in the background of a test': {
    program: `test('waits', async () => {
      setTimeout(() => Promise.reject(new Error('late')))
      await new Promise((resolve) => setTimeout(resolve, 50))
    })`,
    report: /✖ waits[\s\S]*Error: late/,
  },
  'has an error after the test that caused it': {
    program: `test('ends', () => { setTimeout(() => Promise.reject(new Error('late')), 10) })
    test('goes on', () => new Promise((resolve) => setTimeout(resolve, 50)))`,
    report: /Test "ends" .*Error: late/,
  },
  'has an error of a promise that the runner has forgotten': {
    program: `test('waits', async () => {
      const old = Promise.withResolvers()
      old.promise.then(() => { throw new Error('late') })
      for (let other = 0; other < 200_000; other++) await null
      old.resolve()
      await new Promise((resolve) => setTimeout(resolve, 50))
    })`,
    report: /Error: late/,
  },
  'has no test': { program: '', report: /failing\.test\.mjs/ },
}

for (const [what, { program, report: expected, timeoutMs }] of Object.entries(failing)) {
  test(`a file that ${what} fails`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'computer-run-file-'))
    t.after(() => rm(folder, { recursive: true }))
    const path = join(folder, 'failing.test.mjs')
    await writeFile(path, `import { test } from 'node:test'\n${program}\n`)
    const options = { logsDir: folder, env: {}, timeoutMs }
    const runner = join(folder, 'runner.mjs')
    await writeFile(
      runner,
      `import { runFile } from ${JSON.stringify(import.meta.resolve('./run-file.ts'))}
      const file = ${JSON.stringify({ path, lane: 'fake' })}
      const { failed, report } = await runFile(file, ${JSON.stringify(options)})
      process.stdout.write(JSON.stringify({ failed, report }))`,
    )
    // A runner does not start another one.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const { stdout } = await promisify(execFile)(process.execPath, [runner], {
      env,
      timeout: 20_000,
    })
    const { failed, report } = JSON.parse(stdout)
    assert.equal(failed, 1, report)
    assert.match(report, expected)
  })
}
