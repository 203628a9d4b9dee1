import { queryOptions } from '@tanstack/react-query'
import { computer } from './client.ts'
import { leaveFor } from './organizations.ts'

/*
 * Whoever signs in or out begins afresh at `path`, by a real navigation: nothing that the page knew belongs
 * to the new session. `path` is one of this origin (see pages/sign-in/next-path.ts).
 */

export async function signIn(
  credentials: { readonly email: string; readonly password: string },
  path: string,
): Promise<void> {
  const { organization } = await computer.auth.logIn(credentials)
  return enter(organization.id, path)
}

export async function signUp(
  account: Parameters<typeof computer.auth.signUp>[0],
  path: string,
): Promise<void> {
  const { organization } = await computer.auth.signUp(account)
  return enter(organization.id, path)
}

/** What a sign-in link of the operator is for. Looking does not use it up. */
export function loginLinkQuery(token: string) {
  return queryOptions({
    queryKey: ['login-link', token] as const,
    queryFn: ({ signal }) => computer.auth.lookUpLoginLink(token, { signal }),
  })
}

export async function signInWithLink(
  link: Parameters<typeof computer.auth.logInWithLink>[0],
): Promise<void> {
  const { organization } = await computer.auth.logInWithLink(link)
  return enter(organization.id)
}

export async function signOut(path = '/'): Promise<void> {
  await computer.auth.logOut()
  leaveFor(null, path)
}

/** Answers alike whether or not the email has an account. */
export async function requestPasswordReset(email: string): Promise<void> {
  await computer.auth.requestPasswordReset(email)
}

/** Ends all sessions of the account, and with them the one of this browser. */
export async function resetPassword(token: string, password: string): Promise<void> {
  await computer.auth.resetPassword({ token, password })
}

export async function changePassword(currentPassword: string, newPassword: string): Promise<void> {
  await computer.auth.changePassword({ currentPassword, newPassword })
}

export async function deleteAccount(password: string): Promise<void> {
  await computer.auth.deleteAccount({ password })
  leaveFor(null)
}

/** Never resolves: what waits for it stays as it is until the page is left, instead of showing a used link. */
export function enter(organizationId: string, path = '/'): Promise<never> {
  leaveFor(organizationId, path)
  return new Promise(() => {})
}
