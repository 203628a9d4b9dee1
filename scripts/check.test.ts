import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

const repoDir = join(import.meta.dirname, '..')

/** An import that the house allows, and one it does not, by the file that holds it. */
const rules: Readonly<Record<string, { readonly good: string; readonly bad: string }>> = {
  'contract/src/a.ts': { good: 'zod', bad: 'node:fs' },
  'server/src/domain/a.ts': { good: '../db/database.ts', bad: '../api/server.ts' },
  'server/src/domain/b.ts': { good: '../drivers/machine-driver.ts', bad: '../drivers/incus/a.ts' },
  'server/src/domain/c.ts': { good: 'kysely', bad: 'fastify' },
  'server/src/api/a.ts': { good: '../domain/machines.ts', bad: '../worker/loop.ts' },
  'server/src/api/b.ts': { good: 'fastify', bad: 'kysely' },
  'server/src/gateway/a.ts': { good: 'ws', bad: '../api/server.ts' },
  'server/src/worker/a.ts': { good: '../domain/machines.ts', bad: '../gateway/a.ts' },
  'server/src/drivers/incus/a.ts': { good: '../machine-driver.ts', bad: '../../db/database.ts' },
  'guest-agent/src/a.ts': { good: '@computer/contract', bad: '../../server/src/app.ts' },
  'cli/src/a.ts': { good: '@computer/contract', bad: '@computer/server' },
}

test('an import across the rules of the house fails the check', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'computer-check-'))
  t.after(() => rm(dir, { recursive: true }))
  await copyFile(join(repoDir, '.oxlintrc.json'), join(dir, '.oxlintrc.json'))
  for (const [file, { good, bad }] of Object.entries(rules)) {
    await t.test(`${file} and ${bad}`, async () => {
      await mkdir(dirname(join(dir, file)), { recursive: true })
      await writeFile(join(dir, file), `import * as a from '${good}'\nconsole.log(a)\n`)
      assert.equal(lint(dir, file).status, 0, lint(dir, file).stdout)
      await writeFile(join(dir, file), `import * as a from '${bad}'\nconsole.log(a)\n`)
      const { status, stdout } = lint(dir, file)
      assert.equal(status, 1)
      assert.match(stdout, /restricted/)
    })
  }
})

function lint(dir: string, file: string) {
  const oxlint = join(repoDir, 'node_modules', '.bin', 'oxlint')
  return spawnSync(oxlint, [file], { cwd: dir, encoding: 'utf8' })
}
