import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

const hanging = {
  'in a test': `test('waits', () => new Promise(() => setInterval(() => {}, 1_000)))`,
  'after a test': `test('ends', (t) => t.after(() => new Promise(() => setInterval(() => {}, 1_000))))`,
  'after the last test': `test('ends', () => {}); setInterval(() => {}, 1_000)`,
}

for (const [where, program] of Object.entries(hanging)) {
  test(`a file that waits for ever ${where} fails at its time limit`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'computer-run-file-'))
    t.after(() => rm(folder, { recursive: true }))
    const path = join(folder, 'hanging.test.mjs')
    await writeFile(path, `import { test } from 'node:test'\n${program}\n`)
    const options = { logsDir: folder, env: {}, timeoutMs: 1_000 }
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
    assert.equal(failed, 1)
    assert.match(report, /aborted due to timeout/)
  })
}
