import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { after, test } from 'node:test'
import type { OrganizationId } from '@computer/contract'
import { runAdminCommand } from '../src/host/admin/commands.ts'
import { readRequest } from '../src/host/admin/request.ts'
import { runAdmin, type AdminOptions } from './admin-process.ts'
import { openBrowser } from './browser.ts'
import { startTestServer } from './harness.ts'
import { eventually } from './settled.ts'
import { planOf } from './plans.ts'

/* `computer admin` as an operator runs it, beside a running server. */

const server = await startTestServer({ after }, { worker: false })
const { db } = server.app
const home = await db.selectFrom('organizations').select('id').executeTakeFirstOrThrow()
const owner = server.as(await server.user('owner'))
const operator = { type: 'operator', id: 'operator', name: 'root' } as const

test('an account is created with a password that is shown once', async () => {
  const made = await admin('user', 'create', '--email', 'Ada@Example.com', '--name', 'Ada')
  assert.equal(made.code, 0, made.stderr)
  const password = /^password: (\S{23})$/m.exec(made.stdout)![1]!
  const browser = openBrowser(server.http)
  const { status, body } = await browser.call('POST', '/v1/auth/login', {
    email: 'ada@example.com',
    password,
  })
  assert.equal(status, 200)
  assert.deepEqual([body.user.name, body.role, body.organizations.length], ['Ada', 'owner', 1])
  const { body: log } = await browser.call('GET', '/v1/audit-events?type=auth.signed_up')
  assert.deepEqual(
    [log.data[0].actor.type, log.data[0].target.name, log.data[0].address],
    ['operator', 'ada@example.com', null],
  )
})

test('a key is created in the name of an owner, and shown once', async () => {
  const made = await admin('key', 'create', 'ci', '--scope', 'machines:read', 'machines:control')
  assert.equal(made.code, 0, made.stderr)
  const secret = /^key: (\S+)$/m.exec(made.stdout)![1]!
  const bearer = { authorization: `Bearer ${secret}` }
  const { body: me } = await server.anonymous('GET', '/v1/auth/me', undefined, bearer)
  assert.deepEqual([me.organization.id, me.permissions], [home.id, ['machines:control']])
  const { body: log } = await owner('GET', '/v1/audit-events?type=api_key.created')
  assert.deepEqual([log.data[0].actor.type, log.data[0].target.name], ['operator', 'ci'])

  const whole = await admin('key', 'create', 'all', '--organization', home.id, '--json')
  const { organization_id, scopes } = JSON.parse(whole.stdout)
  assert.deepEqual([organization_id, scopes.length], [home.id, 13])
  const nowhere = await admin('key', 'create', 'x', '--organization', `org_${'0'.repeat(26)}`)
  assert.deepEqual([nowhere.code, nowhere.stdout], [1, ''])
  assert.match(nowhere.stderr, /an owner of organization org_0/)
})

test('an account is created with a password from stdin and a membership', async () => {
  const flags = ['--email', 'bob@example.com', '--organization', home.id, '--role', 'admin']
  const made = await admin('user', 'create', ...flags, '--password-stdin', '--json', {
    stdin: 'a good password\n',
  })
  assert.equal(made.code, 0, made.stderr)
  assert.deepEqual(Object.keys(JSON.parse(made.stdout)), [
    'id',
    'email',
    'name',
    'state',
    'created_at',
  ])
  const { body } = await openBrowser(server.http).call('POST', '/v1/auth/login', {
    email: 'bob@example.com',
    password: 'a good password',
  })
  assert.deepEqual([body.organization.id, body.role], [home.id, 'admin'])
  assert.equal(body.organizations.length, 2)
  const { body: log } = await owner('GET', '/v1/audit-events?type=member.added')
  assert.deepEqual(
    [log.data[0].actor.type, log.data[0].target.name, log.data[0].message],
    ['operator', 'bob@example.com', 'as admin'],
  )
})

test('an account that cannot be created is refused, and leaves nothing behind', async () => {
  const request = { command: 'user create', organization: null, isPasswordOnStdin: false } as const
  const create = (email: string, more: object = {}) => run({ ...request, ...more, email })
  await assert.rejects(create('eve'), /email: must be an email address/)
  await assert.rejects(create('eve@example.com', { name: '' }), /name: /)
  await assert.rejects(create('eve@example.com', { isPasswordOnStdin: true }), /stdin .*10/)
  const nowhere = { id: `org_${'0'.repeat(26)}`, role: 'member' }
  await assert.rejects(
    create('eve@example.com', { organization: nowhere }),
    /no organization org_0/,
  )
  const { organizationId: id } = await server.user('owner', 'stranger')
  await run({
    command: 'org set-plan',
    organizationId: id,
    planId: 'free',
    limits: { members: '1' },
    immediate: true,
  })
  const full = { id, role: 'member' }
  await assert.rejects(create('eve@example.com', { organization: full }), /allows 1 members/)
  const eves = db.selectFrom('users').select('id').where('email', '=', 'eve@example.com')
  assert.equal(await eves.executeTakeFirst(), undefined)

  await create('eve@example.com')
  const { code, stdout, stderr } = await admin('user', 'create', '--email', 'EVE@example.com')
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, /^computer: eve@example\.com has an account already\n$/)
})

