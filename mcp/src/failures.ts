import { ApiError } from '@computer/sdk'
import { Refusal } from './tool.ts'

/** What went wrong and what to do, in words for a model. Null: nothing that one could act on. */
export function explainFailure(error: unknown): string | null {
  if (error instanceof Refusal) return error.message
  if (!(error instanceof ApiError)) return null
  const said = sentence(error.message)
  switch (error.code) {
    case 'unauthenticated':
      return `The API key is missing or was refused. You cannot mend this: ask the user to check the key that this server is given (COMPUTER_API_KEY).`
    case 'permission_denied':
      return `${said} Ask the user for a key that may, or do without.`
    case 'quota_exceeded':
      return explainQuota(error)
    case 'not_found':
      return `${said} list_machines shows the machines there are, get_machine what belongs to one.`
    case 'precondition_failed':
      return `${said} get_machine shows its state; start_machine boots one that is stopped.`
    case 'compute_unavailable':
      return `${said} This passes: try again in a few seconds.`
    case 'rate_limited':
      return `${said} Wait a minute before you try again.`
    case 'connection_failed':
      return `${said} It is not known whether it was done: look before you try again. If it stays so, tell the user that the server cannot be reached.`
    case 'too_large':
      return 'The file is too large to be shown. Use run_command to make a smaller one of it.'
    case 'timed_out':
      return `${said} Look again later: get_machine shows how it stands.`
    case 'invalid_request':
      return [said, ...error.details.map(({ field, message }) => `${field}: ${message}`)].join(' ')
    case 'internal_error':
      return `The server failed. Try once more; if it fails again, tell the user, with the request id ${error.requestId}.`
    default:
      return said
  }
}

function explainQuota({ message, quota }: ApiError): string {
  if (!quota) return `${sentence(message)} Ask the user to raise the limit.`
  const { limit, current, maximum, upgradeUrl } = quota
  const where = upgradeUrl ? ` at ${upgradeUrl}` : ''
  return (
    `The plan allows ${maximum ?? 'no more'} ${limit.replaceAll('_', ' ')}, and there are ${current}. ` +
    `Free one that is no longer needed, if the user agrees, or ask the user to raise the limit${where}.`
  )
}

/** Messages of the API are clauses. */
function sentence(message: string): string {
  const text = message.charAt(0).toUpperCase() + message.slice(1)
  return /[.!?]$/.test(text) ? text : `${text}.`
}
