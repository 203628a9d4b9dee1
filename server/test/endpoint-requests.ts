import type { endpoints, ErrorCode } from '@computer/contract'
import { tarEnd } from '@computer/contract/tar'
import { randomUUID } from 'node:crypto'
import { authRequests } from './auth-requests.ts'
import { membershipOf } from './colleague.ts'
import { diskRequests } from './disk-requests.ts'
import type { Call, TestServer } from './harness.ts'
import { invitationCalls, tokenOf } from './invitation-calls.ts'
import { helpGuestRequests, helpRequests } from './help-calls.ts'
import { webhookRequests } from './webhook-requests.ts'

/** A valid call of an endpoint: its path parameters, query and body. */
export type EndpointRequest = {
  readonly ids?: Readonly<Record<string, string>>
  readonly query?: string
  readonly body?: unknown
  /** The only caller for whom it is valid, if that is not everyone of the organization. */
  readonly caller?: Call
  /** How the server of the tests refuses it, although it is valid. */
  readonly refusal?: ErrorCode
}

type Requests = {
  readonly [Group in keyof typeof endpoints]: {
    readonly [Name in keyof (typeof endpoints)[Group]]: () => Promise<EndpointRequest>
  }
}

/**
 * A valid call of every endpoint of the contract, by a caller with all permissions. A new endpoint does
 * not compile until it is added here, so tests of all endpoints include it.
 */
