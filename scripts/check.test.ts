import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'

const repoDir = join(import.meta.dirname, '..')

/** The imports that the house allows a file, and those it does not. */
type Rule = { readonly good: readonly string[]; readonly bad: readonly string[] }

const callers = ['../../api/server.ts', '../../gateway/server.ts', '../../worker/loop.ts']
const roomCallers = [...callers, '../../http/server.ts', '../../host/engine.ts', 'fastify']
const rules: Readonly<Record<string, Rule>> = {
  'contract/src/a.ts': { good: ['zod', './ids.ts'], bad: ['node:fs', '../a.ts'] },
  'server/src/a.ts': { good: ['./api/server.ts'], bad: ['kysely', 'pg', '../test/harness.ts'] },
  'server/src/db/a.ts': {
    good: ['kysely', 'pg', '../pace.ts'],
    bad: ['../domain/page.ts', '../worker/loop.ts'],
  },
  'server/src/domain/a.ts': {
    good: ['kysely', '../db/database.ts', '../drivers/machine-driver.ts'],
    bad: ['./accounts/users.ts', '../api/server.ts', '../drivers/incus/driver.ts', 'fastify'],
  },
  'server/src/domain/accounts/a.ts': {
    good: ['kysely', '../page.ts', './users.ts', '../../db/database.ts'],
    bad: ['../events/events.ts', '../machines/machines.ts', ...roomCallers],
  },
  'server/src/domain/events/a.ts': {
    good: ['../find-machine.ts'],
    bad: ['../accounts/users.ts', '../control/leases.ts', ...roomCallers],
  },
  'server/src/domain/guests/a.ts': {
    good: ['../../guest/channels.ts'],
    bad: ['../events/events.ts', '../control/leases.ts', ...roomCallers],
  },
  'server/src/domain/control/a.ts': {
    good: ['../accounts/plans.ts', '../events/events.ts', '../guests/calls.ts'],
    bad: ['../disks/captures.ts', '../machines/machines.ts', ...roomCallers],
  },
  'server/src/domain/disks/a.ts': {
    good: ['../control/leases.ts', '../events/events.ts'],
    bad: ['../machines/creation.ts', '../secrets/sets.ts', ...roomCallers],
  },
  'server/src/domain/machines/a.ts': {
    good: ['../disks/captures.ts', '../control/leases.ts', '../../drivers/machine-driver.ts'],
    bad: ['../previews/egress.ts', '../operator/users.ts', '../../drivers/incus/driver.ts'],
  },
  'server/src/domain/machines/deep/a.ts': {
    good: ['../../disks/captures.ts', '../../../db/database.ts'],
    bad: ['../../secrets/sets.ts', '../../../api/server.ts', '../../../main-up.ts'],
  },
  'server/src/domain/previews/a.ts': {
    good: ['../accounts/tokens.ts', '../events/events.ts'],
    bad: ['../machines/machines.ts', '../secrets/sets.ts', ...roomCallers],
  },
  'server/src/domain/secrets/a.ts': {
    good: ['../accounts/audit-events.ts'],
    bad: ['../guests/calls.ts', '../operator/users.ts', ...roomCallers],
  },
  'server/src/domain/operator/a.ts': {
    good: ['../accounts/users.ts'],
    bad: ['../machines/machines.ts', '../previews/hosts.ts', ...roomCallers],
  },
  'server/src/api/a.ts': {
    good: ['../domain/machines/machines.ts', '../http/query.ts', 'fastify'],
    bad: ['../gateway/server.ts', '../worker/loop.ts', '../host/engine.ts', 'kysely', 'pg'],
  },
  'server/src/api/docs/a.ts': { good: ['../route.ts'], bad: ['../../worker/loop.ts', 'kysely'] },
  'server/src/gateway/a.ts': {
    good: ['ws', '../domain/page.ts'],
    bad: ['../api/server.ts', '../worker/loop.ts', '../host/engine.ts', 'kysely'],
  },
  'server/src/gateway/previews/a.ts': {
    good: ['../server.ts'],
    bad: ['../../api/route.ts', '../../worker/loop.ts', '../../../test/harness.ts', 'pg'],
  },
  'server/src/worker/a.ts': {
    good: ['../domain/machines/work-queue.ts'],
    bad: ['../gateway/server.ts', '../api/server.ts', '../main-worker.ts', 'kysely'],
  },
  'server/src/http/a.ts': {
    good: ['../domain/accounts/users.ts', 'fastify'],
    bad: ['../api/route.ts', '../gateway/server.ts', 'kysely'],
  },
  'server/src/host/doctor/a.ts': {
    good: ['../engine.ts', '../../domain/disks/images.ts', '../../drivers/incus/subnet.ts'],
    bad: ['../../api/server.ts', '../../worker/loop.ts', 'kysely', 'pg'],
  },
  'server/src/guest/a.ts': {
    good: ['../drivers/machine-driver.ts'],
    bad: ['../drivers/incus/driver.ts', '../domain/page.ts', '../db/database.ts', 'pg'],
  },
  'server/src/drivers/incus/disks/a.ts': {
    good: ['../../machine-driver.ts', '../engine-config.ts'],
    bad: ['../../../db/database.ts', '../../../../test/fake-engine/driver.ts', 'kysely'],
  },
  'server/test/fake-engine/guest/a.ts': {
    good: ['../../../src/drivers/machine-driver.ts'],
    bad: ['../../../src/domain/page.ts', '../../../src/db/database.ts'],
  },
  'server/test/a.test.ts': { good: ['./fake-engine/driver.ts', 'kysely'], bad: [] },
  'e2e/a.test.ts': {
    good: ['../server/src/host/engine.ts', 'pg'],
    bad: ['../server/test/fake-engine/driver.ts'],
  },
  'bench/a.ts': { good: ['../e2e/a.ts'], bad: ['../server/test/fake-engine/driver.ts'] },
  'guest-agent/src/a.ts': { good: ['@computer/contract'], bad: ['../../server/src/app.ts'] },
  'cli/src/a.ts': {
    good: ['@computer/contract'],
    bad: ['@computer/server', '../../server/test/fake-engine/driver.ts'],
  },
  'sdk/src/a.ts': { good: ['./case.ts'], bad: ['zod', '../../contract/src/ids.ts'] },
}