test('a disabled user is signed out at once, and must sign in again when enabled', async () => {
  const person = await server.signUp()
  const key = await server.apiKey({
    creator: { userId: person.id, organizationId: person.personalId },
  })
  assert.equal((await key.call('GET', '/v1/machines')).status, 200)
  assert.equal((await admin('user', 'disable', person.email.toUpperCase())).code, 0)
  await eventually(async () => (await key.call('GET', '/v1/machines')).status === 401 || undefined)
  assert.equal((await person.call('GET', '/v1/auth/me')).status, 401)
  const signIn = () =>
    openBrowser(server.http).call('POST', '/v1/auth/login', {
      email: person.email,
      password: person.password,
    })
  assert.equal((await signIn()).status, 401)
  // Disabling twice has no further effect, not even in the log.
  await run({ command: 'user disable', email: person.email })

  assert.equal((await admin('user', 'enable', person.email)).code, 0)
  assert.equal((await key.call('GET', '/v1/machines')).status, 200)
  assert.equal((await person.call('GET', '/v1/auth/me')).status, 401)
  assert.equal((await signIn()).status, 200)
  assert.deepEqual(await operatorEventsOf(person.personalId), ['user.disabled', 'user.enabled'])
  const unknown = run({ command: 'user disable', email: 'nobody@example.com' })
  await assert.rejects(unknown, /there is no user nobody@example\.com/)
})

