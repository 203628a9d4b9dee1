import type { Browser, BrowserContext } from 'playwright-core'
import { silentDecoder } from './chromium.ts'
import type { Person } from './person.ts'

type ContextOptions = NonNullable<Parameters<Browser['newContext']>[0]>

/** A browser of its own in which a person is signed in to the dashboard at this origin. */
export async function openAs(
  browser: Browser,
  person: Pick<Person, 'cookie'>,
  origin: string,
  options: ContextOptions = {},
): Promise<BrowserContext> {
  const context = await browser.newContext({ locale: 'en-US', ...options })
  // No permission at all, not even those that Chromium gives to every page.
  await context.grantPermissions([])
  await context.addInitScript(silentDecoder)
  const end = person.cookie.indexOf('=')
  const cookie = { name: person.cookie.slice(0, end), value: person.cookie.slice(end + 1) }
  await context.addCookies([{ ...cookie, url: origin }])
  return context
}
