import type { Page } from 'playwright-core'
import { changeAnswers } from './answers.ts'

/** Lets a page see the permissions of its person that pass, as the server would tell a person of a lower role. */
export async function keepPermissions(
  page: Page,
  passes: (permission: string) => boolean,
): Promise<void> {
  await changeAnswers(page, {
    change: (path, answer) => {
      if (path !== '/v1/auth/me') return answer
      const me = answer.json as { readonly permissions: readonly string[] }
      return { ...answer, json: { ...me, permissions: me.permissions.filter(passes) } }
    },
  })
}
