import type { Page } from 'playwright-core'

type Sample = {
  readonly research: { readonly id: string }
  readonly webhook: { readonly id: string }
}

/** Every page of the dashboard, by the address that shows it with the sample data, and a text that it shows. */
export function signedInPages({
  research,
  webhook,
}: Sample): readonly { readonly path: string; readonly shows: string }[] {
  const machine = `/m/${research.id}`
  return [
    { path: '/', shows: 'research-agent' },
    { path: '/?view=list', shows: 'research-agent' },
    { path: '/?create=true', shows: 'Start it' },
    { path: machine, shows: 'Take over' },
    { path: `${machine}/terminal`, shows: 'New terminal' },
    { path: `${machine}/files`, shows: 'Upload' },
    { path: `${machine}/snapshots`, shows: 'signed in to the shop' },
    { path: `${machine}/ports`, shows: 'Publish a port' },
    { path: `${machine}/secrets`, shows: 'SHOP_TOKEN' },
    { path: `${machine}/events`, shows: 'machine.created' },
    { path: `${machine}/usage`, shows: 'Memory' },
    { path: `${machine}/settings`, shows: 'Metadata' },
    { path: '/help-requests', shows: 'Please sign in to the shop' },
    { path: '/templates', shows: 'browser-ready' },
    { path: '/snapshots', shows: 'signed in to the shop' },
    { path: '/ports', shows: 'storefront' },
    { path: '/secrets', shows: 'SHOP_TOKEN' },
    { path: '/usage', shows: 'Usage' },
    { path: '/billing', shows: 'Billing' },
    { path: '/members', shows: 'grace@example.com' },
    { path: '/keys', shows: 'Create a key' },
    { path: '/webhooks', shows: 'alerts.example.com' },
    { path: `/webhooks/${webhook.id}`, shows: 'webhook.test' },
    { path: '/audit', shows: 'Audit log' },
    { path: '/settings', shows: 'Delete' },
    { path: '/account', shows: 'ada@example.com' },
    { path: '/no-such-page', shows: 'There is no such page' },
  ]
}

/** Those that a person without a session opens. */
export const signedOutPages: readonly { readonly path: string; readonly shows: string }[] = [
  { path: '/login', shows: 'Sign in' },
  { path: '/signup', shows: 'Create' },
  { path: '/forgot-password', shows: 'Email' },
  { path: '/reset-password#token=none', shows: 'password' },
  { path: '/accept-invitation#token=none', shows: 'invitation' },
  { path: '/welcome#token=none', shows: 'computer admin login-link' },
  { path: '/help#none', shows: 'This link does not work' },
]

/**
 * The message of a browser whose page closes a connection that is not open yet, as a page of a machine does when it is
 * left at once. A test that follows links there passes it as `expectedErrors`.
 */
export const closedEarly =
  /^console: WebSocket connection to .* failed: WebSocket is closed before the connection is established\.$/

/**
 * Goes to a page as its link does: a browser that has loaded the dashboard does not load and compile it again, which
 * is most of what a page takes. Resolves when the page has taken the place of the one before.
 *
 * The promise that Playwright awaits is resolved in a task of its own. The browser does not keep that promise: one that is
 * resolved among the microtasks of a new page can be collected before the browser has sent its result, which fails the
 * call.
 */
export async function follow(page: Page, url: string): Promise<void> {
  const isLoaded = await page.evaluate(() => '__TSR_ROUTER__' in globalThis)
  if (!isLoaded) {
    await page.goto(url)
    return
  }
  const { pathname, search, hash } = new URL(url)
  await page.evaluate(
    async (href) => {
      const { __TSR_ROUTER__: router } = globalThis as unknown as {
        readonly __TSR_ROUTER__: { navigate(to: { readonly href: string }): Promise<void> }
      }
      await router.navigate({ href })
      await new Promise((done) => setTimeout(done))
    },
    pathname + search + hash,
  )
}

/** Waits until the page has shown its content and has settled. */
export async function settle(page: Page, shows: string): Promise<void> {
  await page.getByText(shows).filter({ visible: true }).first().waitFor()
  await untilRead(page)
  await page.evaluate(() => document.fonts.ready.then(() => undefined))
}

/** Waits until nothing on the page is being loaded. */
export async function untilRead(page: Page): Promise<void> {
  await page.waitForFunction(
    () => !document.querySelector('[aria-label="Loading"], [aria-busy="true"]'),
  )
}
