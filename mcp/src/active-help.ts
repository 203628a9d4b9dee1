import { ApiError, type HelpRequest, type Machine } from '@computer/sdk'
import { explainActive } from './help-text.ts'
import { ToolError } from './tool-error.ts'

/** The help request for which a person has a machine now. Undefined if there is none, or it cannot be read. */
export async function findActiveHelp(machine: Machine): Promise<HelpRequest | undefined> {
  try {
    return (await machine.helpRequests.list({ state: 'active', limit: 1 })).data[0]
  } catch {
    return undefined
  }
}

/** Looks at a screen or a clipboard. A person who has them in private is the reason for the model, not just a conflict. */
export async function lookAt<T>(machine: Machine, look: () => Promise<T>): Promise<T> {
  try {
    return await look()
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'conflict')) throw error
    const help = await findActiveHelp(machine)
    throw help ? new ToolError(explainActive(help), { cause: error }) : error
  }
}
