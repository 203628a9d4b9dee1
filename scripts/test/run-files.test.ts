import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import type { RunResult } from './run-files.ts'

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
  'has no test': { program: '', report: /0\.test\.mjs/ },
}

for (const [what, { program, report: expected, timeoutMs }] of Object.entries(failing)) {
  test(`a file that ${what} fails`, async (t) => {
    const { failed, report } = await runPrograms(t, [program], timeoutMs)
    assert.equal(failed, 1, report)
    assert.match(report, expected)
  })
}

test('several files run one after the other, each with its own hooks', async (t) => {
  const programOf = (name: string) => `
    console.log('${name} is loaded')
    await (globalThis.shared ??= new Promise((resolve) => setTimeout(resolve, 10)))
    after(() => console.log('${name} ends'))
    test('${name} is tested', () => console.log(later))
    const later = '${name} runs its test'`
  const { passed, failed, report } = await runPrograms(t, ['one', 'two'].map(programOf))
  assert.deepEqual({ passed, failed }, { passed: 2, failed: 0 }, report)
  assert.deepEqual(
    report.split('\n').filter((line) => /^(one|two) /.test(line)),
    ['one', 'two'].flatMap((name) => [
      `${name} is loaded`,
      `${name} runs its test`,
      `${name} ends`,
    ]),
  )
})

const passing = `test('passes', () => {})`

/** Programs of which one fails beside one that passes. */
const failingBeside: Readonly<Record<string, Failing>> = {
  ...failing,
  'has no test': { program: '', report: /✔ passes/ },
  'does not load': { program: `throw new Error('not loaded')`, report: /✖ loads[\s\S]*not loaded/ },
}

for (const [what, { program, report: expected, timeoutMs }] of Object.entries(failingBeside)) {
  test(`one of several files that ${what} fails`, async (t) => {
    const { failed, report } = await runPrograms(t, [passing, program], timeoutMs)
    assert.ok(failed > 0, report)
    assert.match(report, expected)
  })
}

async function runPrograms(
  t: TestContext,
  programs: readonly string[],
  timeoutMs?: number,
): Promise<RunResult> {
  const folder = await mkdtemp(join(tmpdir(), 'computer-run-files-'))
  t.after(() => rm(folder, { recursive: true }))
  const paths = programs.map((_, index) => join(folder, `${index}.test.mjs`))
  for (const [index, program] of programs.entries()) {
    await writeFile(paths[index]!, `import { after, test } from 'node:test'\n${program}\n`)
  }
  const options = { logsDir: folder, env: {}, timeoutMs }
  const runner = join(folder, 'runner.mjs')
  await writeFile(
    runner,
    `import { runFiles } from ${JSON.stringify(import.meta.resolve('./run-files.ts'))}
    const run = ${JSON.stringify({ paths, lane: 'fake' })}
    const result = await runFiles(run, ${JSON.stringify(options)})
    process.stdout.write(JSON.stringify(result))`,
  )
  // A runner does not start another one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const { stdout } = await promisify(execFile)(process.execPath, [runner], { env, timeout: 20_000 })
  return JSON.parse(stdout) as RunResult
}
