import {
  ApiKeyScope,
  Permission,
  QuotaLimit,
  Role,
  rolePermissions,
  scopePermissions,
} from '@computer/contract'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { environment } from '../src/environment.ts'
import { startTestServer } from './harness.ts'

/* The guide to accounts: its commands as they stand there, and its tables beside what the code says. */

const repoDir = fileURLToPath(new URL('../..', import.meta.url))
const guide = await readFile(join(repoDir, 'docs/accounts.md'), 'utf8')
const server = await startTestServer({ after }, { worker: false })

test('its commands work, one after the other', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'computer-docs-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await symlink(join(repoDir, 'cli'), join(folder, 'cli'))
  const blocks = [...guide.matchAll(/```bash\n([\s\S]*?)```/g)].map(([, block]) => block!)
  const { origin } = await server.listen()
  const PATH = `${dirname(process.execPath)}:${process.env['PATH']}`
  const { stdout } = await promisify(execFile)(
    'bash',
    ['-euo', 'pipefail', '-c', blocks.join('\n')],
    {
      cwd: folder,
      timeout: 100_000,
      env: { ...process.env, PATH, COMPUTER_BASE_URL: origin, DATABASE_URL: server.databaseUrl },
    },
  )
  const { db } = server.app
  const engines = await db
    .selectFrom('organizations')
    .selectAll()
    .where('name', '=', 'Engines')
    .executeTakeFirstOrThrow()
  const members = await db
    .selectFrom('memberships as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .select(['u.email', 'm.role'])
    .where('m.organization_id', '=', engines.id)
    .orderBy('m.id')
    .execute()
  assert.deepEqual(members, [
    { email: 'ada@example.com', role: 'owner' },
    { email: 'charles@example.com', role: 'admin' },
    { email: 'grace@example.com', role: 'owner' },
  ])
  assert.deepEqual([engines.plan_id, engines.limit_overrides['machines']], ['enterprise', 200])
  for (const said of [
    /"data":\[\],/,
    /api_key\.revoked/,
    /^password: /m,
    /grace\S+ may sign in again/,
  ]) {
    assert.match(stdout, said)
  }
})

test('its tables of permissions and scopes are those of the contract', () => {
  assert.deepEqual(readTable('Permission'), [
    ['Permission', ...Role.options],
    ...Permission.options.map((permission) => [
      permission,
      ...Role.options.map((role) => (rolePermissions[role].includes(permission) ? 'yes' : 'no')),
    ]),
  ])
  const scopes = readTable('Scope').slice(1)
  assert.deepEqual(scopes.map(([scope]) => scope).toSorted(), ApiKeyScope.options.toSorted())
  for (const [scope, grants] of scopes) {
    const permissions = scopePermissions[scope as ApiKeyScope]
    if (permissions.length === 0) assert.match(grants!, /^reading/)
    else assert.equal(grants, permissions.join(', '))
  }
})

test('its table of plans is that of the catalog', async () => {
  const plans = await server.app.db
    .selectFrom('catalog_plans')
    .selectAll()
    .orderBy('position')
    .execute()
  const keys = [...QuotaLimit.options, 'largest_size'] as const
  const [head, ...rows] = readTable('Limit')
  assert.deepEqual(head, ['Limit', ...plans.map(({ id }) => id)])
  const expected = keys.map((key) => [key, ...plans.map((plan) => String(plan[key] ?? 'agreed'))])
  assert.deepEqual(rows.toSorted(), expected.toSorted())
})

test('the variables that guides for operators name are read from the environment', async () => {
  const guides = ['accounts', 'self-hosting', 'previews', 'secrets'].map((name) =>
    readFile(join(repoDir, `docs/${name}.md`), 'utf8'),
  )
  const text = (await Promise.all(guides)).join('')
  const variables = [...text.matchAll(/`((?:COMPUTER|ENGINE|DATABASE)_[A-Z_]+)\b/g)]
  assert.ok(variables.length > 30)
  for (const [, name] of variables) assert.ok(Object.hasOwn(environment.shape, name!), name)
})

/** The cells of the table whose first column has that name, without their backticks. */
function readTable(name: string): string[][] {
  const from = guide.indexOf(`| ${name} |`)
  assert.ok(from >= 0, name)
  const [head, , ...rows] = guide.slice(from).split('\n\n')[0]!.trim().split('\n')
  return [head!, ...rows].map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.replaceAll('`', '').trim()),
  )
}
