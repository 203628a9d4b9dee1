import type { Principal } from '@computer/sdk'
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
  enter(await computer.auth.logIn(credentials), path)
}

export async function signUp(
  account: Parameters<typeof computer.auth.signUp>[0],
  path: string,
): Promise<void> {
  enter(await computer.auth.signUp(account), path)
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

function enter({ organization }: Principal, path: string): void {
  leaveFor(organization.id, path)
}
