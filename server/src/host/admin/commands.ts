import type { App } from '../../app.ts'
import type { UserRow } from '../../db/database.ts'
import { createOwnerKey } from '../../domain/operator/keys.ts'
import { listOrganizations, setPlan, type ChangedPlan } from '../../domain/operator/plans.ts'
import { setWarm } from '../../domain/operator/templates.ts'
import {
  createUser,
  disableUser,
  enableUser,
  listUsers,
  replacePassword,
  type Operator,
} from '../../domain/operator/users.ts'
import { adjust, verifyBilling } from './billing.ts'
import { applyCatalog, showCatalog } from './catalog.ts'
import { add, drain, giveUp, remove, showHosts, undrain } from './hosts.ts'
import { rotate } from './secrets.ts'
import { printLoginLink } from './login-link.ts'
import { generatePassword, readPassword } from './password.ts'
import { showState, showTrial } from './standings.ts'
import type { AdminAnswer, AdminRequest } from './request.ts'
import { showStatus } from './status.ts'
import { formatTable } from './table.ts'

export async function runAdminCommand(
  app: Pick<App, 'db' | 'config' | 'changes'>,
  operator: Operator,
  request: AdminRequest,
  stdin: NodeJS.ReadableStream,
): Promise<AdminAnswer> {
  switch (request.command) {
    case 'user create': {
      const { password, generated } = await choosePassword(request, stdin)
      const user = await createUser(app, operator, { ...request, password })
      return withPassword(user, `created ${user.email}`, generated)
    }
    case 'user reset-password': {
      const { password, generated } = await choosePassword(request, stdin)
      const user = await replacePassword(app, operator, request.email, password)
      const done = `password of ${user.email} changed; all of their sessions were ended`
      return withPassword(user, done, generated)
    }
    case 'user disable': {
      const user = await disableUser(app, operator, request.email)
      return {
        json: showUser(user),
        text: `disabled ${user.email}; all of their sessions were ended`,
      }
    }
    case 'user enable': {
      const user = await enableUser(app, operator, request.email)
      return { json: showUser(user), text: `enabled ${user.email}; they can sign in again` }
    }
    case 'user list':
      return showUsers(await listUsers(app.db))
    case 'org list':
      return showOrganizations(await listOrganizations(app.db))
    case 'org set-plan': {
      const { organizationId, planId, limits, immediate } = request
      const change = { planId, limits, immediate }
      return showPlanChange(await setPlan(app, operator, organizationId, change))
    }
    case 'org set-state':
      return showState(app, operator, request)
    case 'org set-trial':
      return showTrial(app, operator, request)
    case 'catalog show':
      return showCatalog(app)
    case 'catalog apply':
      return applyCatalog(app, request)
    case 'billing verify':
      return verifyBilling(app, request)
    case 'billing adjust':
      return adjust(app, operator, request)
    case 'key create': {
      const { id, name, organization_id, prefix, scopes, created_at, secret } =
        await createOwnerKey(app, operator, request)
      return {
        json: { id, organization_id, name, prefix, scopes, created_at, secret },
        text: `created ${name} (${id})\nkey: ${secret}\nThe key is not shown again.`,
      }
    }
    case 'template set-warm': {
      const { id, name, warm } = await setWarm(app.db, request.templateId, request.count)
      return {
        json: { id, name, warm },
        text: `kept warm of template ${name}: ${warm}`,
      }
    }
    case 'status':
      return showStatus(app)
    case 'host list':
      return showHosts(app)
    case 'host add':
      return add(app, request.name)
    case 'host drain':
      return drain(app, request)
    case 'host undrain':
      return undrain(app, request.name)
    case 'host remove':
      return remove(app, request.name)
    case 'host lost':
      return giveUp(app, request.name)
    case 'login-link':
      return printLoginLink(app, operator, request.email)
    case 'secrets rotate':
      return rotate(app, request)
  }
}

async function choosePassword(
  { isPasswordOnStdin }: { readonly isPasswordOnStdin: boolean },
  stdin: NodeJS.ReadableStream,
) {
  if (isPasswordOnStdin) return { password: await readPassword(stdin), generated: null }
  const generated = generatePassword()
  return { password: generated, generated }
}

function withPassword(user: UserRow, done: string, generated: string | null): AdminAnswer {
  if (generated === null) return { json: showUser(user), text: done }
  return {
    json: { ...showUser(user), password: generated },
    text: `${done}\npassword: ${generated}\nThe password is not shown again. Ask its user to change it after signing in.`,
  }
}

function showUsers(users: Awaited<ReturnType<typeof listUsers>>): AdminAnswer {
  const head = ['EMAIL', 'NAME', 'STATE', 'ORGANIZATIONS', 'ID']
  const rows = users.map((user) => [
    user.email,
    user.name,
    stateOf(user),
    user.organizations.map(({ name, role }) => `${name} (${role})`).join(', '),
    user.id,
  ])
  const json = users.map(({ organizations, ...user }) => ({
    ...showUser(user),
    organizations: organizations.map(({ id, name, role }) => ({ id, name, role })),
  }))
  return { json, text: formatTable(head, rows) }
}

function showOrganizations(
  organizations: Awaited<ReturnType<typeof listOrganizations>>,
): AdminAnswer {
  const head = ['ID', 'NAME', 'PLAN', 'STATE', 'MEMBERS', 'MACHINES']
  const rows = organizations.map((one) => [
    one.id,
    one.name,
    describePlan(one),
    one.state,
    String(one.members),
    String(one.machines),
  ])
  const json = organizations.map((one) => ({
    ...showOrganization(one),
    state: one.state,
    members: one.members,
    machines: one.machines,
  }))
  return { json, text: formatTable(head, rows) }
}

function showUser(user: UserRow) {
  const { id, email, name, created_at } = user
  return { id, email, name, state: stateOf(user), created_at }
}

function showPlanChange(changed: ChangedPlan): AdminAnswer {
  const { name, effective_at } = changed
  const plan = describePlan(changed)
  const text =
    effective_at === null
      ? `${name} now has the plan ${plan}`
      : `${name} will have the plan ${plan} from ${effective_at.toISOString()}, when its period ends; --now changes it at once`
  return { json: { ...showOrganization(changed), effective_at }, text }
}

function showOrganization({
  id,
  name,
  plan_id,
  terms,
  created_at,
}: Omit<ChangedPlan, 'effective_at'>) {
  return { id, name, plan_id, limits: terms, created_at }
}

function stateOf({ disabled_at, password_hash }: UserRow): string {
  if (disabled_at) return 'disabled'
  return password_hash === null ? 'no password' : 'active'
}

function describePlan({ plan_id, terms }: Pick<ChangedPlan, 'plan_id' | 'terms'>): string {
  const limits = Object.entries(terms).map(([key, value]) => `${key} ${value}`)
  limits.sort()
  return limits.length === 0 ? plan_id : `${plan_id} (${limits.join(', ')})`
}
