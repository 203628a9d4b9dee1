import type { Page } from 'playwright-core'

/** Lets a page see the permissions of its person that pass, as the server would tell a person of a lower role. */
export async function keepPermissions(
  page: Page,
  passes: (permission: string) => boolean,
): Promise<void> {
  await page.route('**/v1/auth/me', async (route) => {
    const response = await route.fetch()
    const me = (await response.json()) as { readonly permissions: readonly string[] }
    const permissions = me.permissions.filter(passes)
    await route.fulfill({ response, json: { ...me, permissions } })
  })
}
