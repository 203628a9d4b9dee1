import type { Page } from 'playwright-core'
import { callWith } from '../../server/test/call.ts'
import { eventually } from '../../server/test/settled.ts'
import type { Dashboard } from './harness.ts'

/** What the person on a page sees as the driver of the machine. */
export function driver(page: Page, who: 'you' | 'another' | 'nobody') {
  return page.locator(`[data-holder=${who}]`)
}

export function picture(page: Page, is: 'live' | 'old' | 'none' | 'private') {
  return page.locator(`[data-picture=${is}]`)
}

/** Takes over and waits until what is typed reaches the machine. */
export async function takeOver(page: Page): Promise<void> {
  await picture(page, 'live').waitFor()
  await page.getByRole('button', { name: 'Take over' }).click()
  await driver(page, 'you').waitFor()
  await canvas(page).waitFor()
}

/** The screen while it takes input. */
export function canvas(page: Page) {
  return page.getByRole('application', { name: /^Screen of / }).last()
}

/** A machine of the owner, and what reaches its display. */
export async function createMachine(
  { server, owner }: Pick<Dashboard, 'server' | 'owner'>,
  name = 'desk',
) {
  const { body } = await owner.call('POST', '/v1/machines', { name })
  const { desktop, screens } = server.guest(body.id)
  const landed = () => desktop.events.map(({ event }) => event)
  return {
    id: body.id as string,
    path: `/m/${body.id}`,
    desktop,
    screens,
    landed,
    /** The keys that were pressed and released, without the pointer. */
    keys: () => landed().filter((event) => /^(press|release|text) /.test(event)),
    /** Resolves when the display has had these events, in this order, others aside. */
    until: (...wanted: readonly string[]) =>
      eventually(async () => {
        let at = 0
        for (const event of landed()) if (event === wanted[at]) at++
        return at === wanted.length || undefined
      }),
    sessions: async () => {
      const answer = await owner.call('GET', `/v1/sessions?machine_id=${body.id}`)
      return answer.body.data as { id: string; type: string; state: string }[]
    },
    lease: async () => (await owner.call('GET', `/v1/machines/${body.id}/input-lease`)).body,
  }
}

/** A program with an API key of the owner's organization, and its session on the machine. */
export async function createAgent({ server, owner }: Dashboard, machineId: string, name: string) {
  const scopes = ['machines:control', 'sessions:write']
  const { body } = await owner.call('POST', '/v1/api-keys', { name, scopes })
  const call = callWith(server.http, { authorization: `Bearer ${body.secret}` })
  const session = await call('POST', '/v1/sessions', { machine_id: machineId })
  const path = `/v1/machines/${machineId}`
  return {
    /** Calls a route of the machine. */
    call: (method: string, route: string, input: object) => call(method, `${path}/${route}`, input),
    take: (ttlSeconds = 60) =>
      call('POST', `${path}/input-lease`, {
        session_id: session.body.id,
        force: true,
        ttl_seconds: ttlSeconds,
      }),
    release: () => call('DELETE', `${path}/input-lease?session_id=${session.body.id}`),
    type: (text: string) => call('POST', `${path}/keyboard/type`, { text }),
  }
}
