import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

/** Each fails as one test, with a report of this pattern. */
const failing: Readonly<Record<string, readonly [program: string, report: RegExp]>> = {
  'waits for ever in a test': [
    `test('waits', () => new Promise(() => setInterval(() => {}, 1_000)))`,
    /aborted due to timeout/,
  ],
  'waits for ever after a test': [
    `test('ends', (t) => t.after(() => new Promise(() => setInterval(() => {}, 1_000))))`,
    /aborted due to timeout/,
  ],
  'waits for ever after the last test': [
    `test('ends', () => {}); setInterval(() => {}, 1_000)`,
    /aborted due to timeout/,
  ],
  'has an error in the background of a test': [
    `test('waits', async () => {
      setTimeout(() => Promise.reject(new Error('late')))
      await new Promise((resolve) => setTimeout(resolve, 50))
    })`,
    /✖ waits[\s\S]*Error: late/,
  ],
  'has an error after the test that caused it': [
    `test('ends', () => { setTimeout(() => Promise.reject(new Error('late')), 10) })
    test('goes on', () => new Promise((resolve) => setTimeout(resolve, 50)))`,
    /Test "ends" .*Error: late/,
  ],
  'has an error of a promise that the runner has forgotten': [
    `test('waits', async () => {
      const old = Promise.withResolvers()
      old.promise.then(() => { throw new Error('late') })
      for (let other = 0; other < 200_000; other++) await null
      old.resolve()
      await new Promise((resolve) => setTimeout(resolve, 50))
    })`,
    /Error: late/,
  ],
  'has no test': ['', /failing\.test\.mjs/],
}

for (const [what, [program, expected]] of Object.entries(failing)) {
  test(`a file that ${what} fails`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'computer-run-file-'))
    t.after(() => rm(folder, { recursive: true }))
    const path = join(folder, 'failing.test.mjs')
    await writeFile(path, `import { test } from 'node:test'\n${program}\n`)
    const options = { logsDir: folder, env: {}, timeoutMs: 2_000 }
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
