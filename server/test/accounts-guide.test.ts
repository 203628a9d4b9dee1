import {
  ApiKeyScope,
  Permission,
  QuotaLimit,
  Role,
  rolePermissions,
  scopePermissions,
} from '@computer/contract'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openTerminal, readGuide } from '../../e2e/harness/guide.ts'
import { environment } from '../src/environment.ts'
import { startTestServer } from './harness.ts'
import { findHostNode } from './nodes.ts'
import { planOf } from './plans.ts'

/* Runs the commands of the accounts guide, and compares its tables with the code. */

const repoDir = fileURLToPath(new URL('../..', import.meta.url))
const guide = await readFile(join(repoDir, 'docs/accounts.md'), 'utf8')
const server = await startTestServer({ after }, { worker: false })

test('the guide, pasted whole on a host with its own Node', async (t) => {
  const { origin } = await server.listen()
  const nodeDir = (await findHostNode()) ?? dirname(process.execPath)
  const env = { COMPUTER_BASE_URL: origin, DATABASE_URL: server.databaseUrl }
  const { paste } = await openTerminal(t, nodeDir, env)
  const stdout = await paste(await readGuide('docs/accounts.md'))
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
  const { plan_id, terms } = await planOf(db, engines.id)
  assert.deepEqual([plan_id, terms['machines']], ['enterprise', 200])
  for (const said of [
    /"data":\[\],/,
    /api_key\.revoked/,
    /^password: /m,
    /enabled grace\S+; they can sign in again/,
  ]) {
    assert.match(stdout, said)
  }
})

test('the tables of permissions and scopes match the contract', () => {
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

test('the table of plans matches the catalog', async () => {
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

test('the variables in the operator guides exist', async () => {
  const guides = ['accounts', 'self-hosting', 'previews', 'secrets'].map((name) =>
    readFile(join(repoDir, `docs/${name}.md`), 'utf8'),
  )
  const text = (await Promise.all(guides)).join('')
  const variables = [...text.matchAll(/`((?:COMPUTER|ENGINE|DATABASE)_[A-Z_]+)\b/g)]
  assert.ok(variables.length > 30)
  for (const [, name] of variables) assert.ok(Object.hasOwn(environment.shape, name!), name)
})

/** The cells of the table whose first column has that header, without backticks. */
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
