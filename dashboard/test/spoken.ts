import type { Page } from 'playwright-core'

export type DisabledControl = {
  readonly role: string
  readonly name: string
  /** What a screen reader speaks after the name. */
  readonly description: string
}

/** The disabled controls of a page, as assistive technology sees them. */
export async function disabledControls(page: Page): Promise<readonly DisabledControl[]> {
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  await session.detach()
  return nodes
    .filter(({ properties }) =>
      properties?.some((one) => one.name === 'disabled' && one.value.value),
    )
    .map(({ role, name, description }) => ({
      role: String(role?.value ?? ''),
      name: String(name?.value ?? ''),
      description: String(description?.value ?? ''),
    }))
}