test('an import across the rules of the house fails the check', async (t) => {
  const house = await temporaryHouse(t)
  const good: string[] = []
  const bad: string[] = []
  for (const [file, rule] of Object.entries(rules)) {
    for (const path of rule.good) good.push(await house.write(file, `import '${path}'\n`))
    for (const path of rule.bad) bad.push(await house.write(file, `import '${path}'\n`))
  }
  const problems = house.lint()
  for (const file of good) assert.equal(problems.get(file), undefined, house.describe(file))
  for (const file of bad)
    assert.match(problems.get(file) ?? '', /import is restricted/, house.describe(file))
})

test('a query that is built outside domain and db fails the check', async (t) => {
  const house = await temporaryHouse(t)
  const outside = [
    'server/src/a.ts',
    ...['host', 'worker', 'http'].map((a) => `server/src/${a}/a.ts`),
  ]
  const good: string[] = []
  const bad: string[] = []
  for (const verb of ['selectFrom', 'insertInto', 'updateTable', 'deleteFrom']) {
    const text = `export const a = (db: Db) => db.${verb}('machines')\n`
    for (const file of outside) bad.push(await house.write(file, text))
    for (const room of ['domain', 'domain/disks', 'db']) {
      good.push(await house.write(`server/src/${room}/a.ts`, text))
    }
  }
  const problems = house.lint()
  for (const file of good) assert.equal(problems.get(file), undefined, house.describe(file))
  for (const file of bad)
    assert.match(problems.get(file) ?? '', /is restricted.*SQL lives/, house.describe(file))
})

/** A folder with the linter's rules and files that are linted in one go. */
async function temporaryHouse(t: TestContext) {
  const dir = await mkdtemp(join(tmpdir(), 'computer-check-'))
  t.after(() => rm(dir, { recursive: true }))
  await copyFile(join(repoDir, '.oxlintrc.json'), join(dir, '.oxlintrc.json'))
  const texts = new Map<string, string>()

  return {
    /** Gives the file a name of its own: `a.ts` and `a.test.ts` become `a7.ts` and `a7.test.ts`. */
    async write(path: string, text: string): Promise<string> {
      const file = join(dirname(path), basename(path).replace('.', `${texts.size}.`))
      await mkdir(dirname(join(dir, file)), { recursive: true })
      await writeFile(join(dir, file), text)
      texts.set(file, text)
      return file
    },
    describe: (file: string) => `${file}: ${texts.get(file)}`,
    /** The linter's findings in each file. */
    lint(): ReadonlyMap<string, string> {
      const oxlint = join(repoDir, 'node_modules', '.bin', 'oxlint')
      const { stdout } = spawnSync(oxlint, ['--format', 'json'], { cwd: dir, encoding: 'utf8' })
      const { diagnostics, number_of_files } = JSON.parse(stdout) as Report
      assert.equal(number_of_files, texts.size)
      return new Map(diagnostics.map((one) => [one.filename, `${one.message}: ${one.help}`]))
    },
  }
}

type Report = {
  readonly number_of_files: number
  readonly diagnostics: readonly {
    readonly filename: string
    readonly message: string
    readonly help: string
  }[]
}