test('a sign-in link is printed for an account, or for setting up the first one', async () => {
  const first = await admin('login-link')
  assert.deepEqual([first.code, first.stderr], [0, ''])
  const [url, advice] = first.stdout.split('\n')
  assert.match(url!, /^http:\/\/127\.0\.0\.1:7080\/welcome#token=computer_login_link_[\w-]{43}$/)
  assert.equal(advice, 'This link sets up the first account. It works once, within 10 minutes.')

  const person = await server.signUp({ name: 'Locked out' })
  const { code, stdout } = await admin('login-link', '--email', person.email, '--json')
  const printed = JSON.parse(stdout) as { url: string; account: object; expires_at: string }
  assert.deepEqual([code, Object.keys(printed)], [0, ['url', 'account', 'expires_at']])
  assert.deepEqual(printed.account, { email: person.email, name: 'Locked out' })
  assert.ok(Date.parse(printed.expires_at) > Date.now())
  const token = new URL(printed.url).hash.slice('#token='.length)
  const browser = openBrowser(server.http)
  const { body: me } = await browser.call('POST', '/v1/auth/login-link', { token })
  assert.equal(me.user.id, person.id)
  assert.deepEqual(await operatorEventsOf(person.personalId), ['auth.login_link_created'])
  const unknown = await admin('login-link', '--email', 'nobody@example.com')
  assert.deepEqual([unknown.code, unknown.stdout], [1, ''])
  assert.match(unknown.stderr, /there is no user nobody@example\.com/)
})

test('a password is replaced, and all sessions end', async () => {
  const person = await server.signUp()
  const reset = await admin('user', 'reset-password', person.email, '--json')
  const { password } = JSON.parse(reset.stdout) as { password: string }
  await eventually(
    async () => (await person.call('GET', '/v1/auth/me')).status === 401 || undefined,
  )
  const signIn = (attempt: string) =>
    openBrowser(server.http).call('POST', '/v1/auth/login', {
      email: person.email,
      password: attempt,
    })
  assert.equal((await signIn(person.password)).status, 401)
  assert.equal((await signIn(password)).status, 200)
  assert.deepEqual(await operatorEventsOf(person.personalId), ['auth.password_reset'])
})

test('the plan and the limits of an organization take effect', async () => {
  const actor = await server.user('owner', 'stranger')
  const { organizationId } = actor
  const setPlan = (planId: string, limits: Record<string, string> = {}) =>
    run({ command: 'org set-plan', organizationId, planId, limits })
  await assert.rejects(
    setPlan('gold'),
    /unknown plan gold; use one of free, developer, pro, startup, enterprise/,
  )
  await assert.rejects(
    setPlan('pro', { cars: '1' }),
    /unknown limit cars; use one of .*, largest_size/,
  )
  for (const value of ['many', '-1', '1.5', '', '1e3', '1000000001']) {
    await assert.rejects(setPlan('pro', { machines: value }), /machines must be a whole number/)
  }
  await assert.rejects(setPlan('pro', { largest_size: 'huge' }), /small, standard, large, not huge/)
  const some = { machines: '1', members: '5', templates: '5', running_machines: '1' }
  await assert.rejects(
    setPlan('enterprise', some),
    /also set concurrent_sessions, snapshots_per_machine, largest_size/,
  )
  const args = Object.entries({
    ...some,
    concurrent_sessions: '5',
    snapshots_per_machine: '5',
    largest_size: 'small',
  }).flatMap(([key, value]) => ['--limit', `${key}=${value}`])
  const { code, stdout } = await admin('org', 'set-plan', organizationId, 'enterprise', ...args)
  assert.equal(code, 0)
  assert.match(
    stdout,
    /^Strangers now has the plan enterprise \(concurrent_sessions 5, largest_size small, /,
  )

  const call = server.as(actor)
  const large = await call('POST', '/v1/machines', { size: 'large', start: false })
  assert.equal(large.status, 402)
  assert.match(large.body.error.message, /enterprise allows machines up to small/)
  assert.deepEqual(await operatorEventsOf(organizationId), ['organization.plan_changed'])

  // The new overrides replace the old ones, so the plan's own limits apply again.
  await run({ command: 'org set-plan', organizationId, planId: 'pro', limits: {}, immediate: true })
  assert.deepEqual(await planOf(db, organizationId), { plan_id: 'pro', terms: {} })
})

test('lists are printed as tables, or as JSON with --json', async () => {
  const name = 'Two\nlines \u001b[31m'
  const person = await server.signUp({ name })
  const users = await admin('user', 'list')
  const line = users.stdout.split('\n').find((one) => one.startsWith(person.email))!
  assert.match(users.stdout, /^EMAIL +NAME +STATE +ORGANIZATIONS +ID\n/)
  assert.match(line, /Two lines \[31m +active +Two lines .*\(owner\) +usr_/)
  const { json } = await run({ command: 'user list' })
  const listed = (json as { id: string }[]).find(({ id }) => id === person.id)
  const organizations = [{ id: person.personalId, name: `${name}'s organization`, role: 'owner' }]
  assert.partialDeepStrictEqual(listed, {
    email: person.email,
    name,
    state: 'active',
    organizations,
  })
  assert.doesNotMatch(JSON.stringify(json), /argon2|password_hash/)

  const answer = JSON.parse((await admin('org', 'list', '--json')).stdout) as { id: string }[]
  const limits = {}
  const expected = { id: home.id, name: 'Home', plan_id: 'startup', limits, machines: 0 }
  assert.partialDeepStrictEqual(answer[0], expected)
  const { text: table } = await run({ command: 'org list' })
  assert.match(
    table,
    /^ID +NAME +PLAN +STATE +MEMBERS +MACHINES\norg_\w+ +Home +startup +active +\d+ +0\n/,
  )
})

test('without a database the error names the remedy', async () => {
  const stopped = await admin('user', 'list', { env: { DATABASE_URL: undefined } })
  assert.deepEqual([stopped.code, stopped.stdout], [2, ''])
  assert.match(stopped.stderr, /start the server first: computer up/)

  const away = await admin('user', 'list', {
    env: { DATABASE_URL: 'postgresql://computer:secret@127.0.0.1:1/computer' },
  })
  assert.deepEqual([away.code, away.stdout], [2, ''])
  assert.match(away.stderr, /DATABASE_URL does not respond: .*ECONNREFUSED/)
  assert.doesNotMatch(away.stderr, /secret/)

  const url = new URL(server.databaseUrl)
  url.pathname = '/postgres'
  const empty = await admin('user', 'list', { env: { DATABASE_URL: url.href } })
  assert.deepEqual([empty.code, empty.stdout], [1, ''])
  assert.match(empty.stderr, /the database is empty; start the server first/)
})

const admin = (...args: readonly (string | AdminOptions)[]) => runAdmin(server.databaseUrl, ...args)

/** The same without the command line, because its processes start slowly. */
async function run(request: object) {
  const stdin = Readable.from(['short\n'])
  return runAdminCommand(server.app, operator, readRequest(JSON.stringify(request)), stdin)
}

/** The actions of operators in the organization's audit log, in order. */
async function operatorEventsOf(id: OrganizationId): Promise<string[]> {
  const events = await db
    .selectFrom('audit_events')
    .select('type')
    .where('organization_id', '=', id)
    .where('actor_type', '=', 'operator')
    .orderBy('id')
    .execute()
  return events.map(({ type }) => type)
}
