import type { Browser, BrowserContext, Page } from 'playwright-core'
import { launchChromium, silentDecoder } from '../../e2e/harness/chromium.ts'
import { freePort } from '../../e2e/harness/ports.ts'
import { startTestGateway } from '../../server/test/gateway.ts'
import { startTestServer, type Lifetime, type TestServer } from '../../server/test/harness.ts'
import { goodPassword } from '../../server/test/browser.ts'
import { watchPage } from './page-watch.ts'

/*
 * The dashboard as it is served: the real API and gateway over the fake engine, and a real browser. Pages
 * are watched: a violation of the security policy, a request to another host or an error in the console
 * fails the test.
 */

export type Dashboard = Awaited<ReturnType<typeof startDashboard>>
type ServerOptions = NonNullable<Parameters<typeof startTestServer>[1]>

/** A server with its dashboard, and the person who owns its organization. */
export async function startDashboard(t: Lifetime, options: ServerOptions = {}) {
  // The pages close before their server does.
  const contexts: BrowserContext[] = []
  t.after(async () => {
    for (const context of contexts) await context.close()
  })
  const [port, gatewayPort] = [await freePort(), await freePort()]
  const server = await startTestServer(t, {
    plan: 'startup',
    ...options,
    env: {
      COMPUTER_BASE_URL: `http://127.0.0.1:${port}`,
      COMPUTER_GATEWAY_URL: `ws://127.0.0.1:${gatewayPort}`,
      COMPUTER_SIGNUP_PLAN: 'startup',
      // Receivers of the tests.
      COMPUTER_WEBHOOK_NETWORKS: '127.0.0.1',
      ...options.env,
    },
  })
  let gateway = await startTestGateway(t, server.app, gatewayPort)
  const url = await server.listen(port)
  const owner = await server.signUp({ email: 'ada@example.com', name: 'Ada Lovelace' })
  return {
    server,
    contexts,
    url: url.origin,
    owner: { ...owner, password: goodPassword },
    /** Ends the gateway, as a crash would. */
    stopGateway: () => gateway.stop(),
    async startGateway() {
      gateway = await startTestGateway(t, server.app, gatewayPort)
    },
  }
}

export const viewports = {
  desk: { width: 1280, height: 800 },
  phone: { width: 390, height: 844 },
}

export type PageOptions = {
  readonly theme?: 'light' | 'dark'
  /** The width of a phone instead of a desk. */
  readonly phone?: boolean
  /** Default: the owner. Null: nobody is signed in. */
  readonly as?: Pick<TestServer extends never ? never : Dashboard['owner'], 'cookie'> | null
  readonly context?: Parameters<Browser['newContext']>[0]
  /** Messages of the console that the test causes on purpose. */
  readonly expectedErrors?: RegExp
}

let browser: Promise<Browser> | undefined

/** A page of the dashboard in a browser of its own, which ends with the test. */
export async function openPage(
  t: Lifetime,
  dashboard: Pick<Dashboard, 'url' | 'owner' | 'contexts'>,
  path: string,
  options: PageOptions = {},
): Promise<Page> {
  const context = await openContext(dashboard, options)
  const page = await context.newPage()
  watchPage(t, page, dashboard.url, options.expectedErrors)
  await page.goto(dashboard.url + path)
  return page
}

export async function openContext(
  { url, owner, contexts }: Pick<Dashboard, 'url' | 'owner' | 'contexts'>,
  { theme = 'light', phone = false, as = owner, context: more = {} }: PageOptions,
): Promise<BrowserContext> {
  browser ??= launchChromium()
  const context = await (
    await browser
  ).newContext({
    locale: 'en-US',
    timezoneId: 'UTC',
    colorScheme: theme,
    reducedMotion: 'reduce',
    viewport: phone ? viewports.phone : viewports.desk,
    hasTouch: phone,
    ...more,
  })
  contexts.push(context)
  await context.addInitScript(silentDecoder)
  const cookie = as?.cookie()
  if (cookie) await context.addCookies(cookiesOf(cookie, url))
  return context
}

/** Ends the browser. Call it in an `after` of the file. */
export async function closeBrowser(): Promise<void> {
  await (await browser)?.close()
  browser = undefined
}

function cookiesOf(header: string, url: string) {
  return header.split('; ').map((pair) => {
    const end = pair.indexOf('=')
    return { name: pair.slice(0, end), value: pair.slice(end + 1), url }
  })
}
