import type { Page } from 'playwright-core'
import { createLoginLink } from '../../server/src/domain/operator/login-links.ts'
import type { Dashboard } from './harness.ts'

/** Fills in the sign-in page that is open. */
export async function fillSignIn(
  page: Page,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<void> {
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** The switcher, which names the organization that the browser acts in. */
export function switcher(page: Page, organization: string) {
  return page.getByRole('button', { name: `Organization ${organization} ` })
}

/** A sign-in link of the operator, as a path: for the first organization, or for an account. */
export async function printLink({ server }: Dashboard, email: string | null = null) {
  const operator = { type: 'operator', id: 'operator', name: 'root' } as const
  return pathOf((await createLoginLink(server.app, operator, email)).url)
}

/** The path of a link and the token behind it. */
export function pathOf(url: string): string {
  const { pathname, hash } = new URL(url)
  return pathname + hash
}

/** A person who has joined the owner's organization by an invitation, and acts in it. */
export async function addMember(
  { server, owner }: Dashboard,
  person: { readonly email: string; readonly name: string },
  role: 'owner' | 'admin' | 'member' = 'member',
) {
  const { body } = await owner.call('POST', '/v1/invitations', { email: person.email, role })
  const member = await server.signUp(person)
  const token = body.accept_url.split('#token=')[1]
  const { status } = await member.call('POST', '/v1/invitations/accept', { token })
  if (status !== 200) throw new Error(`accepting returned ${status}`)
  return member
}