export async function prepareRequests(server: TestServer, call: Call): Promise<Requests> {
  const { id: machine_id } = await server.machine()
  const session = await open(call, machine_id)
  const { body: principal } = await call('GET', '/v1/auth/me')
  const path = `/v1/machines/${machine_id}`
  // Long enough for all tests of a file, however slow the machine.
  await call('POST', `${path}/input-lease`, { session_id: session, ttl_seconds: 3600 })
  await call('PUT', `${path}/files/content`, { path: 'a.txt', content: 'text' })

  const running = async (rest: EndpointRequest = {}) => ({ ids: { machine_id }, ...rest })
  const input = (body: unknown) => () => running({ body })
  const fresh = (input: Record<string, unknown>) => async () => ({
    ids: { machine_id: (await server.machine(input)).id },
  })
  const point = { x: 1, y: 1 }
  const none = async () => ({})
  const disks = diskRequests(server, machine_id)
  const newTerminal = async () => {
    const { body } = await call('POST', `${path}/terminals`, {})
    return { machine_id, terminal_id: body.id as string }
  }
  // A new port each time: publishing again has another status.
  let freshPort = 10_000
  const newPreview = async () => {
    const { body } = await call('POST', `${path}/ports`, { port: 2280 })
    return { machine_id, preview_id: body.id as string }
  }
  const shownScreen = async () => (await call('GET', `${path}/screenshot`)).body.id as string
  const newProcess = async () => {
    const { body } = await call('POST', `${path}/processes`, { command: ['cat'] })
    return { machine_id, process_id: body.id as string }
  }
  return {
    auth: authRequests(server, {
      userId: principal.user.id,
      organizationId: principal.organization.id,
    }),
    organizations: {
      create: async () => ({ body: { name: 'An organization' } }),
      rename: async () => ({
        ids: { organization_id: principal.organization.id },
        body: { name: 'Home' },
      }),
      delete: async () => {
        const { call: caller } = await server.signUp()
        const { body } = await caller('POST', '/v1/organizations', { name: 'Short-lived' })
        return { ids: { organization_id: body.id }, caller }
      },
      leave: async () => {
        const { organizationId, token } = await inviteFromElsewhere(server, principal.user.email)
        await call('POST', '/v1/invitations/accept', { token })
        return { ids: { organization_id: organizationId } }
      },
    },
    members: {
      list: none,
      update: async () => ({ ids: await newMember(server), body: { role: 'admin' } }),
      remove: async () => ({ ids: await newMember(server) }),
    },
    invitations: {
      list: none,
      create: async () => ({ body: newInvitation() }),
      revoke: async () => {
        const { body } = await call('POST', '/v1/invitations', newInvitation())
        return { ids: { invitation_id: body.id } }
      },
      lookup: async () => {
        const { token } = await inviteFromElsewhere(server, principal.user.email)
        return { body: { token } }
      },
      accept: async () => {
        const { token } = await inviteFromElsewhere(server, principal.user.email)
        return { body: { token } }
      },
    },
    audit_events: { list: none },
    images: { list: none },
    machines: {
      create: async () => ({ body: { start: false } }),
      list: none,
      get: running,
      update: input({ metadata: { a: 'b' } }),
      start: fresh({ start: false }),
      stop: fresh({}),
      restart: fresh({}),
      delete: fresh({ start: false }),
      ...disks.machines,
      usage: running,
    },
    snapshots: disks.snapshots,
    templates: disks.templates,
    desktop: {
      display: running,
      resize: input({ width: 1024, height: 768 }),
      screenshot: running,
      waitForScreen: async () => running({ query: `since=${await shownScreen()}&timeout_ms=0` }),
      move: input(point),
      click: input({ at: point }),
      drag: input({ to: point }),
      scroll: input({ direction: 'down' }),
      type: input({ text: 'é' }),
      key: input({ key: 'enter' }),
      hotkey: input({ keys: ['ctrl', 'a'] }),
      readClipboard: running,
      writeClipboard: input({ text: 'é' }),
    },
    exec: { run: input({ command: ['true'] }) },
    activity: { list: running },
    files: {
      list: running,
      read: () => running({ query: 'path=a.txt' }),
      write: input({ path: 'b.txt', content: '' }),
      readArchive: running,
      writeArchive: input(tarEnd),
      delete: async () => {
        await call('PUT', `${path}/files/content`, { path: 'c.txt', content: '' })
        return running({ query: 'path=c.txt' })
      },
      move: async () => {
        await call('PUT', `${path}/files/content`, { path: 'd.txt', content: '' })
        return running({ body: { from: 'd.txt', to: 'e.txt', overwrite: true } })
      },
    },
    terminals: {
      open: input({}),
      list: running,
      resize: async () => ({ ids: await newTerminal(), body: { cols: 100, rows: 30 } }),
      kill: async () => ({ ids: await newTerminal() }),
    },
    processes: {
      start: input({ command: ['true'] }),
      list: running,
      get: async () => ({ ids: await newProcess() }),
      logs: async () => ({ ids: await newProcess() }),
      stdin: async () => ({ ids: await newProcess(), body: { content: 'é', eof: true } }),
      signal: async () => ({ ids: await newProcess(), body: {} }),
    },
    secrets: {
      list: running,
      put: input({ name: 'TOKEN', value: 'é' }),
      delete: async () => {
        await call('PUT', `${path}/secrets`, { name: 'GONE', value: '' })
        return { ids: { machine_id, name: 'GONE' } }
      },
      listAll: none,
    },
    ports: {
      publish: async () => running({ body: { port: freshPort++ } }),
      list: running,
      get: async () => ({ ids: await newPreview() }),
      unpublish: async () => ({ ids: await newPreview() }),
      listAll: none,
    },
    sessions: {
      open: async () => ({ body: { machine_id } }),
      list: none,
      close: async () => ({ ids: { session_id: await open(call, machine_id) } }),
    },
    input_lease: {
      acquire: input({ session_id: session }),
      get: running,
      release: async () => {
        const { id } = await server.machine()
        const session_id = await open(call, id)
        await call('POST', `/v1/machines/${id}/input-lease`, { session_id })
        return { ids: { machine_id: id }, query: `session_id=${session_id}` }
      },
    },
    events: { list: running },
    gateway: { createToken: none },
    plans: {
      list: none,
      get: async () => ({ ids: { plan_id: 'startup' } }),
    },
    usage: {
      list: none,
      series: none,
      labels: none,
      setLabels: async () => ({ body: { keys: ['team'] } }),
      export: async () => ({ query: 'format=csv' }),
      metrics: none,
    },
    billing: {
      account: none,
      summary: none,
      estimate: async () => ({ body: { machine_id } }),
      checkout: async () => ({
        body: { plan_id: 'pro', success_url: 'http://127.0.0.1/' },
        refusal: 'unsupported_operation',
      }),
      portal: async () => ({ body: {}, refusal: 'unsupported_operation' }),
    },
    budgets: {
      list: none,
      create: async () => ({ body: newBudget() }),
      get: async () => ({ ids: await makeBudget(call) }),
      update: async () => ({ ids: await makeBudget(call), body: { action: 'refuse' } }),
      delete: async () => ({ ids: await makeBudget(call) }),
    },
    webhooks: webhookRequests(call),
    help_requests: helpRequests(server, call),
    help_guest: helpGuestRequests(server, call),
    api_keys: {
      create: async () => ({ body: { name: 'A key', scopes: ['machines:read'] } }),
      list: none,
      revoke: async () => ({ ids: { api_key_id: (await server.apiKey()).id } }),
    },
  }
}

async function open(call: Call, machine_id: string): Promise<string> {
  const { body } = await call('POST', '/v1/sessions', { machine_id })
  return body.id
}

async function newMember(server: TestServer) {
  return { membership_id: await membershipOf(server, await server.user('member')) }
}

function newInvitation() {
  return { email: `${randomUUID()}@example.com` }
}

function newBudget() {
  return { name: randomUUID(), limit: { type: 'list_price_cents', value: '100000000' } }
}

async function makeBudget(call: Call) {
  const { body } = await call('POST', '/v1/budgets', newBudget())
  return { budget_id: body.id as string }
}

/** An invitation to an organization that the caller is not in yet. */
async function inviteFromElsewhere(server: TestServer, email: string) {
  const owner = await server.user('owner', 'stranger')
  const { body } = await invitationCalls(server).invite(owner, email)
  return { organizationId: owner.organizationId, token: tokenOf(body) }
}
