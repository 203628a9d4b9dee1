import type { App } from '../app.ts'
import { createLoginLink, isUnclaimed } from '../domain/operator/login-links.ts'
import type { Operator } from '../domain/operator/users.ts'

/** How the first person gets an account: by a link, or by the command that prints one. */
export type FirstSignIn = { readonly link: string | null }

/**
 * Null once somebody has an account that owns the first organization. Only a terminal gets a link: a
 * journal is kept, copied and read by others, and nobody reads it within the minutes that a link works.
 */
export async function offerFirstSignIn(
  app: Pick<App, 'db' | 'config'>,
  operator: Operator,
  { isTerminal }: { readonly isTerminal: boolean },
): Promise<FirstSignIn | null> {
  if (!(await isUnclaimed(app.db))) return null
  if (!isTerminal) return { link: null }
  return { link: (await createLoginLink(app, operator, null)).url }
}
