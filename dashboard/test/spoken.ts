import type { Page } from 'playwright-core'

export type DisabledControl = {
  readonly role: string
  readonly name: string
  /** What a screen reader speaks after the name. */
  readonly description: string
}

/** The disabled controls of a page, as assistive technology sees them. One that is at work is none. */
export async function disabledControls(page: Page): Promise<readonly DisabledControl[]> {
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  await session.detach()
  return nodes
    .filter(({ properties }) => {
      const is = (what: string) =>
        properties?.some(({ name, value }) => name === what && value.value)
      return is('disabled') && !is('busy')
    })
    .map(({ role, name, description }) => ({
      role: String(role?.value ?? ''),
      name: String(name?.value ?? ''),
      description: String(description?.value ?? ''),
    }))
}
