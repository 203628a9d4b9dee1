import type { Browser, Page } from 'playwright-core'
import { eventually } from '../../server/test/settled.ts'
import { callWith } from '../../server/test/call.ts'
import type { Dashboard } from './harness.ts'
import { openContext } from './harness.ts'
import { createMachine } from './screen-pages.ts'
import { watchPage } from './page-watch.ts'
import type { Lifetime } from '../../server/test/harness.ts'

export type Asked = {
  readonly id: string
  readonly state: string
  readonly takeover_url: string
  readonly session_id: string | null
  readonly answer: { readonly outcome: string; readonly text: string; readonly choice: string }
}

let machines = 0

/** A machine with an agent, which is an API key of the owner's organization and can ask for help. */
export async function createAsker(dashboard: Dashboard, name?: string) {
  const { server, owner } = dashboard
  const machine = await createMachine(dashboard, name ?? `desk-${++machines}`)
  const scopes = ['machines:read', 'machines:control', 'sessions:write']
  const { body } = await owner.call('POST', '/v1/api-keys', { name: 'shop-agent', scopes })
  const call = callWith(server.http, { authorization: `Bearer ${body.secret}` })
  return {
    ...machine,
    call,
    ask: async (wish: object = {}) => {
      const asked = { reason: 'login', message: 'Sign in to the shop, please.', ...wish }
      const answer = await call('POST', `/v1/machines/${machine.id}/help-requests`, asked)
      if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
      return answer.body as Asked
    },
    read: async ({ id }: Pick<Asked, 'id'>) =>
      (await call('GET', `/v1/help-requests/${id}`)).body as Asked,
    /** Resolves once the request is in this state. */
    untilState: ({ id }: Pick<Asked, 'id'>, state: string) =>
      eventually(async () => {
        const { body: help } = await call('GET', `/v1/help-requests/${id}`)
        return help.state === state ? (help as Asked) : undefined
      }),
  }
}

/** The bar above a screen. */
export function bar(page: Page) {
  return page.getByRole('region', { name: 'Help request' })
}

/** The card of an open request in the inbox. */
export function card(page: Page, text: string) {
  return page
    .getByRole('list', { name: 'Open requests' })
    .getByRole('listitem')
    .filter({ hasText: text })
}

/** A page of somebody without an account, on a phone unless the context says otherwise. */
export async function openGuest(
  t: Lifetime,
  dashboard: Dashboard,
  link: string,
  context: Parameters<Browser['newContext']>[0] = {},
): Promise<Page> {
  const guest = await openContext(dashboard, { as: null, phone: true, context })
  const page = await guest.newPage()
  watchPage(t, page, dashboard.url)
  await page.goto(link)
  return page
}

/** Names the guest and takes over, until keys reach the machine. */
export async function takeAsGuest(page: Page, name = 'Grace'): Promise<void> {
  await page.getByLabel('Your name').fill(name)
  await page.getByRole('button', { name: 'Take over' }).click()
  await page.getByText('You drive').waitFor()
}
