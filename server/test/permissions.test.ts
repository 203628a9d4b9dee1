import {
  ApiKeyScope,
  permissionsOf,
  Role,
  rolePermissions,
  scopePermissions,
} from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { openAuthSession } from '../src/domain/accounts/auth-sessions.ts'
import { newId } from '../src/ids.ts'
import { ownOrigin } from './browser.ts'
import type { Answer } from './call.ts'
import { emailOf } from './colleague.ts'
import { startTestServer } from './harness.ts'
import { tokenOf } from './invitation-calls.ts'
import { PermissionsModel } from './permissions-model.ts'

const aRole = fc.constantFrom(...Role.options)
const someScopes = fc.uniqueArray(fc.constantFrom(...ApiKeyScope.options), { minLength: 1 })

test('scopes only narrow: a key may do what both its role and a scope grant', () => {
  const property = fc.property(aRole, someScopes, (role, scopes) => {
    const granted = new Set(scopes.flatMap((scope) => scopePermissions[scope]))
    const expected = rolePermissions[role].filter((permission) => granted.has(permission))
    assert.deepEqual([...permissionsOf(role, scopes)].sort(), expected.toSorted())
  })
  fc.assert(property)
})

/* Several people act on each other in one organization, compared with a model. */

const server = await startTestServer({ after }, { worker: false })
const { db } = server.app

const founders = [
  [0, 'owner'],
  [1, 'admin'],
  [2, 'member'],
] as const
const aPerson = fc.nat(3)
const aStep = fc.oneof(
  fc.record({ do: fc.constant('change role'), by: aPerson, whom: aPerson, role: aRole }),
  fc.record({ do: fc.constant('remove'), by: aPerson, whom: aPerson }),
  fc.record({ do: fc.constant('leave'), by: aPerson }),
  fc.record({ do: fc.constant('invite'), by: aPerson, whom: aPerson, role: aRole }),
  fc.record({ do: fc.constant('create key'), by: aPerson, scopes: someScopes }),
  fc.record({ do: fc.constant('revoke key'), by: aPerson, nth: fc.nat(9) }),
)
type Step = typeof aStep extends fc.Arbitrary<infer T> ? T : never

test('after any sequence of changes, a key may do what its creator and its scopes allow now', async () => {
  const steps = fc.array(aStep, { minLength: 10, maxLength: 30 })
  const property = fc.asyncProperty(steps, async (list) => {
    const model = new PermissionsModel(founders)
    const real = await startOrganization()
    for (const step of list) {
      // People outside the organization cannot act in it.
      const isIn = model.roles.has(step.by)
      assert.equal(await real.enter(step.by), isIn ? 200 : 404)
      if (isIn) await takeStep(model, real, step)
      for (const [nth, key] of model.keys.entries()) {
        const seen = await real.permissionsOf(nth)
        assert.deepEqual(seen, model.permissionsOf(key), `key ${nth} after ${JSON.stringify(step)}`)
      }
    }
  })
  // Reports a counterexample before the runner's own time limit cuts its shrinking off.
  const bound = { interruptAfterTimeLimit: 90_000, markInterruptAsFailure: true }
  await fc.assert(property, { numRuns: 15, ...bound })
})

async function takeStep(model: PermissionsModel, real: Organization, step: Step): Promise<void> {
  const { by } = step
  const same = (seen: number, expected: number) =>
    assert.equal(seen, expected, JSON.stringify(step))
  switch (step.do) {
    case 'change role':
      return same(
        await real.changeRole(by, step.whom, step.role),
        model.changeRole(by, step.whom, step.role),
      )
    case 'remove':
      return same(await real.remove(by, step.whom), model.remove(by, step.whom))
    case 'leave':
      return same(await real.leave(by), model.leave(by))
    case 'invite':
      return same(
        await real.invite(by, step.whom, step.role),
        model.invite(by, step.whom, step.role),
      )
    case 'create key':
      return same(await real.createKey(by, step.scopes), model.createKey(by, step.scopes))
    case 'revoke key': {
      const key = model.keys[step.nth]
      if (key) same(await real.revokeKey(by, step.nth), model.revokeKey(by, key))
    }
  }
}

type Organization = Awaited<ReturnType<typeof startOrganization>>

/** The same operations through the API, with a browser for each person. */
async function startOrganization() {
  const people = await Promise.all([0, 1, 2, 3].map(() => startPerson()))
  const { organizationId } = people[0]!
  for (const [number, role] of founders.slice(1)) {
    const { userId } = people[number]!
    const membership = { id: newId('mem'), organization_id: organizationId, user_id: userId, role }
    await db.insertInto('memberships').values(membership).execute()
  }
  const keys: { readonly id: string; readonly secret: string }[] = []
  /** An unknown id if the person is not a member. */
  const membershipOf = async (whom: number) => {
    const found = await db
      .selectFrom('memberships')
      .select('id')
      .where('organization_id', '=', organizationId)
      .where('user_id', '=', people[whom]!.userId)
      .executeTakeFirst()
    return found?.id ?? `mem_${'0'.repeat(26)}`
  }
  const call = (by: number, method: string, path: string, body?: object) =>
    server.anonymous(method, path, body, people[by]!.headers)
  return {
    enter: async (by: number) =>
      statusOf(
        call(by, 'POST', '/v1/auth/switch-organization', { organization_id: organizationId }),
      ),
    changeRole: async (by: number, whom: number, role: Role) =>
      statusOf(call(by, 'PATCH', `/v1/members/${await membershipOf(whom)}`, { role })),
    remove: async (by: number, whom: number) =>
      statusOf(call(by, 'DELETE', `/v1/members/${await membershipOf(whom)}`)),
    leave: async (by: number) =>
      statusOf(call(by, 'POST', `/v1/organizations/${organizationId}/leave`)),
    async invite(by: number, whom: number, role: Role) {
      const invitation = await call(by, 'POST', '/v1/invitations', {
        email: people[whom]!.email,
        role,
      })
      if (invitation.status !== 201) return invitation.status
      const token = tokenOf(invitation.body)
      assert.equal((await call(whom, 'POST', '/v1/invitations/accept', { token })).status, 200)
      return 201
    },
    async createKey(by: number, scopes: readonly ApiKeyScope[]) {
      const { status, body } = await call(by, 'POST', '/v1/api-keys', { name: 'A key', scopes })
      if (status === 201) keys.push(body)
      return status
    },
    revokeKey: async (by: number, nth: number) =>
      statusOf(call(by, 'DELETE', `/v1/api-keys/${keys[nth]!.id}`)),
    async permissionsOf(nth: number): Promise<ReadonlySet<string> | null> {
      const authorization = `Bearer ${keys[nth]!.secret}`
      const { status, body } = await server.anonymous('GET', '/v1/auth/me', undefined, {
        authorization,
      })
      if (status === 401) return null
      assert.equal(body.organization.id, organizationId)
      return new Set(body.permissions)
    },
  }
}

async function startPerson() {
  const user = await server.user('owner', 'stranger')
  const nowhere = { address: null, userAgent: null }
  const { token } = await db
    .transaction()
    .execute((tx) => openAuthSession(tx, nowhere, user.userId, user.organizationId))
  const headers = { cookie: `computer_session=${token}`, origin: ownOrigin }
  return { ...user, headers, email: await emailOf(server, user) }
}

async function statusOf(answer: Promise<Answer>): Promise<number> {
  return (await answer).status
}
