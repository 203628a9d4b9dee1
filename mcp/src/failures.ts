import { ApiError } from '@computer/sdk'
import { ToolError } from './tool-error.ts'

/** Explains the failure and the next step to a model. Null for internal errors. */
export function explainFailure(error: unknown): string | null {
  if (error instanceof ToolError) return error.message
  if (!(error instanceof ApiError)) return null
  const message = sentence(error.message)
  switch (error.code) {
    case 'unauthenticated':
      return `The API key is missing or invalid. You cannot fix this: ask the user to check the API key of this MCP server (COMPUTER_API_KEY).`
    case 'permission_denied':
      return `${message} Ask the user for a key with this permission, or find another way.`
    case 'quota_exceeded':
      return explainQuota(error)
    case 'not_found':
      return `${message} list_machines lists all machines, and get_machine lists what belongs to one.`
    case 'precondition_failed':
      return `${message} get_machine shows its state; start_machine boots a stopped machine.`
    case 'compute_unavailable':
      return `${message} This is temporary: try again in a few seconds.`
    case 'rate_limited':
      return `${message} Wait a minute before trying again.`
    case 'connection_failed':
      return `${message} The action may or may not have taken effect: check before trying again. If this persists, tell the user that the server cannot be reached.`
    case 'too_large':
      return 'The file is too large to show. Use run_command to make a smaller version of it.'
    case 'timed_out':
      return `${message} Check again later with get_machine.`
    case 'invalid_request':
      return [
        message,
        ...error.details.map(({ field, message: problem }) => `${field}: ${problem}`),
      ].join(' ')
    case 'internal_error':
      return `The server had an internal error. Try once more; if it fails again, tell the user, including the request ID ${error.requestId}.`
    default:
      return message
  }
}

function explainQuota({ message, quota }: ApiError): string {
  if (!quota) return `${sentence(message)} Ask the user to raise the limit.`
  const { limit, current, maximum, upgradeUrl } = quota
  const location = upgradeUrl ? ` at ${upgradeUrl}` : ''
  // If nothing at all is allowed, only the message tells why.
  if (maximum === 0)
    return `${sentence(message)} You cannot fix this: ask the user to look at plan and billing${location}.`
  return (
    `The plan allows ${maximum ?? 'no more'} ${limit.replaceAll('_', ' ')}, and ${current} exist. ` +
    `Remove one that is no longer needed, if the user agrees, or ask the user to raise the limit${location}.`
  )
}

/** Turns an API message into a sentence. */
function sentence(message: string): string {
  const text = message.charAt(0).toUpperCase() + message.slice(1)
  return /[.!?]$/.test(text) ? text : `${text}.`
}
