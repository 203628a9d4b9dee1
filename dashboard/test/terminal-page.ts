import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { openPage, type Dashboard, type PageOptions } from './harness.ts'
import type { Lifetime } from '../../server/test/harness.ts'

export type TerminalPage = Awaited<ReturnType<typeof openTerminals>>

/** The terminals of a machine of the fake engine, whose agent and shells are real. */
export async function openTerminals(
  t: Lifetime,
  dashboard: Dashboard,
  machineId: string,
  options: PageOptions = {},
) {
  const page = await openPage(t, dashboard, `/m/${machineId}/terminal`, options)
  return terminalPage(page)
}

export function terminalPage(page: Page) {
  const rows = page.locator('.xterm-rows:visible')
  return {
    page,
    tabs: page.getByRole('navigation', { name: 'Terminals' }).getByRole('link'),
    screen: page.locator('[data-takes-keys]:visible'),
    rows,
    /** Opens another terminal and waits for its prompt. */
    async open(): Promise<string> {
      const before = page.url()
      await page.getByRole('button', { name: 'New terminal', exact: true }).first().click()
      await page.waitForURL((url) => url.href !== before && url.searchParams.has('terminal'))
      await rows.filter({ hasText: /\$ $|\$\s*$/ }).waitFor()
      return new URL(page.url()).searchParams.get('terminal')!
    },
    /** Waits until the shown terminal contains a text that the pattern matches. */
    async shows(pattern: RegExp | string): Promise<string> {
      await rows.filter({ hasText: pattern }).waitFor({ timeout: 15_000 })
      return (await rows.textContent()) ?? ''
    },
    /** Waits for a sentence below the shown terminal. */
    says: (text: string) => page.locator('p[role=status]:visible', { hasText: text }).waitFor(),
    /** Types a command and Enter into the shown terminal, as soon as it takes keys. */
    async run(command: string): Promise<void> {
      await page.locator('.xterm-helper-textarea:focus').waitFor({ state: 'attached' })
      await page.keyboard.insertText(command)
      await page.keyboard.press('Enter')
    },
    /** Pastes as a browser does, which asks for no permission. */
    paste: (text: string) =>
      page.locator('.xterm-helper-textarea:visible').evaluate((element, pasted) => {
        const clipboardData = new DataTransfer()
        clipboardData.setData('text/plain', pasted)
        const init = { clipboardData, bubbles: true, cancelable: true }
        element.dispatchEvent(new ClipboardEvent('paste', init))
      }, text),
  }
}

export async function createMachine({ owner }: Pick<Dashboard, 'owner'>, name = 'research-agent') {
  const { status, body } = await owner.call('POST', '/v1/machines', { name })
  assert.equal(status, 201)
  return body as { readonly id: string; readonly name: string }
}

export async function listTerminals({ owner }: Pick<Dashboard, 'owner'>, machineId: string) {
  const { body } = await owner.call('GET', `/v1/machines/${machineId}/terminals`)
  return body.data as readonly { readonly id: string; readonly user: string; cols: number }[]
}
